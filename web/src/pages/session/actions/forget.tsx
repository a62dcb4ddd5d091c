import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { BY, post, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { showToast } from "../../../ui/toast.tsx";
import { nameWithId } from "../../../ui/labels.ts";
import { ActionError } from "./action-error.tsx";

/** Forgets a lost session, or releases an adopted one. */
export function ForgetDialog({ session: shown, close }: { session: SessionView; close: () => void }) {
  const session = useRef(shown).current;
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const isLost = session.phase === "lost";
  const forget = async () => {
    busy.value = true;
    wrong.value = null;
    try {
      await post(`/v1/sessions/${segment(session.session)}/forget`, { by: BY });
      refresh(session.id);
      if (isLost) showToast("warn", "Session forgotten", "It is recorded as forgotten by the dashboard, not as ended.");
      else showToast("good", "Session released", "Its process keeps running.");
      close();
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={isLost ? `Forget ${nameWithId(session)}?` : `Release ${nameWithId(session)}?`} close={close}>
      {isLost ? (
        <p>
          Kennel doesn’t know whether it is still running. Forget it only if you are sure that it is gone. It is recorded as forgotten, not as ended,
          and Kennel will not end processes that are still running.
        </p>
      ) : (
        <p>This session was started in a terminal and adopted. Its process keeps running; Kennel stops tracking it.</p>
      )}
      <ActionError what={isLost ? "Couldn’t forget the session" : "Couldn’t release the session"} error={wrong.value} />
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind={isLost ? "danger primary" : "primary"} disabled={busy.value} onClick={forget}>
          {isLost ? "Forget" : "Release"}
        </Button>
      </div>
    </Dialog>
  );
}
