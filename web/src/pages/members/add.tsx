import { useSignal } from "@preact/signals";

import { post } from "../../api/http.ts";
import type { MemberAnswer, NewMember } from "../../api/types.ts";
import { go } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { say } from "../../ui/toast.tsx";
import { NO_SEAT, readSeat, SeatFields, type Wrong, wrongBy } from "./seat.tsx";

/** As the daemon has it: letters and digits of any script. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}\-_.]{0,63}$/u;

export function AddMember({ close }: { close: () => void }) {
  const name = useSignal("");
  const draft = useSignal(NO_SEAT);
  const wrong = useSignal<Wrong>({});
  const sending = useSignal(false);
  const add = async (event: Event) => {
    event.preventDefault();
    const { seat, wrong: found } = readSeat(draft.value);
    if (!NAME.test(name.value)) found.name = "Letters, digits, “-”, “_” and “.”; a letter or digit first; at most 64.";
    wrong.value = found;
    if (Object.keys(found).length > 0) return;
    sending.value = true;
    try {
      const body: NewMember = { name: name.value, seat, cwd: draft.value.cwd.trim() };
      const added = await post<MemberAnswer>("/v1/members", body);
      say("good", `${added.name} was added`);
      close();
      go(`/members/${encodeURIComponent(added.name)}`);
    } catch (error) {
      wrong.value = wrongBy(error, draft.value);
    } finally {
      sending.value = false;
    }
  };
  return (
    <Dialog title="Add a member" wide close={close}>
      <form class="stack" onSubmit={add} noValidate>
        <p class="muted small">A named seat for an agent: its prompts go on with one conversation, one at a time.</p>
        <Field label="Name" wrong={wrong.value.name}>
          {(control) => <input class="input" {...control} value={name.value} placeholder="anna" autocomplete="off" spellcheck={false} onInput={(event) => void (name.value = event.currentTarget.value)} />}
        </Field>
        <SeatFields draft={draft} wrong={wrong.value} />
        {wrong.value.form && (
          <p class="note bad foreign" role="alert">
            {wrong.value.form}
          </p>
        )}
        <div class="actions">
          <Button onClick={close}>Never mind</Button>
          <Button kind="primary" type="submit" disabled={sending.value}>
            {sending.value ? "Adding…" : "Add the member"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
