"""Output, events and terminals, across daemon crashes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import List

from daemon_test import DaemonTest, requires_endpoint

from kennel_client import Chunk, Event, Kennel, Session

COUNT = 'i=0; while [ $i -lt $1 ]; do i=$((i+1)); echo "line $i"; sleep 0.005; done; echo over >&2'


@requires_endpoint("/v1/sessions/{reference}/output")
class Output(DaemonTest):
    def count(self, lines: int) -> List[str]:
        return ["sh", "-c", COUNT, "sh", str(lines)]

    def expected(self, lines: int) -> str:
        return "".join(f"line {number + 1}\n" for number in range(lines))

    async def test_follows_output_to_the_end_and_reads_it_again(self) -> None:
        async with self.connect() as kennel:
            async with kennel.run(self.count(20), cwd=self.folder) as session:
                chunks = [chunk async for chunk in session.output(follow=True)]
                self.assertEqual((await session.wait()).exit_code, 0)
            text = "".join(chunk.text for chunk in chunks if chunk.stream == "stdout")
            self.assertEqual(text, self.expected(20))
            self.assertEqual("".join(chunk.text for chunk in chunks if chunk.stream == "stderr"), "over\n")
            self.assertEqual(await session.text(stream="stdout"), text)
            self.assertEqual(await session.text(stream="stderr"), "over\n")
            last = [chunk async for chunk in session.output(stream="stdout", tail=1)]
            self.assertEqual("".join(chunk.text for chunk in last), "line 20\n")
            half = [chunk async for chunk in session.output(stream="stdout", offset=len("line 1\n"))]
            self.assertTrue("".join(chunk.text for chunk in half).startswith("line 2\n"))

    async def test_output_has_every_line_once_across_daemon_crashes(self) -> None:
        async with self.connect() as kennel:
            async with kennel.run(self.count(200), cwd=self.folder) as session:
                chunks: List[Chunk] = []
                kills = 0
                async for chunk in session.output(follow=True, stream="stdout"):
                    chunks.append(chunk)
                    read = sum(len(chunk.data) for chunk in chunks)
                    if read > 500 * (kills + 1) and kills < 2:
                        kills += 1
                        await self.kill_daemon(kennel)
                self.assertEqual(kills, 2)
            self.assertEqual("".join(chunk.text for chunk in chunks), self.expected(200))

    async def test_output_that_is_not_utf8_is_unchanged(self) -> None:
        async with self.connect() as kennel:
            async with kennel.run(["printf", r"\377\000\n"], cwd=self.folder) as session:
                await session.wait()
                chunks = [chunk async for chunk in session.output()]
            self.assertEqual(b"".join(chunk.data for chunk in chunks), b"\xff\x00\n")

    async def test_closing_an_output_stream_early(self) -> None:
        async with self.connect() as kennel:
            async with kennel.run(["sh", "-c", "echo up; sleep 1000"], cwd=self.folder) as session:
                async with aclosing(session.output(follow=True)) as output:
                    async for chunk in output:
                        self.assertEqual(chunk.text, "up\n")
                        break
            await self.assert_empty(kennel)


@requires_endpoint("/v1/sessions/{reference}/output")
class Events(DaemonTest):
    async def follow(self, kennel: Kennel, last: str, to: List[Event]) -> None:
        async for event in kennel.events(since=0):
            to.append(event)
            if event.session == last and event.kind == "cleaned":
                return

    async def test_events_come_once_across_daemon_crashes(self) -> None:
        async with self.connect() as kennel:
            seen: List[Event] = []
            first = await kennel.start(["true"], cwd=self.folder)
            await first.wait()
            last = await kennel.start(["sleep", "1000"], cwd=self.folder)
            follower = asyncio.create_task(self.follow(kennel, last.id, seen))
            for _ in range(2):
                before = len(seen)
                await self.kill_daemon(kennel)

                async def more() -> bool:
                    return len(seen) > before

                await self.until(more)
                await (await kennel.start(["true"], cwd=self.folder)).wait()
            await last.stop()
            await asyncio.wait_for(follower, 20)
            numbers = [event.seq for event in seen]
            self.assertEqual(numbers, list(range(1, len(seen) + 1)))
            self.assertEqual(sum(event.kind == "daemon_started" for event in seen), 3)
            again = [event async for event in kennel.events(since=0, follow=False)]
            self.assertEqual(again[: len(seen)], seen)

    async def test_filters_events_by_session_and_kind(self) -> None:
        async with self.connect() as kennel:
            one = await kennel.start(["true"], cwd=self.folder)
            other = await kennel.start(["true"], cwd=self.folder)
            await asyncio.gather(one.wait(), other.wait())
            found = [event async for event in kennel.events(session=one.id, kinds=["running"], follow=False)]
            self.assertEqual([(event.session, event.kind) for event in found], [(one.id, "running")])


@requires_endpoint("/v1/sessions/{reference}/terminal")
class Terminals(DaemonTest):
    async def read_until(self, pieces: "asyncio.Queue[bytes]", wanted: bytes) -> bytes:
        read = b""
        while wanted not in read:
            read += await asyncio.wait_for(pieces.get(), 20)
        return read

    async def start(self, kennel: Kennel) -> Session:
        script = 'echo ready; while read -r line; do case $line in size) stty size;; end) exit 5;; *) echo "<$line>";; esac; done'
        return await kennel.start(["sh", "-c", script], cwd=self.folder, terminal=(80, 24))

    async def test_input_and_sizes_across_a_daemon_crash(self) -> None:
        async with self.connect() as kennel:
            session = await self.start(kennel)
            pieces: "asyncio.Queue[bytes]" = asyncio.Queue()
            async with session.terminal(columns=90, rows=30, replay="all") as terminal:

                async def pump() -> None:
                    async for piece in terminal:
                        pieces.put_nowait(piece)

                pump_task = asyncio.create_task(pump())
                await self.read_until(pieces, b"ready")
                await terminal.send("ünd\n")
                await self.read_until(pieces, "<ünd>".encode())
                await terminal.resize(100, 40)
                await terminal.send(b"size\n")
                await self.read_until(pieces, b"40 100")
                connected = terminal.connections
                await self.kill_daemon(kennel)

                async def attached_again() -> bool:
                    return terminal.connections > connected

                await self.until(attached_again)
                await terminal.send(b"after\n")
                read = await self.read_until(pieces, b"<after>")
                self.assertNotIn(b"ready", read, "no repetition")
                await terminal.send(b"end\n")
                await asyncio.wait_for(pump_task, 20)
            assert terminal.outcome is not None
            self.assertEqual(terminal.outcome["exit_code"], 5)
            await self.assert_empty(kennel)
