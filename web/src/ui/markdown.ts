/**
 * Parses the subset of Markdown that agents use most into data, so that no input can become HTML. Unsupported syntax stays plain
 * text.
 */

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; inlines: Inline[] }
  /** `url` is always `http:` or `https:`. */
  | { kind: "link"; url: string };

export type Block =
  | { kind: "paragraph"; inlines: Inline[] }
  | { kind: "heading"; level: number; inlines: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; items: Item[] }
  | { kind: "quote"; inlines: Inline[] }
  | { kind: "rule" };

export interface Item {
  /** The nesting level; 0 is the outermost. */
  depth: number;
  /** The number as written, `1.`; null in bullet lists. */
  number: string | null;
  inlines: Inline[];
}

/** Longer paragraphs are not searched for inline markup. */
const LONGEST_PROSE = 20_000;
/** A longer line is plain text: the cost of every pattern grows with the length of the line. */
const LONGEST_LINE = 2_000;
const DEEPEST = 4;

// None of these patterns backtracks, so that an agent's output can't freeze the page. `slice()` returns the rest of the line, because
// `.*$` would fail and retry at every character that counts as a line end.
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const LANGUAGE = /^\s*([\w+#.-]{0,40})/;
const HEADING = /^ {0,3}(#{1,6})\s+/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9}[.)]))\s+/;
const QUOTE = /^ {0,3}>\s?/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;

interface LineMatch {
  found: RegExpExecArray;
  /** The rest of the line. */
  rest: string;
}

function matchLine(pattern: RegExp, line: string): LineMatch | null {
  const found = line.length > LONGEST_LINE ? null : pattern.exec(line);
  return found && { found, rest: line.slice(found[0].length) };
}

/** Parses the opening line of a code block: its fence and language. */
function fenceOf(line: string): { mark: string; language: string } | null {
  const fence = matchLine(FENCE, line);
  if (!fence || fence.rest.includes("`")) return null;
  return { mark: fence.found[1] ?? "```", language: LANGUAGE.exec(fence.rest)?.[1] ?? "" };
}

function isRule(line: string): boolean {
  return matchLine(RULE, line) !== null;
}

/** Removes the optional closing `#` marks of a heading. */
function withoutMarks(title: string): string {
  const text = title.trimEnd();
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") end -= 1;
  return text.slice(0, end).trimEnd();
}

/** Only the end of a longer text is parsed, so that the cost stays bounded while it grows. */
const LONGEST_TEXT = 200_000;

/** Splits a text into a plain part and a part to parse. The cut is at a line start, and moves rarely while the text grows. */
export function splitLong(text: string): { plain: string; rest: string } {
  if (text.length <= LONGEST_TEXT) return { plain: "", rest: text };
  const step = LONGEST_TEXT / 2;
  const from = Math.ceil((text.length - LONGEST_TEXT) / step) * step;
  const cut = text.indexOf("\n", from) + 1 || text.length;
  return { plain: text.slice(0, cut), rest: text.slice(cut) };
}

/** Parses a text. A code block without an end extends to the end of the text. */
export function parse(text: string): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = fenceOf(line);
    if (fence) {
      const end = fenceEnd(lines, at + 1, fence.mark);
      blocks.push({ kind: "code", language: fence.language, text: lines.slice(at + 1, end).join("\n") });
      at = end + 1;
    } else if (line.trim() === "") {
      at += 1;
    } else {
      at = prose(lines, at, blocks);
    }
  }
  return blocks;
}

function fenceEnd(lines: string[], from: number, mark: string): number {
  const closes = (line: string) => {
    const text = line.trim();
    return text.length >= mark.length && text === (mark[0] ?? "`").repeat(text.length);
  };
  for (let at = from; at < lines.length; at += 1) if (closes(lines[at] ?? "")) return at;
  return lines.length;
}

/** Parses one block other than code; returns the line where the next one starts. */
function prose(lines: string[], at: number, blocks: Block[]): number {
  const line = lines[at] ?? "";
  if (line.length > LONGEST_LINE) {
    blocks.push({ kind: "paragraph", inlines: [{ kind: "text", text: line }] });
    return at + 1;
  }
  const heading = matchLine(HEADING, line);
  if (heading) {
    blocks.push({ kind: "heading", level: heading.found[1]?.length ?? 1, inlines: inline(withoutMarks(heading.rest)) });
    return at + 1;
  }
  if (isRule(line)) {
    blocks.push({ kind: "rule" });
    return at + 1;
  }
  if (matchLine(ITEM, line)) return list(lines, at, blocks);
  const quoted = matchLine(QUOTE, line) !== null;
  const taken: string[] = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const next = lines[end] ?? "";
    const quote = matchLine(QUOTE, next);
    if (next.trim() === "" || (quote !== null) !== quoted || (end > at && begins(next))) break;
    taken.push(quote ? quote.rest : next);
  }
  blocks.push({ kind: quoted ? "quote" : "paragraph", inlines: inline(taken.join("\n")) });
  return end;
}

