import { signal } from "@preact/signals";

/** Now, to the second, while somebody looks. */
export const now = signal(Date.now());

let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now.value = Date.now();
}

/** A page that nobody sees needs no time. */
function look(): void {
  clearInterval(timer);
  timer = undefined;
  if (document.hidden) return;
  tick();
  timer = setInterval(tick, 1000);
}

look();
document.addEventListener("visibilitychange", look);
