/** Goes through all that a session printed, aside from the page. It is ended by whoever began it. */
import { told } from "../../../../api/http.ts";
import { Matcher } from "./matcher.ts";
import { endOf, part } from "./records.ts";

export interface SearchRequest {
  launch: string;
  text: string;
  start: number;
  end: number;
}

export interface SearchNews {
  /** The offsets of more lines that match. */
  hits: number[];
  /** How far it is. */
  at: number;
  done: boolean;
  error: string | null;
}

const SPAN = 1 << 20;
/** More than anybody goes through. */
export const MOST_HITS = 100_000;

const never = new AbortController().signal;

async function search({ launch, text, start, end }: SearchRequest): Promise<void> {
  const matcher = new Matcher(text);
  let [at, count] = [start, 0];
  while (at < end && count < MOST_HITS) {
    const to = Math.min(end, at + SPAN);
    const { records } = await part(launch, { from: at, to }, never);
    const hits = records.flatMap((record) => matcher.push(record)).slice(0, MOST_HITS - count);
    count += hits.length;
    at = Math.max(to, endOf(records) ?? to);
    tell({ hits, at, done: false, error: null });
  }
  tell({ hits: count < MOST_HITS ? matcher.rest() : [], at, done: true, error: null });
}

function tell(news: SearchNews): void {
  postMessage(news);
}

addEventListener("message", (event: MessageEvent<SearchRequest>) => {
  search(event.data).catch((error: unknown) => tell({ hits: [], at: event.data.start, done: true, error: told(error) }));
});
