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
 * What is wrong with a page, in words. Axe is put into each document once, and run in it: the package made for this puts it there
 * anew each time, for the sake of frames, of which there are none here.
 */
export async function faults(page: Page, options: axe.RunOptions): Promise<string[]> {
  if (!(await page.evaluate(() => window.axe !== undefined))) await page.evaluate(SOURCE);
  const { violations } = await page.evaluate((asked) => window.axe!.run(asked), options);
  return violations.map((it) => `${it.id}: ${it.help}\n${it.nodes.map((node) => `  ${node.html}\n  ${node.failureSummary}`).join("\n")}`);
}
