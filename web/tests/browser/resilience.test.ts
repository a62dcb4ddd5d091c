/** Errors of the page itself, and long-running use. */
import type { CDPSession, Page } from "@playwright/test";

import { expect, expectAccessible, test } from "../support/test.ts";

const nav = (page: Page, area: string) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: area });

test("confines a rendering error to one page", async ({ page }) => {
  await page.route("**/v1/worktrees", (route) => route.fulfill({ json: { worktrees: "none of the kind" } }));
  await nav(page, "Worktrees").click();
  await expect(page.getByRole("heading", { name: "Something went wrong on this page" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Reload" })).toBeVisible();
  await expectAccessible(page);
  await nav(page, "Strays").click();
  await expect(page.getByRole("heading", { name: "Strays", level: 1 })).toBeVisible();
  await page.unroute("**/v1/worktrees");
  await nav(page, "Worktrees").click();
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
});

test("offers a reload when a section is missing after an update", async ({ page }) => {
  await page.route("**/assets/*.js", (route) => route.fulfill({ status: 404, body: "" }));
  await nav(page, "Doctor").click();
  await expect(page.getByRole("heading", { name: "Couldn’t load this section" })).toBeVisible();
  await expectAccessible(page);
  await page.unroute("**/assets/*.js");
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByRole("heading", { name: "Doctor", level: 1 })).toBeVisible();
});

test("offers a reload after an update of the daemon", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  await expect(page.locator(".foot")).toContainText(/kennel \d/);
  await page.route("**/v1/daemon", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: { ...((await response.json()) as object), version: "99.0.0" } });
  });
  await kennel.killDaemon();
  await expect(page.getByText("Kennel was updated to version 99.0.0")).toBeVisible();
  await page.unroute("**/v1/daemon");
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByText("Kennel was updated to version 99.0.0")).toHaveCount(0);
});

test("recovers from another program on the daemon’s port", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  let isForeign = false;
  await page.routeWebSocket(/\/v1\/events/, (socket) => {
    if (!isForeign) return void socket.connectToServer();
    socket.send(Buffer.from('event: refused\ndata: {"status":404}\n\n'));
  });
  await page.reload();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  isForeign = true;
  await kennel.killDaemon();
  await expect(page.getByText("The daemon is not responding.")).toBeVisible();
  isForeign = false;
  await expect(page.getByText("Reconnected to the daemon.")).toBeVisible();
});

// More tabs than the six connections that a browser opens to a host.
test("eight tabs work at the same time", async ({ page, kennel }) => {
  const ids = await Promise.all(Array.from({ length: 8 }, (_, at) => kennel.session(["sh", "-c", `echo here is ${at}; exec cat`], ["--name", `tab-${at}`, "-i"])));
  const tabs = [page];
  while (tabs.length < ids.length) tabs.push(await page.context().newPage());
  // Each tab follows events and output, and all share the connections of one browser.
  for (const [at, tab] of tabs.entries()) {
    await tab.goto(new URL(`/sessions/${ids[at]}`, page.url()).href);
    await expect(tab.getByRole("region", { name: "Session output" })).toContainText(`here is ${at}`);
  }
  for (const [at, tab] of tabs.entries()) {
    await kennel.cli("send", ids[at]!, `to ${at}`, "--enter");
    await expect(tab.getByRole("region", { name: "Session output" })).toContainText(`to ${at}`);
  }
  await kennel.cli("stop", ...ids);
  for (const tab of tabs) await expect(tab.getByRole("status", { name: "State" })).toHaveText("stopped");
  for (const tab of tabs.slice(1)) await tab.close();
});

/** Returns what the page holds after garbage collection. */
async function held(cdp: CDPSession): Promise<{ listeners: number; nodes: number; heap: number }> {
  await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("HeapProfiler.collectGarbage");
  const { jsEventListeners, nodes } = await cdp.send("Memory.getDOMCounters");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  return { listeners: jsEventListeners, nodes, heap: usedSize };
}

test("leaving a page releases its resources", async ({ page, kennel }) => {
  test.slow();
  await kennel.session(["sleep", "600"], ["--name", "steady"]);
  // Track every interval that was not cleared.
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
  // 28 pages are opened and left.
  for (let turn = 0; turn < 4; turn += 1) await round();
  const after = await held(cdp);
  expect(await intervals()).toBe(timers);
  expect(after.listeners, `listeners: ${before.listeners} before`).toBeLessThanOrEqual(before.listeners + 20);
  expect(after.nodes, `nodes: ${before.nodes} before`).toBeLessThanOrEqual(before.nodes * 1.5 + 200);
  // Pages that were left no longer fetch anything.
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (const name of ["second", "third"]) {
    await kennel.session(["sleep", "600"], ["--name", name]);
    await expect(page.locator("main")).toContainText(name);
  }
  expect(asked.filter((path) => /strays|worktrees|doctor|readyz|metrics|members|plans/.test(path))).toEqual([]);
  expect(after.heap, `heap: ${before.heap} before`).toBeLessThan(before.heap * 1.5 + 2_000_000);
});
