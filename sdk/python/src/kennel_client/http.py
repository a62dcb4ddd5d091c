"""One request and its answer, over a connection of its own: HTTP/1.1, as much of it as Kennel speaks.

Every step keeps what it has read, so that one that was interrupted by a cancel can be taken again.
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
MOST_HEADERS = 200


@dataclass(frozen=True)
class Request:
    """What is asked."""

    method: str
    path: str
    query: Mapping[str, Scalar] = field(default_factory=dict)
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def written(self, address: Address) -> bytes:
        """As it goes over the wire."""
        given = {name: _word(value) for name, value in self.query.items() if value is not None}
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
            raise ValueError("a line break in a header")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def path(*parts: str) -> str:
    """A path of these parts, whatever is in them."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _word(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Head:
    """What comes before the body."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""


class Exchange:
    """See the module."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._lines: list[str] = []
        self._head: Head | None = None
        self._body = bytearray()
        self._whole = False
        self._left: int | None = None
        """What is to come of the chunk, or of the body; none: not known yet."""

    @staticmethod
    async def begin(address: Address, request: Request) -> Exchange:
        """Connects and sends. If it is cancelled, nothing was sent."""
        written = request.written(address)
        reader, writer = await address.open()
        exchange = Exchange(reader, writer)
        # No wait from here on: it is sent by the loop, whatever becomes of us.
        writer.write(written)
        return exchange

    def close(self) -> None:
        """Ends the connection at once."""
        self.writer.transport.abort()

    async def head(self) -> Head:
        """Status and headers."""
        while self._head is None:
            line = await self._line()
            if line or not self._lines:
                self._lines.append(line)
                if len(self._lines) > MOST_HEADERS:
                    raise ProtocolError("too many headers")
                continue
            head = _parse_head(self._lines)
            self._lines = []
            # Whoever says 100 has more to say.
            if head.status != 100:
                self._head = head
        return self._head

    async def piece(self, timeout: float | None = None) -> bytes:
        """Some of the body; nothing if that was all."""
        head = await self.head()
        reading = self._chunked() if "chunked" in head.headers.get("transfer-encoding", "") else self._counted(head)
        return await (reading if timeout is None else _within(timeout, reading))

    async def body(self) -> bytes:
        """All of it."""
        while not self._whole:
            piece = await self.piece()
            self._body += piece
            self._whole = not piece
        return bytes(self._body)

    async def pieces(self, timeout: float | None = None) -> AsyncGenerator[bytes, None]:
        """The body as it comes; a silence that is longer counts as a loss."""
        while piece := await self.piece(timeout):
            yield piece

    async def answer(self) -> object:
        """The JSON of the answer; a problem is raised."""
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
                raise ConnectionLost("the connection ended in the middle of an answer")
            self._left -= len(piece)
        return piece

    async def _chunked(self) -> bytes:
        while not self._left:
            if self._left == 0:
                # The line after a chunk.
                await self._line()
                self._left = None
            line = (await self._line()).split(";")[0].strip()
            try:
                self._left = int(line, 16)
            except ValueError:
                raise ProtocolError(f"no length of a chunk: {line[:20]!r}") from None
            if self._left == 0:
                self._whole = True
                self._left = -1
                break
        if self._left < 0:
            return b""
        piece = await self._read(min(self._left, PIECE))
        if not piece:
            raise ConnectionLost("the connection ended in the middle of an answer")
        self._left -= len(piece)
        return piece

    async def _line(self) -> str:
        try:
            line = await self.reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise ConnectionLost("the connection ended before the answer did") from None
        except asyncio.LimitOverrunError:
            raise ProtocolError("a line without an end") from None
        except OSError as error:
            raise ConnectionLost(f"the connection was lost: {error}") from error
        return line.decode("latin-1").rstrip("\r\n")

    async def _read(self, most: int) -> bytes:
        try:
            return await self.reader.read(most)
        except OSError as error:
            raise ConnectionLost(f"the connection was lost: {error}") from error


async def _within(seconds: float, reading: object) -> bytes:
    try:
        return await asyncio.wait_for(reading, seconds)  # type: ignore[arg-type]
    except asyncio.TimeoutError:
        raise ConnectionLost(f"nothing was heard for {seconds:.0f} s") from None


def _parse_head(lines: list[str]) -> Head:
    version, _, rest = lines[0].partition(" ")
    status = rest.partition(" ")[0]
    if not version.startswith("HTTP/1.") or len(status) != 3 or not status.isdigit():
        raise ProtocolError(f"no answer in HTTP: {lines[0][:40]!r}")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise ProtocolError(f"no header: {line[:40]!r}")
        headers[name.strip().lower()] = value.strip()
    return Head(int(status), headers)


def _parse(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError as error:
        raise ProtocolError(f"an answer that is no JSON: {error}") from error
