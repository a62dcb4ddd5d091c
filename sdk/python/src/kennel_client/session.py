"""A session: an agent that Kennel runs, with all that it starts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, AsyncGenerator, Awaitable, Callable, Literal, Mapping, cast

from . import output as printed
from .calls import Calls, log
from .cancel import steadily
from .errors import KennelError, StillAlive
from .http import path
from .output import Chunk, Stream
from .terminal import Terminal
from .types import Exit, InspectView, Reason, SessionView, StopAnswer

ENDED = ("reaped", "cleaned")


@dataclass(frozen=True)
class Outcome:
    """How a session ended."""

    exit_code: int | None
    """The code that a shell would show; none if nobody knows."""
    exit: Exit | None
    """The agent's own word, or `unknown` with the reason."""
    reason: Reason | None
    """Why it ended."""
    view: SessionView = field(repr=False)
    """All of it, as the API has it."""

    @property
    def succeeded(self) -> bool:
        """Whether it exited with 0."""
        return self.exit_code == 0

    @staticmethod
    def of(view: SessionView) -> Outcome:
        """From what the API tells."""
        return Outcome(view["exit_code"], view["exit"], view["reason"], view)


class Session:
    """One that exists, or has."""

    def __init__(self, calls: Calls, view: SessionView) -> None:
        self._calls = calls
        self.view = view
        """As it was last seen."""
        self.ours = True
        """Whether it was begun for us: not if another request with the same key was first."""

    @property
    def id(self) -> str:
        """Its id, which all its launches share."""
        return self.view.get("session") or self.view["id"]

    @property
    def name(self) -> str | None:
        """Its name, if it has one."""
        return self.view["name"]

    @property
    def phase(self) -> str:
        """What was seen of it last."""
        return self.view["phase"]

    @property
    def pid(self) -> int | None:
        """The agent's pid, for people to read: to end it there is `stop`."""
        return self.view["pid"]

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.name or ''} {self.phase}>"

    async def refresh(self) -> SessionView:
        """Looks again."""
        self.view = cast(SessionView, await self._calls.get(self._path()))
        return self.view

    async def wait(self) -> Outcome:
        """Comes when it is over; for that of a prompt, when its verdict is on record. A cancel does not stop it."""
        self.view = cast(SessionView, await self._calls.get(self._path("wait")))
        return Outcome.of(self.view)

    async def stop(self, *, grace: float | None = None, now: bool = False, check: bool = True) -> StopAnswer:
        """Ends all of it: TERM, and after the grace (in seconds) KILL, until nobody is seen to be left.

        Raises `StillAlive` if somebody is, unless told not to check.
        """
        wish = {"now": now, "by": "kennel_client", **({} if grace is None else {"grace_ms": round(grace * 1000)})}
        answer = cast(StopAnswer, await self._calls.post(self._path("stop"), wish, again=True))
        self.view = answer["session"]
        if check and answer["result"] == "still_alive":
            raise StillAlive(self.id, answer["survivors"])
        return answer

    def output(
        self, *, follow: bool = False, stream: Stream = "both", tail: int | None = None, offset: int | None = None
    ) -> AsyncGenerator[Chunk, None]:
        """What it has printed; with `follow` until it has ended. From this offset on, or only the last lines."""
        query = {"follow": follow, "stream": stream, "tail": tail, "from": offset}
        return printed.read(self._calls, self._path("output"), query)

    async def text(self, *, stream: Stream = "both") -> str:
        """All that it has printed and that is kept."""
        return b"".join([chunk.data async for chunk in self.output(stream=stream)]).decode("utf-8", "replace")

    async def send(self, data: bytes | str = b"", *, eof: bool = False) -> None:
        """Gives it input, and maybe the end of it. It was started with `stdin="pipe"` or a terminal."""
        data = data.encode() if isinstance(data, str) else data
        await self._calls.post(self._path("input"), {"hex": data.hex(), "eof": eof})

    async def signal(self, number: int) -> None:
        """Sends a signal to its agent."""
        await self._calls.post(self._path("signal"), {"signal": int(number)})

    async def inspect(self) -> InspectView:
        """Its processes, what they use, and all that happened to it."""
        return cast(InspectView, await self._calls.get(self._path("inspect")))

    async def remove(self) -> None:
        """Removes it from the record, once it has ended."""
        await self._calls.delete(self._path())

    def terminal(
        self,
        *,
        columns: int | None = None,
        rows: int | None = None,
        replay: Literal["screen", "none", "all"] | None = None,
        read_only: bool = False,
    ) -> Terminal:
        """Sits down in front of it, as an async context manager."""
        query = {"cols": columns, "rows": rows, "replay": replay, "read_only": read_only}
        return Terminal(self._calls, self._path("terminal"), query)

    def _path(self, *more: str) -> str:
        return path("v1", "sessions", self.id, *more)


class Block:
    """A session for the length of an `async with`: leaving the block, in whatever way, stops it wholly."""

    def __init__(self, start: Callable[[], Awaitable[Session]], grace: float | None) -> None:
        self._start = start
        self._grace = grace
        self._session: Session | None = None

    async def __aenter__(self) -> Session:
        self._session = await self._start()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session = self._session
        if session is None or not session.ours:
            return
        try:
            # If it has ended, this says so.
            _, cancelled = await steadily(lambda: session.stop(grace=self._grace))
        except KennelError as failure:
            if error is None:
                raise
            # What happened in the block is the more important one.
            log.warning("session %s is not stopped: %s", session.id, failure)
            return
        if cancelled and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError


def live(views: list[Any]) -> list[SessionView]:
    """Those that have not ended."""
    return [view for view in cast("list[SessionView]", views) if view["phase"] not in ENDED]


def numbers(given: Mapping[str, float | None]) -> dict[str, int]:
    """Seconds, as the API has them: in milliseconds, with `_ms` behind the name."""
    return {f"{name}_ms": round(value * 1000) for name, value in given.items() if value is not None}
