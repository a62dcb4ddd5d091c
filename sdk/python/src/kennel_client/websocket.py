"""A WebSocket client (RFC 6455) without extensions."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from dataclasses import dataclass
from typing import Mapping, Union

from .address import Address
from .errors import ConnectionLost, ProtocolError
from .http import Exchange, Request, Scalar

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MAX_MESSAGE = 16 << 20
"""The longest message that is accepted."""

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
NORMAL = 1000


@dataclass(frozen=True)
class Closed:
    """The server closed the connection."""

    code: int
    reason: str


Message = Union[str, bytes, Closed]


class WebSocket:
    """A connection. Only one task may receive; any number may send."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._parts = bytearray()
        self._kind = CONTINUED
        self._head = b""

    @staticmethod
    async def open(address: Address, path: str, query: Mapping[str, Scalar]) -> WebSocket:
        """Connects. Raises `KennelProblem` if the daemon refuses."""
        key = base64.b64encode(os.urandom(16)).decode()
        headers = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key,
        }
        exchange = await Exchange.begin(address, Request("GET", path, query, headers=headers))
        try:
            head = await exchange.head()
            if head.status != 101:
                await exchange.answer()
                raise ProtocolError(f"expected a WebSocket, got status {head.status}")
            expected = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
            if head.headers.get("sec-websocket-accept") != expected:
                raise ProtocolError("invalid Sec-WebSocket-Accept header")
        except BaseException:
            exchange.close()
            raise
        return WebSocket(exchange)

    async def send(self, message: str | bytes) -> None:
        """Sends a message. Waits if the server is slow."""
        if isinstance(message, str):
            await self._frame(TEXT, message.encode())
        else:
            await self._frame(BINARY, message)

    async def receive(self) -> Message:
        """Receives the next message. Cancelling it loses no data."""
        while True:
            last, kind, payload = await self._next_frame()
            if kind == PING:
                await self._frame(PONG, payload)
            elif kind == CLOSE:
                return await self._closed(payload)
            elif kind != PONG:
                if (kind == CONTINUED) != (self._kind != CONTINUED):
                    raise ProtocolError("frames out of order")
                self._kind = kind or self._kind
                self._parts += payload
                if len(self._parts) > MAX_MESSAGE:
                    raise ProtocolError("a message is too long")
                if last:
                    return self._message()

    async def close(self) -> None:
        """Sends a close frame and closes the connection without waiting for a response."""
        try:
            self._exchange.writer.write(_encoded(CLOSE, struct.pack(">H", NORMAL)))
            self._exchange.writer.close()
        except OSError:
            self._exchange.close()

    def abort(self) -> None:
        """Closes the connection immediately."""
        self._exchange.close()

    def _message(self) -> Message:
        message, kind = bytes(self._parts), self._kind
        self._parts, self._kind = bytearray(), CONTINUED
        if kind == BINARY:
            return message
        try:
            return message.decode()
        except UnicodeDecodeError:
            raise ProtocolError("a text message is not UTF-8") from None

    async def _closed(self, payload: bytes) -> Closed:
        code = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005
        try:
            await self._frame(CLOSE, payload[:2])
        except ConnectionLost:
            # The server has already closed the connection.
            pass
        self._exchange.writer.close()
        return Closed(code, payload[2:].decode("utf-8", "replace"))

    async def _frame(self, kind: int, payload: bytes) -> None:
        try:
            # Written in one piece before the await, so that frames are not interleaved.
            self._exchange.writer.write(_encoded(kind, payload))
            await self._exchange.writer.drain()
        except (OSError, RuntimeError) as error:
            raise ConnectionLost(f"the connection was lost: {error}") from error

    async def _next_frame(self) -> tuple[bool, int, bytes]:
        """Reads a frame: whether it is the last of its message, its kind and its payload."""
        try:
            # Store what was read, in case this task is cancelled before the rest arrives.
            while len(self._head) < (length := _head_length(self._head)):
                self._head += await self._exchange.reader.readexactly(length - len(self._head))
            head = self._head
            size = _payload_length(head)
            if head[0] & 0x70 or head[1] & 0x80 or size > MAX_MESSAGE:
                raise ProtocolError("invalid frame")
            payload = await self._exchange.reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise ConnectionLost("the connection was closed") from None
        except OSError as error:
            raise ConnectionLost(f"the connection was lost: {error}") from error
        self._head = b""
        return bool(head[0] & 0x80), head[0] & 0x0F, payload


def _head_length(head: bytes) -> int:
    """Returns the length of the head, as far as it is known."""
    return 2 + {126: 2, 127: 8}.get(head[1] & 0x7F, 0) if len(head) >= 2 else 2


def _payload_length(head: bytes) -> int:
    return int.from_bytes(head[2:], "big") if len(head) > 2 else head[1] & 0x7F


def _encoded(kind: int, payload: bytes) -> bytes:
    """Encodes a frame, masked as required for clients."""
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", 0x80 | kind, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, size)
    mask = os.urandom(4)
    key = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")
    return head + mask + masked.to_bytes(size, "big")
