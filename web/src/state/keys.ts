/** What a key does, for the page with the keys. */
export interface Shortcut {
  /** As pressed one after the other: `g s`, `/`, `?`. */
  keys: string;
  what: string;
  run(): void;
}

const shortcuts = new Map<string, Shortcut>();
let begun: string | null = null;
let begunAt = 0;
const TOGETHER_MS = 1200;

/** Adds shortcuts; returns what takes them away. In a layout effect: whoever sees what they act on can press them. */
export function bind(...added: Shortcut[]): () => void {
  for (const shortcut of added) shortcuts.set(shortcut.keys, shortcut);
  return () => {
    for (const shortcut of added) if (shortcuts.get(shortcut.keys) === shortcut) shortcuts.delete(shortcut.keys);
  };
}

export function known(): Shortcut[] {
  return [...shortcuts.values()];
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // Nobody types into a box that is ticked, or a slider.
  if (target instanceof HTMLInputElement && /^(checkbox|radio|range)$/.test(target.type)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest(".xterm") !== null;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const together = begun !== null && event.timeStamp - begunAt < TOGETHER_MS ? `${begun} ${event.key}` : null;
  const shortcut = (together && shortcuts.get(together)) || shortcuts.get(event.key);
  begun = null;
  if (shortcut) {
    event.preventDefault();
    shortcut.run();
  } else if (event.key.length === 1) {
    begun = event.key;
    begunAt = event.timeStamp;
  }
});
