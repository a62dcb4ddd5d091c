import { expect, test } from "@playwright/test";

import { type Block, splitLong, inline, parse } from "../../src/ui/markdown.ts";
import { cpuTime } from "../support/cpu-time.ts";

const text = (text: string) => ({ kind: "text", text });

test("parses paragraphs", () => {
  expect(parse("one\ntwo\n\nthree")).toEqual([
    { kind: "paragraph", inlines: [text("one\ntwo")] },
    { kind: "paragraph", inlines: [text("three")] },
  ]);
  expect(parse("")).toEqual([]);
  expect(parse("\r\n\r\na\r\nb")).toEqual([{ kind: "paragraph", inlines: [text("a\nb")] }]);
});

test("parses code blocks, with or without an end", () => {
  expect(parse("```rust\n# no heading\n**no**\n```\nafter")).toEqual([
    { kind: "code", language: "rust", text: "# no heading\n**no**" },
    { kind: "paragraph", inlines: [text("after")] },
  ]);
  expect(parse("~~~\n```\n")).toEqual([{ kind: "code", language: "", text: "```\n" }]);
  expect(parse("````\n```\nin it\n```\n````")).toEqual([{ kind: "code", language: "", text: "```\nin it\n```" }]);
});

test("parses headings, rules and quotes", () => {
  expect(parse("## Two ##\n---\n> said\n> so\nnot so\n#5 is not a heading")).toEqual([
    { kind: "heading", level: 2, inlines: [text("Two")] },
    { kind: "rule" },
    { kind: "quote", inlines: [text("said\nso")] },
    { kind: "paragraph", inlines: [text("not so\n#5 is not a heading")] },
  ]);
});

test("parses nested and continued list items", () => {
  const [list] = parse("1. one\n   goes on\n   - deeper\n\n2. two\n\nafter");
  expect(list).toEqual({
    kind: "list",
    ordered: true,
    items: [
      { depth: 0, number: "1.", inlines: [text("one\ngoes on")] },
      { depth: 1, number: null, inlines: [text("deeper")] },
      { depth: 0, number: "2.", inlines: [text("two")] },
    ],
  });
});

test("parses inline code and bold text", () => {
  expect(inline("a `b **c**` **d `e`** f")).toEqual([
    text("a "),
    { kind: "code", text: "b **c**" },
    text(" "),
    { kind: "strong", inlines: [text("d "), { kind: "code", text: "e" }] },
    text(" f"),
  ]);
  for (const plain of ["2 ** 3 ** 4", "**", "`", "``", "snake__case__name", "a * b", "[x]", "!important", "https://"]) {
    expect(inline(plain), plain).toEqual([text(plain)]);
  }
});

test("shows the URL of a link, and links only http and https", () => {
  expect(inline("see [it](https://example.com/a_(b)), or https://example.com/x?y=1.")).toEqual([
    text("see "),
    text("it ("),
    { kind: "link", url: "https://example.com/a_(b)" },
    text(")"),
    text(", or "),
    { kind: "link", url: "https://example.com/x?y=1" },
    text("."),
  ]);
  for (const address of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//example.com", "/v1/daemon", "http:x"]) {
    const links = inline(`[press](${address})`).filter((it) => it.kind === "link");
    expect(links, address).toEqual([]);
  }
  expect(inline("![a](https://example.com/a.png)")).toEqual([text("a ("), { kind: "link", url: "https://example.com/a.png" }, text(")")]);
});

test("keeps unknown syntax as text", () => {
  const nasty = `<script>alert(1)</script> <img src=x onerror="alert(1)"> &amp; | a | b |`;
  expect(parse(nasty)).toEqual([{ kind: "paragraph", inlines: [text(nasty)] }]);
});

test("parses adversarial input quickly", () => {
  const plain = (blocks: Block[]) => JSON.stringify(blocks).length;
  for (const piece of ["**a ", "`a", "[", "![](", "__", "> ", "- ", "\t- ", "```\n", "https://a", "*_`["]) {
    const took = cpuTime(() => {
      expect(plain(parse(piece.repeat(60_000)))).toBeGreaterThan(0);
      expect(plain(parse(`${piece.repeat(40)}\n\n`.repeat(1_000)))).toBeGreaterThan(0);
    });
    expect(took, JSON.stringify(piece)).toBeLessThan(4_000);
  }
});

/** Lines on which a backtracking pattern takes minutes, each of about 100,000 characters. */
const HOSTILE: [string, (n: number) => string][] = [
  ["a heading of spaces", (n) => `# ${" ".repeat(n)}x`],
  ["a heading of marks and spaces", (n) => `# x${" #".repeat(n / 2)} x`],
  ["a heading with the end of a line in it", (n) => `# ${" ".repeat(n)}x\u2028y`],
  ["a fence of tildes", (n) => `${"~".repeat(n)}\``],
  ["a fence of spaces", (n) => `~~~${" ".repeat(n)}\``],
  ["an item of spaces", (n) => `- ${" ".repeat(n)}x\u2028y`],
  ["an invalid rule", (n) => `${"- ".repeat(n / 2)}x`],
  ["a link of spaces", (n) => `[](${" ".repeat(n)}`],
  ["a URL of dots", (n) => `https://a${".".repeat(n)}a`],
  ["runs of backticks", (n) => Array.from({ length: Math.sqrt(n) }, (_, at) => "`".repeat(at + 1)).join("a")],
  ["unclosed bold", (n) => "**a".repeat(n / 3)],
];

for (const [name, line] of HOSTILE) {
  test(`parses in linear time: ${name}`, () => {
    const took = cpuTime(() => {
      parse(line(100_000));
      // Lines just below the length limit.
      parse(`${line(1_900)}\n`.repeat(100));
      parse(`${line(1_900)}\n\n`.repeat(100));
    });
    expect(took).toBeLessThan(1_000);
  });
}

test("treats an overlong line as plain text", () => {
  const long = `# ${"**a** ".repeat(400)}`;
  expect(parse(`one\n${long}\n# Two ## #`)).toEqual([
    { kind: "paragraph", inlines: [text("one")] },
    { kind: "paragraph", inlines: [text(long)] },
    { kind: "heading", level: 1, inlines: [text("Two ##")] },
  ]);
});

test("parses only the end of a long text, with a stable cut", () => {
  expect(splitLong("short")).toEqual({ plain: "", rest: "short" });
  const cuts = new Set<number>();
  for (let length = 200_100; length < 400_000; length += 10_000) {
    const whole = "a line\n".repeat(length / 7);
    const { plain, rest } = splitLong(whole);
    expect(plain + rest).toBe(whole);
    expect(plain.endsWith("\n")).toBe(true);
    expect(rest.length).toBeLessThanOrEqual(200_000);
    cuts.add(plain.length);
  }
  expect(cuts.size).toBeLessThanOrEqual(3);
});
