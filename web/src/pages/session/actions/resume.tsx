import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { BY, post, segment } from "../../../api/http.ts";
import type { ResumeRequest, SessionView } from "../../../api/types.ts";
import { environment } from "../../../state/environment.ts";
import { refresh } from "../../../state/live.ts";
import { daemon } from "../../../state/me.ts";
import { go } from "../../../state/router.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { EnvironmentField } from "../../../ui/environment-field.tsx";
import { commandLine, truncate } from "../../../ui/format.ts";
import { showToast } from "../../../ui/toast.tsx";
import { nameWithId } from "../../../ui/labels.ts";
import { ActionError } from "./action-error.tsx";

/** Launches an ended session again. */
export function ResumeDialog({ session: shown, close }: { session: SessionView; close: () => void }) {
  const session = useRef(shown).current;
  const text = useSignal("");
  const queue = useSignal(false);
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const typed = environment(text.value, daemon.value?.environment ?? {});
  const envError = "wrong" in typed ? typed.wrong : null;
  const resume = async (event: Event) => {
    event.preventDefault();
    if (!("env" in typed)) return;
    busy.value = true;
    wrong.value = null;
    const request: ResumeRequest = { by: BY, after: session.id, env: typed.env, queue: queue.value };
    if (session.spec.stdin && !session.spec.terminal) request.stdin = "pipe";
    try {
      const launched = await post<SessionView>(`/v1/sessions/${segment(session.session)}/resume`, request);
      refresh(launched.id);
      showToast("good", `${launched.phase === "queued" ? "Queued" : "Resumed"} (launch ${launched.attempt})`);
      close();
      go(`/sessions/${segment(launched.session)}`);
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={`Resume ${nameWithId(session)}?`} close={close}>
      <form class="stack" onSubmit={resume}>
        <p>
          Runs the same command in the same folder as launch {session.launches + 1}. The session keeps its ID, name and settings. Earlier output
          stays with the earlier launches.
        </p>
        <code class="note foreign">{truncate(commandLine(session.spec.argv ?? []), 400)}</code>
        {session.spec.worktree && <p class="muted small">Uses the existing worktree if it was kept, or creates a new one.</p>}
        <EnvironmentField value={text.value} change={(lines) => void (text.value = lines)} wrong={envError} />
        <p class="muted small">The environment of the previous launch is not stored.</p>
        <label class="check">
          <input type="checkbox" checked={queue.value} onChange={(event) => void (queue.value = event.currentTarget.checked)} />
          Queue if too many sessions are running
        </label>
        <p class="muted small">
          To use your shell’s environment: <code>kennel resume {session.name ?? session.session}</code>
        </p>
        <ActionError what="Couldn’t resume the session" error={wrong.value} />
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" icon="play" disabled={busy.value || envError !== null}>
            Resume
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
