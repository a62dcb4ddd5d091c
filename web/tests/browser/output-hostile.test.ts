/** Hostile output is displayed and has no other effect on the page. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, expectAccessible, test } from "../support/test.ts";

const ESC = "\x1b";
const MARKUP = `<script>globalThis.harmed = true</script><img src=x onerror="globalThis.harmed = true"><a href="javascript:globalThis.harmed=true">x</a></div></main>`;

/** Sequences that make a terminal do more than drawing. */
const SEQUENCES = [
  ...[0, 1, 2].map((code) => `${ESC}]${code};harmed title\x07`),
  `${ESC}]8;;javascript:globalThis.harmed=true${ESC}\\click here${ESC}]8;;${ESC}\\`,
  `${ESC}]8;;https://harmed.example/${ESC}\\or here${ESC}]8;;${ESC}\\ https://harmed.example/plain`,
  `${ESC}]52;c;${Buffer.from("harmed clipboard").toString("base64")}\x07`,
  `${ESC}]52;c;?\x07`,
  `${ESC}]7;file://harmed/\x07${ESC}]9;harmed\x07${ESC}]777;notify;harmed;harmed\x07${ESC}]99;;harmed\x07`,
  `${ESC}]1337;File=name=aGFybWVk;inline=0:aGFybWVk\x07`,
  `${ESC}]4;1;#000000\x07${ESC}]10;#000000\x07${ESC}]11;#000000\x07`,
  `${ESC}[8;1;1t${ESC}[3;0;0t${ESC}[2t${ESC}[9;1t${ESC}[21t${ESC}[22;0t`,
  `${ESC}[?1000h${ESC}[?1003h${ESC}[?1006h${ESC}[?2004h${ESC}[?1049h${ESC}[?25l${ESC}[8m${ESC}[5m`,
  `${ESC}[999999999;999999999H${ESC}[99999999A${ESC}[1;1r`,
  ...["S", "T", "L", "M", "I", "Z", "b", "@", "P", "X"].map((final) => `x${ESC}[2147483647${final}`),
  `${ESC}P$q"p${ESC}\\${ESC}Pq"1;1;99999;99999#0~~~${ESC}\\${ESC}_harmed${ESC}\\${ESC}^harmed${ESC}\\${ESC}Xharmed${ESC}\\`,
  "\u202eright to left\u2066\u2067 and never back",
  "\x00\x01\x05\x08\x0b\x0c\x0e\x0f\x7f\u0085\u009b31m\u009d0;harmed\u009c",
];

/** Floods of one sequence. */
const FLOODS = ["\x07", `${ESC}c`, `${ESC}[?1049h${ESC}[?1049l`, `${ESC}#8`, `${ESC}[99S`, `x${ESC}[80b`, `${ESC}[2J`, `${ESC}]0;x\x07`, "\r", "\t"].map((unit) =>
  unit.repeat(Math.floor(65_536 / unit.length)),
);

const LINE = "y".repeat(10_000_000);
const UNFINISHED = `${ESC}Pq${"A".repeat(2_000_000)}`;

