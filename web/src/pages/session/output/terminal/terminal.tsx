import "@xterm/xterm/css/xterm.css";
import "./terminal.css";

import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";

import { told } from "../../../../api/http.ts";
import type { SessionView } from "../../../../api/types.ts";
import { launchReference } from "../../../../state/live.ts";
import { mayChange } from "../../../../state/me.ts";
import { Button } from "../../../../ui/button.tsx";
import { counted } from "../../../../ui/format.ts";
import { say, sayFailed } from "../../../../ui/toast.tsx";
import { Download } from "../download.tsx";
import { FindBar } from "../find-bar.tsx";
import { useKept } from "../kept.ts";
import { outcome } from "../outcome.ts";
import { Attachment, type Standing } from "./attachment.ts";
import { write } from "./harmless.ts";
import { LEAVE, Screen } from "./screen.ts";

/** A session's terminal: what is on it, and the keyboard for it. */
export function TerminalView({ session }: { session: SessionView }) {
  const launch = launchReference(session.id);
  const element = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const leaveTo = useRef<HTMLDivElement>(null);
  const standing = useSignal<Standing>({ is: "attaching" });
  const notice = useSignal<string | null>(null);
  const hasKeyboard = useSignal(false);
  const hasSelection = useSignal(false);
  const looksOn = useSignal(false);
  const speaks = useKept("kennel.terminal.speaks", false);
  const finds = useSignal(false);
  const sought = useSignal("");
  const found = useSignal<{ index: number; count: number } | null>(null);
  const help = useId();
  const readOnly = looksOn.value || !mayChange.value;

  const leave = () => leaveTo.current?.querySelector<HTMLElement>("button")?.focus();

  useEffect(() => {
    const at = element.current;
    if (!at) return;
    const { columns: cols = 80, rows = 24 } = session.spec.terminal ?? {};
    let attachment: Attachment | null = null;
    const it = new Screen(at, {
      // Who only looks on has no say in its size.
      fixed: readOnly ? { cols, rows } : null,
      speaks: speaks.peek(),
      leave,
      find: () => void (finds.value = true),
      sized: (size) => attachment?.resize(size),
    });
    screen.current = it;
    const { terminal } = it;
    terminal.options.disableStdin = readOnly;
    // What was printed before may ask the terminal things: they have been answered, or nobody waits any more.
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
      standing: (now) => {
        standing.value = now;
        if (now.is === "attached") notice.value = null;
        terminal.options.cursorBlink = now.is === "attached" && !readOnly;
        terminal.options.disableStdin = readOnly || now.is !== "attached";
      },
      notice: (text) => void (notice.value = text),
    });
    const connection = attachment;
    terminal.onData((data) => past === 0 && standing.peek().is === "attached" && connection.type(data));
    terminal.onBinary((data) => past === 0 && standing.peek().is === "attached" && connection.typeBytes(data));
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
    if (screen.current) screen.current.terminal.options.screenReaderMode = speaks.value;
  }, [speaks.value]);

  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      say("good", `Copied ${counted(text.length, "character")}`);
    } catch (error) {
      sayFailed("It could not be copied", error);
    }
  };
  const closeFind = () => {
    finds.value = false;
    sought.value = "";
    found.value = null;
    screen.current?.endFind();
    screen.current?.terminal.focus();
  };

  return (
    <div class="terminal">
      <div class="output-tools" ref={leaveTo}>
        <Button icon="search" label="Find" title="Find (Ctrl+Shift+F in the terminal)" pressed={finds.value} onClick={() => void (finds.value ? closeFind() : (finds.value = true))} />
        <Button icon="copy" disabled={!hasSelection.value} title="What is selected" onClick={() => void copy(screen.current?.terminal.getSelection() ?? "")}>
          Copy
        </Button>
        <Button title="The screen and what is above it" onClick={() => void copy(screen.current?.text() ?? "")}>
          Copy all
        </Button>
        <Download launch={launch} />
        {mayChange.value && (
          <Button pressed={looksOn.value} title="Keys are not sent, and the size is left as it is" onClick={() => void (looksOn.value = !looksOn.value)}>
            Only look on
          </Button>
        )}
        <Button pressed={speaks.value} title="Has a screen reader read what is printed" onClick={() => void (speaks.value = !speaks.value)}>
          Screen reader
        </Button>
      </div>
      {finds.value && (
        <FindBar
          label="Find in the terminal"
          text={sought.value}
          told={sought.value === "" || !found.value ? null : found.value.count === 0 ? "Not found" : `${found.value.index + 1} of ${found.value.count}`}
          onText={(text) => {
            sought.value = text;
            screen.current?.find(text, 1, true);
          }}
          step={(by) => screen.current?.find(sought.value, by, false)}
          close={closeFind}
        />
      )}
      <div class={`terminal-box${hasKeyboard.value ? " has-keyboard" : ""}`} role="region" aria-label="Terminal">
        <div class="terminal-screen" ref={element} />
      </div>
      <div class="terminal-foot small">
        <span class={`standing ${standing.value.is}`} role="status">
          {word(standing.value, readOnly)}
        </span>
        {notice.value && (
          <span class="notice foreign" role="status">
            {notice.value}
          </span>
        )}
        <span class="grow" />
        <span id={help} class="muted">
          {readOnly ? "You only look on." : hasKeyboard.value ? "Keys go to the session. " : "Click, or Tab into it, to type. "}
          {!readOnly && (
            <>
              <kbd>{LEAVE}</kbd> takes the keyboard back.
            </>
          )}
        </span>
      </div>
    </div>
  );
}

function word(standing: Standing, readOnly: boolean): string {
  switch (standing.is) {
    case "attaching":
      return "Attaching…";
    case "attached":
      return readOnly ? "Attached, looking on" : "Attached";
    case "lost":
      return "Connection lost: coming back…";
    case "ended":
      return outcome(standing.outcome);
    case "failed":
      return `It can't be attached to: ${told(standing.error)}`;
  }
}
