import { scriptedAgent, release } from "../support/agents.ts";
import type { Kennel } from "../support/kennel.ts";
import { expect, expectAccessible, test } from "../support/test.ts";
import { visit } from "../support/visit.ts";

interface PlanView {
  id: string;
  state: string;
}

/** Runs a plan of scripted agents, each a member. */
async function run(kennel: Kennel, name: string, stages: Record<string, Record<string, string>>): Promise<string> {
  const description = await scriptedAgent(kennel);
  const spec = { name, stages: [] as object[] };
  for (const [stage, agents] of Object.entries(stages)) {
    const specs = [];
    for (const [agent, text] of Object.entries(agents)) {
      await kennel.api("POST", "/v1/members", { name: agent, cwd: kennel.folder, settings: { agent: "coder", description } });
      specs.push({ name: agent, who: { member: agent }, prompt: { text } });
    }
    spec.stages.push({ name: stage, agents: specs });
  }
  const { id } = await kennel.api<PlanView>("POST", "/v1/plans", { cwd: kennel.folder, spec });
  return id;
}

const TWO_STAGES = {
  look: { code: "say flock\nusage 100 0 20 0.01", docs: "child\nsay reading\nwait docs\nsay fcntl" },
  plan: { planner: "say use flock" },
};

test("explains plans when there are none @phone", async ({ page }) => {
  await visit(page, "/plans");
  await expect(page.getByRole("heading", { name: "No plans yet" })).toBeVisible();
  await expect(page.getByText("kennel plan run FILE")).toBeVisible();
  await expectAccessible(page);
});

test("shows the progress of a plan with two stages @phone", async ({ page, kennel }) => {
  await visit(page, "/plans");
  const id = await run(kennel, "research", TWO_STAGES);
  const line = page.locator(`[data-plan="${id}"]`);
  await expect(line).toContainText("running");
  await expect(line).toContainText("1 of 3");
  await line.getByRole("link", { name: "research" }).click();
  await expect(page.locator("[data-agent=code]")).toContainText("succeeded");
  await expect(page.locator("[data-agent=docs]")).toContainText("running");
  await expect(page.locator("[data-agent=planner]")).toContainText("waiting");
  await expect(page.locator("[data-stage=look]")).toContainText("1 of 2");
  await expect(page.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "1");
  await expect(page.locator("[data-agent=code]")).toContainText("100 in · 20 out · $0.0100");
  await expectAccessible(page);
  await release(kennel, "docs");
  await expect(page.locator("[data-agent=planner]")).toContainText("succeeded");
  await expect(page.getByRole("status").filter({ hasText: "3 of 3 agents done" })).toBeVisible();
  await expect(page.locator(".page-head")).toContainText("succeeded");
  await expect(page.getByRole("button", { name: "Cancel…" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Resume…" })).toHaveCount(0);
  await page.getByRole("link", { name: "Answer of planner" }).click();
  await expect(page.getByRole("article").locator(".prose")).toHaveText("use flock");
});

test("cancels and resumes a plan @phone", async ({ page, kennel }) => {
  const before = (await kennel.processes()).length;
  const id = await run(kennel, "research", TWO_STAGES);
  await visit(page, `/plans/${id}`);
  await expect(page.locator("[data-agent=docs]")).toContainText("running");
  await expect(page.locator("[data-agent=code]")).toContainText("succeeded");
  await page.getByRole("button", { name: "Cancel…" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel research?" });
  await expect(dialog).toContainText("1 running agent will be stopped with every process it started: docs");
  await expect(dialog).toContainText("1 agent will not start");
  await dialog.getByRole("button", { name: "Cancel plan" }).click();
  await expect(page.getByText("Cancelled research")).toBeVisible();
  await expect(page.locator("[data-agent=docs]")).toContainText("cancelled");
  await expect(page.locator("[data-agent=planner]")).toContainText("skipped");
  await expect(page.locator(".page-head")).toContainText("cancelled");
  await expect.poll(async () => (await kennel.processes()).length).toBe(before);
  await page.getByRole("button", { name: "Resume…" }).click();
  const resume = page.getByRole("dialog", { name: "Resume research?" });
  await expect(resume).toContainText("2 agents will run: docs, planner");
  await expectAccessible(page);
  await release(kennel, "docs");
  await resume.getByRole("button", { name: "Resume plan" }).click();
  await expect(page.locator(".page-head")).toContainText("succeeded");
  await expect(page.locator("[data-agent=planner]")).toContainText("succeeded");
  await expect(page.locator("[data-agent=docs]")).toContainText("2 attempts");
  await expect(page.locator("[data-agent=code]")).not.toContainText("attempts");
});

test("shows a failure with its evidence", async ({ page, kennel }) => {
  const id = await run(kennel, "tidy", { find: { first: "wait go\nfail 401 Invalid API key", second: "hang" }, mend: { fixer: "say x" } });
  await visit(page, `/plans/${id}`);
  await expect(page.locator("[data-agent=second]")).toContainText("running");
  await release(kennel, "go");
  const first = page.locator("[data-agent=first]");
  await expect(first).toContainText("failed");
  await expect(first).toContainText("auth");
  await expect(first.locator("q")).toHaveText("Invalid API key");
  await expect(page.locator("[data-agent=second]")).toContainText("cancelled");
  await expect(page.locator("[data-agent=fixer]")).toContainText("not asked: the plan had already failed");
  await expect(page.getByRole("region", { name: "Progress" })).toContainText("find.first: auth");
  await expectAccessible(page);
});

test("a plan and its board survive a daemon crash", async ({ page, kennel }) => {
  const id = await run(kennel, "research", TWO_STAGES);
  await visit(page, `/plans/${id}`);
  await expect(page.locator("[data-agent=docs]")).toContainText("running");
  await kennel.killDaemon();
  await release(kennel, "docs");
  await expect(page.locator(".page-head")).toContainText("succeeded");
  await expect(page.locator("[data-agent=planner]")).toContainText("succeeded");
});

test("handles a missing plan and a read-only browser", async ({ page, kennel }) => {
  await visit(page, "/plans/0nothing");
  await expect(page.getByRole("heading", { name: "No plan with ID 0nothing" })).toBeVisible();
  const id = await run(kennel, "research", TWO_STAGES);
  await page.context().clearCookies();
  await page.goto(await kennel.link(true));
  await visit(page, `/plans/${id}`);
  await expect(page.locator("[data-agent=docs]")).toContainText("running");
  await expect(page.getByRole("button", { name: "Cancel…" })).toHaveCount(0);
});
