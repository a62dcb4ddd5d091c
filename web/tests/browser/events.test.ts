import type { Page } from "@playwright/test";

import type { Kennel } from "../support/kennel.ts";
import { expect, expectAccessible, test } from "../support/test.ts";

async function open(page: Page, query = ""): Promise<void> {
  await page.goto(new URL(`/events${query}`, page.url()).href);
  await expect(page.getByRole("table", { name: "Events" })).toBeVisible();
}

/** The rows of a kind, given by its label. */
const kindRow = (page: Page, label: string) => page.getByRole("row").filter({ has: page.locator(".kind", { hasText: new RegExp(`^${label}$`) }) });
const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

/** Returns the numbers of the rendered events, sorted. */
async function numbers(page: Page): Promise<number[]> {
  const texts = await page.getByRole("button", { name: /^Show event/ }).allTextContents();
  const found = texts.map(Number);
  return found.sort((a, b) => a - b);
}

/** Adds two events to the log each time, without a session. */
async function grow(kennel: Kennel, times: number): Promise<void> {
  const member = { name: "rex", cwd: kennel.folder, settings: { agent: "claude" } };
  for (let time = 0; time < times; time += 1) {
    await kennel.api("POST", "/v1/members", member);
    await kennel.api("DELETE", "/v1/members/rex");
  }
}

test("new events appear with session, cause and actor @phone", async ({ page, kennel }) => {
  await open(page);
  const id = await kennel.session(["sleep", "600"], ["--name", "fix-login"]);
  const running = kindRow(page, "Running");
  await expect(running.getByRole("link", { name: "fix-login" })).toHaveAttribute("href", `/sessions/${id}`);
  await expect(kindRow(page, "Recorded")).toContainText("by kennel run");
  await expectAccessible(page);

  await running.getByRole("button", { name: /^Show event/ }).click();
  const dialog = page.getByRole("dialog", { name: /^Event \d+$/ });
  await expect(dialog).toContainText("running");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Show only this kind" }).click();
  await expect(page).toHaveURL(/kind=running/);
  await expect(page.getByRole("row")).toHaveCount(1);
});

test("filters by kind, session and text, and keeps the filter in the URL", async ({ page, kennel }) => {
  const one = await kennel.session(["sleep", "600"], ["--name", "one"]);
  await kennel.session(["sleep", "600"], ["--name", "other"]);
  await open(page);
  await page.getByRole("group", { name: "Filter by kind" }).getByRole("button", { name: /^Running/ }).click();
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.getByLabel("Filter by session").fill("one");
  await page.getByLabel("Filter by session").press("Enter");
  await expect(page.getByRole("row")).toHaveCount(1);
  await expect(page.getByRole("row")).toContainText("one");
  await expect(page).toHaveURL(/kind=running&session=one/);
  await page.reload();
  await expect(page.getByRole("row")).toHaveCount(1);

  await page.getByRole("button", { name: "Clear filters", exact: true }).click();
  await page.getByLabel("Search loaded events").fill(one);
  await expect(page.getByRole("row").filter({ hasNotText: "one" })).toHaveCount(0);
  await expect(kindRow(page, "Running")).toHaveCount(1);
  await page.getByLabel("Search loaded events").fill("no event contains this");
  await expect(page.getByRole("heading", { name: "No matching events" })).toBeVisible();
  await expectAccessible(page);
});

test("pause holds the list, resume shows every event", async ({ page, kennel }) => {
  await open(page);
  await page.getByRole("button", { name: "Pause" }).click();
  await kennel.session(["sleep", "600"], ["--name", "late"]);
  await expect(page.getByText(/paused, \d+ new/)).toBeVisible();
  await expect(row(page, "late")).toHaveCount(0);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(kindRow(page, "Running").getByRole("link", { name: "late" })).toBeVisible();
});

test("a daemon crash neither loses nor repeats events", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"], ["--name", "steady"]);
  await open(page);
  await expect(kindRow(page, "Running")).toHaveCount(1);
  await kennel.killDaemon();
  await expect(kindRow(page, "Daemon started")).toHaveCount(2);
  await kennel.session(["sleep", "600"], ["--name", "after"]);
  await expect(kindRow(page, "Running")).toHaveCount(2);
  const latest = (await kennel.api<{ seq: number }>("GET", "/v1/events?tail=1")).seq;
  await expect.poll(() => numbers(page)).toEqual(Array.from({ length: latest }, (_, at) => at + 1));
});

test("loads a long log in pieces and renders only visible rows @phone", async ({ page, kennel }) => {
  test.slow();
  await grow(kennel, 260);
  await open(page);
  await expect(page.getByText("500 events")).toBeVisible();
  // The newest event is visible.
  const latest = (await kennel.api<{ seq: number }>("GET", "/v1/events?tail=1")).seq;
  await expect(page.getByRole("button", { name: `Show event ${latest}`, exact: true })).toBeInViewport();
  expect(await page.getByRole("row").count()).toBeLessThan(80);

  const box = page.getByRole("region", { name: "Event log" });
  await box.evaluate((it) => it.scrollTo(0, 0));
  const older = page.getByRole("button", { name: /^Load events before/ });
  await older.click();
  await expect(page.getByText(`${latest} events`)).toBeVisible();
  // Visible rows stay in place.
  await expect(page.getByRole("button", { name: `Show event ${latest - 499}`, exact: true })).toBeInViewport();
  await box.evaluate((it) => it.scrollTo(0, 0));
  await expect(page.getByText("Start of the log")).toBeVisible();
  await expect(page.getByRole("button", { name: "Show event 1", exact: true })).toBeInViewport();

  // New events do not scroll away older ones that the user reads.
  await grow(kennel, 1);
  await page.getByRole("button", { name: "2 new events" }).click();
  await expect(page.getByRole("button", { name: `Show event ${latest + 2}`, exact: true })).toBeInViewport();
});

test("loads older events of one kind from the daemon", async ({ page, kennel }) => {
  test.slow();
  await grow(kennel, 260);
  await open(page);
  await page.goto(new URL("/events?kind=daemon_started", page.url()).href);
  await expect(page.getByRole("heading", { name: "No matching events" })).toBeVisible();
  await page.getByRole("button", { name: /^Load events before/ }).click();
  await expect(page.getByRole("row")).toHaveCount(1);
  await expect(page.getByRole("row")).toContainText("Daemon started");
});

test("downloads the shown events as JSON lines", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  await open(page, "?kind=running");
  await expect(page.getByRole("row")).toHaveCount(1);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download shown events as JSON lines" }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toBe("kennel-events.ndjson");
  const pieces: Buffer[] = [];
  for await (const piece of await download.createReadStream()) pieces.push(piece as Buffer);
  const lines = Buffer.concat(pieces).toString().trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(["running"]);
});
