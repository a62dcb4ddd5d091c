"""The base class of tests with a real daemon: a new home for each test, and a check that no process is left."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Awaitable, Callable

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "sdk/python/src"))

from kennel_client import Kennel, Session  # noqa: E402

DEADLINE = 30.0


def program(name: str) -> str:
    """Returns the path of a program built by cargo. `xtask` sets the folder."""
    folder = os.environ.get("KENNEL_TEST_PROGRAMS") or str(ROOT / "target/debug")
    return str(Path(folder, name))


KENNEL = program("kennel")


def requires_endpoint(path: str) -> Callable[[type], type]:
    """Skips tests unless the API description has this path."""
    described = json.loads((ROOT / "crates/kennel-http/openapi.json").read_text())["paths"]
    skip: Callable[[type], type] = unittest.skipUnless(path in described, f"the API has no {path}")
    return skip


class DaemonTest(unittest.IsolatedAsyncioTestCase):
    """A test with its own home and daemon."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kennel-py-"))
        self.home = self.folder / "home"
        os.environ["KENNEL_HOME"] = str(self.home)
        os.environ["KENNEL_CONFIG"] = str(self.folder / "kennel.toml")
        (self.folder / "kennel.toml").write_text("")
        self.kennel_program("daemon", "start")
        self.addCleanup(self.end)

    def end(self) -> None:
        """Stops the daemon and checks that no process is left."""
        try:
            self.kennel_program("daemon", "stop", "--grace", "1s")
            left = self.home_processes()
            self.assertEqual(left, [], "this home has leftover processes")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def kennel_program(self, *arguments: str) -> str:
        done = subprocess.run([KENNEL, *arguments], capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def connect(self, **more: Any) -> Kennel:
        return Kennel.connect(program=KENNEL, **more)

    def home_processes(self) -> list[str]:
        """Returns every process with this home in its environment or arguments."""
        mark = os.fsencode(str(self.home))
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                words = (entry / "cmdline").read_bytes()
                if mark in words or mark in (entry / "environ").read_bytes():
                    found.append(f"{entry.name} {words!r}")
            except OSError:
                # The process has ended.
                continue
        return found

    async def kill_daemon(self, kennel: Kennel) -> int:
        """Kills the daemon and waits for the next one."""
        before = (await kennel.daemon())["pid"]
        os.kill(before, signal.SIGKILL)

        async def replaced() -> bool:
            return (await kennel.daemon())["pid"] != before

        await self.until(replaced)
        return before

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Waits until a condition holds."""
        deadline = time.monotonic() + DEADLINE
        while not await condition():
            self.assertLess(time.monotonic(), deadline, "timed out")
            await asyncio.sleep(0.01)

    async def assert_empty(self, kennel: Kennel) -> None:
        """Checks that there are no live sessions and no strays."""
        self.assertEqual(await kennel.sessions(), [])
        self.assertEqual((await kennel.strays())["strays"], [])

    async def assert_gone(self, session: Session) -> None:
        """Checks that a session has ended and its agent is gone."""
        self.assertIn((await session.refresh())["phase"], ("reaped", "cleaned"))
        for pid in [session.pid]:
            if pid is not None:
                self.assertFalse(Path(f"/proc/{pid}").exists(), f"{pid} is still running")
