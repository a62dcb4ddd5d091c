import { expect, test } from "@playwright/test";

import { type Item, itemsOf, Lines, MAX_LENGTH } from "../../src/pages/session/output/log/lines.ts";
import { Matcher } from "../../src/pages/session/output/log/matcher.ts";
import { endOf, type GapRecord, type OutputRecord, utf8Length } from "../../src/pages/session/output/log/records.ts";

const time = "2026-01-31T12:00:00.000Z";

function output(offset: number, text: string, stream: OutputRecord["stream"] = "stdout"): OutputRecord {
  return { type: "output", offset, time, stream, text };
}

function dropped(offset: number, lost: number | null, why = "dropped"): GapRecord {
  return { type: "gap", offset, lost, why, text: "older than the limit allows" };
}

/** Formats items as `offset+length text`, with `…` at unfinished ends and `!` for standard error. */
function format(items: Item[]): string[] {
  return items.map((item) => {
    if (item.kind === "gap") return `${item.offset} gap ${item.lost}`;
    return `${item.offset}+${item.length} ${item.isError ? "!" : ""}${item.continues ? "…" : ""}${item.text}${item.isUnfinished ? "…" : ""}`;
  });
}

test("joins lines from arbitrary pieces", () => {
  const lines = new Lines();
  expect(format(lines.push(output(0, "on")))).toEqual([]);
  expect(format(lines.push(output(2, "e\ntwo\n\nth")))).toEqual(["0+4 one", "4+4 two", "8+1 "]);
  expect(lines.open && format([lines.open])).toEqual(["9+2 th…"]);
  expect(format(lines.push(output(11, "ree\n")))).toEqual(["9+6 three"]);
  expect(lines.open).toBeNull();
});

test("offsets count bytes", () => {
  const lines = new Lines();
  expect(format(lines.push(output(0, "ä€😀\nx\n")))).toEqual(["0+10 ä€😀", "10+2 x"]);
  expect(format(lines.push({ type: "output", offset: 12, time, stream: "stdout", hex: "ff410a420a" }))).toEqual(["12+3 \ufffdA", "15+2 B"]);
  for (const text of ["", "abc", "ä€😀", "\u07ff\u0800\uffff"]) expect(utf8Length(text)).toBe(Buffer.byteLength(text));
});

test("continues a line that the other stream interrupts", () => {
  const lines = new Lines();
  const items = [output(0, "ab"), output(2, "bad\n", "stderr"), output(6, "cd\n")].flatMap((record) => lines.push(record));
  expect(format(items)).toEqual(["0+2 ab…", "2+4 !bad", "6+3 …cd"]);
});

test("splits a line that is too long", () => {
  const lines = new Lines();
  const items = lines.push(output(0, `${"x".repeat(2 * MAX_LENGTH + 5)}\n`));
  expect(items.map((item) => item.kind === "line" && [item.offset, item.length, item.text.length, item.continues, item.isUnfinished])).toEqual([
    [0, MAX_LENGTH, MAX_LENGTH, false, true],
    [MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, true, true],
    [2 * MAX_LENGTH, 6, 5, true, false],
  ]);
  // Not within a surrogate pair.
  const pairs = new Lines().push(output(0, `x${"😀".repeat(MAX_LENGTH)}\n`));
  expect(pairs.every((item) => item.kind === "line" && !/[\ud800-\udbff]$/.test(item.text))).toBe(true);
  expect(pairs.reduce((sum, item) => sum + (item.kind === "line" ? item.length : 0), 0)).toBe(2 + 4 * MAX_LENGTH);
});

test("a gap ends the line", () => {
  const lines = new Lines();
  expect(format([output(0, "ab"), dropped(2, null, "keeper_died"), output(2, "cd\n")].flatMap((record) => lines.push(record)))).toEqual([
    "0+2 ab",
    "2 gap null",
    "2+3 cd",
  ]);
  // A drop includes everything before it, wherever the part starts.
  expect(format(new Lines().push(dropped(4096, 4096)))).toEqual(["4096 gap 8192"]);
});

test("skips the cut first line of a part", () => {
  expect(format(itemsOf([output(5, "lf\nwhole\nnext\n")], true))).toEqual(["8+6 whole", "14+5 next"]);
  expect(format(itemsOf([output(5, "whole\n")], false))).toEqual(["5+6 whole"]);
  // Unless there is no other line.
  expect(format(itemsOf([output(5, "lf\n")], true))).toEqual(["5+3 …lf"]);
});

test("returns the end offset of records", () => {
  expect(endOf([])).toBeNull();
  expect(endOf([output(3, "€")])).toBe(6);
  expect(endOf([{ type: "output", offset: 3, time, stream: "stdout", hex: "ff00" }])).toBe(5);
  expect(endOf([dropped(3, 10)])).toBe(13);
});

test("finds matching lines however records are cut", () => {
  const text = `first\nan Error here\n${"x".repeat(50)}\ne\x1b[31mrr\x1b[0mor in colour\nnone\nlast error`;
  const expected = [6, 6 + 14 + 51, Buffer.byteLength(text) - 10];
  for (const size of [1, 2, 3, 5, 8, 13, 21, 34, 55, text.length]) {
    const matcher = new Matcher("ERROR");
    const hits: number[] = [];
    for (let at = 0; at < text.length; at += size) hits.push(...matcher.push(output(at, text.slice(at, at + size))));
    hits.push(...matcher.rest());
    expect(hits, `in pieces of ${size}`).toEqual(expected);
  }
});

test("keeps offsets right when it skips lines without a match", () => {
  const matcher = new Matcher("needle");
  const hits = [output(0, "hä\nhay\nhay\nne"), output(14, "edle\nhay\nhay\nneedle\n")].flatMap((record) => matcher.push(record));
  expect(hits).toEqual([12, 27]);
});
