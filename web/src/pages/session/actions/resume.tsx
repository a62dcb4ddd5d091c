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
import { commandLine, shortened } from "../../../ui/format.ts";
import { say } from "../../../ui/toast.tsx";
import { titled } from "../../../ui/words.ts";
import { NotDone } from "./failed.tsx";

/** Launches a session that has ended again. */
export function ResumeDialog({ session: shown, close }: { session: SessionView; close: () => void }) {
  const session = useRef(shown).current;
  const text = useSignal("");
  const queue = useSignal(false);
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const typed = environment(text.value, daemon.value?.environment ?? {});
  const misspelt = "wrong" in typed ? typed.wrong : null;
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
      say("good", `Launch ${launched.attempt} of it ${launched.phase === "queued" ? "waits in line" : "has begun"}`);
      close();
      go(`/sessions/${segment(launched.session)}`);
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={`Launch ${titled(session)} again?`} close={close}>
      <form class="stack" onSubmit={resume}>
        <p>
          The same command begins once more in the same folder, as launch {session.launches + 1}. It keeps its id, name and settings; what was printed
          before stays with the earlier launches.
        </p>
        <code class="note foreign">{shortened(commandLine(session.spec.argv ?? []), 400)}</code>
        {session.spec.worktree && <p class="muted small">It goes on in its worktree if that was kept; else it is made anew.</p>}
        <EnvironmentField value={text.value} change={(lines) => void (text.value = lines)} wrong={misspelt} />
        <p class="muted small">The environment of the former launch is on no record.</p>
        <label class="check">
          <input type="checkbox" checked={queue.value} onChange={(event) => void (queue.value = event.currentTarget.checked)} />
          Wait in line if there are too many sessions
        </label>
        <p class="muted small">
          With the environment of your shell: <code>kennel resume {session.name ?? session.session}</code>
        </p>
        <NotDone what="It was not launched again" error={wrong.value} />
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" icon="play" disabled={busy.value || misspelt !== null}>
            Launch again
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
