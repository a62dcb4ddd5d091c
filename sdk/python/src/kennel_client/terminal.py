"""The terminal of a session."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, AsyncGenerator, Mapping

from .api import ApiClient
from .errors import ConnectionLost, InputRefused, ProtocolError
from .http import Scalar
from .websocket import Closed, WebSocket

AWAY = 1001
"""The close code of a daemon that is shutting down."""
PIECE = 32 * 1024
"""The longest input in one message, in bytes."""


class Terminal:
    """A connection to a session's terminal, as an async context manager.

    Iterating yields the output as bytes until the session ends. It continues across daemon crashes without loss or
    repetition. Input is not sent twice: `send` raises `ConnectionLost` if it is unknown whether it arrived.
    """

    def __init__(self, api: ApiClient, path: str, query: Mapping[str, Scalar]) -> None:
        self._api = api
        self._path = path
        self._query = dict(query)
        self._socket: WebSocket | None = None
        self._replay = 0
        self.offset = 0
        """The offset up to which the output was read."""
        self.connections = 0
        """How often it was connected: more than once after daemon crashes."""
        self.outcome: Mapping[str, Any] | None = None
        """The outcome of the session, after it has ended."""

    async def __aenter__(self) -> Terminal:
        await self._api.persist(self._attach, repeatable=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            await self._socket.close()
            self._socket = None

    async def send(self, data: bytes | str) -> None:
        """Sends input."""
        data = data.encode() if isinstance(data, str) else data
        for at in range(0, len(data), PIECE):
            await self._open_socket().send(data[at : at + PIECE])

    async def resize(self, columns: int, rows: int) -> None:
        """Changes the size of the terminal."""
        self._query.update(cols=columns, rows=rows)
        await self._send_control({"type": "resize", "cols": columns, "rows": rows})

    async def eof(self) -> None:
        """Closes the input."""
        await self._send_control({"type": "eof"})

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        timer = self._api.reconnect_timer()
        while True:
            try:
                message = await self._open_socket().receive()
            except ConnectionLost as error:
                await timer.wait(error)
                await self._api.persist(self._reattach, repeatable=True)
                continue
            timer.reset()
            if isinstance(message, bytes):
                self._count(message)
                yield message
            elif isinstance(message, Closed):
                if message.code != AWAY:
                    raise ProtocolError(f"closed with {message.code}: {message.reason}")
                await timer.wait(ConnectionLost("the daemon is shutting down"))
                await self._api.persist(self._reattach, repeatable=True)
            elif self._handle_control(json.loads(message)):
                return

    def _handle_control(self, message: Any) -> bool:
        """Handles a control message. Returns whether the session has ended."""
        if message["type"] == "ended":
            self.outcome = message["outcome"]
        elif message["type"] == "gap":
            self.offset = max(self.offset, message["offset"] + (message["lost"] or 0))
        elif message["type"] == "refused":
            raise InputRefused(message["why"])
        return bool(message["type"] == "ended")

    def _count(self, data: bytes) -> None:
        drawn = min(self._replay, len(data))
        self._replay -= drawn
        self.offset += len(data) - drawn

    async def _attach(self) -> None:
        socket = await WebSocket.open(self._api.address, self._path, self._query)
        try:
            first = await socket.receive()
        except BaseException:
            socket.abort()
            raise
        if isinstance(first, Closed) and first.code == AWAY:
            raise ConnectionLost("the daemon is shutting down")
        message = json.loads(first) if isinstance(first, str) else {}
        if message.get("type") != "attached":
            socket.abort()
            raise ProtocolError("expected an `attached` message")
        self._socket = socket
        self.connections += 1
        self._replay, self.offset = message["replay"], message["offset"]

    async def _reattach(self) -> None:
        if self._socket is not None:
            self._socket.abort()
            self._socket = None
        drop = ("replay", "tail")
        self._query = {name: value for name, value in self._query.items() if name not in drop}
        self._query["from"] = self.offset
        await self._attach()

    async def _send_control(self, message: Mapping[str, Scalar]) -> None:
        await self._open_socket().send(json.dumps(message))

    def _open_socket(self) -> WebSocket:
        if self._socket is None:
            raise ConnectionLost("the connection is lost")
        return self._socket


