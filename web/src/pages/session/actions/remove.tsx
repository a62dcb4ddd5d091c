import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { remove, segment } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { go } from "../../../state/router.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { pluralize, truncate } from "../../../ui/format.ts";
import { showToast } from "../../../ui/toast.tsx";
import { displayName, nameWithId } from "../../../ui/labels.ts";
import { ActionError } from "./action-error.tsx";

/** Removes the record of an ended session. */
export function RemoveDialog({ session: shown, close }: { session: SessionView; close: () => void }) {
  const session = useRef(shown).current;
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const removeIt = async () => {
    busy.value = true;
    wrong.value = null;
    try {
      await remove(`/v1/sessions/${segment(session.session)}`);
      showToast("good", `Removed ${truncate(displayName(session))}`);
      close();
      go("/sessions");
      for (let attempt = 1; attempt <= session.launches; attempt += 1) refresh(attempt === 1 ? session.session : `${session.session}_${attempt}`);
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={`Remove ${nameWithId(session)}?`} close={close}>
      <p>
        This permanently deletes the session’s {session.launches === 1 ? "record" : `${pluralize(session.launches, "launch", "launches")}`} and all output. Its
        events stay in the event log.
      </p>
      <ActionError what="Couldn’t remove the session" error={wrong.value} />
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={busy.value} onClick={removeIt}>
          Remove
        </Button>
      </div>
    </Dialog>
  );
}
