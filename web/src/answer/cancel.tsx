import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { BY, post, segment } from "../api/http.ts";
import type { SessionView, StopResponse, StopRequest } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { duration } from "../ui/format.ts";
import { showToast, showError } from "../ui/toast.tsx";

/** Stops a prompt with every process it started. The first click asks it to end; a second one kills it. */
export function Cancel({ session }: { session: SessionView }) {
  const asked = useSignal(false);
  const killed = useSignal(false);
  const stop = async (now: boolean) => {
    // Only the first request shows the outcome: the second one would show the same.
    const first = !asked.value;
    asked.value = true;
    killed.value = now;
    try {
      const body: StopRequest = now ? { by: BY, now } : { by: BY };
      const answer = await post<StopResponse>(`/v1/sessions/${segment(session.session)}/stop`, body);
      if (first) showOutcome(answer);
    } catch (error) {
      showError("Couldn’t cancel the prompt", error);
      [asked.value, killed.value] = [false, false];
    }
  };
  if (asked.value || session.phase === "stopping") {
    return <KillNow key="kill" killed={killed.value} kill={() => void stop(true)} />;
  }
  return (
    <Button key="cancel" icon="stop" kind="danger" compact title="Stop the agent and every process it started" onClick={() => void stop(false)}>
      Cancel
    </Button>
  );
}

/** The button replaces Cancel, so it is disabled at first: a double click on Cancel must not kill. */
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
      title="Kill every remaining process immediately"
      onClick={(event) => event.detail > 1 || kill()}
    >
      {killed ? "Killing…" : "Kill now"}
    </Button>
  );
}

function showOutcome(answer: StopResponse): void {
  if (answer.result === "stopped") showToast("good", "Cancelled", `All processes ended after ${duration(answer.took_ms)}.`);
  else if (answer.result === "already_gone") showToast("quiet", "The prompt had already ended");
  else {
    const survivors = answer.survivors.map((it) => `${it.name} (${it.pid}): ${it.why}`).join("; ");
    showToast("bad", "Some processes are still alive", `${survivors || "Their end could not be confirmed."} Kennel keeps trying.`);
  }
}
