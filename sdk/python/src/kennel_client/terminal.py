"""In front of a session: what it prints as it comes, and what is typed."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, AsyncGenerator, Mapping

from .calls import Calls
from .errors import ConnectionLost, InputRefused, ProtocolError
from .http import Scalar
from .websocket import Closed, WebSocket

AWAY = 1001
"""The daemon goes; its next one is there soon."""
PIECE = 32 * 1024
"""A longer message may be refused."""


class Terminal:
    """A place in front of a session, as an async context manager.

    Iterating gives the bytes that the session prints, until it has ended. When the daemon dies and comes back, it goes
    on where it was: nothing is lost and nothing comes twice. What was typed just then is not sent again: `send` raises
    `ConnectionLost`, since nobody knows whether it got there.
    """

    def __init__(self, calls: Calls, path: str, query: Mapping[str, Scalar]) -> None:
        self._calls = calls
        self._path = path
        self._query = dict(query)
        self._socket: WebSocket | None = None
        self._replay = 0
        self.offset = 0
        """The place in the output up to which all was read."""
        self.connections = 0
        """How often it was connected: more than once if daemons died meanwhile."""
        self.outcome: Mapping[str, Any] | None = None
        """How the session ended, once it has."""

    async def __aenter__(self) -> Terminal:
        await self._calls.persist(self._attach, again=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            await self._socket.close()
            self._socket = None

    async def send(self, data: bytes | str) -> None:
        """Types this."""
        data = data.encode() if isinstance(data, str) else data
        for at in range(0, len(data), PIECE):
            await self._open_socket().send(data[at : at + PIECE])

    async def resize(self, columns: int, rows: int) -> None:
        """The window has this size now."""
        self._query.update(cols=columns, rows=rows)
        await self._say({"type": "resize", "cols": columns, "rows": rows})

    async def eof(self) -> None:
        """There is no more input."""
        await self._say({"type": "eof"})

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        losses = self._calls.losses()
        while True:
            try:
                message = await self._open_socket().receive()
            except ConnectionLost as error:
                await losses.wait(error)
                await self._calls.persist(self._attach_again, again=True)
                continue
            losses.over()
            if isinstance(message, bytes):
                self._count(message)
                yield message
            elif isinstance(message, Closed):
                if message.code != AWAY:
                    raise ProtocolError(f"closed with {message.code}: {message.reason}")
                await losses.wait(ConnectionLost("the daemon leaves"))
                await self._calls.persist(self._attach_again, again=True)
            elif self._told(json.loads(message)):
                return

    def _told(self, told: Any) -> bool:
        """Whether that was all."""
        if told["type"] == "ended":
            self.outcome = told["outcome"]
        elif told["type"] == "gap":
            self.offset = max(self.offset, told["offset"] + (told["lost"] or 0))
        elif told["type"] == "refused":
            raise InputRefused(told["why"])
        return bool(told["type"] == "ended")

    def _count(self, data: bytes) -> None:
        drawn = min(self._replay, len(data))
        self._replay -= drawn
        self.offset += len(data) - drawn

    async def _attach(self) -> None:
        socket = await WebSocket.open(self._calls.address, self._path, self._query)
        try:
            first = await socket.receive()
        except BaseException:
            socket.abort()
            raise
        if isinstance(first, Closed) and first.code == AWAY:
            raise ConnectionLost("the daemon leaves")
        told = json.loads(first) if isinstance(first, str) else {}
        if told.get("type") != "attached":
            socket.abort()
            raise ProtocolError("a terminal that does not say where it is")
        self._socket = socket
        self.connections += 1
        self._replay, self.offset = told["replay"], told["offset"]

    async def _attach_again(self) -> None:
        if self._socket is not None:
            self._socket.abort()
            self._socket = None
        drop = ("replay", "tail")
        self._query = {name: value for name, value in self._query.items() if name not in drop}
        self._query["from"] = self.offset
        await self._attach()

    async def _say(self, message: Mapping[str, Scalar]) -> None:
        await self._open_socket().send(json.dumps(message))

    def _open_socket(self) -> WebSocket:
        if self._socket is None:
            raise ConnectionLost("there is no connection now")
        return self._socket


