/** The rows and the selection of the session list. */
import { computed, signal } from "@preact/signals";

import type { SessionView } from "../../api/types.ts";
import { isOver, sessions } from "../../state/live.ts";
import { params } from "../../state/router.ts";
import { percentNow } from "../../state/samples.ts";
import { answers, usageOf } from "../../state/usage.ts";
import { parseFilter, isShown, matches, ordered, type Used } from "./filter.ts";

export const choice = computed(() => parseFilter(params.value));

/** The sessions that pass the filter, live or ended. */
const found = computed(() => sessions.value.filter((session) => matches(session, choice.value)));

export const counts = computed(() => {
  const ended = found.value.filter(isOver).length;
  return { live: found.value.length - ended, ended, all: found.value.length };
});

const used: Used = (session) => {
  const samples = usageOf(session.id).peek();
  return { cpu: percentNow(samples), memory: samples.at(-1)?.memory_bytes ?? null };
};

/** The sorted rows. */
export const rows = computed<SessionView[]>(() => {
  const shown = found.value.filter((session) => isShown(session, choice.value.show));
  if (choice.value.sort === "cpu" || choice.value.sort === "memory") void answers.value;
  return ordered(shown, choice.value, used);
});

/** CSS classes that hide columns without any value. */
export const missing = computed(() => {
  const hasAgents = sessions.value.some((session) => session.spec.agent);
  const hasActivity = sessions.value.some((session) => !isOver(session) && (session.activity !== null || session.progress !== null));
  return `${hasAgents ? "" : "no-agent"} ${hasActivity ? "" : "no-activity"}`.trim();
});

/** The ids of selected sessions; some may be filtered out by now. */
const marked = signal<ReadonlySet<string>>(new Set());
/** The selected sessions that are shown: actions apply only to these. */
export const selected = computed(() => rows.value.filter((session) => marked.value.has(session.session)));
export const selectedIds = computed(() => new Set(selected.value.map((session) => session.session)));

/** The row that keyboard shortcuts act on. */
export const cursor = signal<string | null>(null);
/** The start of a range selection. */
let anchor: string | null = null;

export function indexOf(id: string | null): number {
  return id === null ? -1 : rows.value.findIndex((session) => session.session === id);
}

export function toggle(id: string): void {
  const next = new Set(selectedIds.value);
  if (!next.delete(id)) next.add(id);
  marked.value = next;
  anchor = id;
}

/** Selects the range from the last selected row to this one. */
export function selectTo(id: string): void {
  const [from, to] = [indexOf(anchor), indexOf(id)];
  if (from < 0 || to < 0) return toggle(id);
  const between = rows.value.slice(Math.min(from, to), Math.max(from, to) + 1);
  marked.value = new Set([...selectedIds.value, ...between.map((session) => session.session)]);
}

export function selectAll(): void {
  marked.value = new Set(rows.value.map((session) => session.session));
}

export function selectNone(): void {
  marked.value = new Set();
  anchor = null;
}
