import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { remove, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { go } from "../../../state/router.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { counted, shortened } from "../../../ui/format.ts";
import { say } from "../../../ui/toast.tsx";
import { called, titled } from "../../../ui/words.ts";
import { NotDone } from "./failed.tsx";

/** Removes a session that has ended from the record. */
export function RemoveDialog({ session: shown, close }: { session: SessionView; close: () => void }) {
  const session = useRef(shown).current;
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const removeIt = async () => {
    busy.value = true;
    wrong.value = null;
    try {
      await remove(`/v1/sessions/${segment(session.session)}`);
      say("good", `${shortened(called(session))} is removed from the record`);
      close();
      go("/sessions");
      for (let attempt = 1; attempt <= session.launches; attempt += 1) refresh(attempt === 1 ? session.session : `${session.session}_${attempt}`);
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={`Remove ${titled(session)} from the record?`} close={close}>
      <p>
        Its {session.launches === 1 ? "launch" : counted(session.launches, "launch", "launches")} and all output go for good. Nothing runs any more. The
        event log keeps what happened.
      </p>
      <NotDone what="It could not be removed" error={wrong.value} />
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={busy.value} onClick={removeIt}>
          Remove
        </Button>
      </div>
    </Dialog>
  );
}
