import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { told } from "../../api/http.ts";
import type { StraysEnded, StrayView } from "../../api/types.ts";
import { endStrays, failure, lookForStrays, strays } from "../../state/strays.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { counted } from "../../ui/format.ts";
import { Failed, Loading } from "../../ui/states.tsx";

/** Says what will be ended, as seen just now, and ends that. */
export function EndStrays({ close, ended }: { close: () => void; ended: (result: StraysEnded) => void }) {
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const meant = useSignal<readonly StrayView[] | null>(null);
  const unseen = useSignal<unknown>(null);
  const look = () => {
    unseen.value = null;
    void lookForStrays().then(() => {
      if (failure.value === null) meant.value = strays.value;
      else unseen.value = failure.value;
    });
  };
  useEffect(look, []);
  const found = meant.value;
  if (found === null) {
    return (
      <Dialog title="End strays?" close={close}>
        {unseen.value === null ? <Loading what="Looking which there are…" /> : <Failed what="Strays can't be looked for" error={unseen.value} again={look} />}
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
        </div>
      </Dialog>
    );
  }
  const count = found.length;
  const end = async () => {
    busy.value = true;
    wrong.value = null;
    try {
      ended(await endStrays(found));
    } catch (error) {
      wrong.value = error;
      busy.value = false;
    }
  };
  return (
    <Dialog title={count === 0 ? "There are no strays any more" : `End ${counted(count, "stray")}?`} close={close}>
      {count > 0 && (
        <>
          <p>
            These are killed at once (SIGKILL), without a chance to save anything. Nothing else is ended: neither strays that
            appear later, nor sessions.
          </p>
          <ul class="stray-list">
            {found.map((stray) => (
              <li key={stray.pid}>
                <span class="mono">{stray.pid}</span>
                <code class="foreign cut" title={stray.command}>
                  {stray.command || stray.name}
                </code>
              </li>
            ))}
          </ul>
        </>
      )}
      {wrong.value !== null && (
        <p class="note bad foreign" role="alert">
          {told(wrong.value)}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>{count === 0 ? "Close" : "Cancel"}</Button>
        {count > 0 && (
          <Button kind="danger primary" disabled={busy.value} onClick={() => void end()}>
            {busy.value ? "Ending…" : `End ${counted(count, "stray")}`}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
