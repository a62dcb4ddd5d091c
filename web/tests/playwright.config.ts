import { readdirSync } from "node:fs";

import { defineConfig } from "@playwright/test";

/** Debian’s Chromium by default. */
const browser = process.env["KENNEL_TEST_CHROMIUM"] ?? "/usr/bin/chromium";

const desktop = { viewport: { width: 1360, height: 860 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

/** The files whose `@phone` tests run on a phone, and those whose run on a desktop. Without a slice each file is in both. */
function byViewport(): { phone: string[]; desktop: string[] } {
  const files = readdirSync(new URL("browser", import.meta.url))
    .filter((file) => file.endsWith(".test.ts"))
    .sort()
    .map((file) => `browser/${file}`);
  const slice = process.env["KENNEL_TEST_SLICE"];
  if (!slice) return { phone: files, desktop: files };
  const isPhone = (index: number): boolean => (index + Number(slice)) % 2 === 0;
  return { phone: files.filter((_, index) => isPhone(index)), desktop: files.filter((_, index) => !isPhone(index)) };
}

const files = byViewport();

export default defineConfig({
  testDir: ".",
  fullyParallel: true,
  // More than there are cores usually: a test waits for processes for a third of its time.
  workers: Number(process.env["KENNEL_TEST_WORKERS"] ?? 3),
  // A flaky test is a bug.
  retries: 0,
  forbidOnly: true,
  reporter: [["list"]],
  timeout: 120_000,
  expect: { timeout: 30_000 },
  outputDir: process.env["KENNEL_TEST_OUTPUT"] ?? "../../target/web-tests",
  use: {
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: browser,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  projects: [
    { name: "unit", testMatch: "unit/**/*.test.ts" },
    { name: "desktop", testMatch: files.desktop, use: desktop },
    // Only with a slice: what is not tested on a phone.
    { name: "desktop-only", testMatch: files.phone.filter((file) => !files.desktop.includes(file)), grepInvert: /@phone/, use: desktop },
    ...(process.env["KENNEL_BENCH"] ? [{ name: "bench", testMatch: "bench/**/*.test.ts", use: desktop }] : []),
    ...(process.env["KENNEL_SCREENSHOTS"] ? [{ name: "screenshots", testMatch: "screenshots.ts", use: desktop }] : []),
    { name: "phone", testMatch: files.phone, grep: /@phone/, use: phone },
  ],
});
