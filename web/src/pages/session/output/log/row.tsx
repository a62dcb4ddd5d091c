import { Component } from "preact";

import { formatTime } from "../../../../ui/format.ts";
import { type Colour, lastOverwritten, parse, type Span, type Style } from "../ansi.ts";
import type { Gap, Item, Line } from "./lines.ts";

/** Longer lines are truncated until the user expands them. */
const CUT = 2000;

interface Props {
  item: Item;
  /** The search text in lower case; its matches are highlighted. */
  needle: string;
  /** Whether it is the current match. */
  isFound: boolean;
}

/** A line of the log. There are many, so a row renders only if something changed. */
export class Row extends Component<Props, { isWhole: boolean }> {
  override state = { isWhole: false };

  override shouldComponentUpdate(next: Props, state: { isWhole: boolean }): boolean {
    const { item, needle, isFound } = this.props;
    return item !== next.item || needle !== next.needle || isFound !== next.isFound || state.isWhole !== this.state.isWhole;
  }

  override render({ item, needle, isFound }: Props) {
    if (item.kind === "gap") return <GapRow gap={item} />;
    const text = item.text.length > CUT ? lastOverwritten(item.text) : item.text;
    const isCut = text.length > CUT && !this.state.isWhole;
    const spans = parse(isCut ? text.slice(0, CUT) : text, item.style);
    return (
      <div class={`log-line${item.isError ? " err" : ""}${isFound ? " found" : ""}`} data-offset={item.offset}>
        <span class="time">{clock(item.time)}</span>
        <span class="stream">{item.isError && "err"}</span>
        <span class="text">
          {item.continues && <em class="bound">line continued: </em>}
          <bdi>{(needle ? highlighted(spans, needle) : spans).map(piece)}</bdi>
          {isCut && (
            <button type="button" class="whole" onClick={() => this.setState({ isWhole: true })}>
              Show all ({text.length.toLocaleString("en")} characters)
            </button>
          )}
          {item.isUnfinished && item.text.length > CUT && <em class="bound"> line continues</em>}
        </span>
      </div>
    );
  }
}

function GapRow({ gap }: { gap: Gap }) {
  const amount = gap.lost === null ? "Some output is" : gap.lost === 1 ? "1 byte is" : `${gap.lost.toLocaleString("en")} bytes are`;
  return (
    <div class="log-gap" role="note" data-offset={gap.offset}>
      {amount} missing: {gap.text}
    </div>
  );
}

/** Formats a time with milliseconds. */
function clock(time: string): string {
  return `${formatTime(time)}.${String(new Date(time).getMilliseconds()).padStart(3, "0")}`;
}

interface Marked extends Span {
  isMatch?: boolean;
}

/** Splits spans at the start and end of each match. */
function highlighted(spans: Span[], needle: string): Marked[] {
  const text = spans.map((span) => span.text).join("").toLowerCase();
  const cuts: [number, number][] = [];
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) cuts.push([at, at + needle.length]);
  if (cuts.length === 0) return spans;
  const pieces: Marked[] = [];
  let begin = 0;
  for (const span of spans) {
    const end = begin + span.text.length;
    let at = begin;
    for (const [from, to] of cuts) {
      if (to <= at || from >= end) continue;
      if (from > at) pieces.push({ ...span, text: span.text.slice(at - begin, from - begin) });
      const first = Math.max(at, from);
      at = Math.min(end, to);
      pieces.push({ ...span, text: span.text.slice(first - begin, at - begin), isMatch: true });
    }
    if (at < end) pieces.push({ ...span, text: span.text.slice(at - begin) });
    begin = end;
  }
  return pieces;
}

function piece(span: Marked) {
  const { classes, style } = appearance(span.style);
  if (span.mark) classes.push("control");
  const inner = span.isMatch ? <mark>{span.text}</mark> : span.text;
  if (classes.length === 0 && !style) return inner;
  return (
    <span class={classes.join(" ")} style={style} title={span.mark}>
      {inner}
    </span>
  );
}

function appearance(style: Style): { classes: string[]; style: Record<string, string> | undefined } {
  const classes: string[] = [];
  const [fg, bg] = style.inverse ? [style.bg ?? "page", style.fg ?? "text"] : [style.fg, style.bg];
  const own: Record<string, string> = {};
  paint(fg, "fg", "color", classes, own);
  paint(bg, "bg", "background-color", classes, own);
  for (const name of ["bold", "dim", "italic", "underline", "strike"] as const) if (style[name]) classes.push(`ansi-${name}`);
  return { classes, style: Object.keys(own).length > 0 ? own : undefined };
}

function paint(colour: Colour | null, layer: string, property: string, classes: string[], own: Record<string, string>): void {
  if (colour === null) return;
  if (typeof colour === "string" && colour.startsWith("#")) own[property] = colour;
  else classes.push(`ansi-${layer}-${colour}`);
}

/** Returns a line as text for the clipboard. */
export function copied(item: Item | Line): string {
  return item.kind === "gap" ? "" : parse(item.text, item.style).map((span) => span.text).join("");
}
