import { join } from "node:path";

import { ask, scriptedAgent, release, scriptedClaude, addMember } from "../support/agents.ts";
import { expect, expectAccessible, test } from "../support/test.ts";
import { visit } from "../support/visit.ts";

test("adds the first member @phone", async ({ page, kennel }) => {
  await visit(page, "/members");
  await expect(page.getByRole("heading", { name: "No members yet" })).toBeVisible();
  await page.getByRole("button", { name: "Add member" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add member" });
  await dialog.getByRole("button", { name: "Add member" }).click();
  await expect(dialog.getByLabel("Name", { exact: true })).toHaveAccessibleDescription(/at most 64 letters, digits/);
  await expect(dialog.getByLabel("Folder")).toHaveAccessibleDescription(/Enter a folder/);
  await expectAccessible(page);
  await dialog.getByLabel("Name", { exact: true }).fill("anna");
  await dialog.getByLabel("Folder").fill(kennel.folder);
  await dialog.getByLabel("Agent").selectOption("codex");
  await dialog.getByLabel("Model").fill("gpt-5");
  await dialog.getByLabel("Permissions").selectOption("read_only");
  await dialog.getByLabel("Max. turns").fill("3");
  await dialog.getByRole("button", { name: "Add member" }).click();
  // Codex has no such limit: the daemon’s error is shown at the field.
  await expect(dialog.getByLabel("Max. turns")).toHaveAccessibleDescription(/turns/);
  await dialog.getByLabel("Max. turns").fill("");
  await dialog.getByLabel("Additional arguments").fill("--skip-git-repo-check\n--color never");
  await dialog.getByRole("button", { name: "Add member" }).click();
  await expect(page.getByRole("heading", { name: "anna", level: 1 })).toBeVisible();
  const about = page.getByRole("complementary", { name: "About anna" });
  await expect(about).toContainText("gpt-5");
  await expect(about).toContainText("Read only");
  await expect(about).toContainText("--skip-git-repo-check '--color never'");
  const [member] = await kennel.api<{ settings: { args: string[]; permissions: string } }[]>("GET", "/v1/members");
  expect(member?.settings).toMatchObject({ args: ["--skip-git-repo-check", "--color never"], permissions: "read_only" });
});

test("shows a name conflict at the name field", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members");
  await page.getByRole("button", { name: "Add member" }).click();
  await page.getByLabel("Name", { exact: true }).fill("anna");
  await page.getByLabel("Folder").fill("/tmp");
  await page.getByRole("dialog").getByRole("button", { name: "Add member" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveAccessibleDescription(/already/);
});

test("the list shows busy, queued and idle members and their usage @phone", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await addMember(kennel, "bruno");
  await visit(page, "/members");
  const anna = page.locator("[data-member=anna]");
  await expect(anna).toContainText("no prompts yet");
  const first = await ask(kennel, "anna", "usage 1200 34000 560 0.0432\nsay hi\nwait go");
  await expect(anna).toContainText("busy");
  await expect(anna.getByRole("link", { name: first })).toHaveAttribute("href", `/sessions/${first}`);
  await ask(kennel, "anna", "say me too", { queue: true });
  await expect(anna).toContainText("1 queued");
  await expectAccessible(page);
  await release(kennel, "go");
  await expect(anna).toContainText("idle");
  await expect(anna).toContainText("succeeded");
  await expect(anna).toContainText("1,200 in · 34,000 cached · 560 out · $0.0432");
  await expect(anna.getByRole("button", { name: "Copy conversation ID c-1" })).toBeVisible();
  await expect(page.locator("[data-member=bruno]")).toContainText("idle");
  await kennel.api("DELETE", "/v1/members/bruno");
  await expect(page.locator("[data-member=bruno]")).toHaveCount(0);
});

test("shows an answer as it arrives, and its outcome @phone", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  await page.getByLabel("Ask anna").fill("tool Read\nsay ## Found\\n\\nIt is **here**:\\n\\n- one\\n- `two`\nwait go\nsay \\n\\nand <b>more</b> at https://example.com/x.\nusage 10 20 30 0.5");
  await page.getByLabel("Ask anna").press("Control+Enter");
  const answer = page.getByRole("article");
  await expect(answer.locator(".prose").getByText("It is here:")).toBeVisible();
  await expect(answer.locator("strong", { hasText: "here" })).toBeVisible();
  await expect(answer.locator("li code", { hasText: "two" })).toBeVisible();
  await expect(answer.locator(".tool")).toContainText("Read");
  await expect(answer).toHaveAttribute("aria-busy", "true");
  await expect(page.getByLabel("Ask anna")).toHaveValue("");
  await expect(answer.locator(".asked")).toContainText("say ## Found");
  await expect(answer.locator(".prose")).not.toContainText("more");
  await release(kennel, "go");
  await expect(answer.locator(".prose")).toContainText("and <b>more</b> at");
  const link = answer.getByRole("link", { name: "https://example.com/x" });
  await expect(link).toHaveAttribute("rel", /noopener/);
  await expect(link).toHaveAttribute("target", "_blank");
  await expect(answer.locator("[data-verdict=succeeded]")).toContainText("done");
  await expect(answer).toHaveAttribute("aria-busy", "false");
  await expect(answer.locator("footer")).toContainText("10 in · 20 cached · 30 out · $0.5000");
  await expect(page.getByRole("complementary")).toContainText("c-1");
  await expectAccessible(page);
});

test("cancel ends every process of a prompt @phone", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  const before = (await kennel.processes()).length;
  await visit(page, "/members/anna");
  await page.getByLabel("Ask anna").fill("child\nsay on it\nhang");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("article");
  await expect(answer.locator(".prose")).toHaveText("on it");
  // Its keeper, the agent, and two children.
  await expect.poll(async () => (await kennel.processes()).length).toBeGreaterThanOrEqual(before + 3);
  await answer.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText("All processes ended after")).toBeVisible();
  await expect(answer.locator("[data-verdict=cancelled]")).toContainText("no process is left");
  await expect(answer.locator(".prose")).toHaveText("on it");
  await expect.poll(async () => (await kennel.processes()).length).toBe(before);
  await expect(answer.getByRole("button", { name: "Cancel" })).toHaveCount(0);
});

