/** The log view of a session’s output. */
import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import type { Kennel } from "../support/kennel.ts";
import { expect, expectAccessible, test } from "../support/test.ts";

const view = (page: Page) => page.getByRole("region", { name: "Session output" });
const state = (page: Page) => page.locator(".log-state");
const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" });

async function open(page: Page, id: string): Promise<void> {
  await page.goto(new URL(`/sessions/${id}`, page.url()).href);
  await expect(view(page)).toBeVisible();
}

async function over(kennel: Kennel, id: string): Promise<void> {
  await kennel.cli("wait", id).catch(() => undefined);
}

/** Returns the loaded lines. */
function lines(page: Page): Promise<string[]> {
  return page.locator(".log-line bdi").allTextContents();
}

/** Measures the longest time between two frames. */
async function watchForFreezes(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const seen = globalThis as unknown as { worst: number };
    seen.worst = 0;
    let before = performance.now();
    const measure = () => {
      const now = performance.now();
      seen.worst = Math.max(seen.worst, now - before);
      before = now;
      requestAnimationFrame(measure);
    };
    requestAnimationFrame(measure);
  });
  return () => page.evaluate(() => (globalThis as unknown as { worst: number }).worst);
}

test("sends a line, follows output, and shows the end @phone", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "echo begun; echo wrong >&2; cat; exit 3"], ["-i"]);
  await open(page, id);
  await expect(view(page)).toContainText("begun");
  await expect(page.locator(".log-line.err")).toHaveText(/^.*err.*wrong$/);
  await expect(state(page)).toHaveText("Following");
  await page.getByRole("textbox", { name: "Send to the session" }).fill("hello ä€");
  await button(page, "Send").click();
  await expect(page.getByText("Sent.", { exact: true })).toBeVisible();
  await expect(view(page).getByText("hello ä€")).toBeVisible();
  await expectAccessible(page);
  await button(page, "Send end of input").click();
  await expect(view(page)).toContainText("The session has ended: exited with code 3.");
  await expect(state(page)).toHaveText("Complete");
  // An ended session accepts no input.
  await expect(page.getByRole("textbox", { name: "Send to the session" })).toBeHidden();
});

test("shows that a session has no output", async ({ page, kennel }) => {
  const id = await kennel.session(["cat"], ["-i"]);
  await open(page, id);
  await expect(page.getByText("No output yet.")).toBeVisible();
  await kennel.cli("send", id, "x", "--eof").catch(() => kennel.cli("stop", id));
  await over(kennel, id);
  await expect(view(page)).toContainText("The session has ended");
});

test("scrolling up pauses following", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "seq 1 2000; cat"], ["-i"]);
  await open(page, id);
  await expect(view(page).getByText("2000", { exact: true })).toBeInViewport();
  await view(page).hover();
  await page.mouse.wheel(0, -3000);
  await expect(state(page)).toHaveText("Paused");
  const place = await page.evaluate(() => document.querySelector(".log-view")?.scrollTop);
  const text = Buffer.from("new one\nnew two\n").toString("hex");
  await kennel.api("POST", `/v1/sessions/${id}/input`, { hex: text });
  await expect(button(page, "2 new lines: Follow output")).toBeVisible();
  expect(await page.evaluate(() => document.querySelector(".log-view")?.scrollTop), "visible lines stay in place").toBe(place);
  await button(page, "2 new lines: Follow output").click();
  await expect(view(page).getByText("new two")).toBeInViewport();
  await expect(state(page)).toHaveText("Following");
  await view(page).press("Home");
  await expect(view(page).getByText("1", { exact: true })).toBeInViewport();
  await view(page).press("f");
  await expect(view(page).getByText("new two")).toBeInViewport();
  await view(page).press("Home");
  await expect(state(page)).toHaveText("Paused");
  await view(page).press("End");
  await expect(state(page)).toHaveText("Following");
});

