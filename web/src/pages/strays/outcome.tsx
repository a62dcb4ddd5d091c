import type { StraysEnded, StrayView } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { counted } from "../../ui/format.ts";
import { Icon } from "../../ui/icons.tsx";

/** What came of ending strays: also what did not. */
export function Outcome({ outcome, close }: { outcome: StraysEnded; close: () => void }) {
  const { ended, still_alive: alive } = outcome;
  return (
    <div class={`note ${alive.length > 0 ? "bad" : "good"}`} role="status">
      <Icon name={alive.length > 0 ? "alert" : "check"} />
      <div class="grow stack outcome">
        <p>
          <strong>{ended.length > 0 || alive.length === 0 ? `Ended: ${counted(ended.length, "stray")}.` : "None was ended."}</strong>{" "}
          {ended.length === 0 && alive.length === 0 && "They were gone by themselves."}
          <Pids of={ended} />
        </p>
        {alive.length > 0 && (
          <p>
            <strong>{counted(alive.length, "is", "are")} still alive</strong> two seconds after SIGKILL: <Pids of={alive} />. A process that
            sleeps in the kernel ends only when the kernel lets it.
          </p>
        )}
      </div>
      <Button icon="close" kind="plain" compact label="Dismiss" onClick={close} />
    </div>
  );
}

function Pids({ of }: { of: StrayView[] }) {
  return <span class="foreign">{of.map((stray) => `${stray.pid} (${stray.name})`).join(", ")}</span>;
}
