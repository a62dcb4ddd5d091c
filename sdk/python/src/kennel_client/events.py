"""The event log."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, AsyncGenerator, Mapping, Sequence

from .calls import Calls
from .errors import ConnectionLost, Unreachable
from .http import Request, Scalar
from .sse import follow

EVENTS = "/v1/events"


@dataclass(frozen=True)
class Event:
    """Something that has happened."""

    seq: int
    """Its number: growing, without gaps."""
    kind: str
    """`reserved`, `running`, `reaped`, …; `missed` if some are not kept any more, `reset` if the log is another."""
    cause: str
    session: str | None
    time: str
    by: str | None

    @staticmethod
    def of(view: Any) -> Event:
        """From what the API tells."""
        return Event(view["seq"], view["kind"], view["cause"], view["session"], view["time"], view["by"])


def _told(name: str, data: Any) -> Event:
    if name == "missed":
        cause = f"events {data['from']} to {data['to']} are not kept any more"
        return Event(data["to"], "missed", cause, None, "", None)
    if name == "reset":
        cause = f"event {data['asked']} was asked for, and the latest is {data['latest']}: this is another log"
        return Event(data["latest"], "reset", cause, None, "", None)
    return Event.of(data)


async def following(calls: Calls, query: Mapping[str, Scalar]) -> AsyncGenerator[Event, None]:
    """Events as they happen, without end."""
    async with aclosing(follow(calls, EVENTS, {**query, "follow": True})) as events:
        async for event in events:
            yield _told(event.name, json.loads(event.data))


async def so_far(calls: Calls, query: Mapping[str, Scalar]) -> AsyncGenerator[Event, None]:
    """Events up to now."""
    losses = calls.losses()
    since = query.get("since")
    while True:
        try:
            lines = Request("GET", EVENTS, {**query, "since": since}, headers={"Accept": "application/x-ndjson"})
            exchange = await calls.begin(lines)
            try:
                if (await exchange.head()).status != 200:
                    await exchange.answer()
                rest = b""
                async for piece in exchange.pieces():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in whole:
                        event = Event.of(json.loads(line))
                        since = event.seq
                        losses.over()
                        yield event
                return
            finally:
                exchange.close()
        except (Unreachable, ConnectionLost) as error:
            await losses.wait(error)


def kinds(given: Sequence[str]) -> str | None:
    """As a query has them."""
    return ",".join(given) or None
