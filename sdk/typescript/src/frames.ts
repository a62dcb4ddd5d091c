import { randomBytes } from "node:crypto";

/** Frame opcodes of RFC 6455. */
export const Opcode = { More: 0, Text: 1, Binary: 2, Close: 8, Ping: 9, Pong: 10 } as const;

/** A complete message or a control frame. */
export interface Message {
  opcode: number;
  payload: Buffer;
}

/** The longest message that is accepted. */
const MAX_MESSAGE = 16 * 1024 * 1024;

/** The server sent an invalid WebSocket frame. */
export class FrameError extends Error {}

/** Encodes one frame, masked as required for clients. */
export function encode(opcode: number, payload: Uint8Array): Buffer {
  const length = payload.length;
  const wide = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + wide + 4 + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (wide === 0 ? length : wide === 2 ? 126 : 127);
  if (wide === 2) frame.writeUInt16BE(length, 2);
  if (wide === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  mask.copy(frame, 2 + wide);
  const begin = 6 + wide;
  for (let at = 0; at < length; at++) frame[begin + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
  return frame;
}

/** Parses messages from bytes that arrive in arbitrary pieces. */
export class MessageParser {
  #rest: Buffer = Buffer.alloc(0);
  /** Pieces that are not yet joined: a frame in many pieces is joined only once. */
  #more: Uint8Array[] = [];
  #length = 0;
  /** How many bytes are needed before parsing continues. */
  #need = 2;
  #partial: { opcode: number; parts: Buffer[]; length: number } | undefined;

  *push(bytes: Uint8Array): Generator<Message> {
    this.#more.push(bytes);
    this.#length += bytes.length;
    if (this.#length < this.#need) return;
    this.#rest = Buffer.concat([this.#rest, ...this.#more], this.#length);
    this.#more = [];
    for (;;) {
      const frame = this.#frame();
      if (!frame) return;
      const message = this.#add(frame);
      if (message) yield message;
    }
  }

  #frame(): (Message & { final: boolean }) | undefined {
    const rest = this.#rest;
    if (rest.length < 2) return this.#wait(2);
    const [first, second] = [rest.readUInt8(0), rest.readUInt8(1)];
    if (first & 0x70) throw new FrameError("a frame of an extension that was not negotiated");
    if (second & 0x80) throw new FrameError("a masked frame from a server");
    const short = second & 0x7f;
    const wide = short === 127 ? 8 : short === 126 ? 2 : 0;
    if (rest.length < 2 + wide) return this.#wait(2 + wide);
    const length =
      wide === 8 ? Number(rest.readBigUInt64BE(2)) : wide === 2 ? rest.readUInt16BE(2) : short;
    if (length > MAX_MESSAGE) throw new FrameError("a frame is too long");
    const end = 2 + wide + length;
    if (rest.length < end) return this.#wait(end);
    this.#rest = rest.subarray(end);
    this.#length -= end;
    return { opcode: first & 0x0f, payload: rest.subarray(2 + wide, end), final: (first & 0x80) !== 0 };
  }

  #wait(need: number): undefined {
    this.#need = need;
    return undefined;
  }

  #add({ opcode, payload, final }: Message & { final: boolean }): Message | undefined {
    if (opcode >= Opcode.Close) {
      if (!final || payload.length > 125) throw new FrameError("a fragmented control frame");
      return { opcode, payload };
    }
    if ((opcode === Opcode.More) !== (this.#partial !== undefined)) {
      throw new FrameError("a fragment outside a message");
    }
    const partial = (this.#partial ??= { opcode, parts: [], length: 0 });
    partial.parts.push(payload);
    partial.length += payload.length;
    if (partial.length > MAX_MESSAGE) throw new FrameError("a message is too long");
    if (!final) return undefined;
    this.#partial = undefined;
    const whole = partial.parts.length === 1 ? payload : Buffer.concat(partial.parts);
    return { opcode: partial.opcode, payload: whole };
  }
}
