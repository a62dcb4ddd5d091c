import { expect, expectAccessible, test } from "../support/test.ts";

test("shows the report, the daemon and its metrics @phone", async ({ page, kennel }) => {
  await page.goto(new URL("/doctor", page.url()).href);
  await expect(page.getByText("All good.")).toBeVisible();
  const report = JSON.parse(await kennel.cli("doctor", "--json")) as { pen: string; findings: { id: string }[]; cannot_promise: string[] };
  await expect(page.getByText(`Sessions use ${report.pen} pens`)).toBeVisible();
  const findings = page.getByRole("region", { name: "Findings" });
  for (const { id } of report.findings) await expect(findings.getByText(id, { exact: true })).toBeVisible();
  await expect(page.getByRole("region", { name: "Isolation checks" })).toContainText(/all processes ended in [\d.]+ ms/);
  for (const line of report.cannot_promise) await expect(page.getByText(line)).toBeVisible();
  const daemon = page.getByRole("region", { name: "Daemon" });
  await expect(daemon).toContainText(kennel.home);
  await expect(daemon).toContainText(`${await kennel.daemonPid()}`);
  await expect(page.getByRole("region", { name: "Readiness" })).toContainText("ready");
  await expect(page.getByRole("region", { name: "Metrics" })).toContainText("Launches");
  await expectAccessible(page);
});

test("shows progress, checks again, and copies the report", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  let release = () => {};
  const held = new Promise<void>((go) => (release = go));
  await page.route("**/v1/doctor", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(new URL("/doctor", page.url()).href);
  await expect(page.getByText("Checking each kind of pen")).toBeVisible();
  await expect(page.getByRole("button", { name: "Check again" })).toBeDisabled();
  await expectAccessible(page);
  release();
  await expect(page.getByText("All good.")).toBeVisible();
  const response = page.waitForResponse("**/v1/doctor");
  await page.getByRole("button", { name: "Check again" }).click();
  await response;
  await page.getByRole("button", { name: "Copy report as text" }).click();
  await expect(page.getByRole("button", { name: "Copied" })).toBeVisible();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toMatch(/^kennel \d/);
  expect(text).toContain("Pens, each checked with an agent that leaves a daemon process behind:");
});

test("shows a machine without a reliable pen, and a failed check", async ({ page }) => {
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
  await expect(page.getByText("Problem found.")).toBeVisible();
  await expect(page.getByText("no cgroup v2 is mounted")).toBeVisible();
  await expect(page.getByText("Use a newer kernel.")).toBeVisible();
  await expect(page.getByRole("region", { name: "Readiness" })).toContainText("not ready");
  await expect(page.getByRole("region", { name: "Readiness" })).toContainText("the disk is full");
  await expectAccessible(page);
});

test("retries a failed check", async ({ page }) => {
  await page.route("**/v1/doctor", (route) =>
    route.fulfill({ status: 500, contentType: "application/problem+json", json: { code: "internal", detail: "The checks did not run.", status: 500 } }),
  );
  await page.goto(new URL("/doctor", page.url()).href);
  await expect(page.getByRole("alert")).toContainText("The checks did not run.");
  await page.unroute("**/v1/doctor");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("All good.")).toBeVisible();
});

test("shows a new daemon after a crash", async ({ page, kennel }) => {
  await kennel.session(["sleep", "600"]);
  await page.goto(new URL("/doctor", page.url()).href);
  const before = await kennel.daemonPid();
  await expect(page.getByRole("region", { name: "Daemon" })).toContainText(`${before}`);
  await kennel.killDaemon();
  await expect(page.getByText("Reconnected to the daemon.")).toBeVisible();
  const after = await kennel.daemonPid();
  expect(after).not.toBe(before);
  await expect(page.getByRole("region", { name: "Daemon" })).toContainText(`${after}`);
});
