import { known, type Shortcut } from "../state/shortcuts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

/** Returns the keyboard shortcuts by group. */
function grouped(): [string, Shortcut[]][] {
  const all = known();
  const navigates = (shortcut: Shortcut) => shortcut.keys.startsWith("g ");
  const always = (shortcut: Shortcut) => shortcut.keys === "?";
  const groups: [string, Shortcut[]][] = [
    ["On this page", all.filter((it) => !navigates(it) && !always(it))],
    ["Go to", all.filter(navigates)],
    ["Everywhere", all.filter(always)],
  ];
  return groups.filter(([, shortcuts]) => shortcuts.length > 0);
}

export function Keys({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      {grouped().map(([group, shortcuts]) => (
        <section class="keys" key={group}>
          <h3>{group}</h3>
          <dl class="facts">
            {shortcuts.map((shortcut) => (
              <div key={shortcut.keys}>
                <dt>
                  {shortcut.keys.split(" ").map((key, at) => (
                    <kbd key={at}>{key}</kbd>
                  ))}
                </dt>
                <dd>{shortcut.what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <p class="muted small">
        <kbd>Esc</kbd> closes a dialog. Shortcuts are disabled while you type in a field or a terminal.
      </p>
      <div class="actions">
        <Button kind="primary" onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
