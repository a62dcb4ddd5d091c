"""Plans: several agents that are cancelled together."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Awaitable, Callable, cast

from .api import ApiClient, log
from .cancel import run_despite_cancel
from .errors import KennelError
from .http import path
from .types import PlanView


class Plan:
    """A run of a plan."""

    def __init__(self, api: ApiClient, view: PlanView) -> None:
        self._api = api
        self.view = view
        """The last loaded view."""

    @property
    def id(self) -> str:
        """The id."""
        return self.view["id"]

    @property
    def state(self) -> str:
        """The state at the last load."""
        return self.view["state"]

    async def refresh(self) -> PlanView:
        """Loads the current view."""
        self.view = cast(PlanView, await self._api.get(path("v1", "plans", self.id)))
        return self.view

    async def wait(self) -> PlanView:
        """Waits until the plan ends. Cancelling this wait does not cancel the plan."""
        self.view = cast(PlanView, await self._api.get(path("v1", "plans", self.id, "wait")))
        return self.view

    async def cancel(self) -> PlanView:
        """Stops all agents; returns when their processes have ended."""
        body = {"by": "kennel_client"}
        self.view = cast(PlanView, await self._api.post(path("v1", "plans", self.id, "cancel"), body, repeatable=True))
        return self.view


class PlanBlock:
    """Runs a plan for the duration of an `async with` block. Leaving the block in any way cancels it."""

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
            _, cancelled = await run_despite_cancel(plan.cancel)
        except KennelError as failure:
            if error is None:
                raise
            log.warning("can't cancel plan %s: %s", plan.id, failure)
            return
        if cancelled and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError
