import { signal } from "@preact/signals";

/** The current time, updated every second while the page is visible. */
export const now = signal(Date.now());

let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now.value = Date.now();
}

/** Stops the clock while the page is hidden. */
function restart(): void {
  clearInterval(timer);
  timer = undefined;
  if (document.hidden) return;
  tick();
  timer = setInterval(tick, 1000);
}

restart();
document.addEventListener("visibilitychange", restart);
