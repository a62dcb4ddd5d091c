/** The terminal view of a session. */
import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { expect, expectAccessible, test } from "../support/test.ts";

const screen = (page: Page) => page.locator(".xterm-rows");
const state = (page: Page) => page.locator(".terminal-foot .attachment-state");
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

async function open(page: Page, id: string): Promise<void> {
  await page.goto(new URL(`/sessions/${id}`, page.url()).href);
  await expect(state(page)).toHaveText(/^Attached/);
}

async function type(page: Page, text: string): Promise<void> {
  await page.locator(".terminal-screen").click();
  await page.keyboard.type(text);
}

/** Copies and returns the whole terminal text. */
async function copyAll(page: Page): Promise<string> {
  await button(page, "Copy all").click();
  await expect(page.getByText(/^Copied [\d,]+ characters?$/).first()).toBeVisible();
  return page.evaluate(() => navigator.clipboard.readText());
}

test("sends keys and the size to the session @phone", async ({ page, kennel }) => {
  const id = await kennel.session(["sh"], ["-t"]);
  await open(page, id);
  await type(page, "echo $((40+2)) is it; stty size\n");
  await expect(screen(page)).toContainText("42 is it");
  const size = async () => /(\d+) (\d+)\s*#?\s*$/.exec((await screen(page).textContent())?.trimEnd() ?? "")?.slice(1).map(Number);
  await expect.poll(size).toHaveLength(2);
  const [rows = 0, columns = 0] = (await size()) ?? [];
  expect(rows).toBeGreaterThan(5);
  await expectAccessible(page);

  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  await page.setViewportSize({ width: width - 80, height: height - 200 });
  await expect(async () => {
    await type(page, "clear; stty size\n");
    const [less = 0, narrower = 0] = (await size()) ?? [];
    expect(narrower).toBeLessThan(columns);
    expect(narrower).toBeGreaterThan(0);
    expect(less).toBeLessThan(rows);
  }).toPass();
  await type(page, "exit 7\n");
  await expect(state(page)).toHaveText("The session has ended: exited with code 7.");
});

test("sends every key to the session except the one that leaves the terminal", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "stty -echo -icanon -isig min 1; echo ready; exec cat -v"], ["-t"]);
  await open(page, id);
  await expect(screen(page)).toContainText("ready");
  await expect(page.getByText("Ctrl+Alt+Enter")).toBeVisible();
  await page.locator(".terminal-screen").click();
  await expect(page.getByText("Keyboard input goes to the session.")).toBeVisible();
  for (const key of ["Escape", "Control+c", "ArrowUp", "?", "/", "f"]) await page.keyboard.press(key);
  await expect(screen(page)).toContainText("^[^C^[[A?/f");
  await page.keyboard.press("Tab");
  await page.keyboard.type("after tab");
  await expect(screen(page)).toContainText("after tab");
  await page.keyboard.press("Control+Alt+Enter");
  await expect(button(page, "Find")).toBeFocused();
  await expect(page.getByText("Keyboard input goes to the session.")).toBeHidden();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
});

test("pastes a large text completely", async ({ page, kennel }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const id = await kennel.session(["sh", "-c", "stty -echo -icanon -icrnl; echo ready; head -c 100000 | cksum; echo done"], ["-t"]);
  await open(page, id);
  await expect(screen(page)).toContainText("ready");
  await page.evaluate(() => navigator.clipboard.writeText("0123456789".repeat(10_000)));
  await page.locator(".terminal-screen").click();
  await page.keyboard.press("Control+Shift+V");
  // The checksum of the pasted text.
  await expect(screen(page)).toContainText("4002145000 100000");
});

test("finds, copies and downloads the terminal text", async ({ page, kennel }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const id = await kennel.session(["sh", "-c", "echo a needle; seq 1 200; echo another needle; exec cat"], ["-t"]);
  await open(page, id);
  await expect(screen(page)).toContainText("another needle");
  await page.locator(".terminal-screen").click();
  await page.keyboard.press("Control+Shift+F");
  const field = page.getByRole("textbox", { name: "Find in the terminal" });
  await expect(field).toBeFocused();
  await field.fill("needle");
  await expect(page.getByText(/^[12] of 2$/)).toBeVisible();
  await field.press("Enter");
  await field.press("Enter");
  await expect(page.getByText(/^[12] of 2$/)).toBeVisible();
  await expectAccessible(page);
  await button(page, "Copy").click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("needle");
  await field.fill("none such");
  await expect(page.getByText("No matches")).toBeVisible();
  await field.press("Escape");
  await expect(field).toBeHidden();
  const all = await copyAll(page);
  expect(all.split("\n")).toEqual(["a needle", ...Array.from({ length: 200 }, (_, at) => `${at + 1}`), "another needle", ""]);
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  expect(await readFile(await (await coming).path(), "utf8")).toContain("200\r\nanother needle\r\n");
});

