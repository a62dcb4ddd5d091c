"""A TCP port that forwards to a Unix socket, because schemathesis only supports TCP."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

PIECE = 64 * 1024


class Gateway:
    """Listens on the loopback interface and forwards all bytes; a context manager."""

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
                # The listener was closed.
                return
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(str(self._path))
            threading.Thread(target=_forward, args=(client, daemon), daemon=True).start()
            threading.Thread(target=_forward, args=(daemon, client), daemon=True).start()


def _forward(source: socket.socket, sink: socket.socket) -> None:
    """Forwards one direction until its end. The other direction stays open for the response."""
    try:
        while piece := source.recv(PIECE):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
