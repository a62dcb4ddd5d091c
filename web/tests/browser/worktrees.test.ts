import { expect, expectAccessible, test } from "../support/test.ts";
import { makeRepository, runInWorktree, startInWorktree } from "../support/repository.ts";

const COMMIT = "git -c user.name=T -c user.email=t@localhost commit -q --allow-empty -m 'Fix the login'";

test("no worktrees: it says how to have one @phone", async ({ page }) => {
  await page.goto(new URL("/worktrees", page.url()).href);
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
  await expect(page.getByText("kennel run --worktree")).toBeVisible();
  await expectAccessible(page);
});

test("one that is kept says what would be lost, and goes with it only when that was said @phone", async ({ page, kennel }) => {
  const repo = await makeRepository(kennel);
  await runInWorktree(kennel, repo, "fix-login", `echo 1 > new.txt; ${COMMIT}`);
  await page.goto(new URL("/worktrees", page.url()).href);
  const kept = page.getByRole("region", { name: "Kept" });
  await expect(kept.getByRole("link", { name: "fix-login" })).toBeVisible();
  await expect(kept).toContainText("changes not committed: 1 untracked; 1 commit is on no other branch");
  await kept.getByRole("button", { name: "What would be lost with fix-login's worktree" }).click();
  await expect(kept).toContainText("new.txt");
  await expect(kept).toContainText("Fix the login");
  await expectAccessible(page);

  await kept.getByRole("button", { name: "Remove fix-login's worktree" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove this worktree?" });
  await expect(dialog.getByRole("heading", { name: "This is lost for good" })).toBeVisible();
  await expect(dialog).toContainText("new.txt");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await kennel.cli("worktrees")).toContain("kept");

  await kept.getByRole("button", { name: "Remove fix-login's worktree" }).click();
  await dialog.getByRole("button", { name: "Remove it with all that" }).click();
  await expect(page.getByText(/Lost with it: .*1 untracked/)).toBeVisible();
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
  expect(await kennel.cli("worktrees")).toBe("no worktrees");
});

test("one in use appears by itself, and goes by itself", async ({ page, kennel }) => {
  const repo = await makeRepository(kennel);
  await page.goto(new URL("/worktrees", page.url()).href);
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
  await startInWorktree(kennel, repo, "docs-pass", ["sleep", "600"]);
  const inUse = page.getByRole("region", { name: "In use" });
  await expect(inUse.getByRole("link", { name: "docs-pass" })).toBeVisible();
  await expect(inUse.getByRole("button", { name: /Remove/ })).toHaveCount(0);
  await kennel.killDaemon();
  await kennel.cli("stop", "docs-pass");
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
});

test("what became of value while the dialog was open is not lost unsaid", async ({ page, kennel }) => {
  const repo = await makeRepository(kennel);
  await runInWorktree(kennel, repo, "careful", "echo 1 > new.txt");
  await page.goto(new URL("/worktrees", page.url()).href);
  // The page believes that nothing would be lost: then it must not force anything.
  await page.route("**/losses", (route) =>
    route.fulfill({ json: { worktree: {}, losses: { why: [], changes: 0, changed: [], commits: 0, newest: [], unknown: null } } }),
  );
  await page.getByRole("button", { name: "Remove careful's worktree" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove this worktree?" });
  await expect(dialog).toContainText("Nothing: every change is committed");
  await page.unroute("**/losses");
  await dialog.getByRole("button", { name: "Remove it", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("has changed since it was looked for");
  await expect(dialog.getByRole("button", { name: "Remove it with all that" })).toBeEnabled();
  await expect(dialog).toContainText("new.txt");
  expect(await kennel.cli("worktrees")).toContain("kept");
});
