import assert from "node:assert/strict";
import { test } from "node:test";

import { encode, FrameError, MessageParser, Opcode } from "../src/frames.js";

/** Encodes a frame as a server does. */
function frame(first: number, payload: Buffer): Buffer {
  const length = payload.length;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), payload]);
  const head = Buffer.alloc(length < 65536 ? 4 : 10);
  head[0] = first;
  head[1] = length < 65536 ? 126 : 127;
  if (length < 65536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

test("parses messages from arbitrary pieces", () => {
  const sent = [
    { opcode: Opcode.Text, payload: Buffer.from("ab") },
    { opcode: Opcode.Ping, payload: Buffer.from("p") },
    { opcode: Opcode.Binary, payload: Buffer.alloc(300, 7) },
    { opcode: Opcode.Binary, payload: Buffer.alloc(70_000, 8) },
    { opcode: Opcode.Text, payload: Buffer.from("parts") },
  ];
  const bytes = Buffer.concat([
    frame(0x81, Buffer.from("ab")),
    frame(0x89, Buffer.from("p")),
    frame(0x82, Buffer.alloc(300, 7)),
    frame(0x82, Buffer.alloc(70_000, 8)),
    frame(0x01, Buffer.from("pa")),
    frame(0x80, Buffer.from("rts")),
  ]);
  for (const size of [1, 2, 3, 7, 1000, bytes.length]) {
    const parser = new MessageParser();
    const received = [];
    for (let at = 0; at < bytes.length; at += size) received.push(...parser.push(bytes.subarray(at, at + size)));
    assert.deepEqual(received, sent, `in pieces of ${size}`);
  }
});

test("rejects invalid frames", () => {
  const wrong = {
    "a masked frame": [0x81, 0x81, 0, 0, 0, 0, 1],
    "an extension": [0xc1, 0x00],
    "a fragment outside a message": [0x80, 0x00],
    "a message within another": [0x01, 0x00, 0x81, 0x00],
    "a fragmented ping": [0x09, 0x00],
    "too long": [0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0],
  };
  for (const [name, bytes] of Object.entries(wrong)) {
    assert.throws(() => [...new MessageParser().push(Buffer.from(bytes))], FrameError, name);
  }
});

test("encodes masked frames with their length", () => {
  for (const length of [0, 1, 125, 126, 65535, 65536]) {
    const payload = Buffer.alloc(length, 5);
    const sent = encode(Opcode.Binary, payload);
    assert.equal(sent[0], 0x82);
    const wide = length < 126 ? 0 : length < 65536 ? 2 : 8;
    assert.equal((sent[1] ?? 0) & 0x80, 0x80);
    const mask = sent.subarray(2 + wide, 6 + wide);
    const bare = sent.subarray(6 + wide).map((byte, at) => byte ^ (mask[at & 3] ?? 0));
    assert.ok(payload.equals(Buffer.from(bare)));
  }
});
