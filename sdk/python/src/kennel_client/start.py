"""A request that starts something, and that can be cancelled at any moment without leaving it running.

```text
connect ── sent ── response
              └── cancelled: the connection stays open, so that the request can't arrive unnoticed later;
                  what it created is found and ended; after the response, `CancelledError` is raised
```
"""

from __future__ import annotations

import asyncio
from typing import Awaitable, Callable

from .api import ApiClient, log
from .cancel import run_despite_cancel
from .errors import ConnectionLost, KennelError
from .http import Exchange, Request

POLL_INTERVAL = 0.2
"""How long to wait for the response before looking for the created session again, in seconds."""


class CancellableStart:
    """See the module documentation."""

    def __init__(self, api: ApiClient, request: Request, *, repeatable: bool, end: Callable[[object], Awaitable[None]]) -> None:
        """`end` ends what was created: the object in the response, or without one, what it finds. It must be idempotent."""
        self._api = api
        self._request = request
        self._repeatable = repeatable
        self._end = end
        self._exchange: Exchange | None = None

    async def run(self) -> object:
        """Sends the request and returns the response."""
        try:
            return await self._api.persist(self._attempt, repeatable=self._repeatable)
        except asyncio.CancelledError:
            await self._cancel()
            raise
        except ConnectionLost:
            if self._repeatable:
                # The daemon did not come back. If the session was created, it is recorded.
                log.warning("the daemon is not responding; the session may have been started: %s", self._request.path)
            raise
        finally:
            self._close()

    async def _attempt(self) -> object:
        self._close()
        self._exchange = await self._api.begin(self._request)
        return await self._exchange.answer()

    async def _cancel(self) -> None:
        if self._exchange is None:
            return
        try:
            while not (await run_despite_cancel(self._end_created))[0]:
                pass
        except KennelError as error:
            log.warning("can't end the cancelled session: %s", error)

    async def _end_created(self) -> bool:
        """Ends what was created. Returns True if nothing more can be created."""
        exchange = self._exchange
        if exchange is None:
            return True
        try:
            answer: object = await asyncio.wait_for(exchange.answer(), POLL_INTERVAL)
        except asyncio.TimeoutError:
            await self._end(None)
            return False
        except ConnectionLost:
            # That daemon is dead; the next one knows its recorded sessions.
            await self._end(None)
            return True
        except KennelError:
            # The request was refused, so nothing was created.
            return True
        await self._end(answer)
        return True

    def _close(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None
