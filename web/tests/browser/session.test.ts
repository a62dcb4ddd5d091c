import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { ask, addMember } from "../support/agents.ts";
import type { Kennel } from "../support/kennel.ts";
import { expect, expectAccessible, test } from "../support/test.ts";

/** A shell with a child, a grandchild, and a daemon without a parent. */
const FAMILY = ["sh", "-c", 'sleep 1000 & (setsid sleep 2000 &) ; sh -c "sleep 3000; :" & wait'];

interface Inspected {
  session: { id: string; phase: string; pid: number };
  members: { pid: number; command: string }[];
}

async function open(page: Page, reference: string, tab?: string): Promise<void> {
  await page.goto(new URL(`/sessions/${reference}${tab ? `?tab=${tab}` : ""}`, page.url()).href);
}

function inspect(kennel: Kennel, id: string): Promise<Inspected> {
  return kennel.api("GET", `/v1/sessions/${id}/inspect`);
}

/** Starts a session with open standard input. */
async function withInput(kennel: Kennel, script: string): Promise<string> {
  const body = { argv: ["sh", "-c", script], cwd: kennel.folder, stdin: "pipe" };
  return (await kennel.api<{ id: string }>("POST", "/v1/sessions", body)).id;
}

function sendLine(kennel: Kennel, id: string, line: string): Promise<unknown> {
  return kennel.api("POST", `/v1/sessions/${id}/input`, { hex: Buffer.from(`${line}\n`).toString("hex") });
}

const state = (page: Page) => page.getByRole("status", { name: "State" });
const outcome = (page: Page) => page.getByTestId("outcome");
const tree = (page: Page) => page.getByRole("tree", { name: "Processes in the pen" });
const action = (page: Page, name: string) => page.getByRole("group", { name: "Actions" }).getByRole("button", { name, exact: true });
const toast = (page: Page, text: string | RegExp) => page.locator(".toast").filter({ hasText: text });

test("shows the main facts, and is found by name @phone", async ({ kennel, page }) => {
  const id = await kennel.session(["sleep", "1000"], ["--name", "nap"]);
  await open(page, "nap");
  await expect(page.getByRole("heading", { name: "nap", level: 1 })).toBeVisible();
  await expect(state(page)).toHaveText("running");
  const head = page.locator(".session-head");
  await expect(head.getByText("sleep 1000")).toBeVisible();
  await expect(head.getByText(id)).toBeVisible();
  await expect(head.getByText(kennel.folder)).toBeVisible();
  await expect(head.getByText(/kennel run \(user/)).toBeVisible();
  await expectAccessible(page);
});

test("shows processes as a tree with re-parented ones apart @phone", async ({ kennel, page }) => {
  const id = await kennel.session(FAMILY);
  await expect.poll(async () => (await inspect(kennel, id)).members.length).toBe(5);
  await open(page, id, "processes");
  const items = tree(page).getByRole("treeitem");
  await expect(items).toHaveCount(6);
  await expect(items.nth(0)).toContainText("agent");
  await expect(items.filter({ hasText: "sleep 3000" }).last()).toHaveAttribute("aria-level", "3");
  await expect(items.nth(4)).toContainText("Re-parented");
  await expect(items.nth(5)).toContainText("sleep 2000");
  await expect(items.nth(5)).toHaveAttribute("aria-level", "2");
  await expect(page.locator(".pen-line")).toContainText("Pen:");
  // Keyboard: collapse and move.
  await items.nth(0).focus();
  await page.keyboard.press("ArrowLeft");
  await expect(items).toHaveCount(3);
  await expect(items.nth(0)).toHaveAttribute("aria-expanded", "false");
  await page.keyboard.press("ArrowDown");
  await expect(items.nth(1)).toBeFocused();
  await page.keyboard.press("End");
  await expect(items.nth(2)).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect(items.nth(1)).toBeFocused();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await expect(items).toHaveCount(6);
  await expectAccessible(page);
});

test("highlights new and ended processes", async ({ kennel, page }) => {
  const id = await withInput(kennel, "read a; sleep 1234 & read b; kill $!; wait; read c");
  await open(page, id, "processes");
  await expect(tree(page).getByRole("treeitem")).toHaveCount(1);
  await sendLine(kennel, id, "go");
  const sleeper = tree(page).getByRole("treeitem").filter({ hasText: "sleep 1234" }).filter({ hasText: "PID" }).last();
  await expect(sleeper).toContainText("new");
  await expect(page.locator("[data-count]")).toHaveText("2 processes");
  await sendLine(kennel, id, "go");
  await expect(page.getByRole("list", { name: "Just ended" })).toContainText("sleep");
  await expect(tree(page).getByRole("treeitem")).toHaveCount(1);
  await expect(page.getByRole("list", { name: "Just ended" })).toHaveCount(0);
});

test("a stop ends the whole process tree @phone", async ({ kennel, page }) => {
  const id = await kennel.session(FAMILY);
  await expect.poll(async () => (await inspect(kennel, id)).members.length).toBe(5);
  const pids = (await inspect(kennel, id)).members.map((member) => member.pid);
  await open(page, id);
  await action(page, "Stop…").click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("5 running processes");
  await dialog.getByRole("button", { name: "Stop session" }).click();
  await expect(dialog.getByRole("status")).toContainText("pen empty");
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect(state(page)).toHaveText("stopped");
  await expect(outcome(page)).toContainText(/stopped by .*All processes ended, and the pen was empty, .* after the stop/);
  for (const pid of pids) await expect(readFile(`/proc/${pid}/stat`)).rejects.toThrow();
  await expect(action(page, "Stop…")).toHaveCount(0);
});

test("Stop now does not wait for a process that ignores SIGTERM", async ({ kennel, page }) => {
  const id = await withInput(kennel, "trap '' TERM; read a; read b");
  await open(page, id);
  await action(page, "Stop now…").click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("radio", { name: /SIGKILL immediately/ })).toBeChecked();
  await dialog.getByRole("button", { name: "Stop session" }).click();
  await expect(dialog.getByRole("status")).toContainText("1 session stopped");
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect(outcome(page)).toContainText("Killed by SIGKILL");
});

