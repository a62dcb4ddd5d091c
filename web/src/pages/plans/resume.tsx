import { useSignal } from "@preact/signals";

import { BY, post, Refusal, segment, told } from "../../api/http.ts";
import type { PlanResumeRequest, PlanView } from "../../api/types.ts";
import { environment } from "../../state/environment.ts";
import { daemon } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EnvironmentField } from "../../ui/environment-field.tsx";
import { counted } from "../../ui/format.ts";
import { say } from "../../ui/toast.tsx";
import { notDone } from "./words.ts";

/** Goes on with a plan that is over: says first who is asked. */
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
      say("good", `${plan.name} goes on`);
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
          {counted(left.length, "agent")} {left.length === 1 ? "has" : "have"} not answered, and will be asked in turn: <strong class="foreign">{left.map(({ name }) => name).join(", ")}</strong>. Whoever has answered is not asked again.
        </p>
        <label class="check">
          <input type="checkbox" checked={replay.value} onChange={(event) => void (replay.value = event.currentTarget.checked)} />
          Ask also who may have run, and may have done its work
        </label>
        <EnvironmentField value={lines.value} change={(text) => void (lines.value = text)} wrong={wrong.value} />
        {failed.value !== null && (
          <p class="note bad foreign" role="alert">
            {failed.value instanceof Refusal ? failed.value.message : told(failed.value)}
          </p>
        )}
        <div class="actions">
          <Button onClick={close}>Leave it</Button>
          <Button kind="primary" icon="play" type="submit" disabled={sending.value}>
            {sending.value ? "Resuming…" : "Resume the plan"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
