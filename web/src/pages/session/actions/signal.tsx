import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { post, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { launchReference } from "../../../state/live.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { showToast } from "../../../ui/toast.tsx";
import { nameWithId } from "../../../ui/labels.ts";
import { ActionError } from "./action-error.tsx";

const SIGNALS: { number: number; name: string; what: string }[] = [
  { number: 15, name: "SIGTERM", what: "ask to terminate" },
  { number: 2, name: "SIGINT", what: "like Ctrl-C" },
  { number: 1, name: "SIGHUP", what: "often: reload the configuration" },
  { number: 10, name: "SIGUSR1", what: "program-defined" },
  { number: 12, name: "SIGUSR2", what: "program-defined" },
  { number: 3, name: "SIGQUIT", what: "quit, often with a core dump" },
  { number: 19, name: "SIGSTOP", what: "pause; can’t be ignored" },
  { number: 18, name: "SIGCONT", what: "continue" },
  { number: 9, name: "SIGKILL", what: "kill immediately; unsaved work is lost" },
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
      showToast("good", `Sent ${name}`, session.started_by === "terminal" ? "To the adopted process." : "To every process in the pen.");
      close();
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={`Send signal to ${nameWithId(session)}`} close={close}>
      <form class="stack" onSubmit={send}>
        <p class="muted">
          {session.started_by === "terminal" ? "The signal is sent to the adopted process." : "The signal is sent to every process in the pen."} To end a
          session, use Stop: it makes sure that no process is left.
        </p>
        <fieldset class="signals">
          <legend class="hidden-visually">Signal</legend>
          {SIGNALS.map(({ number, name, what }) => (
            <label class="check" key={number}>
              <input type="radio" name="signal" value={number} checked={chosen.value === number} onChange={() => void (chosen.value = number)} />
              <span>
                <code>{name}</code> <span class="muted small">{what}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <ActionError what="Couldn’t send the signal" error={wrong.value} />
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
