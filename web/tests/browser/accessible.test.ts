import { expect, expectAccessible, test } from "../support/test.ts";

/** What the other tests rely on is seen to find something. */
const FAULTS = {
  "a picture without words": `<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==">`,
  "words that are hard to see in the dark": `<style>:root[data-theme="dark"] .faint { color: #333; background: #222 }</style><p class="faint">Can you read this?</p>`,
  "something that sticks out": `<p style="width: 3000px">wide</p>`,
};

for (const [fault, html] of Object.entries(FAULTS)) {
  test(`${fault} would be found`, async ({ page }) => {
    await expectAccessible(page);
    await page.locator("main").evaluate((main, added) => main.insertAdjacentHTML("beforeend", added), html);
    await expect(expectAccessible(page)).rejects.toThrow();
  });
}
