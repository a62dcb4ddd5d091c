import { useSignal } from "@preact/signals";

import { segment } from "../../api/http.ts";
import { go } from "../../state/router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { rememberPrompt } from "./sent-prompts.ts";
import { Compose } from "./compose.tsx";
import { EMPTY_AGENT_DRAFT, parseAgentDraft, AgentFields, type FieldErrors, errorsByField } from "./agent-fields.tsx";

/** Sends a single prompt to an agent, without a member, in a new conversation. */
export function AskAgent({ close }: { close: () => void }) {
  const draft = useSignal(EMPTY_AGENT_DRAFT);
  const wrong = useSignal<FieldErrors>({});
  return (
    <Dialog title="Ask an agent" wide close={close}>
      <Compose
        to=""
        label="Prompt"
        placeholder="What should the agent do?"
        hasConversation={false}
        target={() => {
          const { settings, wrong: found } = parseAgentDraft(draft.value);
          wrong.value = found;
          if (Object.keys(found).length > 0) return null;
          return { ...settings, cwd: draft.value.cwd.trim() };
        }}
        asked={(session, prompt) => {
          rememberPrompt(session.session, prompt);
          close();
          go(`/members?prompt=${segment(session.session)}`);
        }}
        refused={(error) => {
          const found = errorsByField(error, draft.value);
          wrong.value = found.form || found.name ? {} : found;
          return !found.form && !found.name;
        }}
      >
        <AgentFields draft={draft} wrong={wrong.value} />
      </Compose>
    </Dialog>
  );
}
