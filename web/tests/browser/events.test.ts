import type { Page } from "@playwright/test";

import type { Kennel } from "../support/kennel.ts";
import { expect, expectAccessible, test } from "../support/test.ts";

async function open(page: Page, query = ""): Promise<void> {
  await page.goto(new URL(`/events${query}`, page.url()).href);
  await expect(page.getByRole("table", { name: "Events" })).toBeVisible();
}

const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

/** Numbers of the events that are in the page, from top to bottom. */
async function numbers(page: Page): Promise<number[]> {
  const texts = await page.getByRole("button", { name: /, show all of it$/ }).allTextContents();
  const found = texts.map(Number);
  return found.sort((a, b) => a - b);
}

/** Has the log grow by two events each time, without a session. */
async function grow(kennel: Kennel, times: number): Promise<void> {
  const member = { name: "rex", cwd: kennel.folder, seat: { agent: "claude" } };
  for (let time = 0; time < times; time += 1) {
    await kennel.api("POST", "/v1/members", member);
    await kennel.api("DELETE", "/v1/members/rex");
  }
}

test("what happens appears, with its session, why and by whom @phone", async ({ page, kennel }) => {
  await open(page);
  const id = await kennel.session(["sleep", "600"], ["--name", "fix-login"]);
  const running = row(page, "the program runs");
  await expect(running.getByRole("link", { name: "fix-login" })).toHaveAttribute("href", `/sessions/${id}`);
  await expect(running).toContainText("running");
  await expect(row(page, "somebody asked for it")).toContainText("by kennel run");
  await expectAccessible(page);

  await running.getByRole("button", { name: /show all of it/ }).click();
  const dialog = page.getByRole("dialog", { name: /^Event \d+$/ });
  await expect(dialog).toContainText("the program runs");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Only this kind" }).click();
  await expect(page).toHaveURL(/kind=running/);
  await expect(page.getByRole("row")).toHaveCount(1);
});

test("it is narrowed by kind, session and text, and the address says so", async ({ page, kennel }) => {
  const one = await kennel.session(["sleep", "600"], ["--name", "one"]);
  await kennel.session(["sleep", "600"], ["--name", "other"]);
  await open(page);
  await page.getByRole("group", { name: "Kinds" }).getByRole("button", { name: /^running/ }).click();
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.getByLabel("Only of this session").fill("one");
  await page.getByLabel("Only of this session").press("Enter");
  await expect(page.getByRole("row")).toHaveCount(1);
  await expect(page.getByRole("row")).toContainText("one");
  await expect(page).toHaveURL(/kind=running&session=one/);
  await page.reload();
  await expect(page.getByRole("row")).toHaveCount(1);

  await page.getByRole("button", { name: "Show all", exact: true }).click();
  await page.getByLabel("Search in the events that are loaded").fill(one);
  await expect(page.getByRole("row").filter({ hasNotText: "one" })).toHaveCount(0);
  await expect(row(page, "the program runs")).toHaveCount(1);
  await page.getByLabel("Search in the events that are loaded").fill("nothing has this in it");
  await expect(page.getByRole("heading", { name: "No such events" })).toBeVisible();
  await expectAccessible(page);
});

test("paused, nothing moves; going on, nothing is missing", async ({ page, kennel }) => {
  await open(page);
  await page.getByRole("button", { name: "Pause" }).click();
  await kennel.session(["sleep", "600"], ["--name", "late"]);
  await expect(page.getByText(/paused, \d+ new/)).toBeVisible();
  await expect(row(page, "late")).toHaveCount(0);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(row(page, "the program runs").getByRole("link", { name: "late" })).toBeVisible();
});

test("over a crash of the daemon no event is lost or told twice", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"], ["--name", "steady"]);
  await open(page);
  await expect(row(page, "the program runs")).toHaveCount(1);
  await kennel.killDaemon();
  await expect(row(page, "daemon_started")).toHaveCount(2);
  await kennel.session(["sleep", "600"], ["--name", "after"]);
  await expect(row(page, "the program runs")).toHaveCount(2);
  const latest = (await kennel.api<{ seq: number }>("GET", "/v1/events?tail=1")).seq;
  await expect.poll(() => numbers(page)).toEqual(Array.from({ length: latest }, (_, at) => at + 1));
});

test("a long log is loaded piece by piece, and only what is seen is in the page @phone", async ({ page, kennel }) => {
  test.slow();
  await grow(kennel, 260);
  await open(page);
  await expect(page.getByText("500 events")).toBeVisible();
  // The newest is in sight.
  const latest = (await kennel.api<{ seq: number }>("GET", "/v1/events?tail=1")).seq;
  await expect(page.getByRole("button", { name: `Event ${latest}, show all of it` })).toBeInViewport();
  expect(await page.getByRole("row").count()).toBeLessThan(80);

  const box = page.getByRole("region", { name: "Event log" });
  await box.evaluate((it) => it.scrollTo(0, 0));
  const older = page.getByRole("button", { name: /^Older than/ });
  await older.click();
  await expect(page.getByText(`${latest} events`)).toBeVisible();
  // What was looked at stays where it was.
  await expect(page.getByRole("button", { name: `Event ${latest - 499}, show all of it` })).toBeInViewport();
  await box.evaluate((it) => it.scrollTo(0, 0));
  await expect(page.getByText("The beginning of the log")).toBeVisible();
  await expect(page.getByRole("button", { name: "Event 1, show all of it" })).toBeInViewport();

  // Who looks at old ones is not carried away by new ones.
  await grow(kennel, 1);
  await page.getByRole("button", { name: "2 new events" }).click();
  await expect(page.getByRole("button", { name: `Event ${latest + 2}, show all of it` })).toBeInViewport();
});

test("older ones of a kind are found by the daemon", async ({ page, kennel }) => {
  test.slow();
  await grow(kennel, 260);
  await open(page);
  await page.goto(new URL("/events?kind=daemon_started", page.url()).href);
  await expect(page.getByRole("heading", { name: "No such events" })).toBeVisible();
  await page.getByRole("button", { name: /^Older than/ }).click();
  await expect(page.getByRole("row")).toHaveCount(1);
  await expect(page.getByRole("row")).toContainText("daemon_started");
});

test("what is shown can be had as lines of JSON", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  await open(page, "?kind=running");
  await expect(page.getByRole("row")).toHaveCount(1);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download what is shown as lines of JSON" }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toBe("kennel-events.ndjson");
  const pieces: Buffer[] = [];
  for await (const piece of await download.createReadStream()) pieces.push(piece as Buffer);
  const lines = Buffer.concat(pieces).toString().trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(["running"]);
});
