import { useSignal } from "@preact/signals";

import { remove, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { go } from "../../../state/router.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { counted, shortened } from "../../../ui/format.ts";
import { say, sayFailed } from "../../../ui/toast.tsx";
import { called } from "../../../ui/words.ts";

/** Removes a session that has ended from the record. */
export function RemoveDialog({ session, close }: { session: SessionView; close: () => void }) {
  const busy = useSignal(false);
  const removeIt = async () => {
    busy.value = true;
    try {
      await remove(`/v1/sessions/${segment(session.session)}`);
      say("good", `${shortened(called(session))} is removed from the record`);
      close();
      go("/sessions");
      for (let attempt = 1; attempt <= session.launches; attempt += 1) refresh(attempt === 1 ? session.session : `${session.session}_${attempt}`);
    } catch (error) {
      sayFailed("It could not be removed", error);
      busy.value = false;
    }
  };
  return (
    <Dialog title="Remove it from the record?" close={close}>
      <p>
        Its {session.launches === 1 ? "launch" : counted(session.launches, "launch", "launches")} and all output go for good. Nothing runs any more. The
        event log keeps what happened.
      </p>
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={busy.value} onClick={removeIt}>
          Remove
        </Button>
      </div>
    </Dialog>
  );
}
