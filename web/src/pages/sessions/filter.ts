/** The filter and sort order of the session list, as encoded in the URL. */
import type { SessionView } from "../../api/types.ts";
import { isOver } from "../../state/live.ts";
import { displayName, sessionState, programText } from "../../ui/labels.ts";

export const SHOWS = ["live", "ended", "all"] as const;
export type Show = (typeof SHOWS)[number];

export const COLUMNS = ["state", "name", "agent", "activity", "cpu", "memory", "folder", "age"] as const;
export type Column = (typeof COLUMNS)[number];

/** The properties that sessions can be filtered by. */
export const FACETS = ["agent", "member", "plan", "phase"] as const;
export type Facet = (typeof FACETS)[number];

export interface Choice {
  show: Show;
  /** The search words in lower case. */
  words: string[];
  facets: Partial<Record<Facet, string>>;
  sort: Column;
  descending: boolean;
}

/** Columns that sort in descending order by default. */
const LARGEST_FIRST: ReadonlySet<Column> = new Set(["activity", "cpu", "memory"]);

export function parseFilter(params: URLSearchParams): Choice {
  const show = SHOWS.find((one) => one === params.get("show")) ?? "live";
  const sorted = params.get("sort") ?? "age";
  const descending = sorted.startsWith("-");
  const sort = COLUMNS.find((one) => one === (descending ? sorted.slice(1) : sorted)) ?? "age";
  const facets: Choice["facets"] = {};
  for (const facet of FACETS) {
    const value = params.get(facet);
    if (value) facets[facet] = value;
  }
  return { show, words: wordsOf(params.get("q") ?? ""), facets, sort, descending };
}

export function wordsOf(search: string): string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Returns the `sort` parameter after a click on a column: its default order first, then reversed. */
export function sortedBy(column: Column, choice: Choice): string | null {
  const descending = choice.sort === column ? !choice.descending : LARGEST_FIRST.has(column);
  return column === "age" && !descending ? null : `${descending ? "-" : ""}${column}`;
}

export function facetOf(session: SessionView, facet: Facet): string | null {
  switch (facet) {
    case "agent":
      return session.spec.agent?.settings.agent ?? null;
    case "member":
      return session.spec.agent?.member ?? null;
    case "plan":
      return session.spec.agent?.plan?.plan ?? null;
    case "phase":
      return session.phase;
  }
}

/** Returns the values of a property among these sessions. */
export function valuesOf(sessions: readonly SessionView[], facet: Facet): string[] {
  const found = new Set<string>();
  for (const session of sessions) {
    const value = facetOf(session, facet);
    if (value !== null) found.add(value);
  }
  return [...found].sort();
}

const texts = new WeakMap<SessionView, string>();

/** Returns the text that a search looks at. */
function text(session: SessionView): string {
  let found = texts.get(session);
  if (found === undefined) {
    const { spec } = session;
    const parts = [session.id, session.name, session.title, programText(session), spec.cwd, spec.worktree?.branch];
    for (const facet of ["member", "plan"] as const) parts.push(facetOf(session, facet));
    parts.push(spec.agent?.plan?.name, sessionState(session).word);
    found = parts.filter(Boolean).join("\n").toLowerCase();
    texts.set(session, found);
  }
  return found;
}

export function isShown(session: SessionView, show: Show): boolean {
  return show === "all" || isOver(session) === (show === "ended");
}

/** Whether a session passes the filter, live or ended. */
export function matches(session: SessionView, choice: Choice): boolean {
  for (const facet of FACETS) {
    const wanted = choice.facets[facet];
    if (wanted !== undefined && facetOf(session, facet) !== wanted) return false;
  }
  return choice.words.length === 0 || choice.words.every((word) => text(session).includes(word));
}

/** Returns the current usage of a session; null if unknown. */
export type Used = (session: SessionView) => { cpu: number | null; memory: number | null };

/** Sorts sessions. The sort is stable, and sessions without a value come last. */
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
    case "state":
      return (RANKS[session.phase] ?? 8) * 1e6 + (session.queue_position ?? 0) + (isOver(session) && sessionState(session).tone !== "bad" ? 1 : 0);
    case "name":
      return displayName(session).toLowerCase();
    case "agent":
      return session.spec.agent ? `${session.spec.agent.settings.agent} ${session.spec.agent.member ?? session.spec.agent.plan?.name ?? ""}` : null;
    case "activity":
      return session.progress ?? (session.activity === "busy" ? 0 : session.activity === "idle" ? -1 : null);
    case "cpu":
      return used(session).cpu;
    case "memory":
      return used(session).memory;
    case "folder":
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
