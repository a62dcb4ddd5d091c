import { expect, test } from "@playwright/test";

import { Asker } from "../../src/state/asker.ts";

/** Questions that are answered when the test says so. */
function scene() {
  const questions: { closing: AbortSignal; answer(told: string): Promise<void>; fail(why: Error): Promise<void> }[] = [];
  const heard: string[] = [];
  const fetch = (closing: AbortSignal) =>
    new Promise<string>((told, failed) => {
      // What hears of it does so in turns that come later.
      const settled = () => new Promise<void>((soon) => setTimeout(soon));
      questions.push({
        closing,
        answer: (text) => (told(text), settled()),
        fail: (why) => (failed(why), settled()),
      });
    });
  const asker = new Asker(fetch, { told: (text) => heard.push(text), failed: (why) => heard.push(`${why}`) });
  return { asker, questions, heard };
}

test("whoever asks during an answer hears that one, and one more", async () => {
  const { asker, questions, heard } = scene();
  asker.ask();
  asker.ask();
  asker.ask();
  expect(questions).toHaveLength(1);
  await questions[0]!.answer("old");
  expect(heard).toEqual(["old"]);
  expect(questions).toHaveLength(2);
  await questions[1]!.answer("new");
  expect(heard).toEqual(["old", "new"]);
  expect(questions).toHaveLength(2);
  expect(asker.isAsking).toBe(false);
});

test("a failure is told, and does not end it", async () => {
  const { asker, questions, heard } = scene();
  asker.ask();
  asker.ask();
  await questions[0]!.fail(new Error("away"));
  await questions[1]!.answer("here");
  expect(heard).toEqual(["Error: away", "here"]);
});

test("an answer to what was asked before is not heard, however late it comes", async () => {
  const { asker, questions, heard } = scene();
  asker.ask();
  asker.ask();
  asker.askAnew();
  expect(questions).toHaveLength(2);
  expect(questions[0]!.closing.aborted).toBe(true);
  await questions[1]!.answer("new");
  await questions[0]!.answer("old");
  expect(heard).toEqual(["new"]);
  expect(questions).toHaveLength(2);
});

test("who has closed it hears nothing more", async () => {
  const { asker, questions, heard } = scene();
  asker.ask();
  asker.ask();
  asker.close();
  await questions[0]!.answer("late");
  expect(heard).toEqual([]);
  expect(questions).toHaveLength(1);
});
