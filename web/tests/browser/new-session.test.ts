import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import type { Kennel } from "../support/kennel.ts";
import { expect, expectAccessible, test } from "../support/test.ts";

interface Listed {
  id: string;
  name: string | null;
  spec: { argv?: string[]; cwd: string; terminal?: unknown; agent?: { settings: { agent: string } }; memory?: number; worktree?: { branch: string } };
}
const all = async (kennel: Kennel) => (await kennel.api<{ sessions: Listed[] }>("GET", "/v1/sessions?all=true")).sessions;
const dialog = (page: Page) => page.getByRole("dialog", { name: "New session" });

test("starts a command and opens its page @phone", async ({ page, kennel }) => {
  await page.getByRole("button", { name: "New session" }).click();
  await expectAccessible(page);
  await dialog(page).getByLabel("Command").fill(`sh -c "echo 'a  b'; sleep 1000" \\$x`);
  await expect(dialog(page).getByRole("list", { name: "Arguments" }).getByRole("listitem")).toHaveText(["sh", "-c", "echo 'a  b'; sleep 1000", "$x"]);
  await dialog(page).getByLabel("Folder").fill(kennel.folder);
  await dialog(page).getByLabel("Name").fill("hello");
  await dialog(page).getByText("Limits and restarts").click();
  await dialog(page).getByLabel("Timeout", { exact: true }).fill("10m");
  await expectAccessible(page);
  await dialog(page).getByRole("button", { name: "Start" }).click();
  await expect(page).toHaveURL(/\/sessions\/\w+$/);
  const [session] = await all(kennel);
  expect(session).toMatchObject({ name: "hello", spec: { argv: ["sh", "-c", "echo 'a  b'; sleep 1000", "$x"], cwd: kennel.folder, timeout_ms: 600_000, terminal: { rows: 30 } } });
});

test("shows errors of the page and the daemon at their fields", async ({ page, kennel }) => {
  await page.keyboard.press("n");
  await dialog(page).getByRole("button", { name: "Start" }).click();
  await expect(dialog(page).getByLabel("Command")).toBeFocused();
  await expect(dialog(page)).toContainText("Enter a command.");
  await dialog(page).getByLabel("Command").fill("no-such-program");
  await dialog(page).getByLabel("Folder").fill(join(kennel.folder, "nowhere"));
  await dialog(page).getByRole("button", { name: "Start" }).click();
  await expect(dialog(page).getByLabel(/^(Command|Folder)$/).and(dialog(page).locator("[aria-invalid=true]"))).toHaveCount(1);
  await dialog(page).getByLabel("Folder").fill(kennel.folder);
  await dialog(page).getByRole("button", { name: "Start" }).click();
  await expect(dialog(page).getByLabel("Command")).toHaveAttribute("aria-invalid", "true");
  await expect(dialog(page)).toContainText('no program "no-such-program"');
  await expect(dialog(page)).toContainText("It failed to start and is recorded as");
  await dialog(page).getByLabel("Command").fill("sleep 1000");
  await dialog(page).getByLabel("Use a separate git worktree").check();
  await dialog(page).getByRole("button", { name: "Start" }).click();
  await expect(dialog(page)).toContainText("is not in a git repository");
  await dialog(page).getByLabel("Use a separate git worktree").uncheck();
  await dialog(page).getByRole("button", { name: "Start" }).click();
  await expect(page).toHaveURL(/\/sessions\/\w+$/);
});

test("the shortcut works before the browser’s scope is loaded", async ({ page }) => {
  let letThrough = () => {};
  const held = new Promise<void>((let_) => (letThrough = let_));
  await page.route("**/v1/access/me", async (route) => (await held, route.continue()));
  await page.reload();
  await expect(page.getByRole("heading", { name: "Sessions", level: 1 })).toBeVisible();
  await page.keyboard.press("n");
  await expect(dialog(page)).toHaveCount(0);
  letThrough();
  await expect(dialog(page)).toBeVisible();
});

test("a double click and a daemon crash create only one session", async ({ page, kennel }) => {
  await kennel.session(["sleep", "1000"], ["--name", "holds"]);
  await page.keyboard.press("n");
  await dialog(page).getByLabel("Command").fill("sleep 1000");
  await dialog(page).getByLabel("Folder").fill(kennel.folder);
  // The first response is lost, as if the daemon had crashed.
  let asked = 0;
  await page.route("**/v1/sessions", async (route) => {
    if (route.request().method() !== "POST" || (asked += 1) > 1) return route.continue();
    await route.fetch();
    await kennel.killDaemon();
    await route.abort("connectionreset");
  });
  await dialog(page).getByRole("button", { name: "Start" }).dblclick();
  await expect(page).toHaveURL(/\/sessions\/\w+$/, { timeout: 30_000 });
  expect(asked).toBeGreaterThan(1);
  expect((await all(kennel)).filter((session) => session.name === null)).toHaveLength(1);
});

test("sends a prompt with the entered environment", async ({ page, kennel }) => {
  const bin = join(kennel.folder, "bin");
  await mkdir(bin);
  const result = { type: "result", subtype: "success", is_error: false, result: "hello", session_id: "c0ffee00-0000-4000-8000-000000000000", num_turns: 1 };
  await writeFile(join(bin, "claude"), `#!/bin/sh\ncat > "$HOME/prompt"\nprintf '%s' "$SECRET" > "$HOME/secret"\necho '${JSON.stringify(result)}'\n`);
  await chmod(join(bin, "claude"), 0o755);
  await page.keyboard.press("n");
  await dialog(page).getByRole("button", { name: "Prompt", exact: true }).click();
  await dialog(page).getByLabel("Prompt").fill("say hello");
  await dialog(page).getByLabel("Folder").fill(kennel.folder);
  await dialog(page).getByText("Environment", { exact: true }).first().click();
  const variables = dialog(page).getByLabel("Environment");
  await expect(variables).toHaveAccessibleDescription(/HOME.*PATH/);
  await variables.fill(`PATH=${bin}:/usr/bin:/bin\nHOME=${kennel.folder}\nSECRET=s3cret`);
  await expectAccessible(page);
  await dialog(page).getByRole("button", { name: "Send" }).click();
  await expect(page).toHaveURL(/\/sessions\/\w+$/);
  const id = page.url().split("/").at(-1);
  expect(await kennel.api("GET", `/v1/sessions/${id}/answer?wait=true`)).toMatchObject({ agent: "claude", answer: "hello", verdict: "succeeded" });
  await page.goto(new URL("/sessions?show=all&agent=claude", page.url()).href);
  await expect(page.getByRole("row").filter({ hasText: "claude" })).toContainText("succeeded");
  // The browser stores folders but no secrets.
  await page.keyboard.press("n");
  await expect(dialog(page).getByLabel("Folder")).toHaveValue(kennel.folder);
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain("s3cret");
});
