import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { post, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { launchReference } from "../../../state/live.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { say } from "../../../ui/toast.tsx";
import { titled } from "../../../ui/words.ts";
import { NotDone } from "./failed.tsx";

const SIGNALS: { number: number; name: string; what: string }[] = [
  { number: 15, name: "SIGTERM", what: "asks to end" },
  { number: 2, name: "SIGINT", what: "as Ctrl-C does" },
  { number: 1, name: "SIGHUP", what: "often: read the settings anew" },
  { number: 10, name: "SIGUSR1", what: "what the program makes of it" },
  { number: 12, name: "SIGUSR2", what: "what the program makes of it" },
  { number: 3, name: "SIGQUIT", what: "ends it, often with a core dump" },
  { number: 19, name: "SIGSTOP", what: "halts it; it can't be refused" },
  { number: 18, name: "SIGCONT", what: "has it go on" },
  { number: 9, name: "SIGKILL", what: "ends it at once; nothing can be saved" },
];

/** Sends a signal to every process of a session. */
export function SignalDialog({ session: shown, close }: { session: SessionView; close: () => void }) {
  const session = useRef(shown).current;
  const chosen = useSignal(15);
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const send = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    wrong.value = null;
    const name = SIGNALS.find((it) => it.number === chosen.value)?.name ?? `signal ${chosen.value}`;
    try {
      await post(`/v1/sessions/${segment(launchReference(session.id))}/signal`, { signal: chosen.value });
      say("good", `${name} was sent`, session.started_by === "terminal" ? "To its one process." : "To every process in the pen. What they make of it is theirs.");
      close();
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={`Send a signal to ${titled(session)}`} close={close}>
      <form class="stack" onSubmit={send}>
        <p class="muted">
          {session.started_by === "terminal" ? "It goes to its one process." : "It goes to every process in the pen."} To end a session, Stop is the better
          way: it sees to it that all are gone.
        </p>
        <fieldset class="signals">
          <legend class="hidden-visually">Which signal</legend>
          {SIGNALS.map(({ number, name, what }) => (
            <label class="check" key={number}>
              <input type="radio" name="signal" value={number} checked={chosen.value === number} onChange={() => void (chosen.value = number)} />
              <span>
                <code>{name}</code> <span class="muted small">{what}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <NotDone what="The signal could not be sent" error={wrong.value} />
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind={chosen.value === 9 ? "danger primary" : "primary"} disabled={busy.value}>
            Send
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
