/** Callbacks for the result of a fetch. */
export interface FetchHandlers<T> {
  loaded(value: T): void;
  failed(why: unknown): void;
}

/**
 * Fetches a resource that changes, one request at a time. A refetch during a request is queued: its result is delivered first, then
 * one more request is sent. So results keep arriving, no matter how often a refetch is requested.
 */
export class Refetcher<T> {
  #fetch: (closing: AbortSignal) => Promise<T>;
  #handlers: FetchHandlers<T>;
  #request: AbortController | null = null;
  #isRefetchQueued = false;

  constructor(fetch: (closing: AbortSignal) => Promise<T>, handlers: FetchHandlers<T>) {
    this.#fetch = fetch;
    this.#handlers = handlers;
  }

  get isFetching(): boolean {
    return this.#request !== null;
  }

  /** Fetches now, or once more after the request that is under way. */
  refetch(): void {
    if (this.#request) this.#isRefetchQueued = true;
    else void this.#run();
  }

  /** Fetches now and drops the request that is under way: its daemon may be gone. */
  restart(): void {
    this.close();
    void this.#run();
  }

  /** Cancels the request and delivers nothing more. */
  close(): void {
    this.#request?.abort();
    this.#request = null;
    this.#isRefetchQueued = false;
  }

  async #run(): Promise<void> {
    const request = (this.#request = new AbortController());
    const deliver = (then: () => void) => {
      if (request.signal.aborted) return;
      this.#request = null;
      then();
      if (!this.#isRefetchQueued) return;
      this.#isRefetchQueued = false;
      this.refetch();
    };
    try {
      const value = await this.#fetch(request.signal);
      deliver(() => this.#handlers.loaded(value));
    } catch (why) {
      deliver(() => this.#handlers.failed(why));
    }
  }
}
