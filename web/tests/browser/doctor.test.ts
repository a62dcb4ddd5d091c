import { expect, expectAccessible, test } from "../support/test.ts";

test("the doctor tries pens, and says what was found @phone", async ({ page, kennel }) => {
  await page.goto(new URL("/doctor", page.url()).href);
  await expect(page.getByText("Sound.")).toBeVisible();
  const told = JSON.parse(await kennel.cli("doctor", "--json")) as { pen: string; findings: { id: string }[]; cannot_promise: string[] };
  await expect(page.getByText(`A session gets a ${told.pen} pen`)).toBeVisible();
  const findings = page.getByRole("region", { name: "Findings" });
  for (const { id } of told.findings) await expect(findings.getByText(id, { exact: true })).toBeVisible();
  await expect(page.getByRole("region", { name: "Pens on trial" })).toContainText(/held and ended in [\d.]+ ms/);
  for (const line of told.cannot_promise) await expect(page.getByText(line)).toBeVisible();
  const daemon = page.getByRole("region", { name: "Daemon" });
  await expect(daemon).toContainText(kennel.home);
  await expect(daemon).toContainText(`${await kennel.daemonPid()}`);
  await expect(page.getByRole("region", { name: "Readiness" })).toContainText("ready");
  await expect(page.getByRole("region", { name: "Figures" })).toContainText("Launches");
  await expectAccessible(page);
});

test("it says that it tries pens while it does, examines again, and a report can be copied", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  let release = () => {};
  const held = new Promise<void>((go) => (release = go));
  await page.route("**/v1/doctor", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(new URL("/doctor", page.url()).href);
  await expect(page.getByText("Trying real pens")).toBeVisible();
  await expect(page.getByRole("button", { name: "Examine again" })).toBeDisabled();
  await expectAccessible(page);
  release();
  await expect(page.getByText("Sound.")).toBeVisible();
  const asked = page.waitForResponse("**/v1/doctor");
  await page.getByRole("button", { name: "Examine again" }).click();
  await asked;
  await page.getByRole("button", { name: "Copy the report as text" }).click();
  await expect(page.getByRole("button", { name: "Copied" })).toBeVisible();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toMatch(/^kennel \d/);
  expect(text).toContain("Pens, each tried with an agent that leaves a daemon behind:");
});

test("what is not sound, and a check that fails, are plain to see", async ({ page }) => {
  await page.route("**/v1/doctor", (route) =>
    route.fulfill({
      json: {
        version: "1", sound: false, pen: null,
        pens: [{ kind: "cgroup", works: false, why: "no cgroup v2 is mounted", ended_in_ms: null }],
        findings: [{ id: "pidfd", state: "bad", found: "the kernel is too old" }],
        cannot_promise: [], advice: ["Use a newer kernel."],
      },
    }),
  );
  await page.route("**/readyz", (route) =>
    route.fulfill({ status: 503, json: { ready: false, checks: [{ name: "register", passed: false, why: "the disk is full" }] } }),
  );
  await page.goto(new URL("/doctor", page.url()).href);
  await expect(page.getByText("Not sound.")).toBeVisible();
  await expect(page.getByText("no cgroup v2 is mounted")).toBeVisible();
  await expect(page.getByText("Use a newer kernel.")).toBeVisible();
  await expect(page.getByRole("region", { name: "Readiness" })).toContainText("not ready");
  await expect(page.getByRole("region", { name: "Readiness" })).toContainText("the disk is full");
  await expectAccessible(page);
});

test("an examination that fails can be asked for again", async ({ page }) => {
  await page.route("**/v1/doctor", (route) =>
    route.fulfill({ status: 500, contentType: "application/problem+json", json: { code: "internal", detail: "The doctor did not come.", status: 500 } }),
  );
  await page.goto(new URL("/doctor", page.url()).href);
  await expect(page.getByRole("alert")).toContainText("The doctor did not come.");
  await page.unroute("**/v1/doctor");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("Sound.")).toBeVisible();
});

test("another daemon is shown as soon as it is there", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  await page.goto(new URL("/doctor", page.url()).href);
  const before = await kennel.daemonPid();
  await expect(page.getByRole("region", { name: "Daemon" })).toContainText(`${before}`);
  await kennel.killDaemon();
  await expect(page.getByText("The daemon is back.")).toBeVisible();
  const after = await kennel.daemonPid();
  expect(after).not.toBe(before);
  await expect(page.getByRole("region", { name: "Daemon" })).toContainText(`${after}`);
});
