/** Playwright’s `test` with a daemon and a signed-in browser. */
import { test as base, expect, type Page } from "@playwright/test";

import { violations } from "./axe.ts";
import { Kennel } from "./kennel.ts";

export { expect };

interface Fixtures {
  kennel: Kennel;
  /** Additional environment of the daemon. */
  daemonEnv: Record<string, string>;
  /** A signed-in page that shows the session list. */
  page: Page;
}

export const test = base.extend<Fixtures>({
  daemonEnv: [{}, { option: true }],
  kennel: async ({ daemonEnv }, use) => {
    const kennel = await Kennel.start(daemonEnv);
    await use(kennel);
    await kennel.end();
  },
  page: async ({ page, kennel }, use) => {
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(`${error}`));
    page.on("console", (message) => {
      // Failed requests are expected while the daemon is down; all other errors are bugs.
      if (message.type() === "error" && !/Failed to load resource|ERR_|WebSocket connection/.test(message.text())) {
        errors.push(message.text());
      }
    });
    await page.goto(await kennel.link());
    await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
    await use(page);
    expect(errors, "browser errors").toEqual([]);
  },
});

type Theme = "light" | "dark";

/** The themes to check. With a slice it is at most one of them, which changes with the slice and differs between tests. */
function themes(): Theme[] {
  const slice = process.env["KENNEL_TEST_SLICE"];
  if (!slice) return ["light", "dark"];
  // The lowest bit of the slice selects the viewport: see playwright.config.ts.
  return ([["light"], ["dark"], [], []] as const)[(Math.floor(Number(slice) / 2) + test.info().title.length) % 4]!.slice();
}

/** Checks accessibility. Of two themes only the first is checked for everything: they only differ in their colours. */
export async function expectAccessible(page: Page, checked = themes()): Promise<void> {
  for (const [at, theme] of checked.entries()) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    const found = await violations(page, at === 0 ? {} : { runOnly: ["color-contrast"] });
    expect(found.map((violation) => `${theme}: ${violation}`).join("\n"), "axe").toBe("");
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no horizontal scrolling").toBe(true);
  }
  await page.emulateMedia({ colorScheme: null });
}
