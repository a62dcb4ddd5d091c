import { useSignal } from "@preact/signals";

import { BY, post, ApiError, segment, errorText } from "../../api/http.ts";
import type { PlanResumeRequest, PlanView } from "../../api/types.ts";
import { environment } from "../../state/environment.ts";
import { daemon } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EnvironmentField } from "../../ui/environment-field.tsx";
import { pluralize } from "../../ui/format.ts";
import { showToast } from "../../ui/toast.tsx";
import { notDone } from "./labels.ts";

/** Resumes an ended plan after a confirmation that lists the agents to run. */
export function ResumePlan({ plan, close, changed }: { plan: PlanView; close: () => void; changed: () => void }) {
  const replay = useSignal(false);
  const sending = useSignal(false);
  const failed = useSignal<unknown>(null);
  const lines = useSignal("");
  const wrong = useSignal<string | undefined>(undefined);
  const left = notDone(plan);
  const resume = async (event: Event) => {
    event.preventDefault();
    const typed = environment(lines.value, daemon.value?.environment ?? {});
    wrong.value = "wrong" in typed ? typed.wrong : undefined;
    if ("wrong" in typed) return;
    sending.value = true;
    failed.value = null;
    try {
      const body: PlanResumeRequest = { by: BY, replay: replay.value, env: typed.env };
      await post<PlanView>(`/v1/plans/${segment(plan.id)}/resume`, body);
      showToast("good", `Resumed ${plan.name}`);
      close();
    } catch (error) {
      failed.value = error;
    } finally {
      sending.value = false;
      changed();
    }
  };
  return (
    <Dialog title={`Resume ${plan.name}?`} close={close}>
      <form class="stack" onSubmit={resume} noValidate>
        <p>
          {pluralize(left.length, "agent")} will run: <strong class="foreign">{left.map(({ name }) => name).join(", ")}</strong>. Agents that are done do not run again.
        </p>
        <label class="check">
          <input type="checkbox" checked={replay.value} onChange={(event) => void (replay.value = event.currentTarget.checked)} />
          Also run agents that may already have done some of their work
        </label>
        <EnvironmentField value={lines.value} change={(text) => void (lines.value = text)} wrong={wrong.value} />
        {failed.value !== null && (
          <p class="note bad foreign" role="alert">
            {failed.value instanceof ApiError ? failed.value.message : errorText(failed.value)}
          </p>
        )}
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button kind="primary" icon="play" type="submit" disabled={sending.value}>
            {sending.value ? "Resuming…" : "Resume plan"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
