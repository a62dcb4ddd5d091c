"""What can go wrong, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence, cast

if TYPE_CHECKING:
    from .answer import Answer
    from .types import Problem, Survivor


class KennelError(Exception):
    """Everything that this package raises by itself."""


class KennelProblem(KennelError):
    """Kennel refuses something, and says why: problem details, as RFC 9457 has them."""

    def __init__(self, problem: Problem) -> None:
        text = problem["detail"]
        hint = problem.get("hint")
        super().__init__(f"{text} ({hint})" if hint else text)
        self.code: str = problem["code"]
        """The kind, for programs: `not_found`, `conflict`, `invalid`, `busy`, … Stable."""
        self.status: int = problem["status"]
        """The status of the answer."""
        self.title: str = problem["title"]
        """The kind, in words."""
        self.detail: str = text
        """What was wrong this time."""
        self.hint: str | None = hint
        """What to do, if there is something."""

    @staticmethod
    def of(status: int, body: object) -> KennelProblem:
        """From an answer; one that is no problem by that RFC becomes one."""
        if isinstance(body, dict) and {"code", "detail", "title", "status"} <= body.keys():
            return KennelProblem(cast("Problem", body))
        detail = f"an answer that is not Kennel's own, with status {status}"
        kind = {"type": "about:blank", "title": "Not an answer of Kennel", "code": "foreign"}
        return KennelProblem(cast("Problem", {**kind, "status": status, "detail": detail}))


class Unreachable(KennelError):
    """Nobody is there, and nothing was sent."""


class ConnectionLost(KennelError):
    """The connection ended before the answer was there. What was asked for may have been done."""


class ProtocolError(KennelError):
    """What came makes no sense in its protocol."""


class InputRefused(KennelError):
    """What was typed did not get to the session."""


class StillAlive(KennelError):
    """A stop has left somebody; Kennel goes on trying."""

    def __init__(self, session: str, survivors: Sequence[Survivor]) -> None:
        who = ", ".join(f"{one['pid']} ({one['name']})" for one in survivors) or "somebody"
        super().__init__(f"session {session} is still alive: {who}")
        self.session = session
        self.survivors = list(survivors)


class PromptFailed(KennelError):
    """A prompt did not come to a good end."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.verdict}: {answer.evidence}")
        self.answer = answer
