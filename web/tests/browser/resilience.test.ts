/** The page itself fails now and then; and it is left open all day. */
import type { CDPSession, Page } from "@playwright/test";

import { expect, expectAccessible, test } from "../support/test.ts";

const nav = (page: Page, area: string) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: area });

test("a fault of one page stays within it", async ({ page }) => {
  await page.route("**/v1/worktrees", (route) => route.fulfill({ json: { worktrees: "none of the kind" } }));
  await nav(page, "Worktrees").click();
  await expect(page.getByRole("heading", { name: "This page has a fault" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Reload" })).toBeVisible();
  await expectAccessible(page);
  await nav(page, "Strays").click();
  await expect(page.getByRole("heading", { name: "Strays", level: 1 })).toBeVisible();
  await page.unroute("**/v1/worktrees");
  await nav(page, "Worktrees").click();
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
});

test("a part that is not there any more, after an upgrade, is told with a way out", async ({ page }) => {
  await page.route("**/assets/*.js", (route) => route.fulfill({ status: 404, body: "" }));
  await nav(page, "Doctor").click();
  await expect(page.getByRole("heading", { name: "This part of the page can't be had" })).toBeVisible();
  await expectAccessible(page);
  await page.unroute("**/assets/*.js");
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByRole("heading", { name: "Doctor", level: 1 })).toBeVisible();
});

test("another version of the daemon offers its own page", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  await expect(page.locator(".foot")).toContainText(/kennel \d/);
  await page.route("**/v1/daemon", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: { ...((await response.json()) as object), version: "99.0.0" } });
  });
  await kennel.killDaemon();
  await expect(page.getByText("Kennel is version 99.0.0 now")).toBeVisible();
  await page.unroute("**/v1/daemon");
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByText("Kennel is version 99.0.0 now")).toHaveCount(0);
});

test("an answer of another program at the daemon's port is not the last word", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  let isStrange = false;
  await page.routeWebSocket(/\/v1\/events/, (socket) => {
    if (!isStrange) return void socket.connectToServer();
    socket.send(Buffer.from('event: refused\ndata: {"status":404}\n\n'));
  });
  await page.reload();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  isStrange = true;
  await kennel.killDaemon();
  await expect(page.getByText("The daemon does not answer.")).toBeVisible();
  isStrange = false;
  await expect(page.getByText("The daemon is back.")).toBeVisible();
});

test("ten tabs are no more trouble than one", async ({ page, kennel }) => {
  const ids = await Promise.all(Array.from({ length: 10 }, (_, at) => kennel.session(["sh", "-c", `echo here is ${at}; exec cat`], ["--name", `tab-${at}`, "-i"])));
  const tabs = [page];
  while (tabs.length < ids.length) tabs.push(await page.context().newPage());
  // Each follows the events and what its session prints, and all of them have one browser's connections.
  for (const [at, tab] of tabs.entries()) {
    await tab.goto(new URL(`/sessions/${ids[at]}`, page.url()).href);
    await expect(tab.getByRole("region", { name: "What the session printed" })).toContainText(`here is ${at}`);
  }
  for (const [at, tab] of tabs.entries()) {
    await kennel.cli("send", ids[at]!, `to ${at}`, "--enter");
    await expect(tab.getByRole("region", { name: "What the session printed" })).toContainText(`to ${at}`);
  }
  await kennel.cli("stop", ...ids);
  for (const tab of tabs) await expect(tab.getByRole("status", { name: "Standing" })).toHaveText("stopped");
  for (const tab of tabs.slice(1)) await tab.close();
});

/** What the page holds, when all that is garbage is gone. */
async function held(cdp: CDPSession): Promise<{ listeners: number; nodes: number; heap: number }> {
  await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("HeapProfiler.collectGarbage");
  const { jsEventListeners, nodes } = await cdp.send("Memory.getDOMCounters");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  return { listeners: jsEventListeners, nodes, heap: usedSize };
}

test("pages that are opened and left again leave nothing behind", async ({ page, kennel }) => {
  test.slow();
  await kennel.session(["sleep", "600"], ["--name", "steady"]);
  // Every timer that is set and neither over nor taken back.
  await page.addInitScript(() => {
    const open = ((window as unknown as { intervals: Set<unknown> }).intervals = new Set());
    const [set, clear] = [window.setInterval, window.clearInterval];
    window.setInterval = ((...args: Parameters<typeof set>) => {
      const id = set(...args);
      open.add(id);
      return id;
    }) as typeof set;
    window.clearInterval = (id) => {
      open.delete(id);
      clear(id);
    };
  });
  await page.reload();
  await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
  const areas = ["Members", "Plans", "Strays", "Worktrees", "Events", "Doctor", "Sessions"];
  const round = async () => {
    for (const area of areas) {
      await nav(page, area).click();
      await expect(page.getByRole("heading", { name: area, level: 1 })).toBeVisible();
    }
  };
  const intervals = () => page.evaluate(() => (window as unknown as { intervals: Set<unknown> }).intervals.size);
  const cdp = await page.context().newCDPSession(page);
  for (let turn = 0; turn < 2; turn += 1) await round();
  const [before, timers] = [await held(cdp), await intervals()];
  // 49 pages are opened and left.
  for (let turn = 0; turn < 7; turn += 1) await round();
  const after = await held(cdp);
  expect(await intervals()).toBe(timers);
  expect(after.listeners, `listeners: ${before.listeners} before`).toBeLessThanOrEqual(before.listeners + 20);
  expect(after.nodes, `nodes: ${before.nodes} before`).toBeLessThanOrEqual(before.nodes * 1.5 + 200);
  // Nor does anything of theirs still hear of what happens.
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (const name of ["second", "third"]) {
    await kennel.session(["sleep", "600"], ["--name", name]);
    await expect(page.locator("main")).toContainText(name);
  }
  expect(asked.filter((path) => /strays|worktrees|doctor|readyz|metrics|members|plans/.test(path))).toEqual([]);
  expect(after.heap, `heap: ${before.heap} before`).toBeLessThan(before.heap * 1.5 + 2_000_000);
});
