import { expect, test } from "@playwright/test";

import { type Block, inline, parse } from "../../src/ui/markdown.ts";

const text = (text: string) => ({ kind: "text", text });

test("paragraphs keep their lines, and end at an empty one", () => {
  expect(parse("one\ntwo\n\nthree")).toEqual([
    { kind: "paragraph", inlines: [text("one\ntwo")] },
    { kind: "paragraph", inlines: [text("three")] },
  ]);
  expect(parse("")).toEqual([]);
  expect(parse("\r\n\r\na\r\nb")).toEqual([{ kind: "paragraph", inlines: [text("a\nb")] }]);
});

test("fences are taken as they are, with or without an end", () => {
  expect(parse("```rust\n# no heading\n**no**\n```\nafter")).toEqual([
    { kind: "code", language: "rust", text: "# no heading\n**no**" },
    { kind: "paragraph", inlines: [text("after")] },
  ]);
  expect(parse("~~~\n```\n")).toEqual([{ kind: "code", language: "", text: "```\n" }]);
  expect(parse("````\n```\nin it\n```\n````")).toEqual([{ kind: "code", language: "", text: "```\nin it\n```" }]);
});

test("headings, rules and quotes", () => {
  expect(parse("## Two ##\n---\n> said\n> so\nnot so\n#5 is no heading")).toEqual([
    { kind: "heading", level: 2, inlines: [text("Two")] },
    { kind: "rule" },
    { kind: "quote", inlines: [text("said\nso")] },
    { kind: "paragraph", inlines: [text("not so\n#5 is no heading")] },
  ]);
});

test("lists know how deep they are, and go on", () => {
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

test("words: code, bold, and what only looks like it", () => {
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

test("links are told with their address, and only those of the web lead anywhere", () => {
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

test("nothing is lost of what is not understood, and nothing is HTML", () => {
  const nasty = `<script>alert(1)</script> <img src=x onerror="alert(1)"> &amp; | a | b |`;
  expect(parse(nasty)).toEqual([{ kind: "paragraph", inlines: [text(nasty)] }]);
});

test("what is made to be slow is not", () => {
  const plain = (blocks: Block[]) => JSON.stringify(blocks).length;
  for (const piece of ["**a ", "`a", "[", "![](", "__", "> ", "- ", "\t- ", "```\n", "https://a", "*_`["]) {
    const started = performance.now();
    expect(plain(parse(piece.repeat(60_000)))).toBeGreaterThan(0);
    expect(plain(parse(`${piece.repeat(40)}\n\n`.repeat(1_000)))).toBeGreaterThan(0);
    expect(performance.now() - started, JSON.stringify(piece)).toBeLessThan(4_000);
  }
});
