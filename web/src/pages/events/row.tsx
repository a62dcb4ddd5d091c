import type { EventView } from "../../api/types.ts";
import { launches } from "../../state/live.ts";
import { moment } from "../../ui/format.ts";
import { called, type Tone } from "../../ui/words.ts";
import type { Entry } from "./log.ts";

const TONES: Record<string, Tone> = {
  running: "good",
  ready: "good",
  daemon_started: "good",
  lost: "bad",
  still_alive: "bad",
  keeper_lost: "bad",
  launch_failed: "bad",
  trouble: "bad",
  yard_lost: "bad",
  left_behind: "bad",
  stopping: "warn",
  wanted_stopped: "warn",
  daemon_stopping: "warn",
  cleaned: "quiet",
  removed: "quiet",
};

export function toneOf(kind: string): Tone {
  return TONES[kind] ?? "info";
}

/** What a launch is called, or its id. */
export function nameOf(launch: string): string {
  const known = launches.value.get(launch);
  return known ? called(known) : launch;
}

/** With thousandths: much happens in a second. */
export function precise(time: string): string {
  return `${moment(time)}.${new Date(time).getMilliseconds().toString().padStart(3, "0")}`;
}

/** One event in a line, or a word on those that are not there. */
export function Row(props: { entry: Entry; at: number; top: number; show: (event: EventView) => void }) {
  const { entry, at, top, show } = props;
  if (entry.event === null) {
    return (
      <div class="event-row marker" role="row" aria-rowindex={at + 1} style={{ top: `${top}px` }}>
        <span role="cell">{entry.word}</span>
      </div>
    );
  }
  const { event } = entry;
  return (
    <div class="event-row" role="row" aria-rowindex={at + 1} style={{ top: `${top}px` }}>
      <span class="seq" role="cell">
        <button type="button" aria-label={`Event ${event.seq}, show all of it`} onClick={() => show(event)}>
          {event.seq}
        </button>
      </span>
      <span class="time" role="cell">
        <time dateTime={event.time} title={event.time}>
          {precise(event.time)}
        </time>
      </span>
      <span class="who cut" role="cell">
        {event.session === null ? (
          <span class="muted">daemon</span>
        ) : (
          <a class="foreign" href={`/sessions/${encodeURIComponent(event.session)}`} title={event.session}>
            {nameOf(event.session)}
          </a>
        )}
      </span>
      <span class={`kind cut ${toneOf(event.kind)}`} role="cell">
        <span class="foreign">{event.kind}</span>
      </span>
      <span class="cause cut" role="cell" title={event.cause}>
        <span class="foreign">{event.cause}</span>
        {event.by && <span class="muted foreign"> by {event.by}</span>}
      </span>
    </div>
  );
}
