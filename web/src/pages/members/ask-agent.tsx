import { useSignal } from "@preact/signals";

import { segment } from "../../api/http.ts";
import { go } from "../../state/router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { remember } from "./asked.ts";
import { Compose } from "./compose.tsx";
import { NO_SEAT, readSeat, SeatFields, type Wrong, wrongBy } from "./seat.tsx";

/** Asks an agent without a member: a conversation of its own, for one prompt. */
export function AskAgent({ close }: { close: () => void }) {
  const draft = useSignal(NO_SEAT);
  const wrong = useSignal<Wrong>({});
  return (
    <Dialog title="Ask an agent" wide close={close}>
      <Compose
        to=""
        label="Prompt"
        placeholder="What shall it do?"
        hasConversation={false}
        whom={() => {
          const { seat, wrong: found } = readSeat(draft.value);
          wrong.value = found;
          if (Object.keys(found).length > 0) return null;
          return { ...seat, cwd: draft.value.cwd.trim() };
        }}
        asked={(session, prompt) => {
          remember(session.session, prompt);
          close();
          go(`/members?prompt=${segment(session.session)}`);
        }}
        refused={(error) => {
          const found = wrongBy(error, draft.value);
          wrong.value = found.form || found.name ? {} : found;
          return !found.form && !found.name;
        }}
      >
        <SeatFields draft={draft} wrong={wrong.value} />
      </Compose>
    </Dialog>
  );
}
