import type { Page } from "@playwright/test";

/** Navigates to a path of the dashboard. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.goto(new URL(path, page.url()).href);
}
