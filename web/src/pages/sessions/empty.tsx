import { mayChange } from "../../state/me.ts";
import { go, setParam } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { pluralize } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import { FACETS } from "./filter.ts";
import { choice, counts } from "./state.ts";

const FIRST = "kennel run -d --name hello -- sh -c 'echo hello; sleep 60'";

/** The empty state without any session. */
export function NoSessions({ startNew }: { startNew: () => void }) {
  return (
    <Empty icon="sessions" title="No sessions yet">
      <p>A session runs one agent or command. Kennel tracks every process it starts until the last one has ended.</p>
      {mayChange.value && (
        <Button kind="primary" icon="plus" onClick={startNew}>
          Start a session
        </Button>
      )}
      <p>Or from the command line:</p>
      <div class="row first-line">
        <code>{FIRST}</code>
        <Copy text={FIRST} label="Copy command" />
      </div>
    </Empty>
  );
}

/** The empty state when no session passes the filter. */
export function NothingFound() {
  const { show, words, facets } = choice.value;
  const isSearch = words.length > 0 || Object.keys(facets).length > 0;
  const others = counts.value.all;
  const title = isSearch ? "No matching sessions" : show === "live" ? "No live sessions" : "No ended sessions";
  return (
    <Empty icon={isSearch ? "search" : "sessions"} title={title}>
      {others > 0 && (
        <Button onClick={() => setParam("show", "all")}>
          {`Show ${pluralize(others, `${show === "live" ? "ended" : "live"} ${isSearch ? "match" : "session"}`, `${show === "live" ? "ended" : "live"} ${isSearch ? "matches" : "sessions"}`)}`}
        </Button>
      )}
      {isSearch && <Button kind="plain" onClick={clear}>Clear search</Button>}
    </Empty>
  );
}

/** Removes all filters. */
function clear(): void {
  const { show } = choice.value;
  for (const name of ["q", ...FACETS]) setParam(name, null);
  if (show === "live") go("/sessions", "replace");
}

/** A placeholder for the rows while they load. */
export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading sessions">
      {Array.from({ length: 8 }, (_, at) => (
        <div key={at} />
      ))}
    </div>
  );
}
