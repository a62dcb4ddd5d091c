"""The protocols, tested against a scripted server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import struct
import tempfile
import unittest
from pathlib import Path
from typing import Any, Awaitable, Callable, List

import daemon_test  # noqa: F401  (sets the import path)

from kennel_client import Chunk, ConnectionLost, Gap, KennelProblem, ProtocolError, Unreachable
from kennel_client.address import Socket, Url
from kennel_client.api import ApiClient
from kennel_client.events import following
from kennel_client.http import Request, path
from kennel_client.output import read
from kennel_client.sse import Parser, ServerSent
from kennel_client.terminal import Terminal
from kennel_client.websocket import MAGIC, Closed, WebSocket

Serve = Callable[[str, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text), text)


class ScriptedServerTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="kennel-py-")
        self.heads: List[str] = []

    async def asyncTearDown(self) -> None:
        if hasattr(self, "server"):
            self.server.close()
        self.folder.cleanup()

    async def serve(self, serve: Serve, reconnect_timeout: float = 5.0) -> ApiClient:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            await serve(head, reader, writer)
            writer.close()

        socket = Path(self.folder.name, "s")
        self.server = await asyncio.start_unix_server(accept, socket)
        return ApiClient(Socket(socket), reconnect_timeout)

    async def respond(self, *pieces: bytes) -> ApiClient:
        """Each connection gets the next of these responses and is closed."""
        rest = list(pieces)

        async def serve(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(rest.pop(0))
            await writer.drain()

        return await self.serve(serve)


class Http(ScriptedServerTest):
    async def test_reads_bodies_by_length_by_chunks_and_to_the_end(self) -> None:
        for response in (
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n[1]",
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n[\r\n2;x=y\r\n1]\r\n0\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[1]",
        ):
            api = await self.respond(response)
            self.assertEqual(await api.get("/x"), [1])
            self.server.close()

    async def test_reports_lost_connections_and_invalid_responses(self) -> None:
        for response, kind in (
            (b"", ConnectionLost),
            (b"HTTP/1.1 200 OK\r\ncontent-le", ConnectionLost),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[1]", ConnectionLost),
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n[1]", ConnectionLost),
            (b"SSH-2.0\r\n\r\n", ProtocolError),
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", ProtocolError),
        ):
            api = await self.respond(response)
            with self.assertRaises(kind, msg=repr(response)):
                await api.post("/x")
            self.server.close()

    async def test_repeats_only_requests_that_are_safe_to_repeat(self) -> None:
        good = b"HTTP/1.1 204 No Content\r\n\r\n"
        leaving = (
            b"HTTP/1.1 503 x\r\ncontent-type: application/problem+json\r\n\r\n"
            b'{"code":"gone","detail":"d","title":"t","status":503,"type":"u"}'
        )
        api = await self.respond(b"", leaving, good)
        self.assertIsNone(await api.get("/x"))
        self.assertEqual(len(self.heads), 3)
        self.server.close()
        api = await self.respond(leaving)
        with self.assertRaises(KennelProblem) as caught:
            await api.post("/x")
        self.assertEqual((caught.exception.code, caught.exception.hint), ("gone", None))

    async def test_reading_a_response_continues_after_cancellation(self) -> None:
        go_on = asyncio.Event()

        async def slowly(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for piece in (b"HTTP/1.1 200 OK\r\nconte", b"nt-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n", b"3\r", b"\n[1", b"]\r\n0\r\n\r\n"):
                writer.write(piece)
                await writer.drain()
                await go_on.wait()
                go_on.clear()

        api = await self.serve(slowly)
        exchange = await api.begin(Request("GET", "/x"))
        while True:
            try:
                self.assertEqual(await asyncio.wait_for(exchange.answer(), 0.02), [1])
                break
            except asyncio.TimeoutError:
                go_on.set()
        go_on.set()
        exchange.close()

    def test_escapes_paths_and_refuses_line_breaks_in_headers(self) -> None:
        self.assertEqual(path("v1", "a/b?c#ü"), "/v1/a%2Fb%3Fc%23%C3%BC")
        with self.assertRaises(ValueError):
            Request("GET", "/", headers={"X": "a\r\nY: b"}).encoded(Socket(Path("s")))

    def test_parses_urls(self) -> None:
        self.assertEqual(Url.parse("http://127.0.0.1:7380", "t", None).host, "127.0.0.1:7380")
        self.assertEqual(Url.parse("https://[::1]", None, None).host, "[::1]")
        written = Request("GET", "/v1/daemon").encoded(Url.parse("http://h:1/", "secret", None)).decode()
        self.assertIn("Authorization: Bearer secret\r\n", written)
        self.assertNotIn("secret", repr(Url.parse("http://h:1/", "secret", None)))
        for wrong in ("h:1", "ftp://h", "http://h/x", "http://"):
            with self.assertRaises(ValueError):
                Url.parse(wrong, None, None)


class Streams(ScriptedServerTest):
    def test_parses_events_from_arbitrary_pieces(self) -> None:
        text = b": hi\n\nid: 1\nevent: a\ndata: x\ndata: y\r\n\r\ndata:z\n\nid\ndata\n\nevent: lost\n\n"
        expected = [ServerSent("1", "a", "x\ny"), ServerSent("1", "message", "z"), ServerSent("", "message", "")]
        for size in (1, 2, 3, 7, 100):
            parser = Parser()
            found = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
            self.assertEqual(found, expected, size)

    def event(self, number: int) -> bytes:
        view = {"seq": number, "kind": "k", "cause": "c", "session": None, "time": "t", "by": None}
        return f"id: {number}\nevent: k\ndata: {json.dumps(view)}\n\n".encode()

    async def test_events_resume_at_their_position(self) -> None:
        half = self.event(3)[:20]
        api = await self.respond(
            STREAM + chunk(self.event(1) + self.event(2) + half),  # killed in the middle of an event
            b"",  # the next one is not up yet
            STREAM + chunk(self.event(3)) + b"0\r\n\r\n",  # a regular shutdown
            STREAM + chunk(b'id: 8\nevent: missed\ndata: {"from":4,"to":8}\n\n') + chunk(self.event(9)),
        )
        found = []
        events = following(api, {"since": 0})
        async for event in events:
            found.append((event.seq, event.kind))
            if event.seq == 9:
                break
        await events.aclose()
        self.assertEqual(found, [(1, "k"), (2, "k"), (3, "k"), (8, "missed"), (9, "k")])
        given = [[line for line in head.split("\r\n") if line.startswith("Last-Event-ID")] for head in self.heads]
        self.assertEqual(given, [[], ["Last-Event-ID: 2"], ["Last-Event-ID: 2"], ["Last-Event-ID: 3"]])

    async def test_a_stream_without_a_server_raises_an_error(self) -> None:
        async def hang_up(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            return

        api = await self.serve(hang_up, reconnect_timeout=0.2)
        with self.assertRaises(ConnectionLost):
            async for _ in following(api, {}):
                pass

    async def test_reads_output_with_gaps_and_an_end(self) -> None:
        def event_of(mark: str, name: str, **fields: Any) -> bytes:
            return f"id: {mark}\nevent: {name}\ndata: {json.dumps(fields)}\n\n".encode()

        first = event_of("x:3", "output", offset=0, time="t", stream="stdout", text="aü") + event_of(
            "x:4", "output", offset=3, time="t", stream="stderr", hex="ff"
        )
        second = event_of("x:9", "gap", offset=4, lost=5, why="full", text="the disk was full") + event_of("x:end", "end")
        api = await self.respond(STREAM + chunk(first), STREAM + chunk(second))
        found = [piece async for piece in read(api, "/o", {"follow": True})]
        self.assertEqual(found[:2], [Chunk("aü".encode(), "stdout", 0, "t"), Chunk(b"\xff", "stderr", 3, "t")])
        assert isinstance(found[2], Gap)
        self.assertEqual((len(found), found[2].lost, found[1].text), (3, 5, "\ufffd"))


class Frames(ScriptedServerTest):
    async def serve_frames(self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> ApiClient:
        async def accept(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            key = next(line.split(": ")[1] for line in head.split("\r\n") if line.startswith("Sec-WebSocket-Key"))
            accepted = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest())
            writer.write(b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accepted)
            await serve(reader, writer)

        return await self.serve(accept)

    @staticmethod
    def frame(first: int, payload: bytes) -> bytes:
        size = len(payload)
        if size < 126:
            return struct.pack(">BB", first, size) + payload
        return struct.pack(">BBH", first, 126, size) + payload

    @staticmethod
    async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
        first, second = await reader.readexactly(2)
        size = second & 0x7F
        assert second & 0x80, "a client masks"
        if size == 126:
            size = struct.unpack(">H", await reader.readexactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", await reader.readexactly(8))[0]
        mask = await reader.readexactly(4)
        masked = await reader.readexactly(size)
        return first & 0x0F, bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked))

    async def test_echoes_messages_of_every_size(self) -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                kind, payload = await self.read_frame(reader)
                if kind == 8:
                    writer.write(self.frame(0x88, payload))
                    return
                # In two fragments, with a ping in between.
                half = len(payload) // 2
                writer.write(self.frame(kind, payload[:half]) + self.frame(0x89, b"p") + self.frame(0x80, payload[half:]))
                self.assertEqual(await self.read_frame(reader), (10, b"p"))

        api = await self.serve_frames(echo)
        socket = await WebSocket.open(api.address, "/t", {})
        for message in ("", "ü", b"", b"\xff" * 125, b"x" * 126, b"y" * 70_000):
            await socket.send(message)
            self.assertEqual(await socket.receive(), message)
        await socket.send("last")
        await socket.receive()
        await socket.close()

    async def test_closed_with_and_without_a_close_frame(self) -> None:
        async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(self.frame(0x88, struct.pack(">H", 1001) + b"soon"))

        api = await self.serve_frames(leave)
        socket = await WebSocket.open(api.address, "/t", {})
        self.assertEqual(await socket.receive(), Closed(1001, "soon"))
        with self.assertRaises(ConnectionLost):
            await socket.receive()
        with self.assertRaises(Unreachable):
            await WebSocket.open(Socket(Path(self.folder.name, "none")), "/t", {})

    async def test_a_terminal_resumes_at_its_position(self) -> None:
        pieces = [
            (5, 0, [b"draws", b"abc"]),  # five bytes that redraw the screen, then output from offset 10
            (0, 13, [b"def"]),
            (0, 16, [b"g"]),
        ]

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            replay, offset, output = pieces.pop(0)
            attached = {"type": "attached", "replay": replay, "offset": offset or 10}
            writer.write(self.frame(0x81, json.dumps(attached).encode()))
            for piece in output:
                writer.write(self.frame(0x82, piece))
            if len(pieces) == 1:
                writer.write(self.frame(0x88, struct.pack(">H", 1001)))
            if not pieces:
                writer.write(self.frame(0x81, b'{"type":"ended","outcome":{"exit_code":0}}'))
            await writer.drain()

        api = await self.serve_frames(serve)
        async with Terminal(api, "/t", {"replay": "screen"}) as terminal:
            self.assertEqual([piece async for piece in terminal], [b"draws", b"abc", b"def", b"g"])
            self.assertEqual((terminal.offset, terminal.outcome), (17, {"exit_code": 0}))
        targets = [head.split(" ")[1] for head in self.heads]
        self.assertEqual(targets, ["/t?replay=screen", "/t?from=13", "/t?from=16"])


if __name__ == "__main__":
    unittest.main()
