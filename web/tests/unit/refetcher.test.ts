import { expect, test } from "@playwright/test";

import { Refetcher } from "../../src/state/refetcher.ts";

/** Requests that the test answers. */
function setUp() {
  const requests: { closing: AbortSignal; answer(text: string): Promise<void>; fail(why: Error): Promise<void> }[] = [];
  const delivered: string[] = [];
  const fetch = (closing: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      // Results are delivered in later turns of the event loop.
      const settled = () => new Promise<void>((resolve) => setTimeout(resolve));
      requests.push({
        closing,
        answer: (text) => (resolve(text), settled()),
        fail: (why) => (reject(why), settled()),
      });
    });
  const refetcher = new Refetcher(fetch, { loaded: (text) => delivered.push(text), failed: (why) => delivered.push(`${why}`) });
  return { refetcher, requests, delivered };
}

test("a refetch during a request delivers its result, then sends one more", async () => {
  const { refetcher, requests, delivered } = setUp();
  refetcher.refetch();
  refetcher.refetch();
  refetcher.refetch();
  expect(requests).toHaveLength(1);
  await requests[0]!.answer("old");
  expect(delivered).toEqual(["old"]);
  expect(requests).toHaveLength(2);
  await requests[1]!.answer("new");
  expect(delivered).toEqual(["old", "new"]);
  expect(requests).toHaveLength(2);
  expect(refetcher.isFetching).toBe(false);
});

test("reports a failure and goes on", async () => {
  const { refetcher, requests, delivered } = setUp();
  refetcher.refetch();
  refetcher.refetch();
  await requests[0]!.fail(new Error("away"));
  await requests[1]!.answer("here");
  expect(delivered).toEqual(["Error: away", "here"]);
});

test("drops the result of a request before a restart", async () => {
  const { refetcher, requests, delivered } = setUp();
  refetcher.refetch();
  refetcher.refetch();
  refetcher.restart();
  expect(requests).toHaveLength(2);
  expect(requests[0]!.closing.aborted).toBe(true);
  await requests[1]!.answer("new");
  await requests[0]!.answer("old");
  expect(delivered).toEqual(["new"]);
  expect(requests).toHaveLength(2);
});

test("delivers nothing after close", async () => {
  const { refetcher, requests, delivered } = setUp();
  refetcher.refetch();
  refetcher.refetch();
  refetcher.close();
  await requests[0]!.answer("late");
  expect(delivered).toEqual([]);
  expect(requests).toHaveLength(1);
});
