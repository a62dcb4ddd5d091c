"""A cancel at any moment leaves nothing behind."""

from __future__ import annotations

import asyncio

from scene import Scene

from kennel_client import Kennel

SLEEP = ["sh", "-c", "sleep 1000 & wait"]


class Cancel(Scene):
    async def run_until_cancelled(self, kennel: Kennel) -> None:
        async with kennel.run(SLEEP, cwd=self.folder) as session:
            await session.wait()

    async def test_a_cancel_in_mid_start_leaves_nothing(self) -> None:
        async with self.connect() as kennel:
            # From before the connection to after the start, in steps of the event loop and of time.
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

    async def test_a_start_that_takes_long_is_ended_at_once(self) -> None:
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

    async def test_more_cancels_do_not_keep_the_first_from_its_work(self) -> None:
        async with self.connect() as kennel:
            for pause in (0.0, 0.003, 0.1):
                task = asyncio.create_task(self.run_until_cancelled(kennel))
                await asyncio.sleep(pause)
                await self.cancel(task, times=5)
                await self.assert_empty(kennel)

    async def test_a_timeout_around_a_block_is_one(self) -> None:
        async with self.connect() as kennel:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(self.run_until_cancelled(kennel), 0.2)
            await self.assert_empty(kennel)

    async def test_a_loop_that_is_shut_down_ends_what_runs(self) -> None:
        def another_loop() -> None:
            async def main() -> None:
                async with self.connect() as kennel:
                    self.left = asyncio.create_task(self.run_until_cancelled(kennel))
                    while not await kennel.sessions(phase="running"):
                        await asyncio.sleep(0.01)

            # It returns with the task alive, which is cancelled then.
            asyncio.run(main())

        await asyncio.get_running_loop().run_in_executor(None, another_loop)
        async with self.connect() as kennel:
            await self.assert_empty(kennel)

    async def test_a_cancel_while_the_daemon_is_dead_ends_it_too(self) -> None:
        async with self.connect() as kennel:
            for pause in (0.0, 0.005, 0.05):
                task = asyncio.create_task(self.run_until_cancelled(kennel))
                await asyncio.sleep(pause)
                killed = asyncio.create_task(self.kill_daemon(kennel))
                await asyncio.sleep(0.01)
                await self.cancel(task)
                await killed
                await self.assert_empty(kennel)