test("the key x opens the stop dialog", async ({ kennel, page }) => {
  const id = await kennel.session(["sleep", "1000"]);
  await open(page, id);
  await expect(state(page)).toHaveText("running");
  await page.keyboard.press("x");
  await expect(page.getByRole("dialog")).toContainText("Stop");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(state(page)).toHaveText("running");
});

test("sends a signal @phone", async ({ kennel, page }) => {
  const id = await withInput(kennel, "trap 'echo got it > seen' USR1; touch up; while :; do read line; done");
  await expect.poll(() => readFile(join(kennel.folder, "up"), "utf8").catch(() => null)).toBe("");
  await open(page, id);
  await action(page, "Signal…").click();
  await page.getByRole("dialog").getByRole("radio", { name: /SIGUSR1/ }).check();
  await expectAccessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  await expect(toast(page, "Sent SIGUSR1")).toBeVisible();
  await expect.poll(() => readFile(join(kennel.folder, "seen"), "utf8").catch(() => null)).toBe("got it\n");
});

test("keeps showing the same session when another takes its name", async ({ kennel, page }) => {
  const first = await kennel.session(["sleep", "1000"], ["--name", "worker"]);
  await page.goto(new URL("/sessions/worker?tab=timeline", page.url()).href);
  await expect(page).toHaveURL(new RegExp(`/sessions/${first}\\?tab=timeline$`));
  await action(page, "Signal…").click();
  const dialog = page.getByRole("dialog", { name: `Send signal to worker (${first})` });
  await expect(dialog).toBeVisible();
  await kennel.cli("stop", first);
  await kennel.session(["sleep", "1000"], ["--name", "worker"]);
  await expect(state(page)).toContainText("stopped");
  await dialog.getByRole("button", { name: "Send" }).click();
  await expect(dialog.getByRole("alert")).toContainText("Couldn’t send the signal");
});

test("hides actions that do not apply", async ({ kennel, page }) => {
  await open(page, await kennel.session(["sleep", "1000"]));
  await expect(action(page, "Signal…")).toBeVisible();
  await expect(action(page, "Resume…")).toHaveCount(0);
  await expect(action(page, "Remove…")).toHaveCount(0);
});

