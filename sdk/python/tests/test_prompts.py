"""Prompts, members and plans with a scripted agent."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from typing import Any

from daemon_test import DaemonTest, requires_endpoint, program

from kennel_client import KennelProblem, Part, PromptFailed
from kennel_client.types import PlanSpec


class ScriptedAgentTest(DaemonTest):
    def setUp(self) -> None:
        super().setUp()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "claude").symlink_to(program("fake-agent"))
        self.script_folder = self.folder / "claude"
        self.script_folder.mkdir()
        self.env = {"PATH": f"{programs}:{os.environ['PATH']}", "FAKE_CLAUDE": str(self.script_folder)}
        self.context: Any = {"cwd": self.folder, "env": self.env}

    def script(self, *lines: str) -> None:
        (self.script_folder / "script").write_text("\n".join(lines) + "\n")


@requires_endpoint("/v1/sessions/{reference}/answer")
class Prompts(ScriptedAgentTest):
    async def test_an_agent_answers(self) -> None:
        self.script("ok all is well")
        async with self.connect() as kennel:
            answer = await kennel.ask("how is it?", agent="claude", **self.context)
            self.assertEqual((answer.text, answer.verdict, answer.agent), ("all is well", "succeeded", "claude"))
            self.assertIs(answer.check(), answer)
            await self.assert_empty(kennel)

    async def test_the_verdict_reports_a_failure(self) -> None:
        self.script("auth")
        async with self.connect() as kennel:
            answer = await kennel.ask("hi", agent="claude", **self.context)
            self.assertEqual((answer.verdict, answer.succeeded), ("auth", False))
            with self.assertRaises(PromptFailed) as caught:
                await kennel.ask("hi", agent="claude", check=True, **self.context)
            self.assertEqual(caught.exception.answer.verdict, "auth")

    async def test_streams_the_parts_of_an_answer(self) -> None:
        self.script("tool ok done")
        async with self.connect() as kennel:
            parts = [part async for part in kennel.ask_stream("do it", agent="claude", **self.context)]
            self.assertEqual(parts[0].kind, "attempt")
            self.assertIn("tool", [part.kind for part in parts])
            self.assertEqual("".join(part.text for part in parts), "done")
            answer = parts[-1].answer
            assert answer is not None
            self.assertEqual((answer.text, answer.verdict), ("done", "succeeded"))

    async def test_cancellation_and_closing_the_stream_stop_the_agent(self) -> None:
        self.script("hang")
        async with self.connect() as kennel:
            task = asyncio.create_task(kennel.ask("hi", agent="claude", **self.context))

            async def runs() -> bool:
                return [one.phase for one in await kennel.sessions()] == ["running"]

            await self.until(runs)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await self.assert_empty(kennel)
            stream = kennel.ask_stream("hi", agent="claude", **self.context)
            async with aclosing(stream) as parts:
                async for part in parts:
                    assert isinstance(part, Part)
                    break
            await self.assert_empty(kennel)

    async def test_a_prompt_survives_a_daemon_crash(self) -> None:
        self.script("hang")
        async with self.connect() as kennel:
            task = asyncio.create_task(kennel.ask("hi", agent="claude", **self.context))

            async def runs() -> bool:
                return [one.phase for one in await kennel.sessions()] == ["running"]

            await self.until(runs)
            await self.kill_daemon(kennel)
            [session] = await kennel.sessions()
            await session.stop()
            self.assertEqual((await asyncio.wait_for(task, 20)).verdict, "cancelled")

    async def test_a_member_keeps_its_conversation(self) -> None:
        self.script("ok one", "ok two")
        async with self.connect() as kennel:
            await kennel.add_member("anna", agent="claude", cwd=self.folder)
            self.assertEqual([member["name"] for member in await kennel.members()], ["anna"])
            first = await kennel.ask("a", member="anna", **self.context)
            second = await kennel.ask("b", member="anna", **self.context)
            self.assertEqual((first.text, second.text), ("one", "two"))
            self.assertEqual(first.conversation, second.conversation)
            self.assertEqual((await kennel.member("anna"))["attempts"], 2)
            await kennel.remove_member("anna")
            with self.assertRaises(KennelProblem):
                await kennel.member("anna")


class Plans(ScriptedAgentTest):
    def plan(self) -> PlanSpec:
        agent: Any = {"name": "one", "who": {"agent": "claude"}, "prompt": {"text": "look"}}
        stage: Any = {"name": "first", "agents": [agent]}
        return {"name": "small", "stages": [stage]}

    async def test_runs_a_plan(self) -> None:
        self.script("ok seen")
        async with self.connect() as kennel:
            async with kennel.run_plan(self.plan(), **self.context) as plan:
                view = await plan.wait()
            self.assertEqual(view["name"], "small")
            self.assertEqual([other.id for other in await kennel.plans()], [plan.id])
            await self.assert_empty(kennel)

    async def test_cancelling_a_plan_block_stops_its_agents(self) -> None:
        self.script("hang")
        async with self.connect() as kennel:

            async def run() -> None:
                async with kennel.run_plan(self.plan(), **self.context) as plan:
                    await plan.wait()

            for pause in (0.0, 0.003, 0.3):
                task = asyncio.create_task(run())
                await asyncio.sleep(pause)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                await self.assert_empty(kennel)
