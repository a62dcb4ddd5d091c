"""What a command gets from whoever starts it: environment, folder, umask and limits, as a child of ours would."""

from __future__ import annotations

import os
import secrets
import re
import resource
from typing import List, Mapping, Tuple

from .types import Environment, Text

OWN = ("KENNEL_HOME_ID", "KENNEL_SESSION_ID", "KENNEL_SESSION_NAME", "KENNEL_SESSION", "KENNEL_SOCKET", "KENNEL_TOKEN", "KENNEL_TOKEN_FILE")
"""What Kennel sets itself for each session: that of the session we may be in is not handed on."""

NONE = 2**64 - 1
"""The largest number is no limit."""


def text(given: str) -> Text:
    """A text, exactly: one from the system need not be UTF-8."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return {"hex": os.fsencode(given).hex()}
    return given


def environment(given: Mapping[str, str] | None, name: str | None) -> Environment:
    """This environment, or ours."""
    variables = dict(os.environ if given is None else given)
    for own in OWN:
        variables.pop(own, None)
    if name is not None:
        variables["KENNEL_SESSION_NAME"] = name
    if all(isinstance(text(key), str) for key in variables):
        return {key: text(value) for key, value in variables.items()}
    return [[text(key), text(value)] for key, value in variables.items()]


def umask() -> int:
    """Ours. Asked of the kernel: to set it in order to read it would be felt by other threads."""
    with open("/proc/self/status") as status:
        found = re.search(r"^Umask:\s*([0-7]+)", status.read(), re.MULTILINE)
    return int(found[1], 8) if found else 0o022


def limits() -> List[Tuple[int, int, int]]:
    """Ours: resource, soft, hard."""
    numbers = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
    return [(number, *(NONE if limit < 0 else limit for limit in resource.getrlimit(number))) for number in numbers]


def parent(home_id: str) -> str | None:
    """The session that we are in, if it is one of that home: what we start ends with it."""
    return os.environ.get("KENNEL_SESSION_ID") if os.environ.get("KENNEL_HOME_ID") == home_id else None


def asked_by() -> str:
    """Who we are, for the event log. Each request has a word of its own, by which we know what came of it."""
    return f"kennel_client (user {os.getuid()}, pid {os.getpid()}, request {secrets.token_hex(4)})"
