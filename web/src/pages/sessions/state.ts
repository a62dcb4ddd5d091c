/** What the page of sessions shows, and what is selected on it. */
import { computed, signal } from "@preact/signals";

import type { SessionView } from "../../api/types.ts";
import { isOver, sessions } from "../../state/live.ts";
import { params } from "../../state/router.ts";
import { percentNow } from "../../state/samples.ts";
import { answers, usageOf } from "../../state/usage.ts";
import { choiceOf, isShown, matches, ordered, type Used } from "./choice.ts";

export const choice = computed(() => choiceOf(params.value));

/** What is looked for, live or ended. */
const found = computed(() => sessions.value.filter((session) => matches(session, choice.value)));

/** How many there are of each. */
export const counts = computed(() => {
  const ended = found.value.filter(isOver).length;
  return { live: found.value.length - ended, ended, all: found.value.length };
});

const used: Used = (session) => {
  const samples = usageOf(session.id).peek();
  return { cpu: percentNow(samples), memory: samples.at(-1)?.memory_bytes ?? null };
};

/** The rows, in their order. */
export const rows = computed<SessionView[]>(() => {
  const shown = found.value.filter((session) => isShown(session, choice.value.show));
  if (choice.value.sort === "cpu" || choice.value.sort === "memory") void answers.value;
  return ordered(shown, choice.value, used);
});

/** The columns that no session has anything for, as classes of the list. */
export const missing = computed(() => {
  const hasAgents = sessions.value.some((session) => session.spec.agent);
  const tells = sessions.value.some((session) => !isOver(session) && (session.activity !== null || session.progress !== null));
  return `${hasAgents ? "" : "no-who"} ${tells ? "" : "no-activity"}`.trim();
});

/** Sessions that were selected, by their ids; some may be out of sight by now. */
const marked = signal<ReadonlySet<string>>(new Set());
/** The selected ones among those that are shown: only what can be seen is acted on. */
export const selected = computed(() => rows.value.filter((session) => marked.value.has(session.session)));
export const selectedIds = computed(() => new Set(selected.value.map((session) => session.session)));

/** The row that the keys act on. */
export const cursor = signal<string | null>(null);
/** Where a range begins. */
let anchor: string | null = null;

export function placeOf(id: string | null): number {
  return id === null ? -1 : rows.value.findIndex((session) => session.session === id);
}

export function toggle(id: string): void {
  const next = new Set(selectedIds.value);
  if (!next.delete(id)) next.add(id);
  marked.value = next;
  anchor = id;
}

/** Selects all from where the last selection was begun to here. */
export function selectTo(id: string): void {
  const [from, to] = [placeOf(anchor), placeOf(id)];
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