/** Returns a check that nothing happened to the page. */
async function guard(page: Page): Promise<() => Promise<void>> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const happened: string[] = [];
  page.on("dialog", (dialog) => {
    happened.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("framenavigated", (frame) => happened.push(`went to ${frame.url()}`));
  page.on("download", () => happened.push("downloaded something"));
  page.context().on("page", (other) => happened.push(`opened ${other.url()}`));
  const host = new URL(page.url()).host;
  page.on("request", (request) => new URL(request.url()).host !== host && happened.push(`asked for ${request.url()}`));
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  // The page itself puts the number of live sessions into the title.
  const named = async () => (await page.title()).replace(/^\(\d+\) /, "");
  const title = await named();
  await page.evaluate(() => {
    const seen = globalThis as unknown as { worst: number };
    seen.worst = 0;
    let before = performance.now();
    const measure = () => {
      seen.worst = Math.max(seen.worst, performance.now() - before);
      before = performance.now();
      requestAnimationFrame(measure);
    };
    requestAnimationFrame(measure);
  });
  return async () => {
    expect(happened).toEqual([]);
    expect(await page.evaluate(() => "harmed" in globalThis), "no script ran").toBe(false);
    expect(await page.evaluate(() => navigator.clipboard.readText()), "the clipboard").toBe("mine");
    expect(await named()).toBe(title);
    await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
    const worst = await page.evaluate(() => (globalThis as unknown as { worst: number }).worst);
    test.info().annotations.push({ type: "longest freeze", description: `${Math.round(worst)} ms` });
    expect(worst, "the page never froze").toBeLessThan(3000);
  };
}

test("hostile output does not harm the log @phone", async ({ page, kennel }) => {
  test.setTimeout(120_000);
  const file = join(kennel.folder, "hostile");
  await writeFile(file, [MARKUP, ...SEQUENCES, ...FLOODS, LINE, UNFINISHED, "", "still here", ""].join("\n"));
  const id = await kennel.session(["sh", "-c", `read go; cat '${file}'`], ["-i"]);
  await page.goto(new URL(`/sessions/${id}`, page.url()).href);
  const view = page.getByRole("region", { name: "Session output" });
  await expect(page.getByText("No output yet.")).toBeVisible();
  const unharmed = await guard(page);
  await kennel.api("POST", `/v1/sessions/${id}/input`, { hex: "0a" });
  await expect(page.locator(".log-end")).toHaveText("The session has ended: exited with code 0.", { timeout: 60_000 });
  await expect(view.getByText("still here")).toBeVisible();
  await view.press("Home");
  await expect(view.getByText(MARKUP)).toBeVisible();
  await expect(view.getByText("click here")).toBeVisible();
  await view.getByText("click here").click();
  await expect(view.getByText("‹U+202E›", { exact: true })).toBeAttached();
  await expect(view.locator("a, img, script")).toHaveCount(0);
  // The line of 10 MB is shown in parts.
  await page.getByRole("slider", { name: "Position in the output" }).fill("500");
  await expect(page.getByRole("button", { name: /^Show all \(32,768 characters\)$/ }).first()).toBeVisible();
  await page.getByRole("button", { name: /^Show all/ }).first().click();
  await unharmed();
  // Axe opens pages itself, so this comes last.
  await expectAccessible(page);
});

test("hostile output does not harm the terminal", async ({ page, kennel }) => {
  test.setTimeout(120_000);
  const file = join(kennel.folder, "hostile");
  await writeFile(file, [MARKUP, ...SEQUENCES, ...FLOODS, LINE, UNFINISHED, `${ESC}cstill here`, ""].join("\r\n"));
  // The session discards the terminal’s answers.
  const id = await kennel.session(["sh", "-c", `stty -echo; echo ready; read go; cat '${file}'; sleep 0.2; exec cat`], ["-t"]);
  await page.goto(new URL(`/sessions/${id}`, page.url()).href);
  const screen = page.locator(".xterm-rows");
  await expect(screen).toContainText("ready");
  const unharmed = await guard(page);
  await page.locator(".terminal-screen").click();
  await page.keyboard.press("Enter");
  await expect(screen).toContainText("still here", { timeout: 60_000 });
  await expect(page.locator(".terminal-foot .attachment-state")).toHaveText("Attached");
  await expect(page.getByText("Keyboard input goes to the session.")).toBeVisible();
  await unharmed();
});

test("links in a terminal are not clickable", async ({ page, kennel }) => {
  const link = `${ESC}]8;;https://harmed.example/${ESC}\\LINK${ESC}]8;;${ESC}\\ https://harmed.example/`;
  const id = await kennel.session(["sh", "-c", `printf '%s\\n' '${link}'; exec cat`], ["-t"]);
  await page.goto(new URL(`/sessions/${id}`, page.url()).href);
  await expect(page.locator(".xterm-rows")).toContainText("LINK");
  const unharmed = await guard(page);
  const box = (await page.locator(".xterm-rows > div").first().boundingBox()) ?? { x: 0, y: 0, height: 0 };
  for (const modifier of ["Shift", "Control", "Meta"] as const) {
    await page.keyboard.down(modifier);
    await page.mouse.move(box.x + 12, box.y + box.height / 2);
    await page.mouse.move(box.x + 14, box.y + box.height / 2);
    await page.mouse.click(box.x + 14, box.y + box.height / 2);
    await page.mouse.click(box.x + 80, box.y + box.height / 2);
    await page.keyboard.up(modifier);
  }
  await expect(page.locator(".xterm-underline-1, .xterm-cursor-pointer")).toHaveCount(0);
  await unharmed();
});
