import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "kennel.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme {
  const found = localStorage.getItem(KEY);
  return found === "light" || found === "dark" ? found : "system";
}

/** The user’s choice. */
export const theme = signal<Theme>(stored());
/** The theme in use. */
export const shown = signal<"light" | "dark">("light");

function apply(): void {
  shown.value = theme.value === "system" ? (dark.matches ? "dark" : "light") : theme.value;
  document.documentElement.dataset["theme"] = shown.value;
}

dark.addEventListener("change", apply);
effect(() => {
  if (theme.value === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
  apply();
});
