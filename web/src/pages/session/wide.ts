import { signal } from "@preact/signals";

const query = matchMedia("(min-width: 1180px)");

/** Whether processes and resources have a column of their own beside the output. */
export const isWide = signal(query.matches);

query.addEventListener("change", () => void (isWide.value = query.matches));
