/**
 * Takes the screenshots of the dashboard for the documentation: `npm run screenshots`.
 *
 * A real daemon runs realistic work: live, ended and failed sessions, a terminal program, members, a plan and a kept worktree.
 * Every page is captured in both themes, and two pages also on a phone.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

import type { Browser, Page } from "@playwright/test";

import { ask, scriptedAgent, addMember } from "./support/agents.ts";
import { Kennel } from "./support/kennel.ts";
import { makeRepository, runInWorktree, startInWorktree } from "./support/repository.ts";
import { expect, test } from "./support/test.ts";

const FOLDER = resolve(import.meta.dirname, "../../docs/screenshots");
const DESKTOP = { viewport: { width: 1360, height: 860 }, deviceScaleFactor: 1 };
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

/** Draws the screen of a coding agent. */
const SCREEN = String.raw`
printf '\033[2J\033[H\033[1;36m● agent\033[0m  ~/code/shop  \033[2mmain\033[0m\r\n\r\n'
printf '\033[1m> The login form loses what was typed when the session is over. Fix it.\033[0m\r\n\r\n'
printf '\033[36m●\033[0m I will look at how the form keeps its state.\r\n\r\n'
printf '\033[33m●\033[0m \033[1mRead\033[0m src/login/form.ts\r\n  \033[2m└ 214 lines\033[0m\r\n'
printf '\033[33m●\033[0m \033[1mBash\033[0m npm test -- login\r\n  \033[2m└ 2 failed, 31 passed\033[0m\r\n\r\n'
printf '\033[36m●\033[0m The draft is dropped in \033[4monExpire\033[0m. It should be kept until the next sign-in:\r\n\r\n'
printf '  \033[31m-   this.draft = null;\033[0m\r\n  \033[32m+   this.drafts.keep(this.draft);\033[0m\r\n\r\n'
printf '\033[35m✻ Running the tests… \033[2m(12 s, esc to interrupt)\033[0m\r\n\r\n'
printf '╭──────────────────────────────────────────────────────────────────────╮\r\n'
printf '│ > \033[7m \033[0m                                                                  │\r\n'
printf '╰──────────────────────────────────────────────────────────────────────╯\r\n'
(sleep 3600 & sleep 3601) & sleep 3600`;

const BUILD = `for step in resolve compile link test; do echo "[$step] begins"; sleep 0.1; echo "[$step] ok"; done; sleep 3600 & (sleep 3601 & sleep 3602) & sleep 3600`;

/** Uses the CPU in bursts. */
const INDEX = "while :; do for pause in 0.3 0.9 1.7; do i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep $pause; done; done";

/** Starts the sessions, members and the plan. */
async function work(kennel: Kennel): Promise<{ plan: string; conversation: string }> {
  const repo = await makeRepository(kennel, "shop");
  const commit = "git -c user.name=A -c user.email=a@localhost commit -q --allow-empty -m 'Keep the draft over a sign-in'";
  await runInWorktree(kennel, repo, "tidy-tests", `echo 1 > notes.md; ${commit}`);
  await startInWorktree(kennel, repo, "fix-search", ["sh", "-c", BUILD]);
  await kennel.cli("run", "-d", "-t", "--name", "fix-login", "--", "sh", "-c", SCREEN);
  await kennel.session(["sh", "-c", BUILD], ["--name", "migrate-db"]);
  await kennel.session(["sh", "-c", "echo 'checking 48 pages'; sleep 3600"], ["--name", "docs-pass"]);
  await kennel.session(["sleep", "3600"], ["--name", "watch-ci"]);
  await kennel.session(["sh", "-c", INDEX], ["--name", "index-code"]);
  // One session fails, and `kennel wait` exits with its status.
  for (const [name, script] of [["lint", "echo clean"], ["bench", "echo 'out of memory' >&2; exit 1"], ["release-notes", "echo done"]] as const) {
    await kennel.cli("wait", await kennel.session(["sh", "-c", script], ["--name", name])).catch(() => undefined);
  }
  for (const member of ["ada", "grace", "edsger"]) await addMember(kennel, member);
  await ask(kennel, "ada", "say All 31 tests pass.\nusage 8200 6100 940 0.041");
  const conversation = await ask(kennel, "grace", "say I look for who calls it.\ntool Grep\ntool Read\nsay Three places; two of them are tests.\nusage 21400 18000 1320 0.087\nhang");
  return { plan: await runPlan(kennel), conversation };
}

async function runPlan(kennel: Kennel): Promise<string> {
  const description = await scriptedAgent(kennel);
  const agent = async (name: string, text: string) => {
    await kennel.api("POST", "/v1/members", { name, cwd: kennel.folder, settings: { agent: "coder", description } });
    return { name, who: { member: name }, prompt: { text } };
  };
  const spec = {
    name: "upgrade-framework",
    stages: [
      { name: "look", agents: [await agent("code", "say 14 uses\nusage 5200 0 310 0.02"), await agent("changelog", "say two breaking changes")] },
      { name: "change", agents: [await agent("backend", "child\nsay changing the routes\nhang"), await agent("frontend", "say changing the forms\nhang")] },
      { name: "review", agents: [await agent("reviewer", "say looks good")] },
    ],
  };
  const { id } = await kennel.api<{ id: string }>("POST", "/v1/plans", { cwd: kennel.folder, spec });
  return id;
}

async function take(page: Page, path: string, name: string): Promise<void> {
  await page.goto(new URL(path, page.url()).href);
  await expect(page.getByRole("heading", { level: 1 }).first()).toBeVisible();
  await expect(page.locator("main .state .spinner")).toHaveCount(0);
  // Wait for fonts and the terminal.
  await page.evaluate(() => document.fonts.ready);
  await page.waitForLoadState("networkidle", { timeout: 2000 }).catch(() => undefined);
  await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: "disabled" });
}

async function signedIn(browser: Browser, kennel: Kennel, options: object): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  await page.goto(await kennel.link());
  await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
  return page;
}

test("screenshots of every page", async ({ browser, kennel }) => {
  test.setTimeout(300_000);
  await mkdir(FOLDER, { recursive: true });
  const { plan, conversation } = await work(kennel);
  const pages: Record<string, string> = {
    terminal: "/sessions/fix-login",
    session: "/sessions/migrate-db",
    conversation: `/sessions/${conversation}`,
    members: "/members",
    plans: "/plans",
    plan: `/plans/${plan}`,
    strays: "/strays",
    worktrees: "/worktrees",
    events: "/events",
    doctor: "/doctor",
    // The last one, so that there is usage to show.
    sessions: "/sessions",
  };
  const first = await signedIn(browser, kennel, DESKTOP);
  await first.goto(new URL(`/plans/${plan}`, first.url()).href);
  await expect(first.locator("[data-agent=frontend]")).toContainText("running");
  await first.context().close();
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await signedIn(browser, kennel, { ...DESKTOP, colorScheme });
    for (const [name, path] of Object.entries(pages)) await take(page, path, `${name}-${colorScheme}`);
    await page.context().close();
    const phone = await signedIn(browser, kennel, { ...PHONE, colorScheme });
    for (const name of ["sessions", "terminal"] as const) await take(phone, pages[name] ?? "/", `phone-${name}-${colorScheme}`);
    await phone.context().close();
  }
});
