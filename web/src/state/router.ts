import { computed, signal } from "@preact/signals";

/** The path of the current page. */
export const path = signal(location.pathname);
/** The query parameters. */
export const params = signal(new URLSearchParams(location.search));

/** The parts of the path, decoded. */
export const parts = computed(() => path.value.split("/").filter(Boolean).map(decoded));

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function read(): void {
  path.value = location.pathname;
  params.value = new URLSearchParams(location.search);
}

addEventListener("popstate", read);

/** Navigates within the dashboard. */
export function go(to: string, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  read();
  if (how === "push") {
    document.querySelector("main")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

/** Sets or removes a query parameter without a history entry. */
export function setParam(name: string, value: string | null): void {
  const next = new URLSearchParams(params.value);
  if (value === null || value === "") next.delete(name);
  else next.set(name, value);
  const text = next.toString();
  go(text ? `${path.value}?${text}` : path.value, "replace");
}

/** Handles links within the dashboard without a reload. Links for another tab are left to the browser. */
export function catchLinks(event: MouseEvent): void {
  const anchor = (event.target as Element | null)?.closest?.("a");
  if (!anchor || anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) return;
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (anchor.pathname.startsWith("/v1/")) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
}
