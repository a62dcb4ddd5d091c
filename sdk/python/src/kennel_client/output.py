"""The output of a session."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, AsyncGenerator, Literal, Mapping

from .api import ApiClient
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
    """The offset of its first byte in the output of the launch."""
    time: str
    """When it was printed (RFC 3339)."""

    @property
    def text(self) -> str:
        """The data as text; invalid UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Gap(Chunk):
    """Missing output; it has no data."""

    lost: int | None = None
    """The number of lost bytes, if known."""
    why: str = ""
    """A code for programs."""
    about: str = ""
    """A text for users."""


async def read(api: ApiClient, path: str, query: Mapping[str, Scalar]) -> AsyncGenerator[Chunk, None]:
    """Yields output, across daemon crashes without loss or repetition."""
    follows = bool(query.get("follow"))
    async with aclosing(follow(api, path, query, ends=not follows)) as events:
        async for event in events:
            if event.name == "end":
                return
            if (piece := _piece(event.name, json.loads(event.data))) is not None:
                yield piece


def _piece(name: str, record: Any) -> Chunk | None:
    if name == "output":
        data = record["text"].encode() if record.get("text") is not None else bytes.fromhex(record["hex"])
        return Chunk(data, record["stream"], record["offset"], record["time"])
    if name == "gap":
        return Gap(b"", "", record["offset"], "", record["lost"], record["why"], record["text"])
    return None