test("a double click on Cancel does not kill", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  await page.getByLabel("Ask anna").fill("deaf\nsay you can't stop me\nhang");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("article");
  await expect(answer.locator(".prose")).toBeVisible();
  const stops: unknown[] = [];
  page.on("request", (request) => void (request.url().endsWith("/stop") && stops.push(request.postDataJSON())));
  await answer.getByRole("button", { name: "Cancel" }).dblclick();
  await expect(answer.getByRole("button", { name: "Kill now" })).toBeEnabled();
  expect(stops).toEqual([{ by: "dashboard" }]);
});

test("Kill now ends an agent that ignores the stop", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  const before = (await kennel.processes()).length;
  await visit(page, "/members/anna");
  await page.getByLabel("Ask anna").fill("deaf\nsay you can't stop me\nhang");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("article");
  await expect(answer.locator(".prose")).toBeVisible();
  await answer.getByRole("button", { name: "Cancel" }).click();
  await expect(answer).toContainText("Ending all processes");
  await answer.getByRole("button", { name: "Kill now" }).click();
  await expect(answer.locator("[data-verdict=cancelled]")).toBeVisible({ timeout: 8_000 });
  await expect.poll(async () => (await kennel.processes()).length).toBe(before);
});

test("a prompt continues after the page is closed", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  await page.getByLabel("Ask anna").fill("say first words\nwait go\nsay , last words");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByRole("article").locator(".prose")).toHaveText("first words");
  await page.reload();
  await expect(page.getByRole("article").locator(".prose")).toHaveText("first words");
  await visit(page, "/plans");
  await release(kennel, "go");
  await expect.poll(async () => (await kennel.api<{ last_verdict: string | null }>("GET", "/v1/members/anna")).last_verdict).toBe("succeeded");
  await visit(page, "/members/anna");
  const history = page.getByRole("region", { name: "Previous prompts" });
  await expect(history.getByText("succeeded")).toBeVisible();
  await history.getByRole("button", { name: /Show the answer/ }).click();
  await expect(page.getByRole("article").getByText("first words, last words")).toBeVisible();
});

