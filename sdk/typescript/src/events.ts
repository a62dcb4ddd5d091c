import type { EventView } from "./generated.js";
import { follow } from "./sse.js";
import { pathOf, type Transport } from "./transport.js";

/** Selects events. */
export interface EventOptions {
  /** Only events after this `seq`. Default: from the oldest recorded event. */
  since?: number | undefined;
  /** Only events of this session. */
  session?: string | undefined;
  /** Only events of these kinds: `running`, `reaped`, … */
  kinds?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Follows the event log: each event once, in order, across daemon restarts. An event of the kind `missed` reports events that were
 * dropped before they could be read; `reset` reports that the log was replaced.
 */
export async function* readEvents(transport: Transport, options: EventOptions): AsyncGenerator<EventView, void> {
  const { since, session, kinds, signal } = options;
  const query = { follow: true, format: "sse", since, session, kind: kinds?.join(",") };
  const request = { method: "GET", path: pathOf("listEvents", undefined), query, signal };
  for await (const { event, data } of follow(transport, request, { isLast: () => false, endless: true })) {
    const record = JSON.parse(data) as EventView | Missed | Reset;
    yield "seq" in record ? record : logNotice(event, record);
  }
}

type Missed = { from: number; to: number };
type Reset = { asked: number; latest: number };

function logNotice(kind: string, record: Missed | Reset): EventView {
  const common = { kind, time: new Date().toISOString(), session: null, by: null };
  return "from" in record
    ? { ...common, seq: record.to, cause: `events ${record.from} to ${record.to} are no longer recorded` }
    : { ...common, seq: record.latest, cause: `the log was replaced: event ${record.asked} was requested, but the latest is ${record.latest}` };
}
