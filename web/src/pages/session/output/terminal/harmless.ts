/** What a program on a terminal may not do to the page, its title, the clipboard, or whoever looks on. */
import type { ITerminalOptions, Terminal } from "@xterm/xterm";

/** Lines that are kept above the screen. */
const SCROLLBACK = 5000;

export const OPTIONS: ITerminalOptions = {
  scrollback: SCROLLBACK,
  // For marking what was found.
  allowProposedApi: true,
  // Links are text.
  linkHandler: { activate: () => undefined },
  // The window is not the program's.
  windowOptions: {},
  // Whatever colours it chooses, it can be read.
  minimumContrastRatio: 4.5,
  macOptionIsMeta: true,
  drawBoldTextInBrightColors: false,
  // What it can't parse is no matter of the page's.
  logLevel: "off",
};

/** Titles, the folder, links, notifications, the clipboard; progress and images of other terminals. */
const IGNORED = [0, 1, 2, 7, 8, 9, 52, 99, 133, 633, 777, 1337];
/** Colours of the palette may be asked for, not changed: the theme is the page's. */
const COLOURS = [4, 5, 10, 11, 12, 17, 19];

/** What is done once for each of its number: xterm.js takes any, and would be busy for hours. No program means more than a screen. */
const BY_ROWS = ["L", "M", "S", "T"];
const BY_COLUMNS = ["I", "Z", "b"];

/** What makes a screen anew is dear: so many within a moment are enough for anybody. */
const ANEW_AT_ONCE = 20;
const MOMENT_MS = 100;
const OTHER_SCREENS = [47, 1047, 1049];

/** Whether there were too many in this moment. */
function limit(): () => boolean {
  let [began, count] = [0, 0];
  return () => {
    const now = performance.now();
    if (now - began > MOMENT_MS) [began, count] = [now, 0];
    count += 1;
    return count > ANEW_AT_ONCE;
  };
}

/** Has sequences do nothing that are more than drawing. */
export function makeHarmless(terminal: Terminal): void {
  const { parser } = terminal;
  for (const code of IGNORED) parser.registerOscHandler(code, () => true);
  for (const code of COLOURS) parser.registerOscHandler(code, (data) => !/^(\d+;)?\?$/.test(data));
  const isMoreThan = (most: number, count: number | number[] | undefined) => typeof count === "number" && count > most;
  for (const final of BY_ROWS) parser.registerCsiHandler({ final }, ([count]) => isMoreThan(terminal.rows, count));
  const isTooMuch = limit();
  parser.registerEscHandler({ final: "c" }, isTooMuch);
  parser.registerEscHandler({ intermediates: "#", final: "8" }, isTooMuch);
  // To another screen; from it always.
  parser.registerCsiHandler({ prefix: "?", final: "h" }, (modes) => modes.some((mode) => OTHER_SCREENS.includes(Number(mode))) && isTooMuch());
  for (const final of BY_COLUMNS) parser.registerCsiHandler({ final }, ([count]) => isMoreThan(terminal.cols, count));
}

/** So much is drawn at a time, that keys and clicks come in between. */
const PIECE = 4096;

/** Draws something, piece by piece. */
export function write(terminal: Terminal, bytes: Uint8Array, drawn: () => void): void {
  for (let at = 0; at < bytes.length; at += PIECE) {
    const isLast = at + PIECE >= bytes.length;
    terminal.write(bytes.subarray(at, at + PIECE), isLast ? drawn : undefined);
  }
}
