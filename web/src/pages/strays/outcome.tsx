import type { StraysEnded, StrayView } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { pluralize } from "../../ui/format.ts";
import { Icon } from "../../ui/icons.tsx";

/** The outcome of ending strays, including the ones still alive. */
export function Outcome({ outcome, close }: { outcome: StraysEnded; close: () => void }) {
  const { ended, still_alive: alive } = outcome;
  return (
    <div class={`note ${alive.length > 0 ? "bad" : "good"}`} role="status">
      <Icon name={alive.length > 0 ? "alert" : "check"} />
      <div class="grow stack outcome">
        <p>
          <strong>{ended.length > 0 || alive.length === 0 ? `Ended ${pluralize(ended.length, "stray")}.` : "No stray was ended."}</strong>{" "}
          {ended.length === 0 && alive.length === 0 && "They had already exited."}
          <Pids of={ended} />
        </p>
        {alive.length > 0 && (
          <p>
            <strong>{pluralize(alive.length, "is", "are")} still alive</strong> two seconds after SIGKILL: <Pids of={alive} />. A process in
            uninterruptible sleep can’t be killed until the kernel wakes it.
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
