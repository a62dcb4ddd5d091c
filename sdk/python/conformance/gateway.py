"""A TCP port that leads to a Unix socket: programs that make up requests know nothing of those."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

PIECE = 64 * 1024


class Gateway:
    """At loopback, as a context manager. Whatever comes is passed on as it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]

    def __enter__(self) -> Gateway:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                # It was closed.
                return
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(str(self._path))
            threading.Thread(target=_pass_on, args=(client, daemon), daemon=True).start()
            threading.Thread(target=_pass_on, args=(daemon, client), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Until one of them has no more. The other direction goes on: an answer may come though no more is taken."""
    try:
        while piece := source.recv(PIECE):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