test("scrolling loads every older line exactly once", async ({ page, kennel }) => {
  const id = await kennel.session(["seq", "1", "4500"]);
  await over(kennel, id);
  await open(page, id);
  await expect(view(page).getByText("4500", { exact: true })).toBeInViewport();
  const seen = new Set<number>();
  const check = async () => {
    const held = (await lines(page)).map(Number);
    const wrong = held.filter((number, at) => at > 0 && number !== (held[at - 1] ?? 0) + 1);
    expect(wrong, "lines out of order").toEqual([]);
    for (const number of held) seen.add(number);
    expect(held.length).toBeLessThan(3000);
    return held[0];
  };
  await view(page).hover();
  await expect(async () => {
    await page.mouse.wheel(0, -40_000);
    expect(await check()).toBe(1);
  }).toPass({ timeout: 50_000, intervals: [20] });
  expect(seen.size).toBe(4500);
  // Down again.
  await expect(async () => {
    await page.mouse.wheel(0, 40_000);
    await check();
    await expect(view(page).getByText("4500", { exact: true })).toBeInViewport({ timeout: 10 });
  }).toPass({ timeout: 50_000, intervals: [20] });
});

test("shows dropped output as a gap", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "seq 1 200000"], ["--output-limit", "128K"]);
  await over(kennel, id);
  await open(page, id);
  await view(page).press("Home");
  await expect(page.getByRole("note")).toHaveText(/^[\d,]+ bytes are missing: older than the limit allows$/);
  // The first line may be cut.
  expect(Number((await lines(page))[1])).toBeGreaterThan(100_000);
});

test("a daemon crash neither loses nor repeats output", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo $i; sleep 0.04; done"]);
  await open(page, id);
  await expect(view(page).getByText("20", { exact: true })).toBeAttached();
  await kennel.killDaemon();
  await expect(view(page)).toContainText("The session has ended: exited with code 0.", { timeout: 40_000 });
  expect((await lines(page)).map(Number)).toEqual(Array.from({ length: 150 }, (_, at) => at + 1));
});

test("finds, copies and downloads output @phone", async ({ page, kennel }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const id = await kennel.session(["sh", "-c", "echo a needle; seq 1 50000; printf 'a \\033[31mNee\\033[0mdle in colour\\n'; seq 1 2000; printf last"]);
  await over(kennel, id);
  await open(page, id);
  await expect(view(page)).toContainText("last");
  await page.keyboard.press("/");
  const field = page.getByRole("textbox", { name: "Find in output" });
  await expect(field).toBeFocused();
  await field.fill("needle");
  await expect(page.getByText(/^[12] of 2 lines$/)).toBeVisible();
  await expect(page.locator(".log-line.found")).toBeInViewport();
  await expect(page.locator(".log-line.found mark")).not.toHaveCount(0);
  // However fast the user steps, the status matches the visible line.
  const found = page.locator(".log-line.found");
  for (const times of [1, 2, 3, 4]) {
    for (let pressed = 0; pressed < times; pressed += 1) await field.press("Enter");
    const isLast = await page.getByText("2 of 2 lines").isVisible();
    await expect(found).toContainText(isLast ? "in colour" : "a needle");
    await expect(found).toBeInViewport();
  }
  await expectAccessible(page);
  await field.fill("no such thing");
  await expect(page.getByText("No matches")).toBeVisible();
  await field.press("Escape");
  await expect(field).toBeHidden();
  await expect(view(page)).toBeFocused();

  await view(page).press("End");
  await expect(view(page).getByText("last")).toBeInViewport();
  await button(page, "Copy").click();
  await expect(page.getByText(/^Copied [\d,]+ characters$/).first()).toBeVisible();
  const shown = await page.evaluate(() => navigator.clipboard.readText());
  expect(shown.endsWith("\n2000\nlast\n")).toBe(true);
  expect(shown.split("\n").length).toBeLessThan(200);
  await button(page, "Copy all").click();
  await expect(async () => {
    const all = await page.evaluate(() => navigator.clipboard.readText());
    expect(all.startsWith("a needle\n1\n2\n")).toBe(true);
    expect(all.endsWith("\n2000\nlast")).toBe(true);
    expect(all).toContain("\na Needle in colour\n");
  }).toPass();
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  const raw = await readFile(await (await coming).path(), "utf8");
  expect(raw.startsWith("a needle\n1\n")).toBe(true);
  expect(raw).toContain("\x1b[31mNee\x1b[0mdle");
  expect(raw.endsWith("\n2000\nlast")).toBe(true);
});

