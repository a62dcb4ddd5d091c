import { useSignal } from "@preact/signals";

import { BY, post, segment, told } from "../../api/http.ts";
import type { PlanView } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { counted } from "../../ui/format.ts";
import { say } from "../../ui/toast.tsx";
import { agentsOf, atWork, summary } from "./words.ts";

/** One cancel for all agents: says first who ends. */
export function CancelPlan({ plan, close, changed }: { plan: PlanView; close: () => void; changed: () => void }) {
  const sending = useSignal(false);
  const failed = useSignal<unknown>(null);
  const ending = atWork(plan);
  const waiting = agentsOf(plan).filter(({ state }) => state === "waiting");
  const cancel = async () => {
    sending.value = true;
    failed.value = null;
    try {
      const after = await post<PlanView>(`/v1/plans/${segment(plan.id)}/cancel`, { by: BY });
      if (after.state === "cancelled") say("good", `${plan.name} is cancelled: all of it was seen to be gone`, summary(after));
      else say("quiet", `${plan.name} was over already`, summary(after));
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
          {ending.length === 0 ? "No agent is at work right now." : `${counted(ending.length, "agent")} will end, with everything that ${ending.length === 1 ? "it has" : "they have"} started: `}
          <span class="foreign">{ending.map(({ name }) => name).join(", ")}</span>
        </li>
        {waiting.length > 0 && <li>{counted(waiting.length, "agent")} will not be asked.</li>}
        <li>Answers that are there stay. It can be resumed later, with what is not done.</li>
      </ul>
      {failed.value !== null && (
        <p class="note bad foreign" role="alert">
          {told(failed.value)} What was asked for is on record, if the daemon heard it.
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>Let it go on</Button>
        <Button kind="danger primary" icon="stop" disabled={sending.value} onClick={cancel}>
          {sending.value ? "Waiting until all are gone…" : "Cancel the plan"}
        </Button>
      </div>
    </Dialog>
  );
}
