import "./ansi.css";
import "./log.css";

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import type { SessionView } from "../../../../api/types.ts";
import { bind } from "../../../../state/keys.ts";
import { launchReference } from "../../../../state/live.ts";
import { Button } from "../../../../ui/button.tsx";
import { bytes, counted } from "../../../../ui/format.ts";
import { Failed, Loading } from "../../../../ui/states.tsx";
import { say, sayFailed } from "../../../../ui/toast.tsx";
import { Download } from "../download.tsx";
import { FindBar } from "../find-bar.tsx";
import { useKept } from "../kept.ts";
import { all, MOST_COPIED, selected, shown } from "./copying.ts";
import { Place } from "./place.tsx";
import { Search } from "./search.ts";
import { Viewport } from "./viewport.tsx";
import { Window } from "./window.ts";

/** A little after the last key, a search begins. */
const TYPED_MS = 250;

/** What a session printed, as lines. */
export function Log({ session }: { session: SessionView }) {
  const launch = launchReference(session.id);
  const log = useMemo(() => new Window(launch), [launch]);
  const search = useMemo(() => new Search(), [launch]);
  const view = useRef<HTMLDivElement | null>(null);
  const place = useSignal(0);
  const finds = useSignal(false);
  const typed = useSignal("");
  const wrap = useKept("kennel.log.wrap", true);
  const times = useKept("kennel.log.times", false);

  useEffect(() => {
    void log.toEnd();
    return () => {
      log.close();
      search.stop();
    };
  }, [log]);
  useLayoutEffect(
    () =>
      bind(
        { keys: "/", what: "Find in what the session printed", run: () => void (finds.value = true) },
        { keys: "f", what: "Follow what the session prints", run: () => void log.toEnd() },
      ),
    [log],
  );

  const show = (offset: number) => log.show(offset);
  const begin = () => search.begin({ launch, text: typed.value, start: log.start.value, end: log.end.value }, place.value, show);
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
      say("good", `Copied ${counted(copied.length, "character")}`);
    } catch (error) {
      sayFailed("It could not be copied", error);
    }
  };
  const size = log.end.value - log.start.value;
  const isTooMuch = size > MOST_COPIED;

  return (
    <div class="log">
      <div class="output-tools">
        <Button icon="search" label="Find" title="Find (/)" pressed={finds.value} onClick={() => void (finds.value ? closeSearch() : (finds.value = true))} />
        <Button pressed={wrap.value} onClick={() => void (wrap.value = !wrap.value)}>
          Wrap lines
        </Button>
        <Button icon="clock" pressed={times.value} onClick={() => void (times.value = !times.value)}>
          Times
        </Button>
        <Button icon="copy" title="What is selected, or what is in sight" onClick={() => void copy(() => selected(view.current) || (view.current ? shown(log, view.current) : ""))}>
          Copy
        </Button>
        <Button
          disabled={isTooMuch}
          title={isTooMuch ? `It is ${bytes(size)}: more than can be copied. Download it.` : "All that is kept, as it is read"}
          onClick={() => void copy(() => all(launch, new AbortController().signal))}
        >
          Copy all
        </Button>
        <Download launch={launch} />
        <span class="grow" />
        <State log={log} />
      </div>
      {finds.value && (
        <FindBar label="Find in the whole output" text={typed.value} told={<Found search={search} isTyped={typed.value !== ""} />} onText={(text) => void (typed.value = text)} step={step} close={closeSearch}>
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
          onPlace={(offset) => void (place.value = offset)}
        />
        {!log.following.value && (
          <button type="button" class="button primary to-end" onClick={() => void log.toEnd()}>
            {log.unseen.value > 0 ? `${counted(log.unseen.value, "new line")}: ` : ""}
            {log.ended.value === undefined ? "Follow the end" : "Go to the end"}
          </button>
        )}
      </Body>
      <Place log={log} place={place.value} />
    </div>
  );
}

function Body({ log, children }: { log: Window; children: preact.ComponentChildren }) {
  const isEmpty = log.items.value.length === 0 && !log.open.value;
  if (isEmpty && log.standing.value === "failed") {
    return <Failed what="The output can't be had" error={log.error.value} again={() => void log.toEnd()} />;
  }
  if (isEmpty && log.standing.value === "loading") return <Loading what="Reading the output…" />;
  return (
    <div class="log-body">
      {children}
      {isEmpty && log.ended.value === undefined && <p class="log-nothing muted">It has printed nothing yet. What it prints is shown here as it comes.</p>}
      {isEmpty && log.ended.value !== undefined && <p class="log-nothing muted">It printed nothing.</p>}
    </div>
  );
}

/** How it stands with what is shown, in a few words. */
function State({ log }: { log: Window }) {
  let word = log.following.value ? "Following" : "Paused";
  if (log.standing.value === "loading") word = "Reading…";
  else if (log.standing.value === "lost") word = "Connection lost: coming back…";
  else if (log.standing.value === "failed") word = "Can't be read";
  else if (log.flooded.value && log.following.value) word = "It prints faster than can be shown: this is the newest";
  else if (log.ended.value !== undefined && !log.hasNewer.value) word = "Complete";
  return (
    <span class={`log-state small${log.standing.value === "lost" ? " lost" : ""}`} role="status">
      {word}
    </span>
  );
}

function Found({ search, isTyped }: { search: Search; isTyped: boolean }) {
  const count = search.hits.value.length;
  if (search.error.value) return <>{search.error.value}</>;
  if (!isTyped) return null;
  const lines = counted(count, "line");
  if (search.isRunning.value) {
    return (
      <>
        {lines} so far, {Math.floor(100 * search.progress.value)} % read
      </>
    );
  }
  if (search.text.value === "") return null;
  if (count === 0) return <>Not found</>;
  const place = search.current.value === null ? lines : `${(search.current.value + 1).toLocaleString("en")} of ${lines}`;
  return <>{search.progress.value < 1 ? `${place}, not all was read` : place}</>;
}
