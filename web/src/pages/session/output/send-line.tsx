import { useSignal } from "@preact/signals";

import { post, segment, told } from "../../../api/http.ts";
import type { InputRequest, SessionView } from "../../../api/types.ts";
import { launchReference } from "../../../state/live.ts";
import { mayChange } from "../../../state/me.ts";
import { Button } from "../../../ui/button.tsx";

/** Whether a line can be sent to it now. */
export function takesInput(session: SessionView): boolean {
  const isOpen = Boolean(session.spec.terminal) || session.spec.stdin === true;
  return isOpen && mayChange.value && (session.phase === "running" || session.phase === "stopping");
}

type Came = { tone: "good" | "bad"; text: string } | null;

/** A line that goes to the session's standard input, or its terminal. */
export function SendLine({ session }: { session: SessionView }) {
  const text = useSignal("");
  const busy = useSignal(false);
  const came = useSignal<Came>(null);
  const isTerminal = Boolean(session.spec.terminal);

  const send = async (request: InputRequest, done: string) => {
    busy.value = true;
    came.value = null;
    try {
      await post(`/v1/sessions/${segment(launchReference(session.id))}/input`, request);
      came.value = { tone: "good", text: done };
      return true;
    } catch (error) {
      came.value = { tone: "bad", text: told(error) };
      return false;
    } finally {
      busy.value = false;
    }
  };
  const sendLine = async () => {
    // Enter is another key on a terminal than the end of a line.
    const line = `${text.value}${isTerminal ? "\r" : "\n"}`;
    if (await send({ hex: hex(line) }, "Sent.")) text.value = "";
  };
  const sendEnd = () => send(isTerminal ? { hex: "04" } : { eof: true }, isTerminal ? "Sent: Control-D." : "Sent: its input has ended.");

  return (
    <form
      class="send-line"
      onSubmit={(event) => {
        event.preventDefault();
        void sendLine();
      }}
    >
      <label class="hidden-visually" for="send-line">
        Send to the session
      </label>
      <input
        id="send-line"
        class="input mono"
        type="text"
        placeholder="Send to the session"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => void (text.value = event.currentTarget.value)}
      />
      <Button type="submit" icon="send" kind="primary" disabled={busy.value}>
        Send
      </Button>
      <Button disabled={busy.value} title={isTerminal ? "As Control-D does" : "Its standard input is closed"} onClick={() => void sendEnd()}>
        Send end of input
      </Button>
      <span class={`came small ${came.value?.tone ?? ""}`} role="status">
        {came.value?.text}
      </span>
    </form>
  );
}

function hex(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
