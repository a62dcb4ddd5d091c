import { EnvironmentField } from "../../../ui/environment-field.tsx";
import { Check, LineField } from "./field.tsx";
import type { Form } from "./form.ts";

/** What it may use, and what is done if it fails or there is no room. */
export function LimitFields({ form }: { form: Form }) {
  const { draft, wrong } = form;
  const isCommand = draft.value.kind === "command";
  const isWrong = ["memory", "cpu", "pids", "timeout", "idle", "restarts"].some((field) => field in wrong.value);
  return (
    <details class="more" open={isWrong || undefined}>
      <summary>Limits and failures</summary>
      <div class="stack">
        <div class="columns small-ones">
          <LineField form={form} field="memory" label="Memory" placeholder="No limit" help="512M, 4G" />
          <LineField form={form} field="cpu" label="CPU" placeholder="No limit" help="In cores: 0.5, 2" />
          <LineField form={form} field="pids" label="Processes" placeholder="No limit" help="And threads, at once" />
          <LineField form={form} field="timeout" label="Time" placeholder="No limit" help="90s, 10m, 2h" />
          {isCommand && <LineField form={form} field="idle" label="Idle" placeholder="No limit" help="Ends it when nothing goes on" />}
        </div>
        <div class="row wrap checks">
          {isCommand && <Check form={form} field="bestEffort" label="Run it without a limit that can't be set here" />}
          <Check form={form} field="queue" label="Wait in line if there is no room" />
        </div>
        {isCommand && (
          <div class="row wrap checks">
            <Check form={form} field="restart" label="Launch it again when it fails" />
            {draft.value.restart && <LineField form={form} field="restarts" label="At most so often" placeholder="For ever" />}
          </div>
        )}
      </div>
    </details>
  );
}

/** The variables that it gets. */
export function EnvironmentFields({ form }: { form: Form }) {
  const { draft, wrong, set } = form;
  return (
    <details class="more" open={wrong.value.env !== undefined || undefined}>
      <summary>Environment</summary>
      <EnvironmentField value={draft.value.env} change={(lines) => set("env", lines)} wrong={wrong.value.env} />
    </details>
  );
}
