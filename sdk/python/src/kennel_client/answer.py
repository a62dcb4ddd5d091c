"""The outcome of a prompt."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, AsyncGenerator, Mapping, cast

from .api import ApiClient
from .errors import PromptFailed
from .sse import follow
from .types import TokenUsage


@dataclass(frozen=True)
class Answer:
    """The outcome of an ended prompt."""

    text: str | None
    """The answer of the agent."""
    verdict: str
    """`succeeded`, or the kind of failure."""
    evidence: str
    """The evidence for the verdict."""
    session: str
    """The session of the prompt."""
    agent: str
    member: str | None
    conversation: str | None
    """The conversation, which can be continued."""
    attempts: int
    usage: TokenUsage
    view: Mapping[str, Any] = field(repr=False)
    """The complete API response."""

    @property
    def succeeded(self) -> bool:
        """Whether the agent reported success."""
        return self.verdict == "succeeded"

    def check(self) -> Answer:
        """Returns itself if it succeeded; raises `PromptFailed` otherwise."""
        if not self.succeeded:
            raise PromptFailed(self)
        return self

    @staticmethod
    def of(view: Any) -> Answer:
        """Creates an answer from an API response."""
        return Answer(
            text=view["answer"],
            verdict=view["verdict"],
            evidence=view["evidence"],
            session=view["session"],
            agent=view["agent"],
            member=view["member"],
            conversation=view["conversation"],
            attempts=view["attempts"],
            usage=cast(TokenUsage, view["usage"]),
            view=view,
        )


@dataclass(frozen=True)
class Part:
    """One step of an agent."""

    kind: str
    """`attempt`, `conversation`, `text`, `thinking`, `tool`, `usage`, `retry`, `notice`, and `verdict` as the last."""
    data: Mapping[str, Any]
    """The complete event of the API."""

    @property
    def text(self) -> str:
        """The text; empty if this is another kind of step."""
        return str(self.data.get("text", "")) if self.kind == "text" else ""

    @property
    def answer(self) -> Answer | None:
        """The outcome, if this is the last step."""
        return Answer.of(self.data) if self.kind == "verdict" else None


async def parts(api: ApiClient, path: str) -> AsyncGenerator[Part, None]:
    """Yields every step up to the verdict, across daemon crashes without loss or repetition."""
    async with aclosing(follow(api, path, {})) as events:
        async for event in events:
            yield Part(event.name, json.loads(event.data))
            if event.name == "verdict":
                return
