import { expect, expectAccessible, test } from "../support/test.ts";
import { ended, startStray } from "../support/stray.ts";

test("shows that there are no strays @phone", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"], ["--name", "steady"]);
  await page.goto(new URL("/strays", page.url()).href);
  await expect(page.getByRole("heading", { name: "No strays" })).toBeVisible();
  await expect(page.getByText("1 live session, all processes accounted for.")).toBeVisible();
  await expect(page.getByText(/scanned \d+ s ago/)).toBeVisible();
  await expect(page.getByRole("button", { name: "End all…" })).toHaveCount(0);
  await expectAccessible(page);
});

test("shows and ends a stray @phone", async ({ page, kennel }) => {
  const session = await kennel.session(["true"], ["--name", "gone-by"]);
  await kennel.cli("wait", session);
  const stray = await startStray(kennel, session);
  await page.goto(new URL("/strays", page.url()).href);
  const row = page.getByRole("row").filter({ hasText: `${stray.pid}` });
  await expect(row).toContainText("sleep 600");
  await expect(row.getByRole("link", { name: "gone-by" })).toHaveAttribute("href", `/sessions/${session}`);
  await expect(row).toContainText("environment");
  await expect(page.getByRole("link", { name: "Strays 1 found" })).toBeVisible();
  await expectAccessible(page);

  await page.getByRole("button", { name: "End all…" }).click();
  const dialog = page.getByRole("dialog", { name: "End 1 stray?" });
  await expect(dialog.getByRole("listitem")).toHaveText([new RegExp(`${stray.pid}.*sleep 600`)]);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(stray.exitCode ?? stray.signalCode).toBeNull();

  await page.getByRole("button", { name: "End all…" }).click();
  await page.getByRole("button", { name: "End 1 stray" }).click();
  await expect(page.getByText("Ended 1 stray.")).toBeVisible();
  await expect(page.getByText(`${stray.pid} (sleep)`)).toBeVisible();
  expect(await ended(stray)).toBe("SIGKILL");
  await expect(page.getByRole("heading", { name: "No strays" })).toBeVisible();
});

test("reports strays that are still alive", async ({ page, kennel }) => {
  const session = await kennel.session(["true"]);
  await kennel.cli("wait", session);
  const stray = await startStray(kennel, session);
  const view = { pid: stray.pid, name: "sleep", command: "sleep 600", session, mark: "cookie" };
  let sent: unknown = null;
  await page.route("**/v1/strays/end", (route) => {
    sent = route.request().postDataJSON();
    return route.fulfill({ json: { ended: [], still_alive: [view] } });
  });
  await page.goto(new URL("/strays", page.url()).href);
  await page.getByRole("button", { name: "End all…" }).click();
  await page.getByRole("button", { name: "End 1 stray" }).click();
  await expect(page.getByText("1 is still alive")).toBeVisible();
  expect(sent).toMatchObject({ only: [{ pid: stray.pid }] });
  await expect(page.getByText("No stray was ended.")).toBeVisible();
  await expect(page.getByRole("row").filter({ hasText: `${stray.pid}` })).toBeVisible();
  await expectAccessible(page);
  stray.kill("SIGKILL");
});

test("ends only the strays listed in the dialog", async ({ page, kennel }) => {
  const session = await kennel.session(["true"]);
  await kennel.cli("wait", session);
  const first = await startStray(kennel, session);
  await page.goto(new URL("/strays", page.url()).href);
  await expect(page.getByRole("heading", { name: "1 stray" })).toBeVisible();
  const second = await startStray(kennel, session, ["sleep", "601"]);
  await page.getByRole("button", { name: "End all…" }).click();
  const dialog = page.getByRole("dialog", { name: "End 2 strays?" });
  await expect(dialog.getByRole("listitem")).toHaveCount(2);
  const later = await startStray(kennel, session, ["sleep", "602"]);
  await dialog.getByRole("button", { name: "End 2 strays" }).click();
  await expect(page.getByText("Ended 2 strays.")).toBeVisible();
  expect(await ended(first)).toBe("SIGKILL");
  expect(await ended(second)).toBe("SIGKILL");
  await expect(page.getByRole("row").filter({ hasText: `${later.pid}` })).toBeVisible();
  expect(later.exitCode ?? later.signalCode).toBeNull();
  later.kill("SIGKILL");
  await ended(later);
});

test("shows processes outside their pen without ending them", async ({ page, kennel }) => {
  const session = await kennel.session(["sleep", "600"], ["--name", "alive"]);
  const outside = await startStray(kennel, session, ["sleep", "601"]);
  await page.goto(new URL("/strays", page.url()).href);
  await expect(page.getByRole("heading", { name: "1 process outside" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Processes outside their pen" })).toContainText("sleep 601");
  await expect(page.getByRole("button", { name: "End all…" })).toHaveCount(0);
  outside.kill("SIGKILL");
  await ended(outside);
  await page.getByRole("button", { name: "Scan again" }).click();
  await expect(page.getByRole("heading", { name: "1 process outside" })).toHaveCount(0);
});

test("keeps the list and marks it as stale when a scan fails", async ({ page, kennel }) => {
  const session = await kennel.session(["true"]);
  await kennel.cli("wait", session);
  const stray = await startStray(kennel, session);
  await page.goto(new URL("/strays", page.url()).href);
  const row = page.getByRole("row").filter({ hasText: `${stray.pid}` });
  await expect(row).toBeVisible();
  await page.route("**/v1/strays", (route) => route.abort());
  await page.getByRole("button", { name: "Scan again" }).click();
  await expect(page.getByText("The last scan failed")).toBeVisible();
  await expect(row).toBeVisible();
  await page.unroute("**/v1/strays");
  await page.getByRole("button", { name: "Scan again" }).click();
  await expect(page.getByText("The last scan failed")).toHaveCount(0);
  stray.kill("SIGKILL");
});
