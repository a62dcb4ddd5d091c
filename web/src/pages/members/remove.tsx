import { useSignal } from "@preact/signals";

import { BY, query, remove, segment, errorText } from "../../api/http.ts";
import type { MemberView } from "../../api/types.ts";
import { go } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { pluralize } from "../../ui/format.ts";
import { showToast } from "../../ui/toast.tsx";

/** Confirms the removal of a member, and shows which prompts it would stop. */
export function RemoveMember({ member, close }: { member: MemberView; close: () => void }) {
  const sending = useSignal(false);
  const failed = useSignal<unknown>(null);
  const busy = member.busy_with !== null || member.waiting > 0;
  const confirm = async () => {
    sending.value = true;
    failed.value = null;
    try {
      await remove(`/v1/members/${segment(member.name)}${query({ force: busy || undefined, by: BY })}`);
      showToast("good", `Removed ${member.name}`, busy ? "Its prompts were stopped." : null);
      close();
      go("/members");
    } catch (error) {
      failed.value = error;
    } finally {
      sending.value = false;
    }
  };
  return (
    <Dialog title={`Remove ${member.name}?`} close={close}>
      <p>The member and its link to the conversation are removed. Its files stay, and its prompts remain in the session list.</p>
      {busy && (
        <div class="note warn">
          <ul class="stack tight">
            {member.busy_with && (
              <li>
                The running prompt is stopped with every process it started: session <code>{member.busy_with}</code>.
              </li>
            )}
            {member.waiting > 0 && <li>{pluralize(member.waiting, "prompt")} in the queue will be cancelled.</li>}
          </ul>
        </div>
      )}
      {failed.value !== null && (
        <p class="note bad foreign" role="alert">
          {errorText(failed.value)}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="danger primary" disabled={sending.value} onClick={confirm}>
          {sending.value ? "Removing…" : busy ? "Stop prompts and remove" : "Remove"}
        </Button>
      </div>
    </Dialog>
  );
}
