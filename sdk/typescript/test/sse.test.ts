import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser } from "../src/sse.js";

test("parses events from arbitrary pieces", () => {
  const text =
    "retry: 1000\n\n: alive\n\nid: 1\nevent: a\ndata: x\n\r\nid: 2\r\ndata: é\r\ndata:  y\r\n\r\ndata\n\nevent: none\n\n";
  const bytes = Buffer.from(text);
  const expected = [
    { event: "a", data: "x", id: "1" },
    { event: "message", data: "é\n y", id: "2" },
    { event: "message", data: "", id: "2" },
  ];
  for (const size of [1, 2, 3, 5, 1000]) {
    const parser = new EventParser();
    const received = [];
    for (let at = 0; at < bytes.length; at += size) received.push(...parser.push(bytes.subarray(at, at + size)));
    assert.deepEqual(received, expected, `in pieces of ${size}`);
  }
});
