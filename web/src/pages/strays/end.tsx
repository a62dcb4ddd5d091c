import { useSignal } from "@preact/signals";

import { told } from "../../api/http.ts";
import type { StraysEnded } from "../../api/types.ts";
import { endStrays, strays } from "../../state/strays.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { counted } from "../../ui/format.ts";

/** Says what will be ended, and ends it. */
export function EndStrays({ close, ended }: { close: () => void; ended: (result: StraysEnded) => void }) {
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const count = strays.value.length;
  const end = async () => {
    busy.value = true;
    wrong.value = null;
    try {
      ended(await endStrays());
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
            These are killed at once (SIGKILL), without a chance to save anything. Strays that appear until then are ended too.
            {" "}Sessions are not touched.
          </p>
          <ul class="stray-list">
            {strays.value.map((stray) => (
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
