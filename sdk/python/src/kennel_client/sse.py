"""Server-sent events, and streams of them that go on where they were when a daemon comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import AsyncGenerator, Mapping

from .calls import Calls, is_leaving
from .errors import ConnectionLost, KennelProblem, Unreachable
from .http import Exchange, Request, Scalar

SILENCE = 60.0
"""The daemon says that it is alive four times as often."""


@dataclass(frozen=True)
class ServerSent:
    """An event."""

    id: str | None
    name: str
    data: str


class Parser:
    """Takes bytes, gives events."""

    def __init__(self) -> None:
        self._rest = b""
        self._id: str | None = None
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerSent]:
        """The events that are complete now."""
        text = self._rest + piece
        lines = text.splitlines(keepends=True)
        # One that ends with a CR may end with CR LF.
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
    calls: Calls, path: str, query: Mapping[str, Scalar], *, ends: bool = False
) -> AsyncGenerator[ServerSent, None]:
    """Events for as long as there are any: over the death of a daemon, none is lost and none comes twice.

    `ends` says that the stream is over when it comes to an orderly end; else there is more to come then.
    """
    last: str | None = None
    losses = calls.losses()
    while True:
        exchange: Exchange | None = None
        lost: Exception = ConnectionLost("the stream ended, though there is more to come")
        try:
            headers = {"Accept": "text/event-stream"}
            if last is not None:
                headers["Last-Event-ID"] = last
            exchange = await calls.begin(Request("GET", path, query, headers=headers))
            head = await exchange.head()
            if head.status == 204:
                return
            if head.status != 200:
                await exchange.answer()
            parser = Parser()
            async for piece in exchange.pieces(SILENCE):
                losses.over()
                for event in parser.feed(piece):
                    last = event.id
                    yield event
            if ends:
                return
        except (Unreachable, ConnectionLost) as error:
            lost = error
        except KennelProblem as problem:
            if not is_leaving(problem):
                raise
            lost = problem
        finally:
            if exchange is not None:
                exchange.close()
        await losses.wait(lost)
