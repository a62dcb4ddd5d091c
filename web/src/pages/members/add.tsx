import { useSignal } from "@preact/signals";

import { post } from "../../api/http.ts";
import type { MemberView, CreateMemberRequest } from "../../api/types.ts";
import { go } from "../../state/router.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { showToast } from "../../ui/toast.tsx";
import { EMPTY_AGENT_DRAFT, parseAgentDraft, AgentFields, type FieldErrors, errorsByField } from "./agent-fields.tsx";

/** The same rule as in the daemon: letters and digits of any script. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}\-_.]{0,63}$/u;

export function AddMember({ close }: { close: () => void }) {
  const name = useSignal("");
  const draft = useSignal(EMPTY_AGENT_DRAFT);
  const wrong = useSignal<FieldErrors>({});
  const sending = useSignal(false);
  const add = async (event: Event) => {
    event.preventDefault();
    const { settings, wrong: found } = parseAgentDraft(draft.value);
    if (!NAME.test(name.value)) found.name = "Use at most 64 letters, digits, “-”, “_” and “.”, starting with a letter or digit.";
    wrong.value = found;
    if (Object.keys(found).length > 0) return;
    sending.value = true;
    try {
      const body: CreateMemberRequest = { name: name.value, settings, cwd: draft.value.cwd.trim() };
      const added = await post<MemberView>("/v1/members", body);
      showToast("good", `Added ${added.name}`);
      close();
      go(`/members/${encodeURIComponent(added.name)}`);
    } catch (error) {
      wrong.value = errorsByField(error, draft.value);
    } finally {
      sending.value = false;
    }
  };
  return (
    <Dialog title="Add member" wide close={close}>
      <form class="stack" onSubmit={add} noValidate>
        <p class="muted small">A member is a saved agent with a name. Its prompts share one conversation and run one at a time.</p>
        <Field label="Name" wrong={wrong.value.name}>
          {(control) => <input class="input" {...control} value={name.value} placeholder="anna" autocomplete="off" spellcheck={false} onInput={(event) => void (name.value = event.currentTarget.value)} />}
        </Field>
        <AgentFields draft={draft} wrong={wrong.value} />
        {wrong.value.form && (
          <p class="note bad foreign" role="alert">
            {wrong.value.form}
          </p>
        )}
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={sending.value}>
            {sending.value ? "Adding…" : "Add member"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