test("an answer survives a daemon crash", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  await page.getByLabel("Ask anna").fill("say one\nwait a\nsay , two\nwait b\nsay , three");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("article");
  await expect(answer.locator(".prose")).toHaveText("one");
  await kennel.killDaemon();
  await release(kennel, "a");
  await expect(answer.locator(".prose")).toHaveText("one, two");
  await expect(page.getByRole("heading", { name: "anna" })).toBeVisible();
  await release(kennel, "b");
  await expect(answer.locator("[data-verdict=succeeded]")).toBeVisible();
  await expect(answer.locator(".prose")).toHaveText("one, two, three");
  await expect(page.getByRole("article")).toHaveCount(1);
});

test("a lost response is retried, and the prompt runs once", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  let lost = 0;
  await page.route("**/v1/ask", async (route) => {
    // The request arrives, but the response is lost.
    if (lost++ > 0) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await page.getByLabel("Ask anna").fill("say once");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByRole("article").locator("[data-verdict=succeeded]")).toBeVisible();
  await expect.poll(() => lost).toBe(2);
  await expect(page.getByLabel("Ask anna")).toHaveValue("");
  const { sessions } = await kennel.api<{ sessions: object[] }>("GET", "/v1/sessions?all=true&member=anna");
  expect(sessions).toHaveLength(1);
});

test("queues a prompt for a busy member @phone", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  const first = await ask(kennel, "anna", "say at it\nwait go");
  await visit(page, "/members/anna");
  // Prompts of other clients are shown, too.
  await expect(page.getByRole("article", { name: `Prompt ${first}` }).getByText("at it")).toBeVisible();
  await page.getByLabel("Ask anna").fill("say next");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const refused = page.getByRole("alert").filter({ hasText: "is busy with session" });
  await expect(refused).toContainText(first);
  await expect(page.getByLabel("Ask anna")).toHaveValue("say next");
  await refused.getByRole("button", { name: "Add to queue" }).click();
  const second = page.getByRole("article").filter({ hasText: "Starts automatically" });
  await expect(second).toContainText("queued (position 1)");
  await expect(page.locator(".page-head")).toContainText("1 queued");
  await release(kennel, "go");
  await expect(page.locator("[data-verdict=succeeded]")).toHaveCount(2);
  await expect(page.getByRole("article").first().locator(".prose")).toHaveText("next");
});

test("cancels a queued prompt", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await ask(kennel, "anna", "hang");
  const second = await ask(kennel, "anna", "say never", { queue: true });
  await visit(page, "/members/anna");
  const waiting = page.getByRole("article", { name: `Prompt ${second}` });
  await expect(waiting).toContainText("Starts automatically");
  await waiting.getByRole("button", { name: "Cancel" }).click();
  await expect(waiting.locator("[data-verdict=cancelled]")).toBeVisible();
  await expect(page.locator(".page-head")).toContainText("busy");
});

test("retries provider errors and lists each attempt @phone", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  await page.getByLabel("Ask anna").fill("once first\nonce second\nsay at last");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("article");
  await expect(answer.getByText("Retrying soon")).toBeVisible();
  const earlier = answer.getByRole("list", { name: "Earlier attempts" });
  await expect(earlier).toContainText("overloaded");
  await expect(earlier).toContainText("Overloaded");
  await expect(answer.locator("[data-verdict=succeeded]")).toContainText("after 3 attempts");
  await expect(answer.locator(".turn", { hasText: "Attempt 3" })).toBeVisible();
  await expect(answer.locator(".prose")).toHaveText("at last");
});

test("shows verdicts with evidence and advice", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  await page.getByText("Limits, retries, environment").click();
  await page.getByLabel("Retries").fill("0");
  for (const [prompt, verdict, words] of [
    ["fail 401 Invalid API key", "auth", /rejected the credentials.*Invalid API key/],
    ["fail 529 Overloaded", "overloaded", /provider is overloaded/],
    ["exit 3", "crashed", /ended without a result/],
  ] as const) {
    await page.getByLabel("Ask anna").fill(prompt);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await expect(page.locator(`[data-verdict=${verdict}]`)).toContainText(words);
  }
  await page.getByLabel("Time limit").fill("300ms");
  await page.getByLabel("Ask anna").fill("say slow\nhang");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.locator("[data-verdict=timed_out]")).toContainText("time limit was reached");
  await page.getByLabel("Time limit").fill("soon");
  await page.getByLabel("Ask anna").fill("say x");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByLabel("Time limit")).toHaveAccessibleDescription(/Enter a duration such as/);
  await expectAccessible(page);
});

