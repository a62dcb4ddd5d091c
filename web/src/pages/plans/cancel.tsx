import { useSignal } from "@preact/signals";

import { BY, post, segment, errorText } from "../../api/http.ts";
import type { PlanView } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { pluralize } from "../../ui/format.ts";
import { showToast } from "../../ui/toast.tsx";
import { agentsOf, runningAgents, summary } from "./labels.ts";

/** Cancels all agents of a plan after a confirmation that lists them. */
export function CancelPlan({ plan, close, changed }: { plan: PlanView; close: () => void; changed: () => void }) {
  const sending = useSignal(false);
  const failed = useSignal<unknown>(null);
  const ending = runningAgents(plan);
  const waiting = agentsOf(plan).filter(({ state }) => state === "waiting");
  const cancel = async () => {
    sending.value = true;
    failed.value = null;
    try {
      const after = await post<PlanView>(`/v1/plans/${segment(plan.id)}/cancel`, { by: BY });
      if (after.state === "cancelled") showToast("good", `Cancelled ${plan.name}`, summary(after));
      else showToast("quiet", `${plan.name} had already ended`, summary(after));
      close();
    } catch (error) {
      failed.value = error;
    } finally {
      sending.value = false;
      changed();
    }
  };
  return (
    <Dialog title={`Cancel ${plan.name}?`} close={close}>
      <ul class="stack tight">
        <li>
          {ending.length === 0 ? "No agent is running." : `${pluralize(ending.length, "running agent")} will be stopped with every process ${ending.length === 1 ? "it" : "they"} started: `}
          <span class="foreign">{ending.map(({ name }) => name).join(", ")}</span>
        </li>
        {waiting.length > 0 && <li>{pluralize(waiting.length, "agent")} will not start.</li>}
        <li>Existing answers are kept. You can resume the plan later.</li>
      </ul>
      {failed.value !== null && (
        <p class="note bad foreign" role="alert">
          {errorText(failed.value)} The daemon may still have received the request.
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>Keep running</Button>
        <Button kind="danger primary" icon="stop" disabled={sending.value} onClick={cancel}>
          {sending.value ? "Cancelling…" : "Cancel plan"}
        </Button>
      </div>
    </Dialog>
  );
}
