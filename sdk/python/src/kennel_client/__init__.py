"""Kennel from Python: run coding agents, follow them, and leave no process behind."""

from .answer import Answer, Part
from .client import Kennel
from .errors import (
    ConnectionLost,
    InputRefused,
    KennelError,
    KennelProblem,
    PromptFailed,
    ProtocolError,
    StillAlive,
    Unreachable,
)
from .events import Event
from .output import Chunk, Gap
from .plan import Plan
from .session import Outcome, Session
from .terminal import Terminal

__all__ = [
    "Answer",
    "Chunk",
    "ConnectionLost",
    "Event",
    "Gap",
    "InputRefused",
    "Kennel",
    "KennelError",
    "KennelProblem",
    "Outcome",
    "Part",
    "Plan",
    "PromptFailed",
    "ProtocolError",
    "Session",
    "StillAlive",
    "Terminal",
    "Unreachable",
]
