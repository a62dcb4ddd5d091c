"""Starting, waiting for and stopping sessions, and errors."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from daemon_test import DaemonTest

from kennel_client import Kennel, KennelProblem, Unreachable

TREE = "setsid sleep 1000 & sleep 1000 & wait"


class Sessions(DaemonTest):
    async def test_a_command_inherits_our_environment_and_umask(self) -> None:
        os.environ["OURS"] = "a b"
        async with self.connect() as kennel:
            script = 'test "$OURS" = "a b" && test "$PWD" = "$1" && umask > "$1/umask"; exit 7'
            where = str(self.folder)
            async with kennel.run(["sh", "-c", script, "sh", where], cwd=where, name="first") as session:
                self.assertEqual(session.name, "first")
                outcome = await session.wait()
            self.assertEqual((outcome.exit_code, outcome.exit), (7, {"kind": "code", "code": 7}))
            self.assertFalse(outcome.succeeded)
            with open("/proc/self/status") as status:
                ours = next(line.split()[1] for line in status if line.startswith("Umask:"))
            self.assertEqual((self.folder / "umask").read_text().strip(), ours)
            await self.assert_empty(kennel)

    async def test_leaving_the_block_ends_the_process_tree(self) -> None:
        async with self.connect() as kennel:
            async with kennel.run(["sh", "-c", TREE], cwd=self.folder) as session:

                async def three() -> bool:
                    return len((await session.inspect())["members"]) >= 3

                await self.until(three)
                pids = [member["pid"] for member in (await session.inspect())["members"]]
            self.assertEqual([pid for pid in pids if Path(f"/proc/{pid}").exists()], [])
            await self.assert_gone(session)
            await self.assert_empty(kennel)

    async def test_an_error_in_the_block_is_raised_after_the_stop(self) -> None:
        async with self.connect() as kennel:
            with self.assertRaisesRegex(ZeroDivisionError, "division"):
                async with kennel.run(["sleep", "1000"], cwd=self.folder) as session:
                    1 / 0
            await self.assert_gone(session)

    async def test_a_stop_with_a_grace_period_reports_the_outcome(self) -> None:
        async with self.connect() as kennel:
            script = ["sh", "-c", 'trap "" TERM; echo deaf; while :; do sleep 1; done']
            spec = {"ready": {"kind": "line", "pattern": "^deaf"}}
            deaf = await kennel.start(script, cwd=self.folder, until="ready", spec=spec)
            answer = await deaf.stop(grace=0.2)
            self.assertEqual(answer["result"], "stopped")
            self.assertEqual((await deaf.wait()).exit, {"kind": "signal", "signal": 9, "core": False, "oom": False})
            self.assertEqual((await deaf.stop())["result"], "already_gone")
            await deaf.remove()
            with self.assertRaises(KennelProblem) as caught:
                await deaf.refresh()
            self.assertEqual((caught.exception.code, caught.exception.status), ("not_found", 404))
            self.assertIn("kennel ps -a", caught.exception.hint or "")

    async def test_a_problem_has_code_status_detail_and_hint(self) -> None:
        async with self.connect() as kennel:
            async with kennel.run(["sleep", "1000"], cwd=self.folder, name="one"):
                with self.assertRaises(KennelProblem) as caught:
                    await kennel.start(["true"], cwd=self.folder, name="one")
            problem = caught.exception
            self.assertEqual((problem.code, problem.status), ("conflict", 409))
            self.assertIn("one", problem.detail)
            self.assertIn("another name", problem.hint or "")
            with self.assertRaises(KennelProblem) as caught:
                await kennel.start(["true"], cwd=self.folder, spec={"grase_ms": 1})
            self.assertEqual(caught.exception.status, 422)

    async def test_reports_a_program_that_does_not_exist(self) -> None:
        async with self.connect() as kennel:
            async with kennel.run(["no-such-program"], cwd=self.folder) as session:
                outcome = await session.wait()
            assert outcome.reason is not None and outcome.reason["kind"] == "failed"
            self.assertEqual(outcome.exit, {"kind": "never_ran"})

    async def test_sends_input_and_its_end(self) -> None:
        async with self.connect() as kennel:
            copy = ["sh", "-c", "cat > copy"]
            async with kennel.run(copy, cwd=self.folder, stdin="pipe") as session:
                await session.send("über\n")
                await session.send(b"\xff", eof=True)
                self.assertTrue((await session.wait()).succeeded)
            self.assertEqual((self.folder / "copy").read_bytes(), "über\n".encode() + b"\xff")

    async def test_starts_the_daemon_or_reports_it_as_unreachable(self) -> None:
        self.kennel_program("daemon", "stop")
        with self.assertRaises(Unreachable):
            async with Kennel.connect(program=None, reconnect_timeout=0.3):
                pass
        async with self.connect() as kennel:
            self.assertEqual((await kennel.daemon())["home"], str(self.home))

    async def test_lists_sessions_and_finds_names(self) -> None:
        async with self.connect() as kennel:
            ended = [await kennel.start(["true"], cwd=self.folder, name=f"n{number}") for number in range(3)]
            for session in ended:
                await session.wait()
            self.assertEqual(len(await kennel.sessions(all=True)), 3)
            self.assertEqual([one.id for one in await kennel.sessions(all=True, name="n1")], [ended[1].id])
            self.assertEqual((await kennel.session("n2")).id, ended[2].id)
            self.assertEqual(await kennel.sessions(), [])


class IdempotencyKeys(DaemonTest):
    async def test_the_same_key_returns_the_same_session(self) -> None:
        async with self.connect() as kennel:
            once = await kennel.start(["sleep", "1000"], cwd=self.folder, key="k")
            twice = await kennel.start(["sleep", "1000"], cwd=self.folder, key="k")
            self.assertEqual(once.id, twice.id)
            with self.assertRaises(KennelProblem) as caught:
                await kennel.start(["sleep", "1001"], cwd=self.folder, key="k")
            self.assertEqual(caught.exception.code, "conflict")
            await once.stop()
            await self.assert_empty(kennel)

    async def test_starts_happen_once_across_a_daemon_crash(self) -> None:
        async with self.connect() as kennel:
            log = self.folder / "log"
            log.touch()  # if the daemon dies early enough, no session runs
            run = ["sh", "-c", f"echo $KENNEL_SESSION_ID >> {log}; sleep 1000"]
            starts = [asyncio.create_task(kennel.start(run, cwd=self.folder)) for _ in range(8)]
            await self.kill_daemon(kennel)
            sessions = await asyncio.gather(*starts)
            self.assertEqual(len({session.id for session in sessions}), 8)

            async def settled() -> bool:
                views = [await session.refresh() for session in sessions]
                return all(view["phase"] in ("running", "reaped", "cleaned") for view in views)

            await self.until(settled)
            # A session whose launch was not granted before the crash never ran, and is not repeated.
            ran = {session.id for session in sessions if session.phase == "running"}

            async def logged() -> bool:
                return ran <= set(log.read_text().split())

            try:
                await self.until(logged)
            except AssertionError:
                silent = [session for session in sessions if session.id in ran - set(log.read_text().split())]
                timelines = [(await session.inspect())["timeline"] for session in silent]
                self.fail(f"running sessions without output: {silent}, {timelines}")
            self.assertEqual(sorted(log.read_text().split()), sorted(ran))
            await asyncio.gather(*(session.stop() for session in sessions))
            await self.assert_empty(kennel)
