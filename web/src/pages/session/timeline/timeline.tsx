import { useSignal } from "@preact/signals";

import { segment } from "../../../api/http.ts";
import type { EventView, InspectView, SessionView } from "../../../api/types.ts";
import { now } from "../../../state/clock.ts";
import { useFetched } from "../../../state/fetched.ts";
import { isOver, launchReference } from "../../../state/live.ts";
import { age, duration } from "../../../ui/format.ts";
import { Failed, Loading } from "../../../ui/states.tsx";
import { standing } from "../../../ui/words.ts";
import { day, exactTime, kindWords } from "./words.ts";

/** All that happened, launch by launch, the latest first. */
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
        <Happened events={inspected.timeline} goesOn={!session.ended_at} />
      </section>
      {others.map((launch) => (
        <Former key={launch.id} launch={launch} />
      ))}
    </div>
  );
}

/** Another launch: what happened to it is asked for when it is opened. */
function Former({ launch }: { launch: SessionView }) {
  const isOpen = useSignal(false);
  const { word } = standing(launch);
  return (
    <details class="card former" onToggle={(event) => void (isOpen.value = (event.target as HTMLDetailsElement).open)}>
      <summary>
        Launch {launch.attempt} <span class="muted">{isOver(launch) || launch.ended_at ? word : "goes on"}</span>
      </summary>
      {isOpen.value && <FormerEvents launch={launch} />}
    </details>
  );
}

function FormerEvents({ launch }: { launch: SessionView }) {
  const { value, error, again } = useFetched<InspectView>(`/v1/sessions/${segment(launchReference(launch.id))}/inspect`);
  if (value.value) return <Happened events={value.value.timeline} goesOn={!launch.ended_at} />;
  if (error.value) return <Failed what="What happened can't be had" error={error.value} again={again} />;
  return <Loading what="Loading…" />;
}

function Happened({ events, goesOn }: { events: EventView[]; goesOn: boolean }) {
  if (events.length === 0) return <p class="body muted small">Nothing is on record any more: the event log keeps the latest events only.</p>;
  const last = events.at(-1);
  return (
    <ol class="timeline">
      {events.map((event, at) => {
        const before = events[at - 1];
        const { word, tone } = kindWords(event.kind);
        const newDay = !before || day(before.time) !== day(event.time);
        return (
          <li key={event.seq} class={tone} data-kind={event.kind}>
            <div class="what">
              <strong>{word}</strong> <span class="foreign">{event.cause}</span>
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
      {goesOn && last && (
        <li class="goes-on quiet">
          <div class="what muted">for {age(now.value - Date.parse(last.time))} so far</div>
        </li>
      )}
    </ol>
  );
}
