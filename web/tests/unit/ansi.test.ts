import { expect, test } from "@playwright/test";

import { after, parse, PLAIN, plain, type Span } from "../../src/pages/session/output/ansi.ts";
import { cpuTime } from "../support/cpu-time.ts";

const ESC = "\x1b";

/** Formats spans as `text`, or as `text[style]` if the style is not plain. */
function format(spans: Span[]): string[] {
  return spans.map(({ text, style, mark }) => {
    const own = Object.entries(style).filter(([name, value]) => value !== PLAIN[name as keyof typeof PLAIN]);
    const words = [...own.map(([name, value]) => (value === true ? name : `${name}=${value}`)), ...(mark ? [`mark=${mark}`] : [])];
    return words.length > 0 ? `${text}[${words.join(" ")}]` : text;
  });
}

for (const [name, line, expected] of [
  ["plain text", "hello <b>world</b>", ["hello <b>world</b>"]],
  ["an empty line", "", []],
  ["colours", `a${ESC}[31mb${ESC}[0mc`, ["a", "b[fg=1]", "c"]],
  ["an empty reset", `${ESC}[1mb${ESC}[mc`, ["b[bold]", "c"]],
  ["bright colours", `${ESC}[91;104mx`, ["x[fg=9 bg=12]"]],
  ["256 colours", `${ESC}[38;5;208mx${ESC}[48;5;3my`, ["x[fg=#ff8700]", "y[fg=#ff8700 bg=3]"]],
  ["greys", `${ESC}[38;5;232mx`, ["x[fg=#080808]"]],
  ["RGB colours", `${ESC}[38;2;1;2;300mx`, ["x[fg=#0102ff]"]],
  ["RGB colours with colons", `${ESC}[38:2::1:2:3mx${ESC}[48:5:9my`, ["x[fg=#010203]", "y[fg=#010203 bg=9]"]],
  ["a colour followed by other styles", `${ESC}[38;5;1;1;4mx`, ["x[fg=1 bold underline]"]],
  ["a truncated colour", `${ESC}[1;38;5mx`, ["x[bold]"]],
  ["underline styles", `${ESC}[4:3mx${ESC}[4:0my`, ["x[underline]", "y"]],
  ["styles on and off", `${ESC}[1;2;3;4;7;9ma${ESC}[22;23;24;27;29mb`, ["a[bold dim italic underline strike inverse]", "b"]],
  ["hidden text", `${ESC}[8mx`, ["x"]],
  ["cursor movements", `a${ESC}[2J${ESC}[10;20Hb${ESC}[?1049hc${ESC}[?25l`, ["a", "b", "c"]],
  ["a title", `a${ESC}]0;evil\x07b${ESC}]2;evil${ESC}\\c`, ["a", "b", "c"]],
  ["a link", `${ESC}]8;;https://evil.example${ESC}\\here${ESC}]8;;${ESC}\\`, ["here"]],
  ["the clipboard", `${ESC}]52;c;ZXZpbA==\x07x`, ["x"]],
  ["an unterminated string", `a${ESC}Pq#0;2;0;0`, ["a"]],
  ["a string and another sequence", `${ESC}]0;t${ESC}[31mx`, ["x[fg=1]"]],
  ["a truncated sequence", `a${ESC}[3`, ["a"]],
  ["a lone escape", `a${ESC}`, ["a"]],
  ["other escapes", `${ESC}(B${ESC}=a${ESC}cb`, ["a", "b"]],
  ["progress", "10%\r20%\r30%", ["30%"]],
  ["a terminal line end", "a\r", ["a"]],
  ["progress in colour", `${ESC}[32m10%\r20%`, ["20%[fg=2]"]],
  ["only carriage returns", "\r\r", []],
  ["control characters", "a\x00b\x08\x7f", ["a", "␀[mark=U+0000]", "b", "␈[mark=U+0008]", "␡[mark=U+007F]"]],
  ["a bell", "a\x07b", ["a", "b"]],
  ["a tab", "a\tb", ["a\tb"]],
  ["direction changes", "a\u202eb\u2069", ["a", "‹U+202E›[mark=U+202E]", "b", "‹U+2069›[mark=U+2069]"]],
  ["line separators", "a\u2028b", ["a", "‹U+2028›[mark=U+2028]", "b"]],
  ["C1 controls", "a\u009bb", ["a", "‹U+009B›[mark=U+009B]", "b"]],
  ["surrogate pairs", "a😀b", ["a😀b"]],
] as [string, string, string[]][]) {
  test(`parses ${name}`, () => {
    expect(format(parse(line))).toEqual(expected);
  });
}

test("does not interpret markup", () => {
  const [span] = parse("<script>x</script>");
  expect(span?.text).toBe("<script>x</script>");
});

test("carries the style over to the next line", () => {
  const style = after(`${ESC}[1;31mred`, PLAIN);
  expect(format(parse("still", style))).toEqual(["still[fg=1 bold]"]);
  expect(after(`x${ESC}[0m`, style)).toEqual(PLAIN);
});

test("plain text has no control sequences", () => {
  expect(plain(`e${ESC}[31mrr${ESC}[0mor\r`)).toBe("error");
  expect(plain("1\r2")).toBe("2");
});

test("parses long hostile lines quickly", () => {
  const took = cpuTime(() => {
    for (const unit of [`${ESC}[`, `${ESC}]`, `${ESC}P`, ESC, "\r", "\u202e", `${ESC}[38;5;`, `${ESC}]8;;`, "\x00"]) {
      parse(unit.repeat(Math.floor(32_000 / unit.length)));
    }
  });
  expect(took).toBeLessThan(2000);
});

test("parses lines that consist of sequences in linear time", () => {
  const took = cpuTime(() => {
    for (const piece of ["38;5;1;", `${ESC}[38;5;1m`, `${ESC}]`, `${ESC}[`, "\x9b", "\r", `${ESC}[1;`, ";", ":"]) {
      const line = `${ESC}[${piece.repeat(100_000 / piece.length)}m`;
      parse(line);
      plain(line);
    }
  });
  expect(took).toBeLessThan(1_500);
});
