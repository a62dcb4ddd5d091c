import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { errorText } from "../../api/http.ts";
import type { StraysEnded, StrayView } from "../../api/types.ts";
import { endStrays, failure, scanForStrays, strays } from "../../state/strays.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { pluralize } from "../../ui/format.ts";
import { Failed, Loading } from "../../ui/states.tsx";

/** Ends the strays of a new scan after a confirmation that lists them. */
export function EndStrays({ close, ended }: { close: () => void; ended: (result: StraysEnded) => void }) {
  const busy = useSignal(false);
  const wrong = useSignal<unknown>(null);
  const targets = useSignal<readonly StrayView[] | null>(null);
  const scanError = useSignal<unknown>(null);
  const scan = () => {
    scanError.value = null;
    void scanForStrays().then(() => {
      if (failure.value === null) targets.value = strays.value;
      else scanError.value = failure.value;
    });
  };
  useEffect(scan, []);
  const found = targets.value;
  if (found === null) {
    return (
      <Dialog title="End strays?" close={close}>
        {scanError.value === null ? <Loading what="Scanning…" /> : <Failed what="Couldn’t scan for strays" error={scanError.value} retry={scan} />}
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
    <Dialog title={count === 0 ? "No strays left" : `End ${pluralize(count, "stray")}?`} close={close}>
      {count > 0 && (
        <>
          <p>
            These processes are killed immediately (SIGKILL); unsaved work is lost. Sessions and strays that appear later are not
            affected.
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
          {errorText(wrong.value)}
        </p>
      )}
      <div class="actions">
        <Button onClick={close}>{count === 0 ? "Close" : "Cancel"}</Button>
        {count > 0 && (
          <Button kind="danger primary" disabled={busy.value} onClick={() => void end()}>
            {busy.value ? "Ending…" : `End ${pluralize(count, "stray")}`}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
