import { useSignal } from "@preact/signals";

import { BY, query, remove, segment, told } from "../../api/http.ts";
import type { MemberAnswer } from "../../api/types.ts";
import { go } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { counted } from "../../ui/format.ts";
import { say } from "../../ui/toast.tsx";

/** Says what goes, and what would end, before a member is removed. */
export function RemoveMember({ member, close }: { member: MemberAnswer; close: () => void }) {
  const sending = useSignal(false);
  const failed = useSignal<unknown>(null);
  const busy = member.busy_with !== null || member.waiting > 0;
  const confirm = async () => {
    sending.value = true;
    failed.value = null;
    try {
      await remove(`/v1/members/${segment(member.name)}${query({ force: busy || undefined, by: BY })}`);
      say("good", `${member.name} was removed`, busy ? "Its prompts were seen to be gone." : null);
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
      <p>Its name and its place in the conversation go. What it has written stays where it is, and its prompts stay on record.</p>
      {busy && (
        <div class="note warn">
          <ul class="stack tight">
            {member.busy_with && (
              <li>
                The prompt that it works on ends, with all that it has started: session <code>{member.busy_with}</code>.
              </li>
            )}
            {member.waiting > 0 && <li>{counted(member.waiting, "prompt")} in line will not be asked.</li>}
          </ul>
        </div>
      )}
      {failed.value !== null && (
        <p class="note bad foreign" role="alert">
          {told(failed.value)}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>Keep it</Button>
        <Button kind="danger primary" disabled={sending.value} onClick={confirm}>
          {sending.value ? "Removing…" : busy ? "End its prompts, and remove it" : "Remove it"}
        </Button>
      </div>
    </Dialog>
  );
}
