import { useSignal } from "@preact/signals";

import { post, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { counted } from "../../../ui/format.ts";
import { say, sayFailed } from "../../../ui/toast.tsx";

function hex(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Writes to a session's standard input, or types at its terminal. */
export function InputDialog({ session, close }: { session: SessionView; close: () => void }) {
  const text = useSignal("");
  const lineEnd = useSignal(true);
  const eof = useSignal(false);
  const busy = useSignal(false);
  const isTerminal = !!session.spec.terminal;
  const send = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    // The key that ends a line at a terminal is Return.
    const sent = text.value + (lineEnd.value ? (isTerminal ? "\r" : "\n") : "");
    try {
      await post(`/v1/sessions/${segment(session.session)}/input`, { hex: hex(sent), eof: eof.value });
      say("good", "Input was sent", `${counted(new TextEncoder().encode(sent).length, "byte")}${eof.value ? ", and the end of input" : ""}.`);
      close();
    } catch (error) {
      sayFailed("Input could not be sent", error);
      busy.value = false;
    }
  };
  return (
    <Dialog title={isTerminal ? "Type at its terminal" : "Send input"} close={close}>
      <form class="stack" onSubmit={send}>
        <div class="field">
          <label for="session-input">Text</label>
          <textarea id="session-input" class="input mono" rows={4} value={text.value} onInput={(event) => void (text.value = event.currentTarget.value)} />
        </div>
        <label class="check">
          <input type="checkbox" checked={lineEnd.value} onChange={(event) => void (lineEnd.value = event.currentTarget.checked)} />
          {isTerminal ? "Press Return after it" : "End the line after it"}
        </label>
        <label class="check">
          <input type="checkbox" checked={eof.value} onChange={(event) => void (eof.value = event.currentTarget.checked)} />
          That is the end of its input
        </label>
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" icon="send" disabled={busy.value || (!text.value && !lineEnd.value && !eof.value)}>
            Send
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
