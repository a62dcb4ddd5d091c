import type { Page } from "@playwright/test";

import { makeRepository, runInWorktree } from "../support/repository.ts";
import { startStray } from "../support/stray.ts";
import { expect, expectAccessible, test } from "../support/test.ts";

const AREAS = ["Members", "Plans", "Strays", "Worktrees", "Events", "Doctor", "Sessions"];

/** Navigates to a page, through "More" on phones. */
async function goTo(page: Page, area: string): Promise<void> {
  const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: area });
  if (await link.isVisible()) return link.click();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("dialog", { name: "More" }).getByRole("link", { name: area }).click();
}

test("the navigation reaches every page @phone", async ({ page }) => {
  for (const area of AREAS) {
    await goTo(page, area);
    await expect(page.getByRole("heading", { name: area, level: 1 })).toBeVisible();
    await expect(page).toHaveTitle(`${area} · Kennel`);
    await expect(page.getByRole("dialog")).toHaveCount(0);
  }
  await expectAccessible(page);
});

test("phones have the settings behind More @phone", async ({ page, viewport }) => {
  test.skip((viewport?.width ?? 0) > 760, "phones only");
  await page.getByRole("button", { name: "More" }).click();
  const more = page.getByRole("dialog", { name: "More" });
  await expect(more).toContainText("Live");
  await more.getByRole("button", { name: "Dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: "More" }).click();
  await more.getByRole("button", { name: "System" }).click();
  await expectAccessible(page);
});

test("stores the theme", async ({ page }) => {
  await page.getByRole("button", { name: "Theme: system" }).click();
  await page.getByRole("button", { name: "Theme: light" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: "Theme: dark" }).click();
  await page.emulateMedia({ colorScheme: "light" });
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
});

test("shortcuts open pages and are listed", async ({ page }) => {
  await page.keyboard.press("g");
  await page.keyboard.press("e");
  await expect(page.getByRole("heading", { name: "Events", level: 1 })).toBeVisible();
  await expect(page.locator("main")).toBeFocused();
  await expect(page.locator("[data-announcer]")).toHaveText("Events");
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const group of ["On this page", "Go to", "Everywhere"]) await expect(keys.getByRole("heading", { name: group })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(keys).toHaveCount(0);
});

test("has a skip link", async ({ page }) => {
  const before = page.url();
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
  expect(page.url()).toBe(before);
});

test("a page looks the same after navigation and reload @phone", async ({ page, kennel }) => {
  await kennel.cli("run", "-d", "-t", "--name", "nap", "--", "sh", "-c", "sleep 1000");
  const parts = ["h1", ".session-head", ".session-head .actions", ".tabs", ".list-head", ".session-row", ".session-row .cell-name", ".filters", ".page-head"];
  const measure = async () => {
    await expect(page.locator("main h1").first()).toBeVisible();
    return page.evaluate((selectors) => {
      const boxes = selectors.map((selector) => document.querySelector(selector)?.getBoundingClientRect());
      return boxes.map((box) => box && [box.x, box.width, box.height].map(Math.round));
    }, parts);
  };
  const settled = async () => {
    let before = await measure();
    await expect.poll(async () => {
      const now = await measure();
      const isSame = JSON.stringify(now) === JSON.stringify(before);
      before = now;
      return isSame;
    }).toBe(true);
    return before;
  };
  const list = await settled();
  await page.getByRole("link", { name: "nap" }).click();
  await expect(page.locator(".tabs")).toBeVisible();
  const session = await settled();
  await page.reload();
  await expect(page.locator(".tabs")).toBeVisible();
  expect(session).toEqual(await settled());
  for (const place of ["Members", "Plans"]) {
    await page.getByRole("navigation").getByRole("link", { name: place }).first().click();
    await expect(page.getByRole("heading", { name: place, level: 1 })).toBeVisible();
  }
  await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).first().click();
  await expect(page.locator(".session-row")).toBeVisible();
  expect(await settled()).toEqual(list);
});

test("shows an unknown path as not found @phone", async ({ page }) => {
  await page.goto(new URL("/nowhere/at/all", page.url()).href);
  await expect(page.getByRole("heading", { name: "Page not found" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("link", { name: "the session list" }).click();
  await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
});

test("reconnects after a daemon crash", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"], ["--name", "steady"]);
  await expect(page).toHaveTitle("(1) Sessions · Kennel");
  // The daemon may be down for only a few milliseconds, so record the banners.
  await page.evaluate(() => {
    const states: (string | null)[] = ((window as unknown as { states: (string | null)[] }).states = []);
    new MutationObserver(() => states.push(document.querySelector(".banner")?.getAttribute("data-state") ?? null)).observe(document.body, {
      childList: true,
      subtree: true,
    });
  });
  await kennel.killDaemon();
  await expect(page.getByText("Reconnected to the daemon.")).toBeVisible();
  const states = await page.evaluate(() => (window as unknown as { states: string[] }).states);
  expect(states).toContain("lost");
  await expect(page).toHaveTitle("(1) Sessions · Kennel");
  await expect(page.locator(".side")).toContainText("Live");
});

test("reconnects when a stopped daemon is started again @phone", async ({ page, kennel }) => {
  const { host } = new URL(page.url());
  await kennel.cli("daemon", "stop");
  await expect(page.getByText("The daemon is not responding.")).toBeVisible();
  await expect(page).toHaveTitle("Not connected · Sessions · Kennel");
  await expect(page.locator('link[rel="icon"]')).toHaveAttribute("href", /^data:/);
  await expect(page.getByText(/Reconnecting for \d+ s/)).toBeVisible();
  await expectAccessible(page);
  await expect(page.getByText("The daemon is not responding.")).toBeVisible();
  await kennel.cli("daemon", "start", "--listen", host);
  await expect(page.getByText("Reconnected to the daemon.")).toBeVisible();
  await expect(page).toHaveTitle("Sessions · Kennel");
  await expect(page.locator('link[rel="icon"]')).toHaveAttribute("href", "/favicon.svg");
});

test("shows how to sign in after the token is revoked @phone", async ({ page, kennel }) => {
  await kennel.cli("token", "revoke", "browser-1");
  await expect(page.getByRole("heading", { name: "This browser is signed out" })).toBeVisible();
  await expect(page.getByText("kennel dashboard", { exact: true })).toBeVisible();
  await expect(page).toHaveTitle("Signed out · Sessions · Kennel");
  await expectAccessible(page);
  await page.goto(await kennel.link());
  await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
});

test("signs out", async ({ page, kennel }) => {
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "This browser is signed out" })).toBeVisible();
  expect(await kennel.cli("token", "list")).not.toContain("browser-1");
});

