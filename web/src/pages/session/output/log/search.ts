import { computed, signal } from "@preact/signals";

import type { SearchUpdate, SearchRequest } from "./search.worker.ts";

/** A search through the whole output. */
export class Search {
  readonly text = signal("");
  /** The offsets of matching lines, in order. */
  readonly hits = signal<readonly number[]>([]);
  /** The index of the current match. */
  readonly current = signal<number | null>(null);
  readonly isRunning = signal(false);
  /** From 0 to 1. */
  readonly progress = signal(0);
  readonly error = signal<string | null>(null);
  readonly currentOffset = computed(() => (this.current.value === null ? null : (this.hits.value[this.current.value] ?? null)));

  #worker: Worker | null = null;

  /** Starts a new search. Calls `show` with the first match at or after `near`, or with the first match of all. */
  begin(request: SearchRequest, near: number, show: (offset: number) => void): void {
    this.stop();
    this.text.value = request.text;
    this.hits.value = [];
    this.current.value = null;
    this.progress.value = 0;
    this.error.value = null;
    if (request.text === "") return;
    const worker = new Worker(new URL("./search.worker.ts", import.meta.url), { type: "module" });
    this.#worker = worker;
    this.isRunning.value = true;
    worker.onmessage = ({ data }: MessageEvent<SearchUpdate>) => {
      if (this.#worker !== worker) return;
      if (data.hits.length > 0) this.hits.value = [...this.hits.value, ...data.hits];
      this.progress.value = request.end > request.start ? (data.at - request.start) / (request.end - request.start) : 1;
      if (this.current.value === null) this.#first(near, data.done, show);
      if (!data.done) return;
      this.error.value = data.error;
      this.stop();
    };
    worker.onerror = () => {
      if (this.#worker !== worker) return;
      this.error.value = "Couldn’t start the search.";
      this.stop();
    };
    worker.postMessage(request);
  }

  #first(near: number, done: boolean, show: (offset: number) => void): void {
    const hits = this.hits.value;
    const found = hits.findIndex((offset) => offset >= near);
    const index = found >= 0 ? found : done && hits.length > 0 ? 0 : -1;
    if (index < 0) return;
    this.current.value = index;
    show(hits[index] as number);
  }

  /** Goes to the next or previous match, and wraps around at the ends. */
  step(by: 1 | -1, show: (offset: number) => void): void {
    const count = this.hits.value.length;
    if (count === 0) return;
    const next = this.current.value === null ? (by > 0 ? 0 : count - 1) : (this.current.value + by + count) % count;
    this.current.value = next;
    show(this.hits.value[next] as number);
  }

  stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.isRunning.value = false;
  }

  clear(): void {
    this.stop();
    this.text.value = "";
    this.hits.value = [];
    this.current.value = null;
    this.error.value = null;
  }
}
