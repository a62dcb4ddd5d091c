"""Addresses of daemons, and connections to them."""

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
"""The name of the daemon's socket in its home."""

MAX_PATH = 100
"""A socket path must fit into 108 bytes. A longer one is opened through a descriptor of its folder."""

CONNECT_TIMEOUT = 10.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Address(Protocol):
    """The address of a daemon."""

    @property
    def local(self) -> bool:
        """Whether the daemon runs on this machine, so that this process's working directory and environment apply."""

    @property
    def host(self) -> str:
        """The value of the `Host` header."""

    @property
    def token(self) -> str | None:
        """The access token."""

    async def open(self) -> Streams:
        """Opens a connection."""


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
            if len(os.fsencode(path)) > MAX_PATH:
                folder = os.open(self.path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                path = f"/proc/self/fd/{folder}/{self.path.name}"
            return await asyncio.open_unix_connection(path)
        except OSError as error:
            raise Unreachable(f"no daemon listens at {self.path}: {error.strerror or error}") from error
        finally:
            if folder is not None:
                os.close(folder)


@dataclass(frozen=True)
class Url:
    """The TCP address of a daemon."""

    name: str
    port: int
    token: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    local: bool = False

    @property
    def host(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        default = 443 if self.tls else 80
        return name if self.port == default else f"{name}:{self.port}"

    async def open(self) -> Streams:
        opening = asyncio.open_connection(self.name, self.port, ssl=self.tls)
        try:
            return await asyncio.wait_for(opening, CONNECT_TIMEOUT)
        except (OSError, asyncio.TimeoutError) as error:
            raise Unreachable(f"no daemon responds at {self.host}: {error or 'timed out'}") from error

    @staticmethod
    def parse(url: str, token: str | None, tls: ssl.SSLContext | None) -> Url:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"invalid url {url}: expected http://HOST:PORT or https://HOST:PORT")
        secure = parts.scheme == "https"
        context = (tls or ssl.create_default_context()) if secure else None
        return Url(parts.hostname, parts.port or (443 if secure else 80), token, context)


def default_home() -> Path:
    """Returns the default home, by the same rules as the `kennel` program."""
    if home := os.environ.get("KENNEL_HOME"):
        return Path(home).absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):
        return Path(state, "kennel")
    if not (user := os.environ.get("HOME")):
        raise KennelError("no home found: set HOME or KENNEL_HOME, or pass home=")
    return Path(user, ".local/state/kennel")
