/** Returns parts of the log as text for the clipboard. */
import { itemsOf, Lines } from "./lines.ts";
import { part } from "./records.ts";
import { copied } from "./row.tsx";
import { visibleOffsets } from "./viewport.tsx";
import type { Window } from "./window.ts";

/** The largest output that can be copied, in bytes. */
export const MAX_COPIED = 10_000_000;

/** Returns the selected text; empty if nothing is selected. */
export function selected(view: HTMLElement | null): string {
  const selection = getSelection();
  if (!view || !selection || selection.isCollapsed || !view.contains(selection.anchorNode)) return "";
  // Only the text of each line, without times and stream names.
  const range = selection.getRangeAt(0);
  const rows = [...view.querySelectorAll<HTMLElement>(".log-line")].filter((row) => range.intersectsNode(row));
  if (rows.length <= 1) return selection.toString();
  const texts = rows.map((row) => row.querySelector("bdi")).filter((text) => text !== null);
  return texts.map((text) => within(range, text)).join("\n");
}

function within(range: Range, text: Element): string {
  const part = document.createRange();
  part.selectNodeContents(text);
  if (range.compareBoundaryPoints(Range.START_TO_START, part) > 0) part.setStart(range.startContainer, range.startOffset);
  if (range.compareBoundaryPoints(Range.END_TO_END, part) < 0) part.setEnd(range.endContainer, range.endOffset);
  return part.toString();
}

/** Returns the visible lines. */
export function shown(log: Window, view: HTMLElement): string {
  const offsets = visibleOffsets(view);
  const items = [...log.items.value, ...(log.open.value ? [log.open.value] : [])];
  const lines = items.filter((item) => item.kind === "line" && offsets.has(String(item.offset)));
  return lines.map((line) => `${copied(line)}\n`).join("");
}

/** Returns the whole recorded output. */
export async function all(launch: string, signal: AbortSignal): Promise<string> {
  const { records } = await part(launch, {}, signal);
  const lines = new Lines();
  const items = itemsOf(records, false, lines);
  const text = items.map((item) => (item.kind === "line" ? `${copied(item)}${item.isUnfinished ? "" : "\n"}` : "")).join("");
  return lines.open ? text + copied(lines.open) : text;
}
