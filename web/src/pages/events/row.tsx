import type { EventView } from "../../api/types.ts";
import { launches } from "../../state/live.ts";
import { formatTime } from "../../ui/format.ts";
import { kindLabel } from "../../ui/event-kinds.ts";
import { displayName } from "../../ui/labels.ts";
import type { Entry } from "./log.ts";

/** Returns the display name of a launch, or its id. */
export function nameOf(launch: string): string {
  const known = launches.value.get(launch);
  return known ? displayName(known) : launch;
}

/** Formats a time with milliseconds, because many events happen within a second. */
export function precise(time: string): string {
  return `${formatTime(time)}.${new Date(time).getMilliseconds().toString().padStart(3, "0")}`;
}

/** One event, or a note about missing events. */
export function Row(props: { entry: Entry; at: number; top: number; show: (event: EventView) => void }) {
  const { entry, at, top, show } = props;
  if (entry.event === null) {
    return (
      <div class="event-row marker" role="row" aria-rowindex={at + 1} style={{ top: `${top}px` }}>
        <span role="cell">{entry.text}</span>
      </div>
    );
  }
  const { event } = entry;
  return (
    <div class="event-row" role="row" aria-rowindex={at + 1} style={{ top: `${top}px` }}>
      <span class="seq" role="cell">
        <button type="button" aria-label={`Show event ${event.seq}`} onClick={() => show(event)}>
          {event.seq}
        </button>
      </span>
      <span class="time" role="cell">
        <time dateTime={event.time} title={event.time}>
          {precise(event.time)}
        </time>
      </span>
      <span class="session-name cut" role="cell">
        {event.session === null ? (
          <span class="muted">daemon</span>
        ) : (
          <a class="foreign" href={`/sessions/${encodeURIComponent(event.session)}`} title={event.session}>
            {nameOf(event.session)}
          </a>
        )}
      </span>
      <span class={`kind cut ${kindLabel(event.kind).tone}`} role="cell">
        <span class="foreign" title={event.kind}>{kindLabel(event.kind).text}</span>
      </span>
      <span class="cause cut" role="cell" title={event.cause}>
        <span class="foreign">{event.cause}</span>
        {event.by && <span class="muted foreign"> by {event.by}</span>}
      </span>
    </div>
  );
}
