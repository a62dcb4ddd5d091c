"""A plan: several sessions with one cancel."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Awaitable, Callable, cast

from .calls import Calls, log
from .cancel import steadily
from .errors import KennelError
from .http import path
from .types import PlanView


class Plan:
    """One that runs, or has."""

    def __init__(self, calls: Calls, view: PlanView) -> None:
        self._calls = calls
        self.view = view
        """As it was last seen."""

    @property
    def id(self) -> str:
        """Its id."""
        return self.view["id"]

    @property
    def state(self) -> str:
        """How it stands."""
        return self.view["state"]

    async def refresh(self) -> PlanView:
        """Looks again."""
        self.view = cast(PlanView, await self._calls.get(path("v1", "plans", self.id)))
        return self.view

    async def wait(self) -> PlanView:
        """Comes when it is over. A cancel of this wait does not cancel the plan."""
        self.view = cast(PlanView, await self._calls.get(path("v1", "plans", self.id, "wait")))
        return self.view

    async def cancel(self) -> PlanView:
        """Ends all its agents; comes when they are gone."""
        wish = {"by": "kennel_client"}
        self.view = cast(PlanView, await self._calls.post(path("v1", "plans", self.id, "cancel"), wish, again=True))
        return self.view


class PlanBlock:
    """A plan for the length of an `async with`: leaving the block, in whatever way, cancels what is left of it."""

    def __init__(self, start: Callable[[], Awaitable[Plan]]) -> None:
        self._start = start
        self._plan: Plan | None = None

    async def __aenter__(self) -> Plan:
        self._plan = await self._start()
        return self._plan

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        plan = self._plan
        if plan is None:
            return
        try:
            _, cancelled = await steadily(plan.cancel)
        except KennelError as failure:
            if error is None:
                raise
            log.warning("plan %s is not cancelled: %s", plan.id, failure)
            return
        if cancelled and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError
