/** The tests' own `test`: with a daemon of its own and a browser that is signed in. */
import { test as base, expect, type Page } from "@playwright/test";

import { faults } from "./axe.ts";
import { Kennel } from "./kennel.ts";

export { expect };

interface Fixtures {
  kennel: Kennel;
  /** Environment that the daemon gets. */
  daemonEnv: Record<string, string>;
  /** A page that is signed in, at the list of sessions. */
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
    const wrong: string[] = [];
    page.on("pageerror", (error) => wrong.push(`${error}`));
    page.on("console", (message) => {
      // A daemon that is away can't answer; whatever else the browser complains of is a fault.
      if (message.type() === "error" && !/Failed to load resource|ERR_|WebSocket connection/.test(message.text())) {
        wrong.push(message.text());
      }
    });
    await page.goto(await kennel.link());
    await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
    await use(page);
    expect(wrong, "the browser complained").toEqual([]);
  },
});

/** Sees that people who can't see, or use no mouse, can use what is shown; in both themes, between which only colours differ. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    const told = await faults(page, theme === "light" ? {} : { runOnly: ["color-contrast"] });
    expect(told.map((fault) => `${theme}: ${fault}`).join("\n"), "axe").toBe("");
    // Nothing sticks out to the side.
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no scrolling sideways").toBe(true);
  }
  await page.emulateMedia({ colorScheme: null });
}
