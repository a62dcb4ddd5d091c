import type { EventView } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { nameOf, precise } from "./row.tsx";

/** Shows all fields of one event. */
export function Detail({ event, only, close }: { event: EventView; only: (kind: string) => void; close: () => void }) {
  return (
    <Dialog title={`Event ${event.seq}`} close={close} wide>
      <dl class="facts">
        <dt>Kind</dt>
        <dd class="mono foreign">{event.kind}</dd>
        <dt>Time</dt>
        <dd>
          {precise(event.time)} <span class="muted mono">{event.time}</span>
        </dd>
        <dt>Session</dt>
        <dd>
          {event.session === null ? (
            "none (daemon event)"
          ) : (
            <>
              <a class="foreign" href={`/sessions/${encodeURIComponent(event.session)}`}>
                {nameOf(event.session)}
              </a>{" "}
              <span class="muted mono">{event.session}</span>
            </>
          )}
        </dd>
        <dt>Cause</dt>
        <dd class="foreign event-cause">{event.cause || "none"}</dd>
        <dt>Requested by</dt>
        <dd class="foreign">{event.by ?? "none"}</dd>
      </dl>
      <div class="actions">
        <Copy text={() => JSON.stringify(event)} label="Copy as JSON" />
        <Button onClick={() => only(event.kind)}>Show only this kind</Button>
        <Button kind="primary" onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
