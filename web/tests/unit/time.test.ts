import { expect, test } from "@playwright/test";

import { readTime } from "../../src/ui/time.ts";

test("parses durations", () => {
  const cases: [string, number | null | undefined][] = [
    ["", null], ["90s", 90_000], ["10m", 600_000], ["10 min", 600_000], ["2h", 7_200_000], ["1h 30m", 5_400_000], ["500ms", 500], ["1.5h", 5_400_000],
    ["10", undefined], ["soon", undefined], ["-1s", undefined], ["1x", undefined],
  ];
  for (const [text, milliseconds] of cases) expect(readTime(text), text).toBe(milliseconds);
});
