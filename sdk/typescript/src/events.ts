import type { EventView } from "./generated.js";
import { follow } from "./sse.js";
import { pathOf, type Transport } from "./transport.js";

/** Which events. */
export interface EventOptions {
  /** Those after this one: its `seq`. From the first one that is kept if not said. */
  since?: number | undefined;
  /** Of this session. */
  session?: string | undefined;
  /** Of these kinds: `running`, `reaped`, … */
  kinds?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The event log, as it grows: each event once, in order, over restarts of the daemon. What was dropped from the log
 * before it could be read is told as an event of the kind `missed`; that the log is another one, as `reset`.
 */
export async function* readEvents(transport: Transport, options: EventOptions): AsyncGenerator<EventView, void> {
  const { since, session, kinds, signal } = options;
  const query = { follow: true, format: "sse", since, session, kind: kinds?.join(",") };
  const asked = { method: "GET", path: pathOf("listEvents", undefined), query, signal };
  for await (const { event, data } of follow(transport, asked, { isLast: () => false, endless: true })) {
    const told = JSON.parse(data) as EventView | Missed | Reset;
    yield "seq" in told ? told : aboutTheLog(event, told);
  }
}

type Missed = { from: number; to: number };
type Reset = { asked: number; latest: number };

function aboutTheLog(kind: string, told: Missed | Reset): EventView {
  const common = { kind, time: new Date().toISOString(), session: null, by: null };
  return "from" in told
    ? { ...common, seq: told.to, cause: `${told.from} to ${told.to} are not kept any more` }
    : { ...common, seq: told.latest, cause: `there is no event ${told.asked}: the latest is ${told.latest}` };
}
