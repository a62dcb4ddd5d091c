import { expect, test } from "@playwright/test";

import { fromTo, kept, within } from "../../src/ui/visible-range.ts";

test("renders only rows near the visible ones", () => {
  expect(fromTo(-100, 800, 40, 1000)).toEqual({ from: 0, to: 30 });
  const middle = fromTo(20_000, 800, 40, 1000);
  expect(middle).toEqual({ from: 490, to: 530 });
  expect(fromTo(39_600, 800, 40, 1000)).toEqual({ from: 980, to: 1000 });
  expect(fromTo(99_999, 800, 40, 3)).toEqual({ from: 3, to: 3 });
});

test("always renders the focused row", () => {
  const items = [..."abcdefgh"];
  const key = (item: string) => item;
  expect(within({ from: 2, to: 4 }, items, "a", key)).toEqual([0, 2, 3]);
  expect(within({ from: 2, to: 4 }, items, "h", key)).toEqual([2, 3, 7]);
  expect(within({ from: 2, to: 4 }, items, "c", key)).toEqual([2, 3]);
  expect(within({ from: 2, to: 40 }, items, null, key)).toEqual([2, 3, 4, 5, 6, 7]);
});

test("keeps visible rows in place when rows above change", () => {
  const key = (item: string) => item;
  expect(kept([..."abcd"], [..."xyabcd"], key, 1)).toBe(2);
  expect(kept([..."abcd"], [..."bcd"], key, 1)).toBe(-1);
  expect(kept([..."abcd"], [..."xacd"], key, 1)).toBe(0);
  expect(kept([..."ab"], [..."xy"], key, 0)).toBe(0);
});
