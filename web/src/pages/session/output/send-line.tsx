import { useSignal } from "@preact/signals";

import { post, segment, errorText } from "../../../api/http.ts";
import type { InputRequest, SessionView } from "../../../api/types.ts";
import { launchReference } from "../../../state/live.ts";
import { mayChange } from "../../../state/me.ts";
import { Button } from "../../../ui/button.tsx";

/** Whether the session accepts input now. */
export function acceptsInput(session: SessionView): boolean {
  const isOpen = Boolean(session.spec.terminal) || session.spec.stdin === true;
  return isOpen && mayChange.value && (session.phase === "running" || session.phase === "stopping");
}

type Result = { tone: "good" | "bad"; text: string } | null;

/** A form that sends a line to the session’s standard input or terminal. */
export function SendLine({ session }: { session: SessionView }) {
  const text = useSignal("");
  const busy = useSignal(false);
  const result = useSignal<Result>(null);
  const isTerminal = Boolean(session.spec.terminal);

  const send = async (request: InputRequest, done: string) => {
    busy.value = true;
    result.value = null;
    try {
      await post(`/v1/sessions/${segment(launchReference(session.id))}/input`, request);
      result.value = { tone: "good", text: done };
      return true;
    } catch (error) {
      result.value = { tone: "bad", text: errorText(error) };
      return false;
    } finally {
      busy.value = false;
    }
  };
  const sendLine = async () => {
    // On a terminal, Enter is a carriage return.
    const line = `${text.value}${isTerminal ? "\r" : "\n"}`;
    if (await send({ hex: hex(line) }, "Sent.")) text.value = "";
  };
  const sendEnd = () => send(isTerminal ? { hex: "04" } : { eof: true }, isTerminal ? "Sent Ctrl-D." : "Closed standard input.");

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
      <Button disabled={busy.value} title={isTerminal ? "Send Ctrl-D" : "Close standard input"} onClick={() => void sendEnd()}>
        Send end of input
      </Button>
      <span class={`result small ${result.value?.tone ?? ""}`} role="status">
        {result.value?.text}
      </span>
    </form>
  );
}

function hex(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
