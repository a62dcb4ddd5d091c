"""Cancellation at any moment leaves no process."""

from __future__ import annotations

import asyncio

from daemon_test import DaemonTest

from kennel_client import Kennel

SLEEP = ["sh", "-c", "sleep 1000 & wait"]


class Cancel(DaemonTest):
    async def run_until_cancelled(self, kennel: Kennel) -> None:
        async with kennel.run(SLEEP, cwd=self.folder) as session:
            await session.wait()

    async def test_cancellation_during_the_start_leaves_no_process(self) -> None:
        async with self.connect() as kennel:
            # From before the connection to after the start.
            for turns in (0, 1, 2, 3, 4, 5, 6, 8):
                task = asyncio.create_task(self.run_until_cancelled(kennel))
                for _ in range(turns):
                    await asyncio.sleep(0)
                await self.cancel(task)
                await self.assert_empty(kennel)
            for pause in (0.001, 0.002, 0.004, 0.008, 0.016, 0.05):
                task = asyncio.create_task(self.run_until_cancelled(kennel))
                await asyncio.sleep(pause)
                await self.cancel(task)
                await self.assert_empty(kennel)

    async def cancel(self, task: asyncio.Task[None], times: int = 1) -> None:
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_cancellation_ends_a_slow_start_immediately(self) -> None:
        async with self.connect() as kennel:
            never = {"ready": {"kind": "report"}}

            async def start() -> None:
                await kennel.start(SLEEP, cwd=self.folder, until="ready", spec=never)

            task = asyncio.create_task(start())

            async def runs() -> bool:
                return [one.phase for one in await kennel.sessions()] == ["running"]

            await self.until(runs)
            await asyncio.wait_for(self.cancel(task), 10)
            await self.assert_empty(kennel)

    async def test_repeated_cancellation_does_not_interrupt_the_cleanup(self) -> None:
        async with self.connect() as kennel:
            for pause in (0.0, 0.003, 0.1):
                task = asyncio.create_task(self.run_until_cancelled(kennel))
                await asyncio.sleep(pause)
                await self.cancel(task, times=5)
                await self.assert_empty(kennel)

    async def test_a_timeout_around_a_block_stops_the_session(self) -> None:
        async with self.connect() as kennel:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(self.run_until_cancelled(kennel), 0.2)
            await self.assert_empty(kennel)

    async def test_shutting_down_the_event_loop_stops_sessions(self) -> None:
        def another_loop() -> None:
            async def main() -> None:
                async with self.connect() as kennel:
                    self.left = asyncio.create_task(self.run_until_cancelled(kennel))
                    while not await kennel.sessions(phase="running"):
                        await asyncio.sleep(0.01)

            # It returns with the task alive, and asyncio cancels it.
            asyncio.run(main())

        await asyncio.get_running_loop().run_in_executor(None, another_loop)
        async with self.connect() as kennel:
            await self.assert_empty(kennel)

    async def test_cancellation_while_the_daemon_is_down_stops_the_session(self) -> None:
        async with self.connect() as kennel:
            for pause in (0.0, 0.005, 0.05):
                task = asyncio.create_task(self.run_until_cancelled(kennel))
                await asyncio.sleep(pause)
                killed = asyncio.create_task(self.kill_daemon(kennel))
                await asyncio.sleep(0.01)
                await self.cancel(task)
                await killed
                await self.assert_empty(kennel)
