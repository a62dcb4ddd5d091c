import { now } from "../state/clock.ts";
import { age, moment } from "./format.ts";

/** How long ago, or how long it took; it ticks. */
export function Age({ since, until }: { since: string; until?: string | null }) {
  const end = until ? Date.parse(until) : now.value;
  return (
    <time dateTime={since} title={moment(since)}>
      {age(end - Date.parse(since))}
    </time>
  );
}
