"""Where a daemon is, and how to get there."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from .errors import KennelError, Unreachable

SOCKET = "kennel.sock"
"""The daemon's socket in its home."""

LONGEST_PATH = 100
"""A socket's path must fit into 108 bytes. A longer one is reached through a descriptor of its folder."""

CONNECT_TIMEOUT = 10.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Address(Protocol):
    """A place where a daemon listens."""

    @property
    def local(self) -> bool:
        """Whether it is this machine for certain, so that our folder and environment mean something there."""

    @property
    def host(self) -> str:
        """For the `Host` header."""

    @property
    def token(self) -> str | None:
        """What lets us in."""

    async def open(self) -> Streams:
        """A connection."""


@dataclass(frozen=True)
class Socket:
    """The socket in a home."""

    path: Path
    local: bool = True
    host: str = "kennel"
    token: str | None = None

    async def open(self) -> Streams:
        path, folder = str(self.path), None
        try:
            if len(os.fsencode(path)) > LONGEST_PATH:
                folder = os.open(self.path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                path = f"/proc/self/fd/{folder}/{self.path.name}"
            return await asyncio.open_unix_connection(path)
        except OSError as error:
            raise Unreachable(f"nobody listens at {self.path}: {error.strerror or error}") from error
        finally:
            if folder is not None:
                os.close(folder)


@dataclass(frozen=True)
class Url:
    """A daemon that is reached over TCP."""

    name: str
    port: int
    token: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    local: bool = False

    @property
    def host(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        usual = 443 if self.tls else 80
        return name if self.port == usual else f"{name}:{self.port}"

    async def open(self) -> Streams:
        opening = asyncio.open_connection(self.name, self.port, ssl=self.tls)
        try:
            return await asyncio.wait_for(opening, CONNECT_TIMEOUT)
        except (OSError, asyncio.TimeoutError) as error:
            raise Unreachable(f"nobody answers at {self.host}: {error or 'in time'}") from error

    @staticmethod
    def parse(url: str, token: str | None, tls: ssl.SSLContext | None) -> Url:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"not the address of a daemon, as http://HOST:PORT or https://HOST:PORT: {url}")
        secure = parts.scheme == "https"
        context = (tls or ssl.create_default_context()) if secure else None
        return Url(parts.hostname, parts.port or (443 if secure else 80), token, context)


def default_home() -> Path:
    """Where the program `kennel` has it."""
    if home := os.environ.get("KENNEL_HOME"):
        return Path(home).absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):
        return Path(state, "kennel")
    if not (user := os.environ.get("HOME")):
        raise KennelError("no home: set HOME or KENNEL_HOME, or give home=")
    return Path(user, ".local/state/kennel")
