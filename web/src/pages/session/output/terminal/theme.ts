import type { ISearchOptions } from "@xterm/addon-search";
import type { ITheme } from "@xterm/xterm";

const LIGHT: ITheme = {
  background: "#ffffff", foreground: "#1c1f23", cursor: "#0b6b60", cursorAccent: "#ffffff", selectionBackground: "#bfe3dc",
  black: "#1c1f23", red: "#b3261e", green: "#17693a", yellow: "#7a5200", blue: "#1a56b0", magenta: "#8a2a86", cyan: "#0b6470", white: "#5a616b",
  brightBlack: "#545b65", brightRed: "#c22f26", brightGreen: "#1b7a44", brightYellow: "#8a5d00", brightBlue: "#2463c4", brightMagenta: "#9b3597", brightCyan: "#0d7280", brightWhite: "#3a4048",
};

const DARK: ITheme = {
  background: "#0c0d0f", foreground: "#e7e9eb", cursor: "#46c7b2", cursorAccent: "#06231f", selectionBackground: "#27524c",
  black: "#7b838d", red: "#f58b82", green: "#6fd395", yellow: "#f0b55a", blue: "#8ab6f7", magenta: "#dd9ee6", cyan: "#6fd3de", white: "#d0d4d9",
  brightBlack: "#a0a8b2", brightRed: "#ffa9a1", brightGreen: "#92e4b0", brightYellow: "#ffcd80", brightBlue: "#a9caff", brightMagenta: "#ecbbf3", brightCyan: "#96e4ec", brightWhite: "#ffffff",
};

export function themeOf(shown: "light" | "dark"): ITheme {
  return shown === "dark" ? DARK : LIGHT;
}

/** The colours of search results. */
export function marksOf(shown: "light" | "dark"): ISearchOptions {
  const [match, active] = shown === "dark" ? ["#4a3a10", "#7a5c12"] : ["#fdeccf", "#f7c873"];
  return {
    decorations: { matchBackground: match, matchOverviewRuler: match, activeMatchBackground: active, activeMatchColorOverviewRuler: active },
  };
}
