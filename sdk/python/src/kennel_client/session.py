"""Sessions: agents with every process they start."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import AsyncGenerator, Awaitable, Callable, Literal, Mapping, cast

from . import output as output_stream
from .api import ApiClient, log
from .cancel import run_despite_cancel
from .errors import KennelError, StillAlive
from .http import path
from .output import Chunk, Stream
from .terminal import Terminal
from .types import Exit, InspectView, Reason, SessionView, StopResponse

ENDED = ("reaped", "cleaned")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a session."""

    exit_code: int | None
    """The exit code as a shell shows it; None if unknown."""
    exit: Exit | None
    """The exit status of the agent, or `unknown` with the reason."""
    reason: Reason | None
    """Why it ended."""
    view: SessionView = field(repr=False)
    """The complete API response."""

    @property
    def succeeded(self) -> bool:
        """Whether it exited with 0."""
        return self.exit_code == 0

    @staticmethod
    def of(view: SessionView) -> Outcome:
        """Creates an outcome from an API response."""
        return Outcome(view["exit_code"], view["exit"], view["reason"], view)


class Session:
    """A session that exists or existed."""

    def __init__(self, api: ApiClient, view: SessionView) -> None:
        self._api = api
        self.view = view
        """The last loaded view."""
        self.created_by_request = True
        """False if an earlier request with the same key created the session."""

    @property
    def id(self) -> str:
        """The id, which all launches share."""
        return self.view.get("session") or self.view["id"]

    @property
    def name(self) -> str | None:
        """The name, if it has one."""
        return self.view["name"]

    @property
    def phase(self) -> str:
        """The phase at the last load."""
        return self.view["phase"]

    @property
    def pid(self) -> int | None:
        """The pid of the agent, for display only. Use `stop` to end the session."""
        return self.view["pid"]

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.name or ''} {self.phase}>"

    async def refresh(self) -> SessionView:
        """Loads the current view."""
        self.view = cast(SessionView, await self._api.get(self._path()))
        return self.view

    async def wait(self) -> Outcome:
        """Waits until the session has ended (for a prompt, until its verdict is recorded). Cancelling the wait does not stop it."""
        self.view = cast(SessionView, await self._api.get(self._path("wait")))
        return Outcome.of(self.view)

    async def stop(self, *, grace: float | None = None, now: bool = False, check: bool = True) -> StopResponse:
        """Stops the session: SIGTERM to every process, and SIGKILL after the grace period (in seconds).

        Returns when no process is left. Raises `StillAlive` if processes survive, unless `check` is False.
        """
        body = {"now": now, "by": "kennel_client", **({} if grace is None else {"grace_ms": round(grace * 1000)})}
        answer = cast(StopResponse, await self._api.post(self._path("stop"), body, repeatable=True))
        self.view = answer["session"]
        if check and answer["result"] == "still_alive":
            raise StillAlive(self.id, answer["survivors"])
        return answer

    def output(
        self, *, follow: bool = False, stream: Stream = "both", tail: int | None = None, offset: int | None = None
    ) -> AsyncGenerator[Chunk, None]:
        """Reads the output; with `follow`, until the launch ends. Starts at `offset`, or `tail` lines before the end."""
        query = {"follow": follow, "stream": stream, "tail": tail, "from": offset}
        return output_stream.read(self._api, self._path("output"), query)

    async def text(self, *, stream: Stream = "both") -> str:
        """Returns the whole recorded output."""
        return b"".join([chunk.data async for chunk in self.output(stream=stream)]).decode("utf-8", "replace")

    async def send(self, data: bytes | str = b"", *, eof: bool = False) -> None:
        """Sends input; with `eof`, closes it afterwards. Requires `stdin="pipe"` or a terminal."""
        data = data.encode() if isinstance(data, str) else data
        await self._api.post(self._path("input"), {"hex": data.hex(), "eof": eof})

    async def signal(self, number: int) -> None:
        """Sends a signal to every process in the pen."""
        await self._api.post(self._path("signal"), {"signal": int(number)})

    async def inspect(self) -> InspectView:
        """Returns all details: processes, usage and events."""
        return cast(InspectView, await self._api.get(self._path("inspect")))

    async def remove(self) -> None:
        """Removes the record of an ended session."""
        await self._api.delete(self._path())

    def terminal(
        self,
        *,
        columns: int | None = None,
        rows: int | None = None,
        replay: Literal["screen", "none", "all"] | None = None,
        read_only: bool = False,
    ) -> Terminal:
        """Attaches to its terminal; use it as an async context manager."""
        query = {"cols": columns, "rows": rows, "replay": replay, "read_only": read_only}
        return Terminal(self._api, self._path("terminal"), query)

    def _path(self, *more: str) -> str:
        return path("v1", "sessions", self.id, *more)


class SessionBlock:
    """Runs a session for the duration of an `async with` block. Leaving the block in any way stops it."""

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
        if session is None or not session.created_by_request:
            return
        try:
            # Stopping an ended session is not an error.
            _, cancelled = await run_despite_cancel(lambda: session.stop(grace=self._grace))
        except KennelError as failure:
            if error is None:
                raise
            # The exception of the block is more important.
            log.warning("can't stop session %s: %s", session.id, failure)
            return
        if cancelled and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError


def is_live(view: SessionView) -> bool:
    """Whether the session has not ended."""
    return view["phase"] not in ENDED


def milliseconds(given: Mapping[str, float | None]) -> dict[str, int]:
    """Converts seconds to the API's fields: milliseconds, with `_ms` appended to the name."""
    return {f"{name}_ms": round(value * 1000) for name, value in given.items() if value is not None}
