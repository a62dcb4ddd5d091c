"""The exceptions of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence, cast

if TYPE_CHECKING:
    from .answer import Answer
    from .types import ProblemDetails, Survivor


class KennelError(Exception):
    """The base class of all exceptions of this package."""


class KennelProblem(KennelError):
    """The daemon refused a request. The attributes are those of a problem document (RFC 9457)."""

    def __init__(self, problem: ProblemDetails) -> None:
        text = problem["detail"]
        hint = problem.get("hint")
        super().__init__(f"{text} ({hint})" if hint else text)
        self.code: str = problem["code"]
        """A stable code for programs: `not_found`, `conflict`, `invalid`, `busy`, …"""
        self.status: int = problem["status"]
        """The HTTP status."""
        self.title: str = problem["title"]
        """A short text for the code."""
        self.detail: str = text
        """What was wrong with this request."""
        self.hint: str | None = hint
        """What to do about it, if there is something."""

    @staticmethod
    def of(status: int, body: object) -> KennelProblem:
        """Creates a problem from a response, also if its body is not a problem document."""
        if isinstance(body, dict) and {"code", "detail", "title", "status"} <= body.keys():
            return KennelProblem(cast("ProblemDetails", body))
        detail = f"status {status} without a problem document"
        kind = {"type": "about:blank", "title": "Not a Kennel response", "code": "foreign"}
        return KennelProblem(cast("ProblemDetails", {**kind, "status": status, "detail": detail}))


class Unreachable(KennelError):
    """The daemon is not reachable, and nothing was sent."""


class ConnectionLost(KennelError):
    """The connection was lost before the response. The request may have been executed."""


class ProtocolError(KennelError):
    """The response violates the protocol."""


class InputRefused(KennelError):
    """The session did not receive the input."""


class StillAlive(KennelError):
    """A stop left processes alive. Kennel keeps trying."""

    def __init__(self, session: str, survivors: Sequence[Survivor]) -> None:
        names = ", ".join(f"{one['pid']} ({one['name']})" for one in survivors) or "unknown processes"
        super().__init__(f"session {session} is still alive: {names}")
        self.session = session
        self.survivors = list(survivors)


class PromptFailed(KennelError):
    """A prompt did not succeed."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.verdict}: {answer.evidence}")
        self.answer = answer
