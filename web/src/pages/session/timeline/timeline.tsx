import { useSignal } from "@preact/signals";

import { segment } from "../../../api/http.ts";
import type { EventView, InspectView, SessionView } from "../../../api/types.ts";
import { now } from "../../../state/clock.ts";
import { useFetched } from "../../../state/fetched.ts";
import { isOver, launchReference } from "../../../state/live.ts";
import { age, duration } from "../../../ui/format.ts";
import { Failed, Loading } from "../../../ui/states.tsx";
import { kindLabel } from "../../../ui/event-kinds.ts";
import { sessionState } from "../../../ui/labels.ts";
import { day, exactTime } from "./times.ts";

/** The events of each launch, latest launch first. */
export function Timeline({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const others = inspected.launches.filter((launch) => launch.id !== session.id).reverse();
  return (
    <div class="stack">
      <section class="card" aria-labelledby="timeline-title">
        <header>
          <h2 id="timeline-title" class="grow">
            {session.launches > 1 ? `Launch ${session.attempt} of ${session.launches}` : "Timeline"}
          </h2>
        </header>
        <EventList events={inspected.timeline} isLive={!session.ended_at} />
      </section>
      {others.map((launch) => (
        <OtherLaunch key={launch.id} launch={launch} />
      ))}
    </div>
  );
}

/** Another launch. Its events are loaded when it is expanded. */
function OtherLaunch({ launch }: { launch: SessionView }) {
  const isOpen = useSignal(false);
  const { word } = sessionState(launch);
  return (
    <details class="card former" onToggle={(event) => void (isOpen.value = (event.target as HTMLDetailsElement).open)}>
      <summary>
        Launch {launch.attempt} <span class="muted">{isOver(launch) || launch.ended_at ? word : "running"}</span>
      </summary>
      {isOpen.value && <LaunchEvents launch={launch} />}
    </details>
  );
}

function LaunchEvents({ launch }: { launch: SessionView }) {
  const { value, error, refetch } = useFetched<InspectView>(`/v1/sessions/${segment(launchReference(launch.id))}/inspect`);
  if (value.value) return <EventList events={value.value.timeline} isLive={!launch.ended_at} />;
  if (error.value) return <Failed what="Couldn’t load the events" error={error.value} retry={refetch} />;
  return <Loading what="Loading…" />;
}

function EventList({ events, isLive }: { events: EventView[]; isLive: boolean }) {
  if (events.length === 0) return <p class="body muted small">No events: the event log keeps only the latest ones.</p>;
  const last = events.at(-1);
  return (
    <ol class="timeline">
      {events.map((event, at) => {
        const before = events[at - 1];
        const { text, tone } = kindLabel(event.kind);
        const newDay = day(before?.time ?? new Date(now.value).toISOString()) !== day(event.time);
        return (
          <li key={event.seq} class={tone} data-kind={event.kind}>
            <div class="what">
              <strong title={event.kind}>{text}</strong>{" "}
              {event.cause.toLowerCase() !== text.toLowerCase() && <span class="foreign">{event.cause}</span>}
              {event.by && <span class="muted foreign"> by {event.by}</span>}
            </div>
            <div class="when muted tiny">
              <time dateTime={event.time} title={event.time}>
                {newDay && `${day(event.time)} `}
                {exactTime(event.time)}
              </time>
              {before && <span class="after">+{duration(Date.parse(event.time) - Date.parse(before.time))}</span>}
            </div>
          </li>
        );
      })}
      {isLive && last && (
        <li class="goes-on quiet">
          <div class="what muted">for {age(now.value - Date.parse(last.time))} so far</div>
        </li>
      )}
    </ol>
  );
}
