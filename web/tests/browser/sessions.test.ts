import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { type Kennel, PROGRAM } from "../support/kennel.ts";
import { expect, expectAccessible, test } from "../support/test.ts";

const row = (page: Page, name: string) => page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
const dialog = (page: Page) => page.getByRole("dialog");

/** Starts sleeping sessions with these names. */
async function naps(kennel: Kennel, ...names: string[]): Promise<void> {
  await Promise.all(names.map((name) => kennel.session(["sleep", "1000"], ["--name", name])));
}

test("explains how to start the first session @phone", async ({ page }) => {
  await expect(page.getByText("No sessions yet")).toBeVisible();
  await expect(page.getByText(/^kennel run -d/)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Start a session" }).click();
  await expect(dialog(page)).toContainText("New session");
});

test("shows started and ended sessions @phone", async ({ page, kennel }) => {
  await naps(kennel, "nap");
  await expect(row(page, "nap")).toContainText("running");
  await expect(row(page, "nap").getByRole("img", { name: /^Memory usage \d/ })).toBeVisible();
  await kennel.session(["sh", "-c", "exit 3"], ["--name", "bad"]);
  await page.getByRole("button", { name: /^All/ }).click();
  await expect(row(page, "bad")).toContainText("failed (code 3)");
  await page.getByRole("button", { name: /^Live/ }).click();
  await expect(row(page, "bad")).toHaveCount(0);
  await kennel.cli("stop", "nap");
  await expect(page.getByText("No live sessions")).toBeVisible();
  await page.getByRole("button", { name: "Show 2 ended sessions" }).click();
  await expect(row(page, "nap")).toContainText("stopped");
});

test("the list is accessible @phone", async ({ page, kennel }) => {
  await kennel.session(["sh", "-c", `"${PROGRAM}" report busy; "${PROGRAM}" report progress 42; "${PROGRAM}" report title Mending; sleep 1000`], ["--name", "busy"]);
  await kennel.session(["sh", "-c", "exit 3"], ["--name", "bad"]);
  await page.getByRole("button", { name: /^All/ }).click();
  await expect(row(page, "busy")).toContainText("Mending");
  if (!page.viewportSize() || page.viewportSize()!.width > 760) await expect(row(page, "busy")).toContainText("busy 42%");
  await row(page, "bad").getByRole("checkbox").check();
  await expectAccessible(page);
});

test("filters are collapsed on phones @phone", async ({ page, kennel }) => {
  const isPhone = page.viewportSize()!.width < 760;
  await naps(kennel, "one", "two");
  const phase = page.getByRole("combobox", { name: "Phase" });
  await kennel.cli("stop", "one");
  await page.getByRole("button", { name: /^All/ }).click();
  const open = page.getByRole("button", { name: /^Filter and sort/ });
  if (isPhone) {
    await expect(phase).toBeHidden();
    await open.click();
    await expectAccessible(page);
  } else {
    await expect(open).toBeHidden();
  }
  await phase.selectOption("running");
  await expect(row(page, "one")).toHaveCount(0);
  await expect(row(page, "two")).toBeVisible();
  if (isPhone) {
    await open.click();
    await expect(phase).toBeHidden();
    await expect(open).toHaveAccessibleName("Filter and sort (1 active)");
  }
});

test("keeps the search in the URL @phone", async ({ page, kennel }) => {
  await naps(kennel, "api-one", "api-two", "other");
  await expect(row(page, "other")).toBeVisible();
  await page.getByRole("searchbox").fill("api sleep");
  await expect(row(page, "other")).toHaveCount(0);
  await expect(page).toHaveURL(/q=api/);
  await page.reload();
  await expect(page.getByRole("searchbox")).toHaveValue("api sleep");
  await expect(row(page, "api-one")).toBeVisible();
  await expect(row(page, "other")).toHaveCount(0);
  await page.getByRole("searchbox").fill("nowhere");
  await expect(page.getByText("No matching sessions")).toBeVisible();
  await page.getByRole("button", { name: "Clear search" }).click();
  await expect(row(page, "other")).toBeVisible();
});

test("sorts by column", async ({ page, kennel }) => {
  for (const name of ["bee", "cat", "ant"]) await naps(kennel, name);
  const names = () => page.locator(".cell-name a").allTextContents();
  await expect.poll(names).toEqual(["ant", "cat", "bee"]);
  const head = page.getByRole("columnheader", { name: "Session" });
  await head.getByRole("button").click();
  await expect(head).toHaveAttribute("aria-sort", "ascending");
  await expect.poll(names).toEqual(["ant", "bee", "cat"]);
  await head.getByRole("button").click();
  await expect(head).toHaveAttribute("aria-sort", "descending");
  await expect.poll(names).toEqual(["cat", "bee", "ant"]);
  await expect(page).toHaveURL(/sort=-name/);
});

test("supports keyboard navigation and selection", async ({ page, kennel }) => {
  for (const name of ["three", "two", "one"]) await naps(kennel, name);
  await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", "4");
  await page.keyboard.press("j");
  await expect(row(page, "one")).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(row(page, "two")).toBeFocused();
  await page.keyboard.press("x");
  await expect(row(page, "two")).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Shift+ArrowDown");
  await expect(page.getByRole("region", { name: "Selection" })).toContainText("2 selected");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("region", { name: "Selection" })).toBeHidden();
  await page.keyboard.press("Space");
  await expect(row(page, "three")).toHaveAttribute("aria-selected", "true");
  await row(page, "one").getByRole("checkbox").click({ modifiers: ["Shift"] });
  await expect(page.getByRole("region", { name: "Selection" })).toContainText("3 selected");
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox")).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/sessions\/\w+$/);
});

