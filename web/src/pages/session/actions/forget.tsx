import { useSignal } from "@preact/signals";

import { BY, post, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { say, sayFailed } from "../../../ui/toast.tsx";

/** Gives up a session that is lost, or lets go of one that was adopted. */
export function ForgetDialog({ session, close }: { session: SessionView; close: () => void }) {
  const busy = useSignal(false);
  const isLost = session.phase === "lost";
  const forget = async () => {
    busy.value = true;
    try {
      await post(`/v1/sessions/${segment(session.session)}/forget`, { by: BY });
      refresh(session.id);
      if (isLost) say("warn", "It is given up", "Recorded as given up by the dashboard, not as its end.");
      else say("good", "It is let go", "Its process goes on by itself.");
      close();
    } catch (error) {
      sayFailed(isLost ? "It could not be given up" : "It could not be let go", error);
      busy.value = false;
    }
  };
  return (
    <Dialog title={isLost ? "Forget this session?" : "Let go of this session?"} close={close}>
      {isLost ? (
        <p>
          Nobody can tell whether it still runs. If you are sure that it is gone, give it up: that is recorded as what it is, and not as its end. If
          something of it does run, Kennel will not end it.
        </p>
      ) : (
        <p>It was started in a terminal, and is only followed. It goes on by itself; Kennel no longer follows it.</p>
      )}
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind={isLost ? "danger primary" : "primary"} disabled={busy.value} onClick={forget}>
          {isLost ? "Give it up" : "Let go"}
        </Button>
      </div>
    </Dialog>
  );
}
