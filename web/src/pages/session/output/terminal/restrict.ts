/** Restricts what a program can do through its terminal: no access to the page, its title or the clipboard. */
import type { ITerminalOptions, Terminal } from "@xterm/xterm";

/** Lines of scrollback. */
const SCROLLBACK = 5000;

export const OPTIONS: ITerminalOptions = {
  scrollback: SCROLLBACK,
  // Needed to highlight search results.
  allowProposedApi: true,
  // Links can’t be opened.
  linkHandler: { activate: () => undefined },
  // Programs can’t control the window.
  windowOptions: {},
  // Keep all colours readable.
  minimumContrastRatio: 4.5,
  macOptionIsMeta: true,
  drawBoldTextInBrightColors: false,
  // Invalid sequences of the program must not fill the console.
  logLevel: "off",
};

/** OSC codes for titles, folders, links, notifications, the clipboard, progress and images. */
const IGNORED = [0, 1, 2, 7, 8, 9, 52, 99, 133, 633, 777, 1337];
/** OSC codes for palette colours: they can be queried but not changed. */
const COLOURS = [4, 5, 10, 11, 12, 17, 19];

/** CSI sequences with a repeat count. xterm.js accepts any count and could be busy for hours, so counts beyond the screen are ignored. */
const BY_ROWS = ["L", "M", "S", "T"];
const BY_COLUMNS = ["I", "Z", "b"];

/** Sequences that reset or switch the screen are expensive, so their rate is limited. */
const MAX_RESETS = 20;
const RESET_WINDOW_MS = 100;
const ALTERNATE_SCREENS = [47, 1047, 1049];

/** Returns a function that reports whether the rate limit is exceeded. */
function limit(): () => boolean {
  let [began, count] = [0, 0];
  return () => {
    const now = performance.now();
    if (now - began > RESET_WINDOW_MS) [began, count] = [now, 0];
    count += 1;
    return count > MAX_RESETS;
  };
}

/** Disables all sequences that do more than drawing. */
export function restrictSequences(terminal: Terminal): void {
  const { parser } = terminal;
  for (const code of IGNORED) parser.registerOscHandler(code, () => true);
  for (const code of COLOURS) parser.registerOscHandler(code, (data) => !/^(\d+;)?\?$/.test(data));
  const isMoreThan = (most: number, count: number | number[] | undefined) => typeof count === "number" && count > most;
  for (const final of BY_ROWS) parser.registerCsiHandler({ final }, ([count]) => isMoreThan(terminal.rows, count));
  const isTooMuch = limit();
  parser.registerEscHandler({ final: "c" }, isTooMuch);
  parser.registerEscHandler({ intermediates: "#", final: "8" }, isTooMuch);
  // Switching to the alternate screen is limited; switching back never is.
  parser.registerCsiHandler({ prefix: "?", final: "h" }, (modes) => modes.some((mode) => ALTERNATE_SCREENS.includes(Number(mode))) && isTooMuch());
  for (const final of BY_COLUMNS) parser.registerCsiHandler({ final }, ([count]) => isMoreThan(terminal.cols, count));
}

/** Output is drawn in pieces, so that the page stays responsive. */
const PIECE = 4096;

/** Writes output in pieces. */
export function write(terminal: Terminal, bytes: Uint8Array, drawn: () => void): void {
  for (let at = 0; at < bytes.length; at += PIECE) {
    const isLast = at + PIECE >= bytes.length;
    terminal.write(bytes.subarray(at, at + PIECE), isLast ? drawn : undefined);
  }
}
