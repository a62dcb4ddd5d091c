import type { Page } from "@playwright/test";

/** Goes to a place of the dashboard that the page is at. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.goto(new URL(path, page.url()).href);
}
