import { signal } from "@preact/signals";

const query = matchMedia("(min-width: 1180px)");

/** Whether there is room for processes and resources beside the output. */
export const isWide = signal(query.matches);

query.addEventListener("change", () => void (isWide.value = query.matches));
