import { expect, test } from "@playwright/test";

import { type Item, itemsOf, Lines, LONGEST } from "../../src/pages/session/output/log/lines.ts";
import { Matcher } from "../../src/pages/session/output/log/matcher.ts";
import { endOf, type GapRecord, type OutputRecord, utf8Length } from "../../src/pages/session/output/log/records.ts";

const time = "2026-01-31T12:00:00.000Z";

function output(offset: number, text: string, stream: OutputRecord["stream"] = "stdout"): OutputRecord {
  return { type: "output", offset, time, stream, text };
}

function dropped(offset: number, lost: number | null, why = "dropped"): GapRecord {
  return { type: "gap", offset, lost, why, text: "older than the limit allows" };
}

/** `offset+length text`, with `…` where a line goes on or went on, and `!` for standard error. */
function told(items: Item[]): string[] {
  return items.map((item) => {
    if (item.kind === "gap") return `${item.offset} gap ${item.lost}`;
    return `${item.offset}+${item.length} ${item.isError ? "!" : ""}${item.continues ? "…" : ""}${item.text}${item.goesOn ? "…" : ""}`;
  });
}

test("lines are put together however they come", () => {
  const lines = new Lines();
  expect(told(lines.push(output(0, "on")))).toEqual([]);
  expect(told(lines.push(output(2, "e\ntwo\n\nth")))).toEqual(["0+4 one", "4+4 two", "8+1 "]);
  expect(lines.open && told([lines.open])).toEqual(["9+2 th…"]);
  expect(told(lines.push(output(11, "ree\n")))).toEqual(["9+6 three"]);
  expect(lines.open).toBeNull();
});

test("offsets count bytes", () => {
  const lines = new Lines();
  expect(told(lines.push(output(0, "ä€😀\nx\n")))).toEqual(["0+10 ä€😀", "10+2 x"]);
  expect(told(lines.push({ type: "output", offset: 12, time, stream: "stdout", hex: "ff410a420a" }))).toEqual(["12+3 \ufffdA", "15+2 B"]);
  for (const text of ["", "abc", "ä€😀", "\u07ff\u0800\uffff"]) expect(utf8Length(text)).toBe(Buffer.byteLength(text));
});

test("a line that the other stream interrupts goes on after it", () => {
  const lines = new Lines();
  const items = [output(0, "ab"), output(2, "bad\n", "stderr"), output(6, "cd\n")].flatMap((record) => lines.push(record));
  expect(told(items)).toEqual(["0+2 ab…", "2+4 !bad", "6+3 …cd"]);
});

test("a line that is too long is broken", () => {
  const lines = new Lines();
  const items = lines.push(output(0, `${"x".repeat(2 * LONGEST + 5)}\n`));
  expect(items.map((item) => item.kind === "line" && [item.offset, item.length, item.text.length, item.continues, item.goesOn])).toEqual([
    [0, LONGEST, LONGEST, false, true],
    [LONGEST, LONGEST, LONGEST, true, true],
    [2 * LONGEST, 6, 5, true, false],
  ]);
  // Not within a character.
  const pairs = new Lines().push(output(0, `x${"😀".repeat(LONGEST)}\n`));
  expect(pairs.every((item) => item.kind === "line" && !/[\ud800-\udbff]$/.test(item.text))).toBe(true);
  expect(pairs.reduce((sum, item) => sum + (item.kind === "line" ? item.length : 0), 0)).toBe(2 + 4 * LONGEST);
});

test("what is missing is told, and ends a line", () => {
  const lines = new Lines();
  expect(told([output(0, "ab"), dropped(2, null, "keeper_died"), output(2, "cd\n")].flatMap((record) => lines.push(record)))).toEqual([
    "0+2 ab",
    "2 gap null",
    "2+3 cd",
  ]);
  // Of what is dropped, all that was before too, wherever the part began.
  expect(told(new Lines().push(dropped(4096, 4096)))).toEqual(["4096 gap 8192"]);
});

test("a part that begins within a line is shown from the next one on", () => {
  expect(told(itemsOf([output(5, "lf\nwhole\nnext\n")], true))).toEqual(["8+6 whole", "14+5 next"]);
  expect(told(itemsOf([output(5, "whole\n")], false))).toEqual(["5+6 whole"]);
  // Unless there is no other.
  expect(told(itemsOf([output(5, "lf\n")], true))).toEqual(["5+3 …lf"]);
});

test("it is known where a part ends", () => {
  expect(endOf([])).toBeNull();
  expect(endOf([output(3, "€")])).toBe(6);
  expect(endOf([{ type: "output", offset: 3, time, stream: "stdout", hex: "ff00" }])).toBe(5);
  expect(endOf([dropped(3, 10)])).toBe(13);
});

test("lines that match are found, wherever they are cut", () => {
  const text = `first\nan Error here\n${"x".repeat(50)}\ne\x1b[31mrr\x1b[0mor in colour\nnone\nlast error`;
  const expected = [6, 6 + 14 + 51, Buffer.byteLength(text) - 10];
  for (let size = 1; size <= text.length; size += 1) {
    const matcher = new Matcher("ERROR");
    const hits: number[] = [];
    for (let at = 0; at < text.length; at += size) hits.push(...matcher.push(output(at, text.slice(at, at + size))));
    hits.push(...matcher.rest());
    expect(hits, `in pieces of ${size}`).toEqual(expected);
  }
});

test("what does not match is passed over quickly, with the right offsets", () => {
  const matcher = new Matcher("needle");
  const hits = [output(0, "hä\nhay\nhay\nne"), output(14, "edle\nhay\nhay\nneedle\n")].flatMap((record) => matcher.push(record));
  expect(hits).toEqual([12, 27]);
});