test("a sign-in in another tab applies to this one", async ({ page, kennel, context }) => {
  await kennel.cli("token", "revoke", "browser-1");
  await expect(page.getByRole("heading", { name: "This browser is signed out" })).toBeVisible();
  const other = await context.newPage();
  await other.goto(await kennel.link());
  await expect(other.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
  await page.bringToFront();
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
});

test("a read-only browser gets no actions and no errors @phone", async ({ browser, kennel, contextOptions, viewport }) => {
  const gone = await kennel.session(["true"], ["--name", "gone-by"]);
  await kennel.cli("wait", gone);
  const stray = await startStray(kennel, gone);
  await runInWorktree(kennel, await makeRepository(kennel), "kept-one", "echo 1 > new.txt");
  await kennel.session(["sleep", "600"], ["--name", "steady"]);
  const context = await browser.newContext({ ...contextOptions, viewport });
  const page = await context.newPage();
  const refused: string[] = [];
  page.on("response", (response) => void (response.status() >= 400 && refused.push(`${response.status()} ${response.url()}`)));
  await page.goto(await kennel.link(true));
  for (const area of AREAS) {
    await goTo(page, area);
    await expect(page.getByRole("heading", { name: area, level: 1 })).toBeVisible();
    if (area === "Strays") await expect(page.getByText("1 stray")).toBeVisible();
    if (area === "Worktrees") await expect(page.getByText("kept-one")).toBeVisible();
    await expect(page.getByRole("button", { name: /^(End|Remove|Stop|Add|Delete|Run|New)\b/ })).toHaveCount(0);
  }
  await expect(page.locator("body")).toContainText("read-only");
  expect(refused).toEqual([]);
  await context.close();
  stray.kill("SIGKILL");
});
