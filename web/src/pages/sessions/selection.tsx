import { canStop } from "../../actions/stop.ts";
import type { SessionView } from "../../api/types.ts";
import { isOver } from "../../state/live.ts";
import { Button } from "../../ui/button.tsx";
import { pluralize } from "../../ui/format.ts";
import { rows, selectAll, selected, selectNone } from "./state.ts";

/** The actions for the selected sessions. */
export function SelectionBar({ act }: { act: (what: "stop" | "remove", sessions: readonly SessionView[]) => void }) {
  const chosen = selected.value;
  const live = chosen.filter(canStop);
  const ended = chosen.filter(isOver);
  return (
    <div class="selection" role="region" aria-label="Selection" hidden={chosen.length === 0}>
      <strong role="status">{chosen.length > 0 && `${chosen.length.toLocaleString("en")} selected`}</strong>
      {chosen.length > 0 && chosen.length < rows.value.length && (
        <Button kind="plain" compact onClick={selectAll}>
          Select all {rows.value.length.toLocaleString("en")}
        </Button>
      )}
      <span class="grow" />
      {live.length > 0 && (
        <Button kind="danger" icon="stop" label={`Stop ${pluralize(live.length, "session")}`} onClick={() => act("stop", live)}>
          Stop {live.length < chosen.length ? live.length.toLocaleString("en") : ""}…
        </Button>
      )}
      {ended.length > 0 && (
        <Button kind="danger" label={`Remove ${pluralize(ended.length, "session")}`} onClick={() => act("remove", ended)}>
          Remove {ended.length < chosen.length ? ended.length.toLocaleString("en") : ""}…
        </Button>
      )}
      <Button icon="close" kind="plain" label="Clear selection" onClick={selectNone} />
    </div>
  );
}