test("asks an agent without a member, and shows thinking and tools @phone", async ({ page, kennel }) => {
  const bin = await scriptedClaude(kennel);
  await visit(page, "/members");
  await page.getByRole("button", { name: "Ask an agent…" }).click();
  const dialog = page.getByRole("dialog", { name: "Ask an agent" });
  await dialog.getByLabel("Prompt").fill("are there tests?");
  await dialog.getByRole("button", { name: "Send", exact: true }).click();
  await expect(dialog.getByLabel("Folder")).toHaveAccessibleDescription(/Enter a folder/);
  await dialog.getByLabel("Folder").fill(kennel.folder);
  await dialog.getByText("Limits, retries, environment").click();
  await dialog.getByLabel("Environment").fill(`PATH=${bin}:/usr/bin:/bin\nHOME=${join(kennel.folder, "me")}`);
  await dialog.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("article");
  await expect(answer.locator("[data-verdict=succeeded]")).toBeVisible();
  // The agent got the entered environment.
  await expect(answer.locator(".prose")).toContainText(`There are none in ${kennel.folder}/me.`);
  await expect(answer.locator(".tool.failed")).toContainText("Bash");
  await expect(answer.locator(".tool.failed")).toContainText("make test");
  await expect(answer.getByText("Where might the tests be?")).toBeHidden();
  await answer.getByText("Thinking").click();
  await expect(answer.getByText("Where might the tests be?")).toBeVisible();
  await expect(answer.locator("footer")).toContainText("$0.0123");
  await expectAccessible(page);
  await page.reload();
  await expect(page.getByRole("article").locator("[data-verdict=succeeded]")).toBeVisible();
});

test("asks a custom agent", async ({ page, kennel }) => {
  const description = await scriptedAgent(kennel);
  await visit(page, "/members");
  await page.getByRole("button", { name: "Ask an agent…" }).click();
  await page.getByLabel("Agent", { exact: true }).selectOption("described");
  await page.getByLabel("Agent name").fill("mine");
  await page.getByLabel("Folder").fill(kennel.folder);
  await page.getByLabel("Prompt").fill("say described");
  await page.getByLabel("Description").fill("program = 7");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByLabel("Description")).toHaveAccessibleDescription(/string/);
  await page.getByLabel("Description").fill(description);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByRole("article").locator(".prose")).toHaveText("described");
});

test("removes a busy member after stopping its prompts @phone", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  const before = (await kennel.processes()).length;
  const session = await ask(kennel, "anna", "child\nsay busy\nhang");
  await visit(page, "/members/anna");
  await expect(page.getByRole("article").locator(".prose")).toHaveText("busy");
  await page.getByRole("button", { name: "Remove…" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove anna?" });
  await expect(dialog).toContainText(session);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: "Remove…" }).click();
  await page.getByRole("button", { name: "Stop prompts and remove" }).click();
  await expect(page.getByRole("heading", { name: "No members yet" })).toBeVisible();
  await expect(page.getByText("Its prompts were stopped.")).toBeVisible();
  await expect.poll(async () => (await kennel.processes()).length).toBe(before);
});

test("shows that a member does not exist or was removed", async ({ page, kennel }) => {
  await visit(page, "/members/nobody");
  await expect(page.getByRole("heading", { name: "No member named nobody" })).toBeVisible();
  await addMember(kennel, "anna");
  await visit(page, "/members/anna");
  await expect(page.getByLabel("Ask anna")).toBeVisible();
  await kennel.api("DELETE", "/v1/members/anna");
  await expect(page.getByRole("heading", { name: "No member named anna" })).toBeVisible();
  await visit(page, "/members?prompt=0nothing");
  await expect(page.getByRole("alert")).toBeVisible();
});

test("a read-only browser gets no actions", async ({ page, kennel }) => {
  await addMember(kennel, "anna");
  await ask(kennel, "anna", "say looked at\nhang");
  await page.context().clearCookies();
  await page.goto(await kennel.link(true));
  await visit(page, "/members/anna");
  await expect(page.getByRole("article").getByText("looked at")).toBeVisible();
  for (const name of ["Send", "Cancel", "Remove…"]) await expect(page.getByRole("button", { name, exact: true })).toHaveCount(0);
  await visit(page, "/members");
  await expect(page.locator("[data-member=anna]")).toContainText("busy");
  for (const name of ["Ask an agent…", "Add member"]) await expect(page.getByRole("button", { name })).toHaveCount(0);
});
