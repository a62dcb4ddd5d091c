import { Component } from "preact";

import { moment } from "../../../../ui/format.ts";
import { type Colour, lastOverwritten, parse, type Span, type Style } from "../ansi.ts";
import type { Gap, Item, Line } from "./lines.ts";

/** Longer lines are cut; all of one is shown if asked for. */
const CUT = 2000;

interface Props {
  item: Item;
  /** What is looked for, in lower case; marked where it is. */
  needle: string;
  /** Whether it is the one that was found. */
  isFound: boolean;
}

/** A line of the log. There are many: it is drawn anew only if something changed. */
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
          {item.continues && <em class="bound">the line went on here: </em>}
          <bdi>{(needle ? highlighted(spans, needle) : spans).map(piece)}</bdi>
          {isCut && (
            <button type="button" class="whole" onClick={() => this.setState({ isWhole: true })}>
              Show all ({text.length.toLocaleString("en")} characters)
            </button>
          )}
          {item.goesOn && item.text.length > CUT && <em class="bound"> the line goes on</em>}
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

/** With milliseconds, for lines follow each other closely. */
function clock(time: string): string {
  return `${moment(time)}.${String(new Date(time).getMilliseconds()).padStart(3, "0")}`;
}

interface Marked extends Span {
  isMatch?: boolean;
}

/** Cuts pieces where what is looked for begins and ends. */
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
  const { classes, style } = look(span.style);
  if (span.mark) classes.push("control");
  const inner = span.isMatch ? <mark>{span.text}</mark> : span.text;
  if (classes.length === 0 && !style) return inner;
  return (
    <span class={classes.join(" ")} style={style} title={span.mark}>
      {inner}
    </span>
  );
}

function look(style: Style): { classes: string[]; style: Record<string, string> | undefined } {
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

/** A line as it is copied. */
export function copied(item: Item | Line): string {
  return item.kind === "gap" ? "" : parse(item.text, item.style).map((span) => span.text).join("");
}