/** Whether a line starts a block other than a paragraph. */
function begins(line: string): boolean {
  return line.length > LONGEST_LINE || fenceOf(line) !== null || matchLine(HEADING, line) !== null || matchLine(ITEM, line) !== null || isRule(line);
}

function list(lines: string[], at: number, blocks: Block[]): number {
  const found: { indent: number; number: string | null; text: string }[] = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? "";
    const item = isRule(line) ? null : matchLine(ITEM, line);
    const last = found.at(-1);
    if (item) {
      const [, indent = "", number = null] = item.found;
      found.push({ indent: indent.replaceAll("\t", "    ").length, number, text: item.rest });
    } else if (last && matchLine(/^\s{2,}\S/, line) && !fenceOf(line)) {
      // Continues the item.
      last.text += `\n${line.trim()}`;
    } else if (line.trim() === "" && matchLine(ITEM, lines[end + 1] ?? "")) {
      // An empty line between items.
    } else {
      break;
    }
  }
  const steps: number[] = [];
  const items = found.map(({ indent, number, text }) => {
    while (steps.length > 0 && (steps.at(-1) ?? 0) > indent) steps.pop();
    if ((steps.at(-1) ?? -1) < indent) steps.push(indent);
    return { depth: Math.min(steps.length - 1, DEEPEST), number, inlines: inline(text) };
  });
  blocks.push({ kind: "list", ordered: items[0]?.number !== null, items });
  return end;
}

const CODE = /(`+)([^`](?:[\s\S]*?[^`])?)\1(?!`)/y;
const STRONG = /\*\*(?=\S)([\s\S]{1,2000}?\S)\*\*|__(?=\S)([\s\S]{1,2000}?\S)__/y;
const LINK = /!?\[([^\]\n]{0,500})\]\(\s*<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500})?)>?(?:\s+"[^"\n]{0,200}")?\s*\)/y;
const URL_ITSELF = /https?:\/\/[^\s<>"'`\\^{}|]{1,2000}/iy;
const MARKUP_START = /[`*_[!h]/i;

/** Parses inline markup. */
export function inline(text: string): Inline[] {
  if (text.length > LONGEST_PROSE) return [{ kind: "text", text }];
  const found: Inline[] = [];
  let plain = "";
  const flush = () => {
    if (plain) found.push({ kind: "text", text: plain });
    plain = "";
  };
  let at = 0;
  while (at < text.length) {
    const next = MARKUP_START.test(text[at] ?? "") ? special(text, at) : null;
    if (next) {
      flush();
      found.push(...next.inlines);
      at = next.end;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  flush();
  return found;
}

function special(text: string, at: number): { inlines: Inline[]; end: number } | null {
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  const word = at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1] ?? "");
  switch (text[at]) {
    case "`": {
      if (text[at - 1] === "`") return null;
      const code = match(CODE);
      return code && { inlines: [{ kind: "code", text: code[2] ?? "" }], end: at + code[0].length };
    }
    case "*":
    case "_": {
      const strong = text[at] === "_" && word ? null : match(STRONG);
      return strong && { inlines: [{ kind: "strong", inlines: inline(strong[1] ?? strong[2] ?? "") }], end: at + strong[0].length };
    }
    case "[":
    case "!": {
      const link = match(LINK);
      return link && { inlines: linked(link[1] ?? "", link[2] ?? ""), end: at + link[0].length };
    }
    default: {
      const url = word ? null : match(URL_ITSELF);
      if (!url) return null;
      const address = trimmed(url[0]);
      const safe = safeUrl(address);
      return safe ? { inlines: [{ kind: "link", url: address }], end: at + address.length } : null;
    }
  }
}

/** Shows the text and the URL, so that the user sees the target before a click. */
function linked(text: string, url: string): Inline[] {
  const words: Inline[] = text && text !== url ? [{ kind: "text", text: `${text} (` }] : [];
  const target: Inline = safeUrl(url) ? { kind: "link", url } : { kind: "text", text: url };
  return words.length ? [...words, target, { kind: "text", text: ")" }] : [target];
}

/** Removes punctuation at the end of a URL, which belongs to the surrounding sentence. */
function trimmed(url: string): string {
  const address = withoutEnd(url, ".,;:!?*_");
  return address.includes("(") ? address : withoutEnd(address, ")");
}

function withoutEnd(text: string, signs: string): string {
  let end = text.length;
  while (end > 0 && signs.includes(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

function safeUrl(url: string): boolean {
  if (!/^https?:\/\//i.test(url)) return false;
  try {
    return /^https?:$/.test(new URL(url).protocol);
  } catch {
    return false;
  }
}
