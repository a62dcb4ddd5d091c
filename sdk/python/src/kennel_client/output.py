"""What a session prints."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, AsyncIterator, Literal, Mapping

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


async def read(calls: Calls, path: str, query: Mapping[str, Scalar]) -> AsyncIterator[Chunk]:
    """Output as it is asked for; over the death of a daemon, nothing is lost and nothing comes twice."""
    follows = bool(query.get("follow"))
    events = follow(calls, path, query, ends=not follows)
    async for event in events:
        told: Any = json.loads(event.data)
        if event.name == "output":
            data = told["text"].encode() if told.get("text") is not None else bytes.fromhex(told["hex"])
            yield Chunk(data, told["stream"], told["offset"], told["time"])
        elif event.name == "gap":
            yield Gap(b"", "", told["offset"], "", told["lost"], told["why"], told["text"])
        elif event.name == "end":
            return
