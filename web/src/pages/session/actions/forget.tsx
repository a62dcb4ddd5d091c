import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { BY, post, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { say } from "../../../ui/toast.tsx";
import { titled } from "../../../ui/words.ts";
import { NotDone } from "./failed.tsx";

/** Gives up a session that is lost, or lets go of one that was adopted. */
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
      if (isLost) say("warn", "It is given up", "Recorded as given up by the dashboard, not as its end.");
      else say("good", "It is let go", "Its process goes on by itself.");
      close();
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={isLost ? `Forget ${titled(session)}?` : `Let go of ${titled(session)}?`} close={close}>
      {isLost ? (
        <p>
          Nobody can tell whether it still runs. If you are sure that it is gone, give it up: that is recorded as what it is, and not as its end. If
          something of it does run, Kennel will not end it.
        </p>
      ) : (
        <p>It was started in a terminal, and is only followed. It goes on by itself; Kennel no longer follows it.</p>
      )}
      <NotDone what={isLost ? "It could not be given up" : "It could not be let go"} error={wrong.value} />
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind={isLost ? "danger primary" : "primary"} disabled={busy.value} onClick={forget}>
          {isLost ? "Give it up" : "Let go"}
        </Button>
      </div>
    </Dialog>
  );
}
