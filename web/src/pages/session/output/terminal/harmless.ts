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
};

/** Titles, the folder, links, notifications, the clipboard; progress and images of other terminals. */
const IGNORED = [0, 1, 2, 7, 8, 9, 52, 99, 133, 633, 777, 1337];
/** Colours of the palette may be asked for, not changed: the theme is the page's. */
const COLOURS = [4, 5, 10, 11, 12, 17, 19];

/** Has sequences do nothing that are more than drawing. */
export function makeHarmless(terminal: Terminal): void {
  for (const code of IGNORED) terminal.parser.registerOscHandler(code, () => true);
  for (const code of COLOURS) terminal.parser.registerOscHandler(code, (data) => !/^(\d+;)?\?$/.test(data));
}
