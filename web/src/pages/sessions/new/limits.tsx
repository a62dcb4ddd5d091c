import { EnvironmentField } from "../../../ui/environment-field.tsx";
import { Check, LineField } from "./field.tsx";
import type { Form } from "./form.ts";

/** The form fields for resource limits, restarts and the queue. */
export function LimitFields({ form }: { form: Form }) {
  const { draft, wrong } = form;
  const isCommand = draft.value.kind === "command";
  const isWrong = ["memory", "cpu", "pids", "timeout", "idle", "restarts"].some((field) => field in wrong.value);
  return (
    <details class="more" open={isWrong || undefined}>
      <summary>Limits and restarts</summary>
      <div class="stack">
        <div class="columns small-ones">
          <LineField form={form} field="memory" label="Memory" placeholder="No limit" help="512M, 4G" />
          <LineField form={form} field="cpu" label="CPU" placeholder="No limit" help="In cores: 0.5, 2" />
          <LineField form={form} field="pids" label="Processes" placeholder="No limit" help="Including threads" />
          <LineField form={form} field="timeout" label="Timeout" placeholder="No limit" help="90s, 10m, 2h" />
          {isCommand && <LineField form={form} field="idle" label="Idle timeout" placeholder="No limit" help="Stop after this time without activity" />}
        </div>
        <div class="row wrap checks">
          {isCommand && <Check form={form} field="bestEffort" label="Ignore limits that are not supported here" />}
          <Check form={form} field="queue" label="Queue if there is no capacity" />
        </div>
        {isCommand && (
          <div class="row wrap checks">
            <Check form={form} field="restart" label="Restart on failure" />
            {draft.value.restart && <LineField form={form} field="restarts" label="Max. restarts" placeholder="No limit" />}
          </div>
        )}
      </div>
    </details>
  );
}

/** The form field for environment variables. */
export function EnvironmentFields({ form }: { form: Form }) {
  const { draft, wrong, set } = form;
  return (
    <details class="more" open={wrong.value.env !== undefined || undefined}>
      <summary>Environment</summary>
      <EnvironmentField value={draft.value.env} change={(lines) => set("env", lines)} wrong={wrong.value.env} />
    </details>
  );
}
