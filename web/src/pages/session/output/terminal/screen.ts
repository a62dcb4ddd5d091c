import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";

import { shown } from "../../../../state/theme.ts";
import type { Size } from "./attachment.ts";
import { restrictSequences, OPTIONS } from "./restrict.ts";
import { marksOf, themeOf } from "./theme.ts";

/** A new size is applied after it has been stable for this long. */
const SETTLE_MS = 120;

/** The shortcut that moves the focus out of the terminal. */
export const LEAVE = "Ctrl+Alt+Enter";

/** The xterm.js terminal in an element. */
export class Screen {
  readonly terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #search = new SearchAddon();
  readonly #observer: ResizeObserver;
  readonly #unsubscribeTheme: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(element: HTMLElement, options: { fixed: Size | null; screenReader: boolean; leave: () => void; find: () => void; sized: (size: Size) => void }) {
    const style = getComputedStyle(element);
    this.terminal = new Terminal({
      ...OPTIONS,
      ...options.fixed,
      screenReaderMode: options.screenReader,
      theme: themeOf(shown.peek()),
      fontFamily: style.fontFamily,
      fontSize: 13,
    });
    this.terminal.loadAddon(this.#fit);
    this.terminal.loadAddon(this.#search);
    restrictSequences(this.terminal);
    this.terminal.open(element);
    this.terminal.attachCustomKeyEventHandler((event) => {
      const isLeave = event.ctrlKey && event.altKey && event.key === "Enter";
      const isFind = event.ctrlKey && event.shiftKey && event.code === "KeyF";
      if (!isLeave && !isFind) return true;
      event.preventDefault();
      if (event.type === "keydown") (isLeave ? options.leave : options.find)();
      return false;
    });
    const fit = () => {
      if (!options.fixed) this.#fit.fit();
    };
    fit();
    this.#observer = new ResizeObserver(() => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(fit, SETTLE_MS);
    });
    this.#observer.observe(element);
    this.terminal.onResize(options.sized);
    this.#unsubscribeTheme = shown.subscribe((theme) => void (this.terminal.options.theme = themeOf(theme)));
  }

  get size(): Size {
    return { cols: this.terminal.cols, rows: this.terminal.rows };
  }

  find(text: string, by: 1 | -1, isTyping: boolean): void {
    const options = { ...marksOf(shown.peek()), incremental: isTyping };
    if (by > 0) this.#search.findNext(text, options);
    else this.#search.findPrevious(text, options);
  }

  /** Calls the listener with the index of the current match and the number of matches. */
  onFound(listener: (index: number, count: number) => void): void {
    this.#search.onDidChangeResults(({ resultIndex, resultCount }) => listener(resultIndex, resultCount));
  }

  endFind(): void {
    this.#search.clearDecorations();
    this.terminal.clearSelection();
  }

  /** Returns the screen and the scrollback as text. */
  text(): string {
    const { active } = this.terminal.buffer;
    let text = "";
    for (let at = 0; at < active.length; at += 1) {
      const line = active.getLine(at);
      if (!line) continue;
      text += `${at > 0 && !line.isWrapped ? "\n" : ""}${line.translateToString(true)}`;
    }
    return `${text.trimEnd()}\n`;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#observer.disconnect();
    this.#unsubscribeTheme();
    this.terminal.dispose();
  }
}
