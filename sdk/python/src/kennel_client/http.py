"""One request and its response over its own connection: the subset of HTTP/1.1 that Kennel uses.

Every step stores the bytes it has read, so that a cancelled step can be repeated.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import AsyncGenerator, Mapping, Union
from urllib.parse import quote, urlencode

from .address import Address
from .errors import ConnectionLost, KennelProblem, ProtocolError

Scalar = Union[str, int, bool, None]

PIECE = 64 * 1024
MAX_HEADERS = 200


@dataclass(frozen=True)
class Request:
    """A request."""

    method: str
    path: str
    query: Mapping[str, Scalar] = field(default_factory=dict)
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self, address: Address) -> bytes:
        """Encodes the request."""
        given = {name: _query_value(value) for name, value in self.query.items() if value is not None}
        target = self.path + (f"?{urlencode(given)}" if given else "")
        headers = {"Host": address.host, "Connection": "close", "Accept": "application/json", **self.headers}
        if address.token is not None:
            headers["Authorization"] = f"Bearer {address.token}"
        body = b""
        if self.body is not None:
            body = json.dumps(self.body).encode()
            headers["Content-Type"] = "application/json"
        if self.body is not None or self.method != "GET":
            headers["Content-Length"] = str(len(body))
        lines = [f"{self.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header contains a line break")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def path(*parts: str) -> str:
    """Joins and escapes path segments."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _query_value(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Head:
    """The status and headers of a response."""

    status: int
    headers: Mapping[str, str]
    """With lower-case names."""


class Exchange:
    """A request and its response."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._lines: list[str] = []
        self._head: Head | None = None
        self._body = bytearray()
        self._whole = False
        self._left: int | None = None
        """The remaining bytes of the chunk or body; None if not known yet."""

    @staticmethod
    async def begin(address: Address, request: Request) -> Exchange:
        """Connects and sends the request. If it is cancelled, nothing was sent."""
        encoded = request.encoded(address)
        reader, writer = await address.open()
        exchange = Exchange(reader, writer)
        # No await from here on: the event loop sends it even if this task is cancelled.
        writer.write(encoded)
        return exchange

    def close(self) -> None:
        """Closes the connection immediately."""
        self.writer.transport.abort()

    async def head(self) -> Head:
        """Reads the status and headers."""
        while self._head is None:
            line = await self._line()
            if line or not self._lines:
                self._lines.append(line)
                if len(self._lines) > MAX_HEADERS:
                    raise ProtocolError("too many headers")
                continue
            head = _parse_head(self._lines)
            self._lines = []
            # After status 100 the real response follows.
            if head.status != 100:
                self._head = head
        return self._head

    async def piece(self, timeout: float | None = None) -> bytes:
        """Reads a piece of the body; empty at the end."""
        head = await self.head()
        reading = self._chunked() if "chunked" in head.headers.get("transfer-encoding", "") else self._counted(head)
        return await (reading if timeout is None else _within(timeout, reading))

    async def body(self) -> bytes:
        """Reads the whole body."""
        while not self._whole:
            piece = await self.piece()
            self._body += piece
            self._whole = not piece
        return bytes(self._body)

    async def pieces(self, timeout: float | None = None) -> AsyncGenerator[bytes, None]:
        """Yields the body as it arrives; raises `ConnectionLost` after a silence of `timeout` seconds."""
        while piece := await self.piece(timeout):
            yield piece

    async def answer(self) -> object:
        """Reads the JSON response; raises a problem."""
        head, body = await self.head(), await self.body()
        content = _parse(body) if "json" in head.headers.get("content-type", "") else None
        if not 200 <= head.status < 300:
            raise KennelProblem.of(head.status, content)
        return content

    async def _counted(self, head: Head) -> bytes:
        if self._left is None:
            length = head.headers.get("content-length")
            empty = head.status in (101, 204, 304)
            self._left = 0 if empty else int(length) if length is not None and length.isdigit() else -1
        if self._left == 0:
            return b""
        piece = await self._read(PIECE if self._left < 0 else min(self._left, PIECE))
        if self._left > 0:
            if not piece:
                raise ConnectionLost("the connection was closed in the middle of a response")
            self._left -= len(piece)
        return piece

    async def _chunked(self) -> bytes:
        while not self._left:
            if self._left == 0:
                # The line end after a chunk.
                await self._line()
                self._left = None
            line = (await self._line()).split(";")[0].strip()
            try:
                self._left = int(line, 16)
            except ValueError:
                raise ProtocolError(f"invalid chunk length {line[:20]!r}") from None
            if self._left == 0:
                self._whole = True
                self._left = -1
                break
        if self._left < 0:
            return b""
        piece = await self._read(min(self._left, PIECE))
        if not piece:
            raise ConnectionLost("the connection was closed in the middle of a response")
        self._left -= len(piece)
        return piece

    async def _line(self) -> str:
        try:
            line = await self.reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise ConnectionLost("the connection was closed before the end of the response") from None
        except asyncio.LimitOverrunError:
            raise ProtocolError("a header line is too long") from None
        except OSError as error:
            raise ConnectionLost(f"the connection was lost: {error}") from error
        return line.decode("latin-1").rstrip("\r\n")

    async def _read(self, limit: int) -> bytes:
        try:
            return await self.reader.read(limit)
        except OSError as error:
            raise ConnectionLost(f"the connection was lost: {error}") from error


async def _within(seconds: float, reading: object) -> bytes:
    try:
        return await asyncio.wait_for(reading, seconds)  # type: ignore[arg-type]
    except asyncio.TimeoutError:
        raise ConnectionLost(f"no data for {seconds:.0f} s") from None


def _parse_head(lines: list[str]) -> Head:
    version, _, rest = lines[0].partition(" ")
    status = rest.partition(" ")[0]
    if not version.startswith("HTTP/1.") or len(status) != 3 or not status.isdigit():
        raise ProtocolError(f"invalid HTTP response: {lines[0][:40]!r}")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise ProtocolError(f"invalid header: {line[:40]!r}")
        headers[name.strip().lower()] = value.strip()
    return Head(int(status), headers)


def _parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError as error:
        raise ProtocolError(f"invalid JSON in a response: {error}") from error
