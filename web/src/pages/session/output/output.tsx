import "./output.css";

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import type { SessionView } from "../../../api/types.ts";
import { params, setParam } from "../../../state/router.ts";
import { Empty, Failed, Loading } from "../../../ui/states.tsx";
import { Log } from "./log/log.tsx";
import { SendLine, acceptsInput } from "./send-line.tsx";

type Kind = "terminal" | "log";

/** The output of a session, as a terminal or as lines. */
export function Output({ session }: { session: SessionView }) {
  if (session.started_by === "terminal") {
    return (
      <Empty icon="sessions" title="No output available">
        <p>This session was started in a terminal, not by Kennel. Its output is only visible there.</p>
      </Empty>
    );
  }
  const hasTerminal = Boolean(session.spec.terminal);
  const chosen = params.value.get("output");
  const kind: Kind = hasTerminal && chosen !== "log" ? "terminal" : "log";
  return (
    <section class="output" aria-label="Output">
      {hasTerminal && (
        <div class="output-kinds" role="group" aria-label="Output view">
          <Choice kind="terminal" chosen={kind} word="Terminal" />
          <Choice kind="log" chosen={kind} word="Log" />
        </div>
      )}
      {kind === "terminal" ? <LazyTerminal key={session.id} session={session} /> : <Log key={session.id} session={session} />}
      {kind === "log" && acceptsInput(session) && <SendLine key={session.id} session={session} />}
    </section>
  );
}

function Choice({ kind, chosen, word }: { kind: Kind; chosen: Kind; word: string }) {
  return (
    <button type="button" aria-pressed={kind === chosen} onClick={() => setParam("output", kind === "log" ? "log" : null)}>
      {word}
    </button>
  );
}

/** The terminal code is large, so it is loaded on first use. */
function LazyTerminal({ session }: { session: SessionView }) {
  const loaded: Signal<ComponentType<{ session: SessionView }> | null> = useSignal(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    let current = true;
    error.value = null;
    import("./terminal/terminal.tsx").then(
      (it) => current && void (loaded.value = it.TerminalView),
      (failed: unknown) => current && void (error.value = failed),
    );
    return () => void (current = false);
  }, []);
  if (error.value) return <Failed what="Couldn’t load the terminal" error={error.value} retry={() => location.reload()} />;
  const View = loaded.value;
  return View ? <View session={session} /> : <Loading what="Loading terminal…" />;
}
