"""The example does what it says."""

from __future__ import annotations

import asyncio
import os
import re
import sys

from scene import KENNEL, ROOT, Scene, needs


@needs("/v1/sessions/{reference}/output")
class Example(Scene):
    async def test_it_loses_nothing_and_leaves_nothing(self) -> None:
        example = str(ROOT / "sdk/python/examples/orchestrator.py")
        source = str(ROOT / "sdk/python/src")
        environment = {**os.environ, "KENNEL_PROGRAM": KENNEL, "PYTHONPATH": source}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, example, env=environment, stdout=pipe, stderr=pipe, cwd=self.folder
        )
        said, failed = await asyncio.wait_for(process.communicate(), 60)
        self.assertEqual((process.returncode, failed.decode()), (0, ""))
        lines = said.decode().splitlines()
        self.assertEqual(lines[-1], "sessions: [] strays: []")
        for name in ("anna", "bert"):
            numbers = [int(number) for number in re.findall(rf"^{name} says (\d+)$", said.decode(), re.MULTILINE)]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)), name)
        async with self.connect() as kennel:
            starts = [event async for event in kennel.events(follow=False) if event.kind == "daemon_started"]
            self.assertEqual(len(starts), 2, "it was killed once")
            [carl] = await kennel.sessions(all=True, name="carl")
            await self.assert_gone(carl)
            await self.assert_empty(kennel)