test("stops several sessions and reports the outcome @phone", async ({ page, kennel }) => {
  await naps(kennel, "a", "b");
  await kennel.session(["sh", "-c", "sleep 1000 & sleep 1000 & wait"], ["--name", "tree"]);
  await kennel.session(["sleep", "1000"], ["--name", "stays"]);
  for (const name of ["a", "b", "tree"]) await row(page, name).getByRole("checkbox").check();
  await page.getByRole("button", { name: "Stop 3 sessions" }).click();
  await expect(dialog(page)).toContainText("5 running processes will be ended");
  await expectAccessible(page);
  await dialog(page).getByRole("button", { name: "Stop 3 sessions" }).click();
  await expect(dialog(page)).toContainText(/3 sessions stopped, 5 processes ended, pens empty, [\d.]+ m?s/);
  await expect(dialog(page).getByText(/stopped in/)).toHaveCount(3);
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await expect(row(page, "tree")).toHaveCount(0);
  await expect(row(page, "stays")).toContainText("running");
  await expect(page.getByRole("region", { name: "Selection" })).toBeHidden();
});

test("stopping many stubborn sessions does not block the page", async ({ page, kennel }) => {
  const deaf = Array.from({ length: 12 }, (_, at) => `deaf-${at}`);
  const ids = await Promise.all(deaf.map((name) => kennel.session(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.5; done"], ["--name", name, "--grace", "1h"])));
  for (const id of ids) await expect.poll(() => kennel.cli("logs", id)).toBe("up");
  await page.keyboard.press("j");
  await page.getByRole("checkbox", { name: "Select all" }).check();
  await page.getByRole("button", { name: "Stop 12 sessions" }).click();
  await dialog(page).getByRole("button", { name: "Stop 12 sessions" }).click();
  const phases = async () => (await kennel.api<{ sessions: { phase: string }[] }>("GET", "/v1/sessions")).sessions.map(({ phase }) => phase);
  await expect.poll(phases).toEqual(deaf.map(() => "stopping"));
  await dialog(page).getByRole("button", { name: "Continue in background" }).click();
  // Meanwhile the page works: kill one of them.
  await page.getByRole("link", { name: "deaf-3" }).click();
  await page.getByRole("button", { name: "Stop now…" }).click();
  await dialog(page).getByRole("button", { name: "Stop session" }).click();
  await expect(dialog(page).getByRole("status")).toContainText("1 session stopped");
  await kennel.cli("stop", "--now", ...deaf.filter((name) => name !== "deaf-3"));
  await expect(page.getByText(/^12 sessions stopped/)).toBeVisible();
});

test("a stop does not affect a later launch", async ({ page, kennel }) => {
  const script = "rm -f go; trap 'while [ ! -e go ]; do sleep 0.05; done; exit' TERM; echo up; while :; do sleep 0.05; done";
  const id = await kennel.session(["sh", "-c", script], ["--name", "again"]);
  await expect.poll(() => kennel.cli("logs", id)).toBe("up");
  // The page learns about the end late, when there is another launch.
  let asked = 0;
  await page.route("**/stop", async (route) => {
    if ((asked += 1) === 2) {
      await writeFile(join(kennel.folder, "go"), "");
      await kennel.cli("wait", id).catch(() => {});
      await kennel.api("POST", `/v1/sessions/${id}/resume`, {});
    }
    await route.continue();
  });
  await row(page, "again").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Stop 1 session" }).click();
  await dialog(page).getByRole("button", { name: "Stop session" }).click();
  await expect(dialog(page).getByRole("status")).toContainText("1 session stopped");
  expect(asked).toBeGreaterThan(1);
  expect(await kennel.api("GET", `/v1/sessions/${id}`)).toMatchObject({ attempt: 2, phase: "running" });
});

test("a stop survives a daemon crash", async ({ page, kennel }) => {
  await kennel.session(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"], ["--name", "deaf"]);
  await row(page, "deaf").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Stop 1 session" }).click();
  await dialog(page).getByLabel("Grace period in seconds").fill("3");
  await dialog(page).getByRole("button", { name: "Stop session" }).click();
  await expect(row(page, "deaf")).toContainText("stopping");
  await kennel.killDaemon();
  await expect(dialog(page).getByRole("status")).toContainText(/1 session stopped|already ended/, { timeout: 30_000 });
});

test("names processes that could not be ended", async ({ page, kennel }) => {
  await naps(kennel, "stuck");
  const session = await kennel.api("GET", "/v1/sessions/stuck");
  const survivors = [{ pid: 4711, name: "mounter", why: "uninterruptible" }];
  await page.route("**/v1/sessions/*/stop", (route) => route.fulfill({ json: { result: "still_alive", session, survivors, took_ms: 10 } }));
  await row(page, "stuck").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Stop 1 session" }).click();
  await dialog(page).getByLabel("None: SIGKILL immediately").check();
  const request = page.waitForRequest("**/stop");
  await dialog(page).getByRole("button", { name: "Stop session" }).click();
  expect((await request).postDataJSON()).toMatchObject({ by: "dashboard", now: true });
  await expect(dialog(page)).toContainText("mounter (4711): uninterruptible");
  await expect(dialog(page)).toContainText("1 session still alive with 1 process");
});

test("removes ended sessions by selection and by prune @phone", async ({ page, kennel }) => {
  for (const name of ["one", "two", "three"]) await kennel.cli("run", "--name", name, "--", "true");
  await naps(kennel, "lives");
  await page.goto(new URL("/sessions?show=ended", page.url()).href);
  await row(page, "two").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Remove 1 session" }).click();
  await dialog(page).getByRole("button", { name: "Remove session" }).click();
  await expect(row(page, "two")).toHaveCount(0);
  await expect(row(page, "one")).toBeVisible();
  await page.getByRole("button", { name: "Prune…" }).click();
  await expect(dialog(page)).toContainText("2 sessions will be removed");
  await expectAccessible(page);
  await dialog(page).getByRole("button", { name: "Remove 2 sessions" }).click();
  await expect(page.getByText("No ended sessions")).toBeVisible();
  const { sessions } = await kennel.api<{ sessions: { name: string }[] }>("GET", "/v1/sessions?all=true");
  expect(sessions.map(({ name }) => name)).toEqual(["lives"]);
});

test("prune removes only the sessions of the preview", async ({ page, kennel }) => {
  await kennel.cli("run", "--name", "over", "--", "true");
  await naps(kennel, "lives");
  await page.getByRole("button", { name: "Prune…" }).click();
  await expect(dialog(page)).toContainText("1 session will be removed");
  await kennel.cli("stop", "lives");
  await expect(page.getByRole("button", { name: /^Ended/, includeHidden: true })).toContainText("2");
  await dialog(page).getByRole("button", { name: "Remove 1 session" }).click();
  await expect(page.getByText("1 session removed")).toBeVisible();
  const { sessions } = await kennel.api<{ sessions: { name: string }[] }>("GET", "/v1/sessions?all=true");
  expect(sessions.map(({ name }) => name)).toEqual(["lives"]);
});

test("retries loading the browser’s scope", async ({ page }) => {
  let asked = 0;
  await page.route("**/v1/access/me", (route) => ((asked += 1) === 1 ? route.fulfill({ status: 503, body: "" }) : route.continue()));
  let letThrough = () => {};
  const held = new Promise<void>((let_) => (letThrough = let_));
  await page.routeWebSocket(/\/v1\/events/, async (socket) => (await held, void socket.connectToServer()));
  await page.reload();
  await expect.poll(() => asked).toBe(1);
  letThrough();
  await expect(page.getByRole("button", { name: "New session" })).toBeVisible();
});

test("a read-only browser gets no actions", async ({ browser, kennel }) => {
  await naps(kennel, "nap");
  const page = await browser.newPage();
  await page.goto(await kennel.link(true));
  await expect(row(page, "nap")).toBeVisible();
  await row(page, "nap").getByRole("checkbox").check();
  await expect(page.getByRole("button", { name: /Stop|New session|Prune/ })).toHaveCount(0);
  await page.keyboard.press("n");
  await expect(dialog(page)).toHaveCount(0);
  await page.close();
});

test("the list survives a daemon crash", async ({ page, kennel }) => {
  await naps(kennel, "before");
  await expect(row(page, "before")).toBeVisible();
  await kennel.killDaemon();
  await expect(row(page, "before")).toBeVisible();
  await kennel.session(["sleep", "1000"], ["--name", "after"]);
  await expect(row(page, "after")).toContainText("running");
});
