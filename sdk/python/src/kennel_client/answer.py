"""What became of a prompt."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, AsyncGenerator, Mapping, cast

from .calls import Calls
from .errors import PromptFailed
from .sse import follow
from .types import Usage


@dataclass(frozen=True)
class Answer:
    """A prompt that is over."""

    text: str | None
    """What the agent answered."""
    verdict: str
    """What became of it: `succeeded`, or what went wrong."""
    evidence: str
    """By what that is known."""
    session: str
    """The session that it was."""
    agent: str
    member: str | None
    conversation: str | None
    """The conversation that it belongs to: it can be gone on with."""
    attempts: int
    usage: Usage
    view: Mapping[str, Any] = field(repr=False)
    """All of it, as the API has it."""

    @property
    def succeeded(self) -> bool:
        """Whether the agent says that it has done what it was asked."""
        return self.verdict == "succeeded"

    def check(self) -> Answer:
        """Itself, if it succeeded; else that is raised."""
        if not self.succeeded:
            raise PromptFailed(self)
        return self

    @staticmethod
    def of(view: Any) -> Answer:
        """From what the API tells."""
        return Answer(
            text=view["answer"],
            verdict=view["verdict"],
            evidence=view["evidence"],
            session=view["session"],
            agent=view["agent"],
            member=view["member"],
            conversation=view["conversation"],
            attempts=view["attempts"],
            usage=cast(Usage, view["usage"]),
            view=view,
        )


@dataclass(frozen=True)
class Part:
    """Something that an agent does on its way to an answer."""

    kind: str
    """`attempt`, `conversation`, `text`, `thinking`, `tool`, `usage`, `retry`, `notice`, and `verdict` as the last."""
    data: Mapping[str, Any]
    """All of it, as the API has it."""

    @property
    def text(self) -> str:
        """What it says; empty if this is something else."""
        return str(self.data.get("text", "")) if self.kind == "text" else ""

    @property
    def answer(self) -> Answer | None:
        """What became of it, in the last one."""
        return Answer.of(self.data) if self.kind == "verdict" else None


async def parts(calls: Calls, path: str) -> AsyncGenerator[Part, None]:
    """All of them, up to the verdict; over the death of a daemon, none is lost and none comes twice."""
    async with aclosing(follow(calls, path, {})) as events:
        async for event in events:
            yield Part(event.name, json.loads(event.data))
            if event.name == "verdict":
                return
