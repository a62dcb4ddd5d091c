import { expect, expectAccessible, test } from "../support/test.ts";

const lowContrast = (scope: string) => `<style>${scope}.faint { color: #333; background: #222 }</style><p class="faint">Can you read this?</p>`;

/** Checks that expectAccessible, which the other tests rely on, finds these problems. */
const PROBLEMS = {
  "an image without a text": `<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==">`,
  "low contrast": lowContrast(""),
  "low contrast in the dark theme": lowContrast(':root[data-theme="dark"] '),
  "horizontal overflow": `<p style="width: 3000px">wide</p>`,
};

for (const [problem, html] of Object.entries(PROBLEMS)) {
  test(`finds ${problem}`, async ({ page }) => {
    await expectAccessible(page, ["light", "dark"]);
    await page.locator("main").evaluate((main, added) => main.insertAdjacentHTML("beforeend", added), html);
    await expect(expectAccessible(page, ["light", "dark"])).rejects.toThrow();
  });
}
