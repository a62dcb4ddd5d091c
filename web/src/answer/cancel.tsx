import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { BY, post, segment } from "../api/http.ts";
import type { SessionView, StopAnswer, StopRequest } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { duration } from "../ui/format.ts";
import { say, sayFailed } from "../ui/toast.tsx";

/** Stops a prompt wholly: its agent, its tools, and all that these have started. Asked to end at first; once more, and it is killed. */
export function Cancel({ session }: { session: SessionView }) {
  const asked = useSignal(false);
  const killed = useSignal(false);
  const stop = async (now: boolean) => {
    // Whoever has asked first is told; the second answer says the same.
    const first = !asked.value;
    asked.value = true;
    killed.value = now;
    try {
      const body: StopRequest = now ? { by: BY, now } : { by: BY };
      const answer = await post<StopAnswer>(`/v1/sessions/${segment(session.session)}/stop`, body);
      if (first) tell(answer);
    } catch (error) {
      sayFailed("That it ends could not be asked for", error);
      [asked.value, killed.value] = [false, false];
    }
  };
  if (asked.value || session.phase === "stopping") {
    return <KillNow key="kill" killed={killed.value} kill={() => void stop(true)} />;
  }
  return (
    <Button key="cancel" icon="stop" kind="danger" compact title="Ends the agent with all that it has started" onClick={() => void stop(false)}>
      Cancel
    </Button>
  );
}

/** It comes where Cancel was: a second click that was meant for that must not kill. */
const PAUSE_MS = 1000;

function KillNow({ killed, kill }: { killed: boolean; kill: () => void }) {
  const isReady = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => void (isReady.value = true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Button
      icon="stop"
      kind="danger primary"
      compact
      disabled={killed || !isReady.value}
      title="Kills all that is left of it, and waits no longer"
      onClick={(event) => event.detail > 1 || kill()}
    >
      {killed ? "Killing…" : "Kill now"}
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
