import { known } from "../state/keys.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

export function Keys({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="facts">
        {known().map((shortcut) => (
          <>
            <dt>
              {shortcut.keys.split(" ").map((key) => (
                <>
                  <kbd>{key}</kbd>{" "}
                </>
              ))}
            </dt>
            <dd>{shortcut.what}</dd>
          </>
        ))}
      </dl>
      <div class="actions">
        <Button kind="primary" onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
