import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import type { Page } from "@playwright/test";
import type axe from "axe-core";

const SOURCE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

declare global {
  interface Window {
    axe?: typeof axe;
  }
}

/**
 * Returns the accessibility violations of a page as texts. Axe is injected into each document once: the official package injects it
 * on every run, to support frames.
 */
export async function violations(page: Page, options: axe.RunOptions): Promise<string[]> {
  if (!(await page.evaluate(() => window.axe !== undefined))) await page.evaluate(SOURCE);
  const { violations: found } = await page.evaluate((given) => window.axe!.run(given), options);
  return found.map((it) => `${it.id}: ${it.help}\n${it.nodes.map((node) => `  ${node.html}\n  ${node.failureSummary}`).join("\n")}`);
}
