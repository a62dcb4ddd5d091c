/** Which sessions are shown, and in which order: as the address of the page says it. */
import type { SessionView } from "../../api/types.ts";
import { isOver } from "../../state/live.ts";
import { called, standing, what } from "../../ui/words.ts";

export const SHOWS = ["live", "ended", "all"] as const;
export type Show = (typeof SHOWS)[number];

export const COLUMNS = ["standing", "name", "who", "activity", "cpu", "memory", "where", "age"] as const;
export type Column = (typeof COLUMNS)[number];

/** What sessions are told apart by. */
export const TRAITS = ["agent", "member", "plan", "phase"] as const;
export type Trait = (typeof TRAITS)[number];

export interface Choice {
  show: Show;
  /** In lower case. */
  words: string[];
  traits: Partial<Record<Trait, string>>;
  sort: Column;
  descending: boolean;
}

/** What begins with the largest, or the latest, if nothing else is said. */
const LARGEST_FIRST: ReadonlySet<Column> = new Set(["activity", "cpu", "memory"]);

export function choiceOf(params: URLSearchParams): Choice {
  const show = SHOWS.find((one) => one === params.get("show")) ?? "live";
  const sorted = params.get("sort") ?? "age";
  const descending = sorted.startsWith("-");
  const sort = COLUMNS.find((one) => one === (descending ? sorted.slice(1) : sorted)) ?? "age";
  const traits: Choice["traits"] = {};
  for (const trait of TRAITS) {
    const value = params.get(trait);
    if (value) traits[trait] = value;
  }
  return { show, words: wordsOf(params.get("q") ?? ""), traits, sort, descending };
}

export function wordsOf(search: string): string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean);
}

/** What the address says after a press on a column's head: first its natural order, then the other way round. */
export function sortedBy(column: Column, choice: Choice): string | null {
  const descending = choice.sort === column ? !choice.descending : LARGEST_FIRST.has(column);
  return column === "age" && !descending ? null : `${descending ? "-" : ""}${column}`;
}

export function traitOf(session: SessionView, trait: Trait): string | null {
  switch (trait) {
    case "agent":
      return session.spec.agent?.seat.agent ?? null;
    case "member":
      return session.spec.agent?.member ?? null;
    case "plan":
      return session.spec.agent?.plan?.plan ?? null;
    case "phase":
      return session.phase;
  }
}

/** The values of a trait among these sessions. */
export function valuesOf(sessions: readonly SessionView[], trait: Trait): string[] {
  const found = new Set<string>();
  for (const session of sessions) {
    const value = traitOf(session, trait);
    if (value !== null) found.add(value);
  }
  return [...found].sort();
}

const texts = new WeakMap<SessionView, string>();

/** All that a search looks at. */
function text(session: SessionView): string {
  let found = texts.get(session);
  if (found === undefined) {
    const { spec } = session;
    const parts = [session.id, session.name, session.title, what(session), spec.cwd, spec.worktree?.branch];
    for (const trait of ["member", "plan"] as const) parts.push(traitOf(session, trait));
    parts.push(spec.agent?.plan?.name, standing(session).word);
    found = parts.filter(Boolean).join("\n").toLowerCase();
    texts.set(session, found);
  }
  return found;
}

export function isShown(session: SessionView, show: Show): boolean {
  return show === "all" || isOver(session) === (show === "ended");
}

/** Whether it is what is looked for, live or ended. */
export function matches(session: SessionView, choice: Choice): boolean {
  for (const trait of TRAITS) {
    const wanted = choice.traits[trait];
    if (wanted !== undefined && traitOf(session, trait) !== wanted) return false;
  }
  return choice.words.length === 0 || choice.words.every((word) => text(session).includes(word));
}

/** What is used now, as far as it is known. */
export type Used = (session: SessionView) => { cpu: number | null; memory: number | null };

/** In the order that was chosen; what is equal stays as it is, and what has no value comes last. */
export function ordered(sessions: readonly SessionView[], choice: Choice, used: Used): SessionView[] {
  if (choice.sort === "age") return choice.descending ? sessions.toReversed() : [...sessions];
  const keys = new Map(sessions.map((session) => [session, key(session, choice.sort, used)]));
  return sessions.toSorted((a, b) => compare(keys.get(a) ?? null, keys.get(b) ?? null, choice.descending));
}

const RANKS: Record<string, number> = {
  lost: 0, running: 1, starting: 2, launching: 2, reserved: 2, making: 3, queued: 4, stopping: 5, reaped: 6, cleaned: 7,
};

function key(session: SessionView, column: Column, used: Used): string | number | null {
  switch (column) {
    case "standing":
      return (RANKS[session.phase] ?? 8) * 1e6 + (session.queue_place ?? 0) + (isOver(session) && standing(session).tone !== "bad" ? 1 : 0);
    case "name":
      return called(session).toLowerCase();
    case "who":
      return traitOf(session, "member") ?? traitOf(session, "agent") ?? traitOf(session, "plan");
    case "activity":
      return session.progress ?? (session.activity === "busy" ? 0 : session.activity === "idle" ? -1 : null);
    case "cpu":
      return used(session).cpu;
    case "memory":
      return used(session).memory;
    case "where":
      return session.spec.worktree?.branch || session.spec.cwd || null;
    case "age":
      return null;
  }
}

function compare(a: string | number | null, b: string | number | null, descending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (a === b) return 0;
  return a < b === descending ? 1 : -1;
}
