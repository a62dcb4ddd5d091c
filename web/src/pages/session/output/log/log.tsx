import "./ansi.css";
import "./log.css";

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import type { SessionView } from "../../../../api/types.ts";
import { bindShortcuts } from "../../../../state/shortcuts.ts";
import { launchReference } from "../../../../state/live.ts";
import { Button } from "../../../../ui/button.tsx";
import { bytes, pluralize } from "../../../../ui/format.ts";
import { Failed, Loading } from "../../../../ui/states.tsx";
import { showToast, showError } from "../../../../ui/toast.tsx";
import { Download } from "../download.tsx";
import { FindBar } from "../find-bar.tsx";
import { useStored } from "../use-stored.ts";
import { all, MAX_COPIED, selected, shown } from "./clipboard.ts";
import { PositionSlider } from "./position-slider.tsx";
import { Search } from "./search.ts";
import { Viewport } from "./viewport.tsx";
import { Window } from "./window.ts";

/** The search starts this long after the last key press. */
const TYPED_MS = 250;

/** The output of a session as lines. */
export function Log({ session }: { session: SessionView }) {
  const launch = launchReference(session.id);
  const log = useMemo(() => new Window(launch), [launch]);
  const search = useMemo(() => new Search(), [launch]);
  const view = useRef<HTMLDivElement | null>(null);
  const position = useSignal(0);
  const finds = useSignal(false);
  const typed = useSignal("");
  const wrap = useStored("kennel.log.wrap", true);
  const times = useStored("kennel.log.times", false);

  useEffect(() => {
    void log.toEnd();
    return () => {
      log.close();
      search.stop();
    };
  }, [log]);
  useLayoutEffect(
    () =>
      bindShortcuts(
        { keys: "/", what: "Find in output", run: () => void (finds.value = true) },
        { keys: "f", what: "Follow output", run: () => void log.toEnd() },
      ),
    [log],
  );

  const show = (offset: number) => log.show(offset);
  const begin = () => search.begin({ launch, text: typed.value, start: log.start.value, end: log.end.value }, position.value, show);
  useEffect(() => {
    if (!finds.value || typed.value === search.text.value) return;
    const timer = setTimeout(begin, TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed.value, finds.value]);
  const step = (by: 1 | -1) => {
    if (typed.value !== search.text.value) begin();
    else search.step(by, show);
  };
  const closeSearch = () => {
    finds.value = false;
    typed.value = "";
    search.clear();
    view.current?.focus({ preventScroll: true });
  };

  const copy = async (text: () => string | Promise<string>) => {
    try {
      const copied = await text();
      await navigator.clipboard.writeText(copied);
      showToast("good", `Copied ${pluralize(copied.length, "character")}`);
    } catch (error) {
      showError("Couldn’t copy to the clipboard", error);
    }
  };
  const size = log.end.value - log.start.value;
  const isTooMuch = size > MAX_COPIED;

  return (
    <div class="log">
      <div class="output-tools">
        <Button icon="search" label="Find" title="Find (/)" pressed={finds.value} onClick={() => void (finds.value ? closeSearch() : (finds.value = true))} />
        <Button pressed={wrap.value} onClick={() => void (wrap.value = !wrap.value)}>
          Wrap lines
        </Button>
        <Button icon="clock" pressed={times.value} onClick={() => void (times.value = !times.value)}>
          Timestamps
        </Button>
        <Button icon="copy" title="Copy the selection or the visible lines" onClick={() => void copy(() => selected(view.current) || (view.current ? shown(log, view.current) : ""))}>
          Copy
        </Button>
        <Button
          disabled={isTooMuch}
          title={isTooMuch ? `The output is too large to copy (${bytes(size)}). Download it instead.` : "Copy the whole recorded output"}
          onClick={() => void copy(() => all(launch, new AbortController().signal))}
        >
          Copy all
        </Button>
        <Download launch={launch} />
        <span class="grow" />
        <State log={log} />
      </div>
      {finds.value && (
        <FindBar label="Find in output" text={typed.value} status={<SearchStatus search={search} isTyped={typed.value !== ""} />} onText={(text) => void (typed.value = text)} step={step} close={closeSearch}>
          {search.isRunning.value && (
            <Button kind="plain" onClick={() => search.stop()}>
              Stop
            </Button>
          )}
        </FindBar>
      )}
      <Body log={log}>
        <Viewport
          log={log}
          element={view}
          needle={search.text.value.toLowerCase()}
          found={search.currentOffset.value}
          wrap={wrap.value}
          times={times.value}
          onPosition={(offset) => void (position.value = offset)}
        />
        {!log.following.value && (
          <button type="button" class="button primary to-end" onClick={() => void log.toEnd()}>
            {log.unseen.value > 0 ? `${pluralize(log.unseen.value, "new line")}: ` : ""}
            {log.ended.value === undefined ? "Follow output" : "Go to end"}
          </button>
        )}
      </Body>
      <PositionSlider log={log} offset={position.value} />
    </div>
  );
}

function Body({ log, children }: { log: Window; children: preact.ComponentChildren }) {
  const isEmpty = log.items.value.length === 0 && !log.open.value;
  if (isEmpty && log.state.value === "failed") {
    return <Failed what="Couldn’t load the output" error={log.error.value} retry={() => void log.toEnd()} />;
  }
  if (isEmpty && log.state.value === "loading") return <Loading what="Loading output…" />;
  return (
    <div class="log-body">
      {children}
      {isEmpty && log.ended.value === undefined && <p class="log-nothing muted">No output yet.</p>}
      {isEmpty && log.ended.value !== undefined && <p class="log-nothing muted">No output.</p>}
    </div>
  );
}

/** Shows whether the log is live, paused, complete or disconnected. */
function State({ log }: { log: Window }) {
  let text = log.following.value ? "Following" : "Paused";
  if (log.state.value === "loading") text = "Loading…";
  else if (log.state.value === "lost") text = "Connection lost, reconnecting…";
  else if (log.state.value === "failed") text = "Couldn’t load";
  else if (log.flooded.value && log.following.value) text = "Output is too fast: showing the newest lines";
  else if (log.ended.value !== undefined && !log.hasNewer.value) text = "Complete";
  return (
    <span class={`log-state small${log.state.value === "lost" ? " lost" : ""}`} role="status">
      {text}
    </span>
  );
}

function SearchStatus({ search, isTyped }: { search: Search; isTyped: boolean }) {
  const count = search.hits.value.length;
  if (search.error.value) return <>{search.error.value}</>;
  if (!isTyped) return null;
  const lines = pluralize(count, "line");
  if (search.isRunning.value) {
    return (
      <>
        {lines}, {Math.floor(100 * search.progress.value)} % searched
      </>
    );
  }
  if (search.text.value === "") return null;
  if (count === 0) return <>No matches</>;
  const summary = search.current.value === null ? lines : `${(search.current.value + 1).toLocaleString("en")} of ${lines}`;
  return <>{search.progress.value < 1 ? `${summary}; search incomplete` : summary}</>;
}
