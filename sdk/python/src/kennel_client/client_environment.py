"""The environment, umask and resource limits of this process, which a command inherits like a child process."""

from __future__ import annotations

import os
import secrets
import re
import resource
from typing import List, Mapping, Tuple

from .types import Environment, OsText

KENNEL_VARIABLES = ("KENNEL_HOME_ID", "KENNEL_SESSION_ID", "KENNEL_SESSION_NAME", "KENNEL_SESSION", "KENNEL_SOCKET", "KENNEL_TOKEN", "KENNEL_TOKEN_FILE")
"""Variables that Kennel sets for each session. Those of the session that this process runs in are not passed on."""

UNLIMITED = 2**64 - 1
"""The value for no limit."""


def text(given: str) -> OsText:
    """Converts a text for the API; a text that is not UTF-8 is sent as hex."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return {"hex": os.fsencode(given).hex()}
    return given


def environment(given: Mapping[str, str] | None, name: str | None) -> Environment:
    """Returns the given environment, or that of this process."""
    variables = dict(os.environ if given is None else given)
    for variable in KENNEL_VARIABLES:
        variables.pop(variable, None)
    if name is not None:
        variables["KENNEL_SESSION_NAME"] = name
    if all(isinstance(text(key), str) for key in variables):
        return {key: text(value) for key, value in variables.items()}
    return [[text(key), text(value)] for key, value in variables.items()]


def umask() -> int:
    """Returns the umask of this process. Read from /proc, because `os.umask` would change it for other threads."""
    with open("/proc/self/status") as status:
        found = re.search(r"^Umask:\s*([0-7]+)", status.read(), re.MULTILINE)
    return int(found[1], 8) if found else 0o022


def limits() -> List[Tuple[int, int, int]]:
    """Returns the resource limits of this process: resource, soft, hard."""
    numbers = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
    return [(number, *(UNLIMITED if limit < 0 else limit for limit in resource.getrlimit(number))) for number in numbers]


def parent(home_id: str) -> str | None:
    """Returns the session of this home that this process runs in, if any. New sessions end with it."""
    return os.environ.get("KENNEL_SESSION_ID") if os.environ.get("KENNEL_HOME_ID") == home_id else None


def asked_by() -> str:
    """Returns the name of the caller for the event log. It is unique per request, to identify the sessions of a request."""
    return f"kennel_client (user {os.getuid()}, pid {os.getpid()}, request {secrets.token_hex(4)})"
