import { expect, expectAccessible, test } from "../support/test.ts";

test("the shell leads everywhere @phone", async ({ page }) => {
  for (const area of ["Members", "Plans", "Strays", "Worktrees", "Events", "Doctor", "Sessions"]) {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: area }).click();
    await expect(page.getByRole("heading", { name: area, level: 1 })).toBeVisible();
    await expect(page).toHaveTitle(`${area} · Kennel`);
  }
  await expectAccessible(page);
});
