"""Cleanup that must complete despite cancellation."""

from __future__ import annotations

import asyncio
from typing import Awaitable, Callable, TypeVar

T = TypeVar("T")


async def run_despite_cancel(step: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
    """Runs an idempotent step, and repeats it if it is cancelled. Returns its result and whether it was cancelled.

    The step is not shielded in its own task: when an event loop shuts down, it cancels every task, including that one.
    """
    cancelled = False
    while True:
        try:
            return await step(), cancelled
        except asyncio.CancelledError:
            cancelled = True
