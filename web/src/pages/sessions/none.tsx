import { mayChange } from "../../state/me.ts";
import { go, setParam } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { counted } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import { TRAITS } from "./choice.ts";
import { choice, counts } from "./state.ts";

const FIRST = "kennel run -d --name hello -- sh -c 'echo hello; sleep 60'";

/** There never was a session, or all were removed. */
export function NoSessions({ startNew }: { startNew: () => void }) {
  return (
    <Empty icon="sessions" title="No sessions yet">
      <p>A session is one run of one agent or command. Kennel owns every process of it until the last one is gone.</p>
      {mayChange.value && (
        <Button kind="primary" icon="plus" onClick={startNew}>
          Start a session
        </Button>
      )}
      <p>Or on the command line:</p>
      <div class="row first-line">
        <code>{FIRST}</code>
        <Copy text={FIRST} label="Copy the command" />
      </div>
    </Empty>
  );
}

/** There are sessions, but none that is looked for. */
export function NothingFound() {
  const { show, words, traits } = choice.value;
  const isSearch = words.length > 0 || Object.keys(traits).length > 0;
  const others = counts.value.all;
  const title = isSearch ? "No session matches" : show === "live" ? "Nothing runs now" : "None has ended";
  return (
    <Empty icon={isSearch ? "search" : "sessions"} title={title}>
      {others > 0 && (
        <Button onClick={() => setParam("show", "all")}>
          {isSearch ? `Show ${counted(others, "match", "matches")} ${show === "live" ? "that ended" : "that live"}` : show === "live" ? `Show ${counted(others, "session")} that ended` : `Show ${counted(others, "live session")}`}
        </Button>
      )}
      {isSearch && <Button kind="plain" onClick={clear}>Clear the search</Button>}
    </Empty>
  );
}

/** Looks for everything again. */
function clear(): void {
  const { show } = choice.value;
  for (const name of ["q", ...TRAITS]) setParam(name, null);
  if (show === "live") go("/sessions", "replace");
}

/** Where rows will be. */
export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Sessions are loading">
      {Array.from({ length: 8 }, (_, at) => (
        <div key={at} />
      ))}
    </div>
  );
}
