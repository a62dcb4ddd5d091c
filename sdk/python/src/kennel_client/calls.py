"""Requests to one daemon, which may die and come back meanwhile."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from pathlib import Path
from typing import Awaitable, Callable, TypeVar

from .address import Address
from .errors import ConnectionLost, KennelProblem, Unreachable
from .http import Exchange, Request, Scalar

T = TypeVar("T")

log = logging.getLogger("kennel_client")

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
HELD = 1.0
"""A connection that was lost after so many seconds had been a good one: the time for losses begins anew."""
STARTED_AGAIN = 2.0
"""A daemon that crashed is back before that, if its yard lives; else somebody must start it."""


class Starter:
    """Starts the daemon of a home, if it does not run, by the program `kennel`."""

    def __init__(self, program: str, home: Path) -> None:
        self._program = program
        self._home = home

    async def start(self) -> None:
        """Comes back when it is there. A failure is told by whoever does not find it then."""
        environment = {**os.environ, "KENNEL_HOME": str(self._home)}
        null = asyncio.subprocess.DEVNULL
        command = (self._program, "daemon", "start")
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=environment, stdin=null, stdout=null, stderr=asyncio.subprocess.PIPE
            )
        except OSError as error:
            log.warning("the daemon can't be started: %s: %s", self._program, error.strerror)
            return
        try:
            _, said = await process.communicate()
        except asyncio.CancelledError:
            # It does one thing, and that is harmless: it ends by itself.
            log.debug("a start of the daemon goes on without us")
            raise
        if process.returncode:
            log.warning("the daemon can't be started: %s", said.decode(errors="replace").strip())


class Losses:
    """How long connections have been lost in a row."""

    def __init__(self, patience: float, starter: Starter | None) -> None:
        self._patience = patience
        self._starter = starter
        self._since: float | None = None
        self._began = time.monotonic()
        self._pause = FIRST_PAUSE

    def over(self) -> None:
        """Something was heard."""
        self._since = None
        self._pause = FIRST_PAUSE

    async def wait(self, error: Exception) -> None:
        """Before the next attempt. Raises the error if there have been enough."""
        now = time.monotonic()
        if not isinstance(error, Unreachable) and now - self._began > HELD:
            self.over()
        if self._since is None:
            self._since = now
        waited = now - self._since
        if waited >= self._patience:
            raise error
        if isinstance(error, Unreachable) and self._starter is not None:
            absent = isinstance(error.__cause__, FileNotFoundError)
            if absent or waited >= min(STARTED_AGAIN, self._patience / 2):
                starter, self._starter = self._starter, None
                await starter.start()
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self._began = time.monotonic()


class Calls:
    """See the module."""

    def __init__(self, address: Address, patience: float, starter: Starter | None = None) -> None:
        self.address = address
        self._patience = patience
        self._starter = starter

    def losses(self) -> Losses:
        """For a new series of attempts."""
        return Losses(self._patience, self._starter)

    async def begin(self, request: Request) -> Exchange:
        """Sends a request, once."""
        return await Exchange.begin(self.address, request)

    async def persist(self, attempt: Callable[[], Awaitable[T]], *, again: bool) -> T:
        """Makes attempts until one is answered. After a request was sent, only if it may be sent again."""
        losses = self.losses()
        while True:
            try:
                return await attempt()
            except Unreachable as error:
                await losses.wait(error)
            except ConnectionLost as error:
                if not again:
                    raise
                await losses.wait(error)
            except KennelProblem as problem:
                if not (again and is_leaving(problem)):
                    raise
                await losses.wait(problem)

    async def call(self, request: Request, *, again: bool) -> object:
        """Asks, and gives the JSON of the answer. `again` says that it does no harm twice."""

        async def attempt() -> object:
            exchange = await self.begin(request)
            try:
                return await exchange.answer()
            finally:
                exchange.close()

        return await self.persist(attempt, again=again)

    async def get(self, path: str, **query: Scalar) -> object:
        """Reads something."""
        return await self.call(Request("GET", path, query), again=True)

    async def post(self, path: str, body: object = None, *, again: bool = False, **query: Scalar) -> object:
        """Has something done."""
        return await self.call(Request("POST", path, query, {} if body is None else body), again=again)

    async def delete(self, path: str, **query: Scalar) -> object:
        """Has something removed."""
        return await self.call(Request("DELETE", path, query), again=False)


def is_leaving(problem: KennelProblem) -> bool:
    """Whether it says that the daemon is just going: the next one is there soon."""
    return problem.code == "gone"
