import { now } from "../state/clock.ts";
import { age, formatTime } from "./format.ts";

/** A ticking age since a time, or a fixed duration if `until` is given. */
export function Age({ since, until }: { since: string; until?: string | null }) {
  const end = until ? Date.parse(until) : now.value;
  return (
    <time dateTime={since} title={formatTime(since)}>
      {age(end - Date.parse(since))}
    </time>
  );
}
