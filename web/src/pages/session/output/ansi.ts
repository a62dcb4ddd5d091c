/**
 * Parses a line of terminal output into styled spans. Colours become styles, deceptive characters become visible marks, and all
 * other control sequences are dropped.
 */

/** A palette index from 0 to 15, or `#rrggbb`. */
export type Colour = number | string;

export interface Style {
  fg: Colour | null;
  bg: Colour | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
}

export const PLAIN: Style = Object.freeze({
  fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false,
});

/** A piece of a line with one style. */
export interface Span {
  text: string;
  style: Style;
  /** The name of the character, if this is a mark for one that is not shown as it is. */
  mark?: string;
}

// By ECMA-48: CSI; strings (OSC, DCS, SOS, PM, APC) up to their end; any other escape sequence. The end of the line ends an
// unfinished sequence.
// prettier-ignore
const SEQUENCE = /\x1b\[[\x20-\x3f]*[\x40-\x7e]?|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|(?=\x1b)|$)|\x1b[\x20-\x2f]*[\x30-\x7e]?/g;
const COLOURS = /\x1b\[([\d;:]*)m/g;

/** Control characters, and characters that change the text direction or add line breaks. */
const DECEPTIVE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

/** Parses a line without its line end. */
export function parse(line: string, begin: Style = PLAIN): Span[] {
  const spans: Span[] = [];
  let style = begin;
  let at = 0;
  const text = lastOverwritten(line);
  if (text.length < line.length) style = after(line.slice(0, line.length - text.length), begin);
  if (text.includes("\x1b")) {
    for (const found of text.matchAll(SEQUENCE)) {
      if (found.index > at) marked(text.slice(at, found.index), style, spans);
      style = after(found[0], style);
      at = found.index + found[0].length;
    }
  }
  if (at < text.length) marked(text.slice(at), style, spans);
  return spans;
}

/** Returns the line without control sequences. */
export function plain(line: string): string {
  const text = lastOverwritten(line);
  return text.includes("\x1b") ? text.replace(SEQUENCE, "") : text;
}

/** Returns the style at the start of the next line. */
export function after(line: string, begin: Style): Style {
  if (!line.includes("\x1b")) return begin;
  let style = begin;
  for (const found of line.matchAll(COLOURS)) style = applied(found[1] ?? "", style);
  return style;
}

/** Returns the text after the last carriage return: progress bars overwrite their line. */
export function lastOverwritten(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === "\r") end -= 1;
  const begin = line.lastIndexOf("\r", end - 1);
  return end === 0 ? "" : line.slice(begin + 1, end);
}

function marked(text: string, style: Style, spans: Span[]): void {
  if (!DECEPTIVE.test(text)) {
    spans.push({ text, style });
    return;
  }
  let plainFrom = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? "";
    if (!DECEPTIVE.test(character)) continue;
    if (at > plainFrom) spans.push({ text: text.slice(plainFrom, at), style });
    plainFrom = at + 1;
    // A bell is not visible.
    if (character !== "\x07") spans.push(mark(character, style));
  }
  if (plainFrom < text.length) spans.push({ text: text.slice(plainFrom), style });
}

function mark(character: string, style: Style): Span {
  const code = character.charCodeAt(0);
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const picture = code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : `\u2039${name}\u203a`;
  return { text: picture, style, mark: name };
}

function applied(parameters: string, style: Style): Style {
  const next = { ...style };
  const list = parameters.split(";");
  for (let at = 0; at < list.length; at += 1) {
    const [code, ...parts] = (list[at] ?? "").split(":").map((part) => (part === "" ? 0 : Number(part)));
    if (code === 38 || code === 48) {
      const given = parts.length > 0 ? colonColour(parts) : semicolonColour(list.slice(at + 1, at + 5).map(Number));
      if (!given) return next;
      if (parts.length === 0) at += given.used;
      if (code === 38) next.fg = given.colour;
      else next.bg = given.colour;
    } else {
      simple(code ?? 0, parts[0], next);
    }
  }
  return next;
}

function simple(code: number, part: number | undefined, style: Style): void {
  if (code === 0) Object.assign(style, PLAIN);
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 3) style.italic = true;
  else if (code === 4) style.underline = part !== 0;
  else if (code === 7) style.inverse = true;
  else if (code === 9) style.strike = true;
  else if (code === 21) style.underline = true;
  else if (code === 22) style.bold = style.dim = false;
  else if (code === 23) style.italic = false;
  else if (code === 24) style.underline = false;
  else if (code === 27) style.inverse = false;
  else if (code === 29) style.strike = false;
  else if (code >= 30 && code <= 37) style.fg = code - 30;
  else if (code === 39) style.fg = null;
  else if (code >= 40 && code <= 47) style.bg = code - 40;
  else if (code === 49) style.bg = null;
  else if (code >= 90 && code <= 97) style.fg = code - 82;
  else if (code >= 100 && code <= 107) style.bg = code - 92;
}

type Given = { colour: Colour; used: number } | null;

/** `38;5;N` and `38;2;R;G;B`. */
function semicolonColour([kind, a, b, c]: number[]): Given {
  if (kind === 5 && a !== undefined) return { colour: indexed(a), used: 2 };
  if (kind === 2 && c !== undefined) return { colour: rgb(a ?? 0, b ?? 0, c), used: 4 };
  return null;
}

/** `38:5:N`, `38:2:R:G:B` and `38:2:SPACE:R:G:B`. */
function colonColour(parts: number[]): Given {
  const [kind, ...rest] = parts;
  if (kind === 5) return { colour: indexed(rest[0] ?? 0), used: 0 };
  const [red = 0, green = 0, blue = 0] = rest.length > 3 ? rest.slice(1) : rest;
  return kind === 2 ? { colour: rgb(red, green, blue), used: 0 } : null;
}

const LEVELS = [0, 95, 135, 175, 215, 255];

/** Converts an index of xterm’s 256 colours. */
function indexed(index: number): Colour {
  if (index < 16) return Math.max(0, Math.trunc(index));
  if (index >= 232) {
    const grey = 8 + 10 * (Math.min(index, 255) - 232);
    return rgb(grey, grey, grey);
  }
  const cube = index - 16;
  const level = (part: number) => LEVELS[part % 6] ?? 0;
  return rgb(level(Math.floor(cube / 36)), level(Math.floor(cube / 6)), level(cube));
}

function rgb(...parts: [number, number, number]): string {
  return `#${parts.map((part) => Math.min(255, Math.max(0, part || 0)).toString(16).padStart(2, "0")).join("")}`;
}
