/** Benchmarks of the dashboard: size, load time, event latency and scrolling. */
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import type { Page } from "@playwright/test";

import { expect, test } from "../support/test.ts";
import type { Kennel } from "../support/kennel.ts";

/** With KENNEL_BENCH_QUICK the results mean little; it only shows that the benchmark works. */
const QUICK = Boolean(process.env["KENNEL_BENCH_QUICK"]);
const SESSIONS = QUICK ? 100 : 1000;
const OPENINGS = QUICK ? 3 : 15;
const EVENTS = QUICK ? 10 : 60;
/** The number of frames for one scroll through all rows. */
const FRAMES = 300;
const SCROLLS = QUICK ? 1 : 5;
/** Two frames: a visible pause. */
const VISIBLE_MS = 34;

test.describe.configure({ mode: "serial", timeout: 600_000 });

function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function figure(name: string, text: string): void {
  console.log(`${name.padEnd(64)} ${text}`);
}

function spread(values: number[]): string {
  return `median ${quantile(values, 0.5).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms, of ${values.length}`;
}

test("size", () => {
  const assets = join(import.meta.dirname, "../../dist/assets");
  const sizes = readdirSync(assets).filter((name) => /\.(js|css)$/.test(name)).map((name) => {
    const content = readFileSync(join(assets, name));
    return { name, plain: content.length, packed: gzipSync(content, { level: 9 }).length };
  });
  const total = sizes.reduce((sum, size) => sum + size.packed, 0);
  const first = sizes.filter((size) => size.name.startsWith("index-")).reduce((sum, size) => sum + size.packed, 0);
  figure("code of the page, gzipped (goal: 300 kB)", `${(total / 1000).toFixed(1)} kB in ${sizes.length} files`);
  figure("code that every page loads", `${(first / 1000).toFixed(1)} kB`);
  expect(total).toBeGreaterThan(0);
});

/** Starts sessions that end immediately and stay recorded. */
async function fill(kennel: Kennel): Promise<void> {
  for (let first = 0; first < SESSIONS; first += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, k) => start(kennel, `s-${first + k}`)));
  }
}

function start(kennel: Kennel, name: string): Promise<{ id: string }> {
  return kennel.api("POST", "/v1/sessions?until=accepted", { argv: ["true"], cwd: "/", name });
}

/** Records when a minimal client of the event stream receives each session. */
function minimalClient(kennel: Kennel): { received: Map<string, number>; close: () => void } {
  const received = new Map<string, number>();
  const headers = { Accept: "text/event-stream" };
  const call = request({ socketPath: join(kennel.home, "kennel.sock"), path: "/v1/events?tail=0", headers }, (response) => {
    response.on("data", (piece: Buffer) => {
      const now = performance.timeOrigin + performance.now();
      for (const [, id] of piece.toString().matchAll(/"session":"(\w+)"/g)) if (id && !received.has(id)) received.set(id, now);
    });
  });
  call.on("error", () => {});
  call.end();
  return { received, close: () => call.destroy() };
}

interface Scrolled {
  /** The duration of each frame. */
  frames: number[];
  /** How often there was no row in the middle of the screen. */
  blank: number;
}

/** Scrolls from top to bottom. */
async function scroll(page: Page): Promise<Scrolled> {
  return page.evaluate(async (count) => {
    const frame = () => new Promise<number>((drawn) => requestAnimationFrame(drawn));
    scrollTo(0, 0);
    const step = (document.documentElement.scrollHeight - innerHeight) / count;
    const frames: number[] = [];
    let blank = 0;
    await frame();
    let last = await frame();
    for (let at = 1; at <= count; at += 1) {
      scrollTo(0, at * step);
      const now = await frame();
      frames.push(now - last);
      last = now;
      if (at % 10 === 0 && !document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest(".row-of-bench, .session-row")) blank += 1;
    }
    return { frames, blank };
  }, FRAMES);
}

async function scrolls(page: Page, name: string): Promise<void> {
  const all: Scrolled[] = [];
  for (let at = 0; at < SCROLLS; at += 1) all.push(await scroll(page));
  const frames = all.flatMap((one) => one.frames);
  const slow = frames.filter((took) => took > VISIBLE_MS).length;
  const blank = all.reduce((sum, one) => sum + one.blank, 0);
  figure(name, `${spread(frames)}, ${slow} over ${VISIBLE_MS} ms, worst ${Math.max(...frames).toFixed(0)} ms${blank > 0 ? `, BLANK ${blank} times` : ""}`);
}

test("scrolling 1,000 sessions", async ({ kennel, page }) => {
  await fill(kennel);
  const address = page.url();
  await page.goto(new URL("/sessions?show=all", address).href);
  await page.locator("[data-session]").first().waitFor();
  await scrolls(page, `frame time while scrolling ${SESSIONS} sessions`);
  // The baseline: as many rows of static text.
  await page.goto("about:blank");
  await page.setContent(Array.from({ length: SESSIONS }, (_, at) => `<div class="row-of-bench" style="height: 46px">row ${at}</div>`).join(""));
  await scrolls(page, `frame time while scrolling ${SESSIONS} static rows`);
});

test("load time and event latency with 1,000 sessions", async ({ kennel, page }) => {
  await fill(kennel);
  const shown = page.locator("[data-session]").first();
  const opened: number[] = [];
  for (let k = 0; k < OPENINGS; k++) {
    await page.goto("about:blank");
    const address = JSON.parse(await kennel.cli("daemon", "status", "--json")).listen.url as string;
    // Start with an empty cache.
    const session = await page.context().newCDPSession(page);
    await session.send("Network.clearBrowserCache");
    await session.detach();
    await page.goto(`${address.replace(/\/$/, "")}/sessions?show=all`, { waitUntil: "commit" });
    await shown.waitFor();
    opened.push(await page.evaluate(() => performance.now()));
  }
  figure(`load time without cache, ${SESSIONS} sessions (goal: 1 s)`, spread(opened));

  await page.evaluate(() => {
    const seen: Record<string, number> = {};
    Object.assign(globalThis, { seen });
    const note = () => {
      for (const row of document.querySelectorAll<HTMLElement>("[data-session]")) {
        const id = row.dataset["session"];
        // It is painted with the next frame.
        if (id && !(id in seen)) {
          seen[id] = 0;
          requestAnimationFrame(() => (seen[id] = performance.timeOrigin + performance.now()));
        }
      }
    };
    note();
    new MutationObserver(note).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-session"] });
  });
  const bare = minimalClient(kennel);
  const late: number[] = [];
  const floor: number[] = [];
  for (let k = 0; k < EVENTS; k++) {
    const { id } = await start(kennel, `e-${k}`);
    await page.waitForFunction((id) => ((globalThis as unknown as { seen: Record<string, number> }).seen[id] ?? 0) > 0, id);
    const seen = await page.evaluate((id) => (globalThis as unknown as { seen: Record<string, number> }).seen[id] ?? 0, id);
    const events = await kennel.events(id);
    const happened = Date.parse(events[0]?.time ?? "");
    late.push(seen - happened);
    const received = bare.received.get(id);
    if (received !== undefined) floor.push(received - happened);
  }
  bare.close();
  figure("latency from an event to the screen (goal: 100 ms)", spread(late));
  figure("latency from an event to a minimal client", spread(floor));
});
