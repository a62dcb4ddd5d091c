"""Server-sent events, and streams that resume across daemon restarts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import AsyncGenerator, Mapping

from .api import ApiClient, is_shutting_down
from .errors import ConnectionLost, KennelProblem, Unreachable
from .http import Exchange, Request, Scalar

SILENCE = 60.0
"""A stream without data for this many seconds is lost. The daemon sends heartbeats four times as often."""


@dataclass(frozen=True)
class ServerSent:
    """A server-sent event."""

    id: str | None
    name: str
    data: str


class Parser:
    """Parses events from bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._id: str | None = None
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerSent]:
        """Adds bytes and returns the events that are now complete."""
        text = self._rest + piece
        lines = text.splitlines(keepends=True)
        # A line that ends with CR may continue with LF.
        open_ended = bool(lines) and not lines[-1].endswith(b"\n")
        self._rest = lines.pop() if open_ended else b""
        events = []
        for line in lines:
            event = self._line(line.rstrip(b"\r\n").decode("utf-8", "replace"))
            if event is not None:
                events.append(event)
        return events

    def _line(self, line: str) -> ServerSent | None:
        if not line:
            data, name = self._data, self._name
            self._data, self._name = [], ""
            return ServerSent(self._id, name or "message", "\n".join(data)) if data else None
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None


async def follow(
    api: ApiClient, path: str, query: Mapping[str, Scalar], *, ends: bool = False
) -> AsyncGenerator[ServerSent, None]:
    """Yields the events of a stream, across daemon crashes without loss or repetition.

    `ends`: a regular end of the response is the end of the stream; otherwise the stream is resumed.
    """
    last: str | None = None
    timer = api.reconnect_timer()
    while True:
        exchange: Exchange | None = None
        lost: Exception = ConnectionLost("the stream ended early")
        try:
            headers = {"Accept": "text/event-stream"}
            if last is not None:
                headers["Last-Event-ID"] = last
            exchange = await api.begin(Request("GET", path, query, headers=headers))
            head = await exchange.head()
            if head.status == 204:
                return
            if head.status != 200:
                await exchange.answer()
            parser = Parser()
            async for piece in exchange.pieces(SILENCE):
                timer.reset()
                for event in parser.feed(piece):
                    last = event.id
                    yield event
            if ends:
                return
        except (Unreachable, ConnectionLost) as error:
            lost = error
        except KennelProblem as problem:
            if not is_shutting_down(problem):
                raise
            lost = problem
        finally:
            if exchange is not None:
                exchange.close()
        await timer.wait(lost)
