import type { Page } from "@playwright/test";

import type { Kennel } from "../support/kennel.ts";
import { expect, test } from "../support/test.ts";

/** Many more than fit on a screen. A slice has fewer, because filling the queue takes most of the time. */
const MANY = process.env["KENNEL_TEST_SLICE"] ? 250 : 1000;

// One session is live and all others are queued, which needs no processes.
test.use({ daemonEnv: { KENNEL_DAEMON_MAX_LIVE: "1" } });

async function enqueue(kennel: Kennel, name: string): Promise<void> {
  await kennel.api("POST", "/v1/sessions?until=accepted", { argv: ["sleep", "1000"], cwd: kennel.folder, name, queue: true });
}

async function fill(kennel: Kennel): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < MANY) await enqueue(kennel, `nap-${next++}`);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

const names = (page: Page) => page.locator(".session-row .cell-name a").allTextContents();

test("renders only the visible rows of many sessions @phone", async ({ page, kennel }) => {
  await fill(kennel);
  const grid = page.getByRole("grid", { name: "Sessions" });
  await expect(grid).toHaveAttribute("aria-rowcount", String(MANY + 1));
  expect(await page.locator(".session-row").count()).toBeLessThan(60);

  // The last row is rendered when it is scrolled into view, with the right index.
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  const last = page.locator(`.session-row[aria-rowindex="${MANY + 1}"]`);
  await expect(last).toBeInViewport();
  expect(await page.locator(".session-row").count()).toBeLessThan(60);

  // Visible rows stay in place when a row is added above.
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
  const amid = () => page.evaluate(() => document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest<HTMLElement>(".session-row")?.dataset["session"] ?? null);
  await expect.poll(amid).not.toBeNull();
  const kept = page.locator(`.session-row[data-session="${await amid()}"]`);
  const before = await kept.boundingBox();
  await enqueue(kennel, "newest");
  await expect(grid).toHaveAttribute("aria-rowcount", String(MANY + 2));
  await expect.poll(async () => Math.abs(((await kept.boundingBox())?.y ?? 1e9) - (before?.y ?? 0))).toBeLessThan(2);

  // The new session is at the top.
  await page.evaluate(() => scrollTo(0, 0));
  await expect(page.getByRole("link", { name: "newest" })).toBeInViewport();
});

test("keys reach the end of a long list, and a change updates only its row", async ({ page, kennel }) => {
  await fill(kennel);
  await expect(page.getByRole("grid")).toHaveAttribute("aria-rowcount", String(MANY + 1));
  await page.keyboard.press("j");
  await page.keyboard.press("End");
  await expect(page.locator(`.session-row[aria-rowindex="${MANY + 1}"]`)).toBeFocused();
  // The focused row stays in the document when it is scrolled out of view.
  await page.evaluate(() => scrollTo(0, 0));
  await expect.poll(async () => (await names(page)).length).toBeGreaterThan(20);
  await expect(page.locator(`.session-row[aria-rowindex="${MANY + 1}"]`)).toBeFocused();

  await page.keyboard.press("Home");
  await expect(page.locator('.session-row[aria-rowindex="2"]')).toBeFocused();
  await page.evaluate(() => {
    const touched = new Set<string>();
    Object.assign(window, { touched });
    new MutationObserver((seen) => {
      for (const { target } of seen) {
        const element = target instanceof Element ? target : target.parentElement;
        const row = element?.closest<HTMLElement>(".session-row");
        // Ages tick in every row.
        if (row && !element?.closest(".cell-age")) touched.add(row.dataset["session"] ?? "");
      }
    }).observe(document.querySelector(".virtual")!, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  await page.keyboard.press("x");
  await expect(page.getByRole("region", { name: "Selection" })).toContainText("1 selected");
  expect(await page.evaluate(() => (window as unknown as { touched: Set<string> }).touched.size)).toBe(1);
});
