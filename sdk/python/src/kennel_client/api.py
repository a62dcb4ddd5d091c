"""Requests to a daemon that may restart in the meantime."""

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
MAX_PAUSE = 0.5
HEALTHY_AFTER = 1.0
"""A connection that lasted this many seconds was healthy: its loss restarts the timeout."""
RESTARTED_AFTER = 2.0
"""If the yard is alive, a crashed daemon is back within this many seconds; otherwise it must be started."""


class DaemonStarter:
    """Starts the daemon of a home with the `kennel` program, if it is not running."""

    def __init__(self, program: str, home: Path) -> None:
        self._program = program
        self._home = home

    async def start(self) -> None:
        """Returns when the daemon is running. A failure is only logged: the next request reports it."""
        environment = {**os.environ, "KENNEL_HOME": str(self._home)}
        null = asyncio.subprocess.DEVNULL
        command = (self._program, "daemon", "start")
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=environment, stdin=null, stdout=null, stderr=asyncio.subprocess.PIPE
            )
        except OSError as error:
            log.warning("can't start the daemon: %s: %s", self._program, error.strerror)
            return
        try:
            _, stderr = await process.communicate()
        except asyncio.CancelledError:
            # The process is harmless and ends by itself.
            log.debug("the start of the daemon continues in the background")
            raise
        if process.returncode:
            log.warning("can't start the daemon: %s", stderr.decode(errors="replace").strip())


class ReconnectTimer:
    """Pauses between attempts to reconnect, up to a timeout."""

    def __init__(self, timeout: float, starter: DaemonStarter | None) -> None:
        self._timeout = timeout
        self._starter = starter
        self._since: float | None = None
        self._began = time.monotonic()
        self._pause = FIRST_PAUSE

    def reset(self) -> None:
        """Restarts the timeout after a successful response."""
        self._since = None
        self._pause = FIRST_PAUSE

    async def wait(self, error: Exception) -> None:
        """Pauses before the next attempt. Raises the error when the timeout is reached."""
        now = time.monotonic()
        if not isinstance(error, Unreachable) and now - self._began > HEALTHY_AFTER:
            self.reset()
        if self._since is None:
            self._since = now
        waited = now - self._since
        if waited >= self._timeout:
            raise error
        if isinstance(error, Unreachable) and self._starter is not None:
            absent = isinstance(error.__cause__, FileNotFoundError)
            if absent or waited >= min(RESTARTED_AFTER, self._timeout / 2):
                starter, self._starter = self._starter, None
                await starter.start()
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 2, MAX_PAUSE)
        self._began = time.monotonic()


class ApiClient:
    """Sends API requests and repeats them where that is safe."""

    def __init__(self, address: Address, reconnect_timeout: float, starter: DaemonStarter | None = None) -> None:
        self.address = address
        self._reconnect_timeout = reconnect_timeout
        self._starter = starter

    def reconnect_timer(self) -> ReconnectTimer:
        """Returns a timer for a new series of attempts."""
        return ReconnectTimer(self._reconnect_timeout, self._starter)

    async def begin(self, request: Request) -> Exchange:
        """Sends a request once."""
        return await Exchange.begin(self.address, request)

    async def persist(self, attempt: Callable[[], Awaitable[T]], *, repeatable: bool) -> T:
        """Repeats an attempt until there is a response. `repeatable`: it is safe to repeat after it was sent."""
        timer = self.reconnect_timer()
        while True:
            try:
                return await attempt()
            except Unreachable as error:
                await timer.wait(error)
            except ConnectionLost as error:
                if not repeatable:
                    raise
                await timer.wait(error)
            except KennelProblem as problem:
                if not (repeatable and is_shutting_down(problem)):
                    raise
                await timer.wait(problem)

    async def call(self, request: Request, *, repeatable: bool) -> object:
        """Sends a request and returns the JSON response. `repeatable`: it is safe to repeat."""

        async def attempt() -> object:
            exchange = await self.begin(request)
            try:
                return await exchange.answer()
            finally:
                exchange.close()

        return await self.persist(attempt, repeatable=repeatable)

    async def get(self, path: str, **query: Scalar) -> object:
        """Sends a GET request."""
        return await self.call(Request("GET", path, query), repeatable=True)

    async def post(self, path: str, body: object = None, *, repeatable: bool = False, **query: Scalar) -> object:
        """Sends a POST request."""
        return await self.call(Request("POST", path, query, {} if body is None else body), repeatable=repeatable)

    async def delete(self, path: str, **query: Scalar) -> object:
        """Sends a DELETE request."""
        return await self.call(Request("DELETE", path, query), repeatable=False)


def is_shutting_down(problem: KennelProblem) -> bool:
    """Whether the daemon is shutting down, so that the next one can respond soon."""
    return problem.code == "gone"
