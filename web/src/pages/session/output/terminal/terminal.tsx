import "@xterm/xterm/css/xterm.css";
import "./terminal.css";

import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";

import { errorText } from "../../../../api/http.ts";
import type { SessionView } from "../../../../api/types.ts";
import { launchReference } from "../../../../state/live.ts";
import { mayChange } from "../../../../state/me.ts";
import { Button } from "../../../../ui/button.tsx";
import { pluralize } from "../../../../ui/format.ts";
import { showToast, showError } from "../../../../ui/toast.tsx";
import { Download } from "../download.tsx";
import { FindBar } from "../find-bar.tsx";
import { useStored } from "../use-stored.ts";
import { outcome } from "../outcome.ts";
import { Attachment, type AttachmentState } from "./attachment.ts";
import { write } from "./restrict.ts";
import { LEAVE, Screen } from "./screen.ts";

/** A session’s terminal with keyboard input. */
export function TerminalView({ session }: { session: SessionView }) {
  const launch = launchReference(session.id);
  const element = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const leaveTo = useRef<HTMLDivElement>(null);
  const state = useSignal<AttachmentState>({ is: "attaching" });
  const notice = useSignal<string | null>(null);
  const hasKeyboard = useSignal(false);
  const hasSelection = useSignal(false);
  const viewOnly = useSignal(false);
  const screenReader = useStored("kennel.terminal.screen-reader", false);
  const finds = useSignal(false);
  const query = useSignal("");
  const found = useSignal<{ index: number; count: number } | null>(null);
  const help = useId();
  const readOnly = viewOnly.value || !mayChange.value;

  const leave = () => leaveTo.current?.querySelector<HTMLElement>("button")?.focus();

  useEffect(() => {
    const at = element.current;
    if (!at) return;
    const { columns: cols = 80, rows = 24 } = session.spec.terminal ?? {};
    let attachment: Attachment | null = null;
    const it = new Screen(at, {
      // A view-only client does not change the size.
      fixed: readOnly ? { cols, rows } : null,
      screenReader: screenReader.peek(),
      leave,
      find: () => void (finds.value = true),
      sized: (size) => attachment?.resize(size),
    });
    screen.current = it;
    const { terminal } = it;
    terminal.options.disableStdin = readOnly;
    // Replayed output may contain terminal queries. They must not be answered again.
    let past = 0;
    attachment = new Attachment(launch, it.size, readOnly, {
      bytes(bytes, isPast, drawn) {
        if (isPast) past += 1;
        write(terminal, bytes, () => {
          if (isPast) past -= 1;
          drawn();
        });
      },
      reset: () => terminal.reset(),
      stateChanged: (now) => {
        state.value = now;
        if (now.is === "attached") notice.value = null;
        terminal.options.cursorBlink = now.is === "attached" && !readOnly;
        terminal.options.disableStdin = readOnly || now.is !== "attached";
      },
      notice: (text) => void (notice.value = text),
    });
    const connection = attachment;
    terminal.onData((data) => past === 0 && state.peek().is === "attached" && connection.type(data));
    terminal.onBinary((data) => past === 0 && state.peek().is === "attached" && connection.typeBytes(data));
    terminal.onSelectionChange(() => void (hasSelection.value = terminal.hasSelection()));
    it.onFound((index, count) => void (found.value = { index, count }));
    terminal.textarea?.setAttribute("aria-describedby", help);
    terminal.textarea?.addEventListener("focus", () => void (hasKeyboard.value = true));
    terminal.textarea?.addEventListener("blur", () => void (hasKeyboard.value = false));
    return () => {
      connection.close();
      it.close();
      screen.current = null;
      hasKeyboard.value = false;
    };
  }, [launch, readOnly]);

  useEffect(() => {
    if (screen.current) screen.current.terminal.options.screenReaderMode = screenReader.value;
  }, [screenReader.value]);

  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      showToast("good", `Copied ${pluralize(text.length, "character")}`);
    } catch (error) {
      showError("Couldn’t copy to the clipboard", error);
    }
  };
  const closeFind = () => {
    finds.value = false;
    query.value = "";
    found.value = null;
    screen.current?.endFind();
    screen.current?.terminal.focus();
  };

  return (
    <div class="terminal">
      <div class="output-tools" ref={leaveTo}>
        <Button icon="search" label="Find" title="Find (Ctrl+Shift+F in the terminal)" pressed={finds.value} onClick={() => void (finds.value ? closeFind() : (finds.value = true))} />
        <Button icon="copy" disabled={!hasSelection.value} title="Copy the selection" onClick={() => void copy(screen.current?.terminal.getSelection() ?? "")}>
          Copy
        </Button>
        <Button title="Copy the screen and scrollback" onClick={() => void copy(screen.current?.text() ?? "")}>
          Copy all
        </Button>
        <Download launch={launch} />
        {mayChange.value && (
          <Button pressed={viewOnly.value} title="Send no keys and keep the terminal size" onClick={() => void (viewOnly.value = !viewOnly.value)}>
            View only
          </Button>
        )}
        <Button pressed={screenReader.value} title="Let screen readers read the output" onClick={() => void (screenReader.value = !screenReader.value)}>
          Screen reader
        </Button>
      </div>
      {finds.value && (
        <FindBar
          label="Find in the terminal"
          text={query.value}
          status={query.value === "" || !found.value ? null : found.value.count === 0 ? "No matches" : `${found.value.index + 1} of ${found.value.count}`}
          onText={(text) => {
            query.value = text;
            screen.current?.find(text, 1, true);
          }}
          step={(by) => screen.current?.find(query.value, by, false)}
          close={closeFind}
        />
      )}
      <div class={`terminal-box${hasKeyboard.value ? " has-keyboard" : ""}`} role="region" aria-label="Terminal">
        <div class="terminal-screen" ref={element} />
      </div>
      <div class="terminal-foot small">
        <span class={`attachment-state ${state.value.is}`} role="status">
          {stateText(state.value, readOnly)}
        </span>
        {notice.value && (
          <span class="notice foreign" role="status">
            {notice.value}
          </span>
        )}
        <span class="grow" />
        <span id={help} class="muted">
          {readOnly ? "View only." : hasKeyboard.value ? "Keyboard input goes to the session. " : "Click the terminal or press Tab to type. "}
          {!readOnly && (
            <>
              <kbd>{LEAVE}</kbd> leaves the terminal.
            </>
          )}
        </span>
      </div>
    </div>
  );
}

function stateText(state: AttachmentState, readOnly: boolean): string {
  switch (state.is) {
    case "attaching":
      return "Attaching…";
    case "attached":
      return readOnly ? "Attached (view only)" : "Attached";
    case "lost":
      return "Connection lost, reconnecting…";
    case "ended":
      return outcome(state.outcome);
    case "failed":
      return `Couldn’t attach: ${errorText(state.error)}`;
  }
}
