"""The example works as described."""

from __future__ import annotations

import asyncio
import os
import re
import sys

from daemon_test import KENNEL, ROOT, DaemonTest, requires_endpoint


@requires_endpoint("/v1/sessions/{reference}/output")
class Example(DaemonTest):
    async def test_the_example_loses_no_output_and_leaves_no_process(self) -> None:
        example = str(ROOT / "sdk/python/examples/orchestrator.py")
        source = str(ROOT / "sdk/python/src")
        environment = {**os.environ, "KENNEL_PROGRAM": KENNEL, "PYTHONPATH": source}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, example, env=environment, stdout=pipe, stderr=pipe, cwd=self.folder
        )
        stdout, stderr = await asyncio.wait_for(process.communicate(), 60)
        self.assertEqual((process.returncode, stderr.decode()), (0, ""))
        lines = stdout.decode().splitlines()
        self.assertEqual(lines[-1], "sessions: [] strays: []")
        for name in ("anna", "bert"):
            numbers = [int(number) for number in re.findall(rf"^{name} says (\d+)$", stdout.decode(), re.MULTILINE)]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)), name)
        async with self.connect() as kennel:
            starts = [event async for event in kennel.events(follow=False) if event.kind == "daemon_started"]
            self.assertEqual(len(starts), 2, "the daemon was killed once")
            [carl] = await kennel.sessions(all=True, name="carl")
            await self.assert_gone(carl)
            await self.assert_empty(kennel)
