import { useSignal } from "@preact/signals";

import { BY, post, segment } from "../api/http.ts";
import type { SessionView, StopAnswer } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { duration } from "../ui/format.ts";
import { say, sayFailed } from "../ui/toast.tsx";

/** Stops a prompt wholly: its agent, its tools, and all that these have started. */
export function Cancel({ session }: { session: SessionView }) {
  const asked = useSignal(false);
  const cancel = async () => {
    asked.value = true;
    try {
      tell(await post<StopAnswer>(`/v1/sessions/${segment(session.session)}/stop`, { by: BY }));
    } catch (error) {
      sayFailed("That it ends could not be asked for", error);
    } finally {
      asked.value = false;
    }
  };
  return (
    <Button icon="stop" kind="danger" compact disabled={asked.value} title="Ends the agent with all that it has started" onClick={cancel}>
      {asked.value ? "Cancelling…" : "Cancel"}
    </Button>
  );
}

function tell(answer: StopAnswer): void {
  if (answer.result === "stopped") say("good", "Cancelled", `Everything of it was seen to be gone, after ${duration(answer.took_ms)}.`);
  else if (answer.result === "already_gone") say("quiet", "It was over already");
  else {
    const who = answer.survivors.map((it) => `${it.name} (${it.pid}): ${it.why}`).join("; ");
    say("bad", "Something of it is still alive", `${who || "It could not be seen to end."} Kennel goes on trying.`);
  }
}
