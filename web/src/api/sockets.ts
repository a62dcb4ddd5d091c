/**
 * The bytes of a stream, over a WebSocket. A browser has six connections to a host over HTTP/1.1 for all of its tabs; streams
 * that are open for as long as somebody looks would use them up, and then nothing could be asked any more.
 */
export class Incoming {
  #socket: WebSocket;
  #queue: Uint8Array[] = [];
  #isOver = false;
  #wake: (() => void) | null = null;

  private constructor(socket: WebSocket, closing: AbortSignal) {
    this.#socket = socket;
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      this.#queue.push(new Uint8Array(data));
      this.#wake?.();
    };
    const end = () => {
      this.#isOver = true;
      this.#wake?.();
    };
    socket.onclose = end;
    // A connection that is dead is not closed for a while.
    closing.addEventListener("abort", end, { once: true });
  }

  /** Null if it could not be opened; a browser does not say why. */
  static open(path: string, closing: AbortSignal): Promise<Incoming | null> {
    const url = new URL(path, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    return new Promise((told) => {
      socket.onopen = () => told(new Incoming(socket, closing));
      socket.onclose = () => told(null);
      const giveUp = () => {
        socket.close();
        told(null);
      };
      if (closing.aborted) giveUp();
      else closing.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** All that has come since; null when there will be no more. */
  async next(): Promise<Uint8Array[] | null> {
    while (this.#queue.length === 0) {
      if (this.#isOver) return null;
      await new Promise<void>((wake) => (this.#wake = wake));
    }
    const came = this.#queue;
    this.#queue = [];
    return came;
  }

  close(): void {
    this.#socket.close();
  }
}