test("resumes a session with the entered environment @phone", async ({ kennel, page }) => {
  const id = await kennel.session(["sh", "-c", 'echo "word: $WORD" >> words; test "$WORD" = "a b" && exec sleep 1000']);
  await open(page, id);
  await expect(state(page)).toHaveText("failed (code 1)");
  await action(page, "Resume…").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Environment").fill("nonsense");
  await expect(dialog.getByText("expected NAME=value")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Resume" })).toBeDisabled();
  await dialog.getByLabel("Environment").fill("WORD=a b");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Resume" }).click();
  await expect(toast(page, "Resumed (launch 2)")).toBeVisible();
  await expect(state(page)).toHaveText("running");
  await expect(page.locator(".session-head")).toContainText(`${id}_2`);
  expect(await readFile(join(kennel.folder, "words"), "utf8")).toBe("word: \nword: a b\n");
  // The earlier launch is still shown, without actions.
  await page.getByRole("link", { name: "Launch 1", exact: true }).click();
  await expect(page.getByText("This is launch 1. The session has a later launch")).toBeVisible();
  await expect(state(page)).toHaveText("failed (code 1)");
  await expect(page.getByRole("group", { name: "Actions" })).toHaveCount(0);
  await page.getByRole("link", { name: /show the latest/ }).click();
  await expect(state(page)).toHaveText("running");
});

test("lists failed launches, and a stop cancels the next restart @phone", async ({ kennel, page }) => {
  const id = await kennel.session(["sh", "-c", "exit 3"], ["--restart", "on-failure:20"]);
  await open(page, id, "launches");
  const rows = page.getByRole("row").filter({ hasText: "exited with code 3" });
  await expect.poll(() => rows.count()).toBeGreaterThan(1);
  await expect(state(page)).toHaveText("restart pending");
  await expectAccessible(page);
  await action(page, "Stop…").click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop session" }).click();
  await expect(page.getByRole("dialog").getByRole("status")).toBeVisible();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await expect(outcome(page)).toContainText("The next restart was cancelled");
  await expect(action(page, "Resume…")).toBeEnabled();
});

test("the timeline shows events live @phone", async ({ kennel, page }) => {
  const id = await kennel.session(["sleep", "1000"]);
  await open(page, id, "timeline");
  const events = page.locator(".timeline > li[data-kind]");
  await expect(events.filter({ hasText: "Running" }).locator(".foreign").first()).not.toBeEmpty();
  await expect(events.first()).toContainText("by kennel run");
  await expect(events.nth(1)).toContainText(/\d\d:\d\d:\d\d\.\d{3}/);
  await expect(events.nth(1)).toContainText(/\+\d+(\.\d)? m?s/);
  await expect(page.locator(".timeline .goes-on")).toContainText("so far");
  await kennel.cli("stop", id);
  await expect(events.filter({ hasText: "Stop requested" })).toBeVisible();
  await expect(events.filter({ hasText: "All processes ended" })).toBeVisible();
  await expect(page.locator(".timeline .goes-on")).toHaveCount(0);
  await expectAccessible(page);
});

test("catches up with events before the stream connected", async ({ kennel, page }) => {
  // A wider page would show processes and poll every second.
  await page.setViewportSize({ width: 1000, height: 800 });
  const id = await kennel.session(["sleep", "1000"]);
  let letThrough = () => {};
  const held = new Promise<void>((let_) => (letThrough = let_));
  await page.routeWebSocket(/\/v1\/events/, async (socket) => (await held, void socket.connectToServer()));
  await open(page, id, "timeline");
  const events = page.locator(".timeline > li[data-kind]");
  await expect(events.filter({ hasText: "Running" })).toBeVisible();
  await kennel.cli("stop", id);
  await expect(events.filter({ hasText: "Stop requested" })).toHaveCount(0);
  letThrough();
  await expect(events.filter({ hasText: "All processes ended" })).toBeVisible();
});

test("marks stale content and retries", async ({ kennel, page }) => {
  const id = await kennel.session(FAMILY);
  await open(page, id);
  await expect(tree(page).getByRole("treeitem")).toHaveCount(6);
  let isAway = true;
  await page.route("**/inspect", (route) => (isAway ? route.fulfill({ status: 503, body: "" }) : route.continue()));
  await kennel.cli("stop", id);
  await expect(state(page)).toHaveText("stopped");
  await expect(page.getByText("may be out of date")).toBeVisible();
  isAway = false;
  await expect(page.getByText("may be out of date")).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Processes" })).toContainText("All processes of this launch have ended");
});

test("loads the timeline of an earlier launch on demand", async ({ kennel, page }) => {
  const id = await kennel.session(["false"]);
  await kennel.cli("wait", id).catch(() => {});
  await kennel.api("POST", `/v1/sessions/${id}/resume`, {});
  await open(page, id, "timeline");
  await page.getByText("Launch 1 failed (code 1)").click();
  await expect(page.locator(".former .timeline > li").filter({ hasText: "Agent exited" })).toContainText("exited with code 1");
});

test("shows resource usage as charts and values @phone", async ({ kennel, page }) => {
  const id = await kennel.session(["sh", "-c", "sleep 1000 & while :; do :; done"]);
  await open(page, id, "resources");
  const measure = (name: string) => page.locator(`[data-measure="${name}"]`);
  await expect(measure("Processes")).toHaveText("now 2 peak 2");
  await expect(measure("Memory")).toHaveText(/now .* (kB|MB) peak .* (kB|MB)/);
  await expect(measure("CPU")).toHaveText(/now [\d.]+ % peak [1-9][\d.]* %/);
  await expect(page.locator(".chart canvas")).toHaveCount(3);
  await expectAccessible(page);
});

test("shows settings and pending cleanup @phone", async ({ kennel, page }) => {
  const id = await kennel.session(["sleep", "1000"], ["--grace", "3s", "--restart", "on-failure:4", "--timeout", "2h"]);
  await open(page, id, "details");
  await expect(page.getByText("SIGTERM, then SIGKILL after 3 s")).toBeVisible();
  await expect(page.getByText("on failure, up to 4 times")).toBeVisible();
  await expect(page.getByText("2 h", { exact: true })).toBeVisible();
  await expect(page.getByText("Removed when the session ends: runtime files")).toBeVisible();
  await expectAccessible(page);
  await kennel.cli("stop", id);
  await expect(page.getByText(/Nothing pending: every process has ended/)).toBeVisible();
});

test("shows why a launch failed", async ({ kennel, page }) => {
  const made = await kennel.api<{ id: string }>("POST", "/v1/sessions?until=accepted", { argv: ["/no/such/program"], cwd: kennel.folder });
  await open(page, made.id);
  await expect(outcome(page)).toContainText("launch failed");
  await expect(outcome(page)).toContainText("/no/such/program");
});

test("removes an ended session @phone", async ({ kennel, page }) => {
  const id = await kennel.session(["true"], ["--name", "short"]);
  await open(page, id);
  await expect(state(page)).toHaveText("done");
  await action(page, "Remove…").click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(toast(page, "Removed short")).toBeVisible();
  await expect(page).toHaveURL(/\/sessions$/);
  await open(page, id);
  await expect(page.getByRole("heading", { name: "Session not found" })).toBeVisible();
  await expectAccessible(page);
});

test("shows that the session was removed", async ({ kennel, page }) => {
  const id = await kennel.session(["true"], ["--name", "short"]);
  await open(page, id);
  await expect(state(page)).toHaveText("done");
  await kennel.cli("rm", id);
  await expect(page.getByRole("heading", { name: "This session was removed" })).toBeVisible();
  await expect(toast(page, "short was removed")).toBeVisible();
});

test("removes a kept worktree after listing its unmerged work @phone", async ({ kennel, page }) => {
  const git = "git -c user.name=a -c user.email=a@example.com";
  await kennel.cli("run", "--", "sh", "-c", `git init -q repo && cd repo && ${git} commit -q --allow-empty -m one`);
  const script = `echo 1 > new.txt; ${git} commit -q --allow-empty -m "Mend it"`;
  const id = await kennel.cli("run", "-d", "--cwd", join(kennel.folder, "repo"), "--worktree", "--", "sh", "-c", script);
  await open(page, id, "worktree");
  const part = page.getByRole("region", { name: "Worktree" });
  await expect(part.getByText("kept", { exact: true })).toBeVisible();
  await expect(part).toContainText(`kennel/${id}`);
  await expect(part).toContainText("1 commit is on no other branch");
  await expect(action(page, "Remove…")).toBeDisabled();
  await expect(action(page, "Remove…")).toHaveAttribute("title", /worktree is kept/);
  await expectAccessible(page);
  await part.getByRole("button", { name: "Remove worktree…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Mend it");
  await expect(dialog).toContainText("new.txt");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Remove anyway" }).click();
  await expect(toast(page, "Removed the worktree")).toContainText("1 commit is on no other branch");
  await expect(part.getByText("removed", { exact: true })).toBeVisible();
  await expect(action(page, "Remove…")).toBeEnabled();
});

test("links child and parent sessions", async ({ kennel, page }) => {
  const { PROGRAM } = await import("../support/kennel.ts");
  const id = await kennel.session(["sh", "-c", `${PROGRAM} run -d --name young -- sleep 1000; exec sleep 1000`], ["--name", "old"]);
  await open(page, id);
  await page.getByRole("link", { name: /young/ }).click();
  await expect(page.getByRole("heading", { name: "young", level: 1 })).toBeVisible();
  await page.getByRole("link", { name: /^old/ }).click();
  await expect(page.getByRole("heading", { name: "old", level: 1 })).toBeVisible();
});

test("releases an adopted process", async ({ kennel, page }) => {
  const { spawn } = await import("node:child_process");
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  try {
    const { session } = await kennel.api<{ session: { id: string } }>("POST", "/v1/adopt", { pid: child.pid, name: "found" });
    await open(page, session.id);
    await expect(page.getByText("adopted from a terminal")).toBeVisible();
    await action(page, "Release…").click();
    await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
    await expect(toast(page, "Session released")).toBeVisible();
    await expect(action(page, "Release…")).toHaveCount(0);
    expect(child.exitCode).toBeNull();
  } finally {
    child.kill("SIGKILL");
  }
});

test("the page survives a daemon crash", async ({ kennel, page }) => {
  const id = await withInput(kennel, "read a; sleep 1234 & read b");
  await open(page, id, "timeline");
  await expect(state(page)).toHaveText("running");
  await expect(tree(page).getByRole("treeitem")).toHaveCount(1);
  const { pid } = (await inspect(kennel, id)).session;
  await kennel.killDaemon();
  await expect(page.locator('[data-state="back"]')).toBeVisible();
  await expect(page.locator(".timeline > li[data-kind=adopted]")).toBeVisible();
  await expect(state(page)).toHaveText("running");
  await expect(tree(page).locator(`[data-pid="${pid}"]`)).toBeVisible();
  // Later changes are shown, and a stop works.
  await sendLine(kennel, id, "go");
  await expect(tree(page).getByRole("treeitem").filter({ hasText: "sleep 1234" }).last()).toHaveAttribute("aria-level", "2");
  await action(page, "Stop…").click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop session" }).click();
  await expect(page.getByRole("dialog").getByRole("status")).toContainText("1 session stopped");
});

test("a read-only browser gets no actions", async ({ kennel, browser }) => {
  const id = await kennel.session(["sleep", "1000"]);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(await kennel.link(true));
  await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
  await open(page, id);
  await expect(state(page)).toHaveText("running");
  await expect(page.getByText("read-only")).toBeVisible();
  await expect(page.getByRole("group", { name: "Actions" })).toHaveCount(0);
  await context.close();
});

test("shows a prompt live and stops it @phone", async ({ kennel, page }) => {
  await addMember(kennel, "grace");
  const id = await ask(kennel, "grace", "say I look for **who** calls it.\ntool Grep\nhang");
  await open(page, id);
  const course = page.getByRole("article", { name: `Prompt ${id}` });
  await expect(course).toContainText("I look for who calls it.");
  await expect(course.locator("strong", { hasText: "who" })).toBeVisible();
  await expect(course).toContainText("Grep");
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Output" }).click();
  await expect(page.getByRole("region", { name: "Session output" })).toContainText("I look for **who** calls it.");
  await page.getByRole("tab", { name: "Answer" }).click();
  await action(page, "Stop now…").click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop session" }).click();
  await expect(page.getByRole("dialog").getByRole("status")).toContainText("1 session stopped");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("cancelled");
});

test("shows the answer, verdict and earlier attempts @phone", async ({ kennel, page }) => {
  const { FAKE_AGENT } = await import("../support/kennel.ts");
  const { copyFile, mkdir } = await import("node:fs/promises");
  const folder = (name: string) => join(kennel.folder, name);
  await mkdir(folder("bin"));
  await mkdir(folder("script"));
  await copyFile(FAKE_AGENT, folder("bin/claude"));
  await writeFile(folder("script/script"), "overloaded\ntool ok All tests pass.\n");
  Object.assign(kennel.env, { PATH: `${folder("bin")}:${kennel.env["PATH"]}`, FAKE_CLAUDE: folder("script") });
  await kennel.cli("ask", "--agent", "claude", "--name", "fix", "--retries", "2", "mend the tests");
  await open(page, "fix", "answer");
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("All tests pass.");
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("1 tool call");
  await expectAccessible(page);
  // The first attempt has its own verdict.
  const { launches: [first] } = await kennel.api<{ launches: { id: string }[] }>("GET", "/v1/sessions/fix/inspect");
  await open(page, `${first!.id}_1`, "answer");
  await expect(page.getByRole("region", { name: "Answer" })).toContainText("overloaded");
  await expect(page.getByRole("region", { name: "Answer" })).not.toContainText("All tests pass.");
  await open(page, "fix");
  await page.getByRole("tab", { name: /Launches/ }).click();
  await expect(page).toHaveURL(/tab=launches/);
  await expect(page.locator('tr[data-attempt="1"]')).toContainText("overloaded");
  await expect(page.locator('tr[data-attempt="2"]')).toContainText("succeeded");
  await expect(action(page, "Resume…")).toBeDisabled();
  await expect(action(page, "Resume…")).toHaveAttribute("title", /send the prompt again/);
  await expectAccessible(page);
});
