"""What must be done is done, however often somebody cancels meanwhile."""

from __future__ import annotations

import asyncio
from typing import Awaitable, Callable, TypeVar

T = TypeVar("T")


async def steadily(step: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
    """Takes a step that does no harm twice, again if a cancel interrupts it; says whether one did.

    The step is not shielded in a task of its own: when a loop is shut down, every task is cancelled, that one too.
    """
    cancelled = False
    while True:
        try:
            return await step(), cancelled
        except asyncio.CancelledError:
            cancelled = True
