import { signal } from "@preact/signals";

/** Now, to the second, while somebody looks. */
export const now = signal(Date.now());

function tick(): void {
  if (!document.hidden) now.value = Date.now();
}

setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
