"""What a session prints."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, AsyncGenerator, Literal, Mapping

from .calls import Calls
from .http import Scalar
from .sse import follow

Stream = Literal["both", "stdout", "stderr"]


@dataclass(frozen=True)
class Chunk:
    """A piece of output."""

    data: bytes
    stream: str
    """`stdout`, `stderr` or `terminal`."""
    offset: int
    """Of its first byte, in all that the launch has printed."""
    time: str
    """When: RFC 3339."""

    @property
    def text(self) -> str:
        """In UTF-8; what is none is replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Gap(Chunk):
    """Output is missing here. It has no data."""

    lost: int | None = None
    """So many bytes, if it is known."""
    why: str = ""
    """For programs."""
    about: str = ""
    """For people."""


async def read(calls: Calls, path: str, query: Mapping[str, Scalar]) -> AsyncGenerator[Chunk, None]:
    """Output as it is asked for; over the death of a daemon, nothing is lost and nothing comes twice."""
    follows = bool(query.get("follow"))
    async with aclosing(follow(calls, path, query, ends=not follows)) as events:
        async for event in events:
            if event.name == "end":
                return
            if (piece := _piece(event.name, json.loads(event.data))) is not None:
                yield piece


def _piece(name: str, told: Any) -> Chunk | None:
    if name == "output":
        data = told["text"].encode() if told.get("text") is not None else bytes.fromhex(told["hex"])
        return Chunk(data, told["stream"], told["offset"], told["time"])
    if name == "gap":
        return Gap(b"", "", told["offset"], "", told["lost"], told["why"], told["text"])
    return None
