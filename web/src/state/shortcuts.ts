/** A keyboard shortcut and its description. */
export interface Shortcut {
  /** The keys in order: `g s`, `/`, `?`. */
  keys: string;
  what: string;
  run(): void;
}

const shortcuts = new Map<string, Shortcut>();
let prefix: string | null = null;
let prefixAt = 0;
const SEQUENCE_MS = 1200;

/** Adds shortcuts; returns a function that removes them. Call it in a layout effect, so that they work as soon as the page is visible. */
export function bindShortcuts(...added: Shortcut[]): () => void {
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
  // Checkboxes, radio buttons and sliders take no text.
  if (target instanceof HTMLInputElement && /^(checkbox|radio|range)$/.test(target.type)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest(".xterm") !== null;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const sequence = prefix !== null && event.timeStamp - prefixAt < SEQUENCE_MS ? `${prefix} ${event.key}` : null;
  const shortcut = (sequence && shortcuts.get(sequence)) || shortcuts.get(event.key);
  prefix = null;
  if (shortcut) {
    event.preventDefault();
    shortcut.run();
  } else if (event.key.length === 1) {
    prefix = event.key;
    prefixAt = event.timeStamp;
  }
});
