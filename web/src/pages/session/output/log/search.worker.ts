/** Searches the whole output in a worker. The page terminates the worker. */
import { errorText } from "../../../../api/http.ts";
import { Matcher } from "./matcher.ts";
import { endOf, part } from "./records.ts";

export interface SearchRequest {
  launch: string;
  text: string;
  start: number;
  end: number;
}

export interface SearchUpdate {
  /** The offsets of more matching lines. */
  hits: number[];
  /** The offset up to which the output was searched. */
  at: number;
  done: boolean;
  error: string | null;
}

const SPAN = 1 << 20;
/** The search stops after this many matches. */
export const MAX_HITS = 100_000;

const never = new AbortController().signal;

async function search({ launch, text, start, end }: SearchRequest): Promise<void> {
  const matcher = new Matcher(text);
  let [at, count] = [start, 0];
  while (at < end && count < MAX_HITS) {
    const to = Math.min(end, at + SPAN);
    const { records } = await part(launch, { from: at, to }, never);
    const hits = records.flatMap((record) => matcher.push(record)).slice(0, MAX_HITS - count);
    count += hits.length;
    at = Math.max(to, endOf(records) ?? to);
    send({ hits, at, done: false, error: null });
  }
  send({ hits: count < MAX_HITS ? matcher.rest() : [], at, done: true, error: null });
}

function send(update: SearchUpdate): void {
  postMessage(update);
}

addEventListener("message", (event: MessageEvent<SearchRequest>) => {
  search(event.data).catch((error: unknown) => send({ hits: [], at: event.data.start, done: true, error: errorText(error) }));
});
