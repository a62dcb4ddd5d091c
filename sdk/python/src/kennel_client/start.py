"""A request that starts something, and that can be cancelled at any moment without leaving it behind.

```text
connect ── sent ── answered: it is ours
              └── cancelled: the connection stays, so that the request can't arrive unseen later;
                  what it has made is looked for and ended until it is answered; then the cancel goes on
```
"""

from __future__ import annotations

import asyncio
from typing import Awaitable, Callable

from .calls import Calls, log
from .cancel import steadily
from .errors import ConnectionLost, KennelError
from .http import Exchange, Request

LOOK_AGAIN = 0.2
"""How long an answer is waited for between two looks."""


class Start:
    """See the module."""

    def __init__(self, calls: Calls, request: Request, *, again: bool, end: Callable[[object], Awaitable[None]]) -> None:
        """`end` ends what was made: that of this answer, or, if there is none, whatever it finds. It may be repeated."""
        self._calls = calls
        self._request = request
        self._again = again
        self._end = end
        self._exchange: Exchange | None = None

    async def run(self) -> object:
        """The answer."""
        try:
            return await self._calls.persist(self._attempt, again=self._again)
        except asyncio.CancelledError:
            await self._call_off()
            raise
        except ConnectionLost:
            if self._again:
                # Nobody came back: what there may be is on record, and belongs to the daemon.
                log.warning("nobody answers any more; what was started may run: %s", self._request.path)
            raise
        finally:
            self._close()

    async def _attempt(self) -> object:
        self._close()
        self._exchange = await self._calls.begin(self._request)
        return await self._exchange.answer()

    async def _call_off(self) -> None:
        if self._exchange is None:
            return
        try:
            while not (await steadily(self._settle))[0]:
                pass
        except KennelError as error:
            log.warning("it was cancelled, and can't be ended for now: %s", error)

    async def _settle(self) -> bool:
        """Ends what there is. True if there can't be more."""
        exchange = self._exchange
        if exchange is None:
            return True
        try:
            answer: object = await asyncio.wait_for(exchange.answer(), LOOK_AGAIN)
        except asyncio.TimeoutError:
            await self._end(None)
            return False
        except ConnectionLost:
            # That daemon is dead; what it had on record is known to the next.
            await self._end(None)
            return True
        except KennelError:
            # It was refused: there is nothing.
            return True
        await self._end(answer)
        return True

    def _close(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None
