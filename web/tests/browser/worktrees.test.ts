import { expect, expectAccessible, test } from "../support/test.ts";
import { makeRepository, runInWorktree, startInWorktree } from "../support/repository.ts";

const COMMIT = "git -c user.name=T -c user.email=t@localhost commit -q --allow-empty -m 'Fix the login'";

test("explains worktrees when there are none @phone", async ({ page }) => {
  await page.goto(new URL("/worktrees", page.url()).href);
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
  await expect(page.getByText("kennel run --worktree")).toBeVisible();
  await expectAccessible(page);
});

test("removes a kept worktree only after listing its unmerged work @phone", async ({ page, kennel }) => {
  const repo = await makeRepository(kennel);
  await runInWorktree(kennel, repo, "fix-login", `echo 1 > new.txt; ${COMMIT}`);
  await page.goto(new URL("/worktrees", page.url()).href);
  const kept = page.getByRole("region", { name: "Kept" });
  await expect(kept.getByRole("link", { name: "fix-login" })).toBeVisible();
  await expect(kept).toContainText("uncommitted changes: 1 untracked; 1 commit is on no other branch");
  await kept.getByRole("button", { name: "Show unmerged work of fix-login" }).click();
  await expect(kept).toContainText("new.txt");
  await expect(kept).toContainText("Fix the login");
  await expectAccessible(page);

  await kept.getByRole("button", { name: "Remove the worktree of fix-login" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove worktree?" });
  await expect(dialog.getByRole("heading", { name: "This will be permanently lost" })).toBeVisible();
  await expect(dialog).toContainText("new.txt");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await kennel.cli("worktrees")).toContain("kept");

  await kept.getByRole("button", { name: "Remove the worktree of fix-login" }).click();
  await dialog.getByRole("button", { name: "Remove anyway" }).click();
  await expect(page.getByText(/Deleted: .*1 untracked/)).toBeVisible();
  await expect(page.getByRole("heading", { name: "No worktrees" })).toBeVisible();
  expect(await kennel.cli("worktrees")).toBe("no worktrees");
});

test("shows a worktree while it is in use", async ({ page, kennel }) => {
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

test("does not remove a worktree that changed while the dialog was open", async ({ page, kennel }) => {
  const repo = await makeRepository(kennel);
  await runInWorktree(kennel, repo, "careful", "echo 1 > new.txt");
  await page.goto(new URL("/worktrees", page.url()).href);
  // The page believes that nothing would be lost, so it must not force the removal.
  await page.route("**/losses", (route) =>
    route.fulfill({ json: { worktree: {}, losses: { why: [], changes: 0, changed: [], commits: 0, newest: [], unknown: null } } }),
  );
  await page.getByRole("button", { name: "Remove the worktree of careful" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove worktree?" });
  await expect(dialog).toContainText("Nothing: every change is committed");
  await page.unroute("**/losses");
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("has changed since the list above was loaded");
  await expect(dialog.getByRole("button", { name: "Remove anyway" })).toBeEnabled();
  await expect(dialog).toContainText("new.txt");
  expect(await kennel.cli("worktrees")).toContain("kept");
});