test("wraps lines and shows timestamps", async ({ page, kennel }) => {
  const id = await kennel.session(["sh", "-c", "seq -s ' ' 1 2000; echo end"]);
  await over(kennel, id);
  await open(page, id);
  await expect(view(page)).toContainText("end");
  const sideways = () => page.evaluate(() => (document.querySelector(".log-view")?.scrollWidth ?? 0) - (document.querySelector(".log-view")?.clientWidth ?? 0));
  expect(await sideways()).toBe(0);
  await button(page, "Wrap lines").click();
  await expect.poll(sideways).toBeGreaterThan(1000);
  await expect(button(page, /^Show all \([\d,]+ characters\)$/)).toBeVisible();
  await button(page, /^Show all/).click();
  await expect(page.locator(".log-line").first()).toContainText(" 1999 2000");
  await button(page, "Timestamps").click();
  await expect(page.locator(".log-line .time").first()).toHaveText(/^\d\d:\d\d:\d\d\.\d{3}$/);
  // The settings are stored.
  await page.reload();
  await expect(button(page, "Timestamps")).toHaveAttribute("aria-pressed", "true");
  await expect(button(page, "Wrap lines")).toHaveAttribute("aria-pressed", "false");
});

/** Returns the line in the middle of the view. */
async function middleLine(page: Page): Promise<string> {
  return view(page).evaluate((view) => {
    const { left, top, height } = view.getBoundingClientRect();
    return document.elementFromPoint(left + 30, top + height / 2)?.closest(".log-line")?.textContent ?? "";
  });
}

/** The number of lines of the large log: 100 MB, or 7 MB in a slice. */
const LINES = process.env["KENNEL_TEST_SLICE"] ? 150_000 : 2_100_000;

test("reads, follows and searches a large log", async ({ page, kennel }) => {
  test.setTimeout(180_000);
  const script = `seq -f 'line %.0f of a long log that goes on and on' 1 ${LINES}; echo the end`;
  const id = await kennel.session(["sh", "-c", script], ["--output-limit", "200M"]);
  // The output floods the page while it is followed. A debug build of the daemon is slow to read it.
  await page.goto(new URL(`/sessions/${id}`, page.url()).href);
  await expect(view(page)).toBeVisible({ timeout: 60_000 });
  const worst = await watchForFreezes(page);
  await over(kennel, id);
  await expect(view(page)).toContainText("The session has ended", { timeout: 60_000 });
  await expect(view(page).getByText("the end", { exact: true })).toBeInViewport();
  expect((await lines(page)).length).toBeLessThan(3000);
  await expect(page.locator(".log-position")).toContainText("MB");
  const followed = await worst();

  await view(page).press("Home");
  await expect(view(page).getByText("line 1 of a long log", { exact: false }).first()).toBeInViewport();
  await page.getByRole("slider", { name: "Position in the output" }).fill("500");
  const number = async () => Number(/line (\d+) of/.exec(await middleLine(page))?.[1] ?? 0);
  await expect.poll(async () => Math.abs((await number()) / LINES - 0.5)).toBeLessThan(0.02);
  await page.keyboard.press("/");
  await page.getByRole("textbox", { name: "Find in output" }).fill(`line ${LINES - 100_000} of`);
  await expect(page.getByText("1 of 1 line", { exact: true })).toBeVisible({ timeout: 90_000 });
  await expect(page.locator(".log-line.found")).toContainText(`line ${LINES - 100_000} of`);
  await expect(page.locator(".log-line.found")).toBeInViewport();
  await view(page).press("End");
  await expect(view(page).getByText("the end", { exact: true })).toBeInViewport();
  test.info().annotations.push({ type: "longest freeze", description: `${Math.round(followed)} ms followed, ${Math.round(await worst())} ms in all` });
  console.log(test.info().annotations);
  expect(await worst(), "the page never froze").toBeLessThan(2000);
});
