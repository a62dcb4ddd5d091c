/** What is done with an answer. */
export interface Hearing<T> {
  told(answer: T): void;
  failed(why: unknown): void;
}

/**
 * Asks for something that changes, one question at a time. Who wants to know again while an answer is on its way gets that one,
 * and then another: however often it is asked, answers come.
 */
export class Asker<T> {
  #fetch: (closing: AbortSignal) => Promise<T>;
  #hearing: Hearing<T>;
  #asked: AbortController | null = null;
  #again = false;

  constructor(fetch: (closing: AbortSignal) => Promise<T>, hearing: Hearing<T>) {
    this.#fetch = fetch;
    this.#hearing = hearing;
  }

  get isAsking(): boolean {
    return this.#asked !== null;
  }

  /** Asks, or asks again as soon as the answer is here that may be too old. */
  ask(): void {
    if (this.#asked) this.#again = true;
    else void this.#run();
  }

  /** Asks, and waits for no answer to what was asked before: who was asked may be gone. */
  askAnew(): void {
    this.close();
    void this.#run();
  }

  /** Hears nothing more. */
  close(): void {
    this.#asked?.abort();
    this.#asked = null;
    this.#again = false;
  }

  async #run(): Promise<void> {
    const asked = (this.#asked = new AbortController());
    const hear = (then: () => void) => {
      if (asked.signal.aborted) return;
      this.#asked = null;
      then();
      if (!this.#again) return;
      this.#again = false;
      this.ask();
    };
    try {
      const answer = await this.#fetch(asked.signal);
      hear(() => this.#hearing.told(answer));
    } catch (why) {
      hear(() => this.#hearing.failed(why));
    }
  }
}