test("view-only mode sends nothing", async ({ page, kennel }) => {
  const id = await kennel.session(["sh"], ["-t"]);
  await open(page, id);
  await type(page, "echo one; stty size\n");
  await expect(screen(page)).toContainText(/one.*\d+ \d+/);
  await button(page, "View only").click();
  await expect(state(page)).toHaveText("Attached (view only)");
  await type(page, "echo two\n");
  await button(page, "View only").click();
  await expect(state(page)).toHaveText("Attached");
  await type(page, "echo three\n");
  await expect(screen(page)).toContainText("three");
  await expect(screen(page)).not.toContainText("two");
});

test("a read-only browser can’t type", async ({ browser, page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "echo shown; exec cat"], ["-t"]);
  const context = await browser.newContext();
  const other = await context.newPage();
  await other.goto(await kennel.link(true));
  await expect(other.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
  await other.goto(new URL(`/sessions/${id}`, other.url()).href);
  await expect(state(other)).toHaveText("Attached (view only)");
  await expect(screen(other)).toContainText("shown");
  await expect(button(other, "View only")).toBeHidden();
  await expect(other.getByText("View only.")).toBeVisible();
  await type(other, "typed\n");
  await button(other, "Log").click();
  await expect(other.getByRole("region", { name: "Session output" })).toContainText("shown");
  await expect(other.getByRole("textbox", { name: "Send to the session" })).toBeHidden();
  await open(page, id);
  await type(page, "mine\n");
  await expect(screen(page)).toContainText("mine");
  await expect(screen(page)).not.toContainText("typed");
  await context.close();
});

test("shows a terminal session as a log and sends a line there", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "read line; echo got $line; exec cat"], ["-t"]);
  await open(page, id);
  await button(page, "Log").click();
  await page.getByRole("textbox", { name: "Send to the session" }).fill("something");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "Session output" })).toContainText("got something");
  await page.reload();
  await expect(button(page, "Log")).toHaveAttribute("aria-pressed", "true");
  await button(page, "Terminal").click();
  await expect(screen(page)).toContainText("got something");
});

test("a terminal survives a daemon crash", async ({ page, kennel }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const id = await kennel.session(["sh", "-c", "i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo $i; sleep 0.04; done; read line; echo got $line"], ["-t"]);
  await open(page, id);
  await expect(screen(page)).toContainText("20");
  await kennel.killDaemon();
  await expect(screen(page)).toContainText("150", { timeout: 40_000 });
  await expect(state(page)).toHaveText("Attached");
  const numbers = (await copyAll(page)).trim().split("\n").map(Number);
  expect(numbers).toEqual(Array.from({ length: 150 }, (_, at) => at + 1));
  await type(page, "still here\n");
  await expect(state(page)).toHaveText("The session has ended: exited with code 0.");
  await expect(screen(page)).toContainText("got still here");
});

test("keys reach the session during a flood", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "trap 'echo; echo caught; exec cat' INT; yes 'a line of a flood that does not end'"], ["-t"]);
  await open(page, id);
  await expect(screen(page)).toContainText("a line of a flood");
  await page.locator(".terminal-screen").click();
  await page.keyboard.press("Control+c");
  // A page that can't keep up draws what it has before it sends the key.
  await expect(screen(page)).toContainText("caught", { timeout: 60_000 });
  await expect(state(page)).toHaveText("Attached");
  await page.keyboard.type("typed after\n");
  await expect(screen(page)).toContainText("typed after");
});

test("supports screen readers", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "echo for the ear; exec cat"], ["-t"]);
  await open(page, id);
  await button(page, "Screen reader").click();
  await expect(page.locator(".xterm-accessibility")).toContainText("for the ear");
  await expectAccessible(page);
});
