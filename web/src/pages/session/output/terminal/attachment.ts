/**
 * A place in front of a session's terminal, kept over restarts of the daemon.
 *
 * ```text
 *   attaching ──attached──> attached ──ended──> ended
 *       ▲                      │ lost, or the daemon leaves
 *       └──────── lost <───────┘  (comes back with the offset: nothing is lost, nothing comes twice)
 * ```
 */
import { get, query, Refusal, segment } from "../../../../api/http.ts";
import type { End } from "../outcome.ts";

export type Standing =
  | { is: "attaching" }
  | { is: "attached"; readOnly: boolean }
  | { is: "lost" }
  | { is: "ended"; outcome: End | null }
  | { is: "failed"; error: unknown };

export interface Size {
  cols: number;
  rows: number;
}

export interface Ear {
  /** More to draw; `isPast` if it only draws what was before. Whoever has drawn it calls `drawn`. */
  bytes(bytes: Uint8Array, isPast: boolean, drawn: () => void): void;
  /** What was drawn is to be forgotten. */
  reset(): void;
  standing(standing: Standing): void;
  /** A word for people: what is missing, or was refused. */
  notice(text: string): void;
}

type Word =
  | { type: "attached"; read_only: boolean; replay: number; offset: number }
  | { type: "gap"; offset: number; lost: number | null; text: string }
  | { type: "refused"; why: string }
  | { type: "ended"; outcome: End | null };

const SOON_MS = 100;
const LATE_MS = 3000;
/** More than this waiting to be drawn is not drawn: the screen as it is then comes in its place. */
const TOO_MUCH = 4 << 20;
/** The longest message that is taken is 64 KiB. */
const LONGEST = 32 * 1024;

export class Attachment {
  readonly #launch: string;
  readonly #ear: Ear;
  readonly #readOnly: boolean;
  #size: Size | null;
  #socket: WebSocket | null = null;
  /** Where to go on; null if all is to be drawn anew. */
  #offset: number | null = null;
  #past = 0;
  #waiting = 0;
  #isFlooded = false;
  #isOver = false;
  #pause = SOON_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(launch: string, size: Size | null, readOnly: boolean, ear: Ear) {
    this.#launch = launch;
    this.#size = size;
    this.#readOnly = readOnly;
    this.#ear = ear;
    ear.standing({ is: "attaching" });
    this.#open();
  }

  /** Leaves; the session goes on. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#socket?.close(1000);
    this.#socket = null;
  }

  type(text: string): void {
    this.#send(new TextEncoder().encode(text));
  }

  /** What xterm tells as a string of bytes: reports of a mouse. */
  typeBytes(binary: string): void {
    this.#send(Uint8Array.from(binary, (character) => character.charCodeAt(0) & 0xff));
  }

  resize(size: Size): void {
    this.#size = size;
    if (this.#readOnly || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(JSON.stringify({ type: "resize", ...size }));
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#readOnly) return;
    if (this.#socket?.readyState !== WebSocket.OPEN) return this.#ear.notice("Not sent: there is no connection now.");
    for (let at = 0; at < bytes.length; at += LONGEST) this.#socket.send(bytes.subarray(at, at + LONGEST));
  }

  #open(): void {
    const place = this.#offset === null ? { replay: "screen" } : { from: this.#offset };
    const size = this.#readOnly || !this.#size ? {} : this.#size;
    const path = `/v1/sessions/${segment(this.#launch)}/terminal${query({ ...place, ...size, read_only: this.#readOnly || undefined })}`;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let wasOpen = false;
    socket.onopen = () => void (wasOpen = true);
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (this.#socket !== socket) return;
      if (typeof data === "string") this.#hear(JSON.parse(data) as Word);
      else this.#take(new Uint8Array(data));
    };
    socket.onclose = ({ code, reason }) => {
      if (this.#socket === socket) this.#closed(code, reason, wasOpen);
    };
  }

  #hear(word: Word): void {
    switch (word.type) {
      case "attached":
        this.#pause = SOON_MS;
        this.#past = word.replay;
        this.#offset = word.offset;
        this.#ear.standing({ is: "attached", readOnly: word.read_only });
        break;
      case "gap":
        this.#offset = word.offset + (word.lost ?? 0);
        this.#ear.notice(`${word.lost === null ? "Some output is" : `${word.lost.toLocaleString("en")} bytes are`} missing: ${word.text}.`);
        break;
      case "refused":
        this.#ear.notice(`Not sent: ${word.why}.`);
        break;
      case "ended":
        this.#isOver = true;
        this.#ear.standing({ is: "ended", outcome: word.outcome });
        break;
    }
  }

  #take(bytes: Uint8Array): void {
    const past = Math.min(this.#past, bytes.length);
    this.#past -= past;
    if (past > 0) this.#draw(bytes.subarray(0, past), true);
    if (past < bytes.length) {
      this.#offset = (this.#offset ?? 0) + bytes.length - past;
      this.#draw(bytes.subarray(past), false);
    }
    if (this.#waiting > TOO_MUCH) this.#flood();
  }

  #draw(bytes: Uint8Array, isPast: boolean): void {
    this.#waiting += bytes.length;
    this.#ear.bytes(bytes, isPast, () => {
      this.#waiting -= bytes.length;
      if (this.#isFlooded && this.#waiting === 0) this.#afterFlood();
    });
  }

  /** It prints faster than can be drawn: a browser's socket can't be told to wait, so it is closed. */
  #flood(): void {
    this.#isFlooded = true;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(1000);
    this.#ear.notice("It prints faster than can be drawn: some of it is not shown here. The log has all of it.");
  }

  #afterFlood(): void {
    this.#isFlooded = false;
    if (this.#isOver) return;
    this.#offset = null;
    this.#ear.reset();
    this.#open();
  }

  #closed(code: number, reason: string, wasOpen: boolean): void {
    this.#socket = null;
    if (this.#isOver) return;
    const isOurFault = code === 1002 || code === 1003 || code === 1007 || code === 1009;
    if (isOurFault || code === 1011) {
      this.#isOver = true;
      this.#ear.standing({ is: "failed", error: new Error(reason || `The connection was closed (${code}).`) });
      return;
    }
    this.#ear.standing({ is: "lost" });
    if (!wasOpen) void this.#askWhy();
    this.#timer = setTimeout(() => this.#open(), this.#pause);
    this.#pause = Math.min(2 * this.#pause, LATE_MS);
  }

  /** A socket that could not be opened does not say why. */
  async #askWhy(): Promise<void> {
    try {
      await get(`/v1/sessions/${segment(this.#launch)}`);
    } catch (error) {
      const isFinal = error instanceof Refusal && (error.status === 404 || error.status === 401 || error.status === 403);
      if (!isFinal || this.#isOver) return;
      this.close();
      this.#ear.standing({ is: "failed", error });
    }
  }
}
