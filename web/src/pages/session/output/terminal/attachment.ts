/**
 * A connection to a session's terminal that reconnects across daemon restarts.
 *
 * ```text
 *   attaching ──attached──> attached ──ended──> ended
 *       ▲                      │ connection lost
 *       └──────── lost <───────┘  (reconnects at the offset: no output is lost or repeated)
 * ```
 */
import { get, query, ApiError, segment } from "../../../../api/http.ts";
import type { End } from "../outcome.ts";

export type AttachmentState =
  | { is: "attaching" }
  | { is: "attached"; readOnly: boolean }
  | { is: "lost" }
  | { is: "ended"; outcome: End | null }
  | { is: "failed"; error: unknown };

export interface Size {
  cols: number;
  rows: number;
}

export interface AttachmentHandlers {
  /** New output; `isPast` if it only redraws earlier output. The handler calls `drawn` when it is drawn. */
  bytes(bytes: Uint8Array, isPast: boolean, drawn: () => void): void;
  /** The screen must be cleared, because output is replayed. */
  reset(): void;
  stateChanged(state: AttachmentState): void;
  /** A message for the user: missing output, or input that was refused. */
  notice(text: string): void;
}

type ControlMessage =
  | { type: "attached"; read_only: boolean; replay: number; offset: number }
  | { type: "gap"; offset: number; lost: number | null; text: string }
  | { type: "refused"; why: string }
  | { type: "ended"; outcome: End | null };

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 3000;
/** If more bytes than this wait to be drawn, the page skips them and loads the current screen instead. */
const MAX_PENDING = 4 << 20;
/** The daemon accepts messages of at most 64 KiB. */
const MAX_MESSAGE = 32 * 1024;

export class Attachment {
  readonly #launch: string;
  readonly #handlers: AttachmentHandlers;
  readonly #readOnly: boolean;
  #size: Size | null;
  #socket: WebSocket | null = null;
  /** The offset to continue at; null to replay the screen. */
  #offset: number | null = null;
  #past = 0;
  #waiting = 0;
  #isFlooded = false;
  /** Input that is sent as soon as the socket is open. */
  #queued: Uint8Array<ArrayBuffer>[] = [];
  #isOver = false;
  #pause = FIRST_RETRY_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(launch: string, size: Size | null, readOnly: boolean, handlers: AttachmentHandlers) {
    this.#launch = launch;
    this.#size = size;
    this.#readOnly = readOnly;
    this.#handlers = handlers;
    handlers.stateChanged({ is: "attaching" });
    this.#open();
  }

  /** Detaches; the session keeps running. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#socket?.close(1000);
    this.#socket = null;
  }

  type(text: string): void {
    this.#send(new TextEncoder().encode(text));
  }

  /** Sends binary data of xterm.js, such as mouse reports. */
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
    // Control-C matters most during a flood.
    if (this.#isFlooded || this.#socket?.readyState === WebSocket.CONNECTING) return void this.#queued.push(bytes);
    if (this.#socket?.readyState !== WebSocket.OPEN) return this.#handlers.notice("Not sent: the connection is lost.");
    for (let at = 0; at < bytes.length; at += MAX_MESSAGE) this.#socket.send(bytes.subarray(at, at + MAX_MESSAGE));
  }

  #open(): void {
    const start = this.#offset === null ? { replay: "screen" } : { from: this.#offset };
    const size = this.#readOnly || !this.#size ? {} : this.#size;
    const path = `/v1/sessions/${segment(this.#launch)}/terminal${query({ ...start, ...size, read_only: this.#readOnly || undefined })}`;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      if (this.#socket === socket) for (const bytes of this.#queued.splice(0)) this.#send(bytes);
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (this.#socket !== socket) return;
      if (typeof data === "string") this.#handleControl(JSON.parse(data) as ControlMessage);
      else this.#take(new Uint8Array(data));
    };
    socket.onclose = ({ code, reason }) => {
      if (this.#socket === socket) this.#closed(code, reason, wasOpen);
    };
  }

  #handleControl(message: ControlMessage): void {
    switch (message.type) {
      case "attached":
        this.#pause = FIRST_RETRY_MS;
        this.#past = message.replay;
        this.#offset = message.offset;
        this.#handlers.stateChanged({ is: "attached", readOnly: message.read_only });
        break;
      case "gap":
        this.#offset = message.offset + (message.lost ?? 0);
        this.#handlers.notice(`${message.lost === null ? "Some output is" : `${message.lost.toLocaleString("en")} bytes are`} missing: ${message.text}.`);
        break;
      case "refused":
        this.#handlers.notice(`Not sent: ${message.why}.`);
        break;
      case "ended":
        this.#isOver = true;
        this.#handlers.stateChanged({ is: "ended", outcome: message.outcome });
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
    if (this.#waiting > MAX_PENDING) this.#flood();
  }

  #draw(bytes: Uint8Array, isPast: boolean): void {
    this.#waiting += bytes.length;
    this.#handlers.bytes(bytes, isPast, () => {
      this.#waiting -= bytes.length;
      if (this.#isFlooded && this.#waiting === 0) this.#afterFlood();
    });
  }

  /** Output arrives faster than it can be drawn. A browser socket has no backpressure, so the page closes it. */
  #flood(): void {
    this.#isFlooded = true;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(1000);
    this.#handlers.notice("Output is too fast to draw, so some of it is not shown here. The log shows all of it.");
  }

  #afterFlood(): void {
    this.#isFlooded = false;
    if (this.#isOver) return;
    this.#offset = null;
    this.#handlers.reset();
    this.#open();
  }

  #closed(code: number, reason: string, wasOpen: boolean): void {
    this.#socket = null;
    if (this.#isOver) return;
    const isClientError = code === 1002 || code === 1003 || code === 1007 || code === 1009;
    if (isClientError || code === 1011) {
      this.#isOver = true;
      this.#handlers.stateChanged({ is: "failed", error: new Error(reason || `The connection was closed (${code}).`) });
      return;
    }
    this.#handlers.stateChanged({ is: "lost" });
    if (this.#queued.splice(0).length > 0) this.#handlers.notice("Not sent: the connection is lost.");
    if (!wasOpen) void this.#checkSession();
    this.#timer = setTimeout(() => this.#open(), this.#pause);
    this.#pause = Math.min(2 * this.#pause, MAX_RETRY_MS);
  }

  /** Requests the session to find out why the WebSocket failed, which browsers hide. */
  async #checkSession(): Promise<void> {
    try {
      await get(`/v1/sessions/${segment(this.#launch)}`);
    } catch (error) {
      const isFinal = error instanceof ApiError && (error.status === 404 || error.status === 401 || error.status === 403);
      if (!isFinal || this.#isOver) return;
      this.close();
      this.#handlers.stateChanged({ is: "failed", error });
    }
  }
}
