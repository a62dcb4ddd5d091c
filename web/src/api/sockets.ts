/**
 * Receives a byte stream over a WebSocket. A browser opens at most six HTTP/1.1 connections to a host, shared by all tabs: long-lived
 * streams would use them up and block all other requests.
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
    // The browser takes a while to close a dead connection.
    closing.addEventListener("abort", end, { once: true });
  }

  /** Opens the stream. Returns null on failure; browsers do not report the reason. */
  static open(path: string, closing: AbortSignal): Promise<Incoming | null> {
    const url = new URL(path, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    return new Promise((resolve) => {
      socket.onopen = () => resolve(new Incoming(socket, closing));
      socket.onclose = () => resolve(null);
      const giveUp = () => {
        socket.close();
        resolve(null);
      };
      if (closing.aborted) giveUp();
      else closing.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Returns everything received since the last call; null at the end of the stream. */
  async next(): Promise<Uint8Array[] | null> {
    while (this.#queue.length === 0) {
      if (this.#isOver) return null;
      await new Promise<void>((wake) => (this.#wake = wake));
    }
    const received = this.#queue;
    this.#queue = [];
    return received;
  }

  close(): void {
    this.#socket.close();
  }
}
