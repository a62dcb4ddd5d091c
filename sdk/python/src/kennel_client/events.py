"""The event log."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, AsyncGenerator, Mapping, Sequence

from .api import ApiClient
from .errors import ConnectionLost, Unreachable
from .http import Request, Scalar
from .sse import follow

EVENTS = "/v1/events"


@dataclass(frozen=True)
class Event:
    """An event."""

    seq: int
    """The sequence number, without gaps."""
    kind: str
    """`reserved`, `running`, `reaped`, …; `missed`: events are no longer recorded; `reset`: the log was replaced."""
    cause: str
    session: str | None
    time: str
    by: str | None

    @staticmethod
    def of(view: Any) -> Event:
        """Creates an event from an API response."""
        return Event(view["seq"], view["kind"], view["cause"], view["session"], view["time"], view["by"])


def _from_stream(name: str, data: Any) -> Event:
    if name == "missed":
        cause = f"events {data['from']} to {data['to']} are no longer recorded"
        return Event(data["to"], "missed", cause, None, "", None)
    if name == "reset":
        cause = f"the log was replaced: event {data['asked']} was requested, but the latest is {data['latest']}"
        return Event(data["latest"], "reset", cause, None, "", None)
    return Event.of(data)


async def following(api: ApiClient, query: Mapping[str, Scalar]) -> AsyncGenerator[Event, None]:
    """Follows the event log without end."""
    async with aclosing(follow(api, EVENTS, {**query, "follow": True})) as events:
        async for event in events:
            yield _from_stream(event.name, json.loads(event.data))


async def recorded(api: ApiClient, query: Mapping[str, Scalar]) -> AsyncGenerator[Event, None]:
    """Yields the recorded events."""
    timer = api.reconnect_timer()
    since = query.get("since")
    while True:
        try:
            lines = Request("GET", EVENTS, {**query, "since": since}, headers={"Accept": "application/x-ndjson"})
            exchange = await api.begin(lines)
            try:
                if (await exchange.head()).status != 200:
                    await exchange.answer()
                rest = b""
                async for piece in exchange.pieces():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in whole:
                        event = Event.of(json.loads(line))
                        since = event.seq
                        timer.reset()
                        yield event
                return
            finally:
                exchange.close()
        except (Unreachable, ConnectionLost) as error:
            await timer.wait(error)


def kinds(given: Sequence[str]) -> str | None:
    """Formats kinds for the query."""
    return ",".join(given) or None
