/**
 * The little of Markdown that agents write most, taken apart into data: nothing of it can become HTML. What is not understood
 * stays as it was written.
 */

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; inlines: Inline[] }
  /** `url` is `http:` or `https:`, and nothing else. */
  | { kind: "link"; url: string };

export type Block =
  | { kind: "paragraph"; inlines: Inline[] }
  | { kind: "heading"; level: number; inlines: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; items: Item[] }
  | { kind: "quote"; inlines: Inline[] }
  | { kind: "rule" };

export interface Item {
  /** How far it is set in: 0 for the outermost. */
  depth: number;
  /** As it was written: `1.`; null without numbers. */
  number: string | null;
  inlines: Inline[];
}

/** What is longer is not looked at for bold words and the like. */
const LONGEST_PROSE = 20_000;
const DEEPEST = 4;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,40})[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9}[.)]))\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;

/** Takes a text apart. A fence that has no end yet goes to the end of the text. */
export function parse(text: string): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line);
    if (fence) {
      const end = fenceEnd(lines, at + 1, fence[1] ?? "```");
      blocks.push({ kind: "code", language: fence[2] ?? "", text: lines.slice(at + 1, end).join("\n") });
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
    const told = line.trim();
    return told.length >= mark.length && told === (mark[0] ?? "`").repeat(told.length);
  };
  for (let at = from; at < lines.length; at += 1) if (closes(lines[at] ?? "")) return at;
  return lines.length;
}

/** One block that is no code; returns where the next begins. */
function prose(lines: string[], at: number, blocks: Block[]): number {
  const line = lines[at] ?? "";
  const heading = HEADING.exec(line);
  if (heading) {
    blocks.push({ kind: "heading", level: heading[1]?.length ?? 1, inlines: inline(heading[2] ?? "") });
    return at + 1;
  }
  if (RULE.test(line)) {
    blocks.push({ kind: "rule" });
    return at + 1;
  }
  if (ITEM.test(line)) return list(lines, at, blocks);
  const quoted = QUOTE.test(line);
  const taken: string[] = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const next = lines[end] ?? "";
    if (next.trim() === "" || QUOTE.test(next) !== quoted || (end > at && begins(next))) break;
    taken.push(quoted ? (QUOTE.exec(next)?.[1] ?? "") : next);
  }
  blocks.push({ kind: quoted ? "quote" : "paragraph", inlines: inline(taken.join("\n")) });
  return end;
}

/** Whether a line begins something else than a paragraph. */
function begins(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || RULE.test(line);
}

function list(lines: string[], at: number, blocks: Block[]): number {
  const found: { indent: number; number: string | null; text: string }[] = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? "";
    const item = RULE.test(line) ? null : ITEM.exec(line);
    const last = found.at(-1);
    if (item) {
      found.push({ indent: (item[1] ?? "").replaceAll("\t", "    ").length, number: item[2] ?? null, text: item[3] ?? "" });
    } else if (last && /^\s{2,}\S/.test(line) && !FENCE.test(line)) {
      // Goes on with the item.
      last.text += `\n${line.trim()}`;
    } else if (line.trim() === "" && ITEM.test(lines[end + 1] ?? "")) {
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
const MEANT = /[`*_[!h]/i;

/** The words of a paragraph. */
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
    const next = MEANT.test(text[at] ?? "") ? special(text, at) : null;
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

/** The text, and where it leads: who clicks has seen it. */
function linked(text: string, url: string): Inline[] {
  const words: Inline[] = text && text !== url ? [{ kind: "text", text: `${text} (` }] : [];
  const target: Inline = safeUrl(url) ? { kind: "link", url } : { kind: "text", text: url };
  return words.length ? [...words, target, { kind: "text", text: ")" }] : [target];
}

/** What ends a sentence is no part of its address. */
function trimmed(url: string): string {
  let end = url.replace(/[.,;:!?*_]+$/, "");
  if (end.endsWith(")") && !end.includes("(")) end = end.replace(/\)+[.,;:!?*_]*$/, "");
  return end;
}

function safeUrl(url: string): boolean {
  if (!/^https?:\/\//i.test(url)) return false;
  try {
    return /^https?:$/.test(new URL(url).protocol);
  } catch {
    return false;
  }
}
