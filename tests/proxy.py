"""Stands between a client and a PostgreSQL server, and cuts the line before a given message."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

Side = Literal["client", "server"]


class Proxy:
    """A line to a server that can be cut.

    Attributes
    ----------
    seen : dict
        How many messages the client and the server have sent since :meth:`count` was called.
    """

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._door = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = self._door.getsockname()[1]
        self._lines: list[socket.socket] = []
        self._lock = threading.Lock()
        self._cut: tuple[Side, int] | None = None
        self.away = False  # whether new lines are refused too
        self._flows = threading.Event()
        self._flows.set()
        self.seen: dict[Side, int] = {"client": 0, "server": 0}
        threading.Thread(target=self._accept, daemon=True).start()

    def count(self, cut: tuple[Side, int] | None = None, *, for_good: bool = False) -> None:
        """Count messages from now on; cut the line before message ``cut`` of a side passes.

        Parameters
        ----------
        cut : (side, number), optional
            The first message is number 0. All that was sent before it passes.
        for_good : bool
            Whether no new line is let through either, until :meth:`count` is called again.
        """
        with self._lock:
            self._cut, self._for_good, self.away = cut, for_good, False
            self.seen = {"client": 0, "server": 0}

    def stall(self, stalled: bool = True) -> None:
        """Take what is sent, on new lines too, and pass nothing on; or go on."""
        (self._flows.clear if stalled else self._flows.set)()

    def close(self) -> None:
        """Cut every line and take no more."""
        self._door.close()
        self._hang_up()

    def _hang_up(self) -> None:
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
        self._lines = []

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                if self.away:
                    client.close()
                    continue
                server = socket.create_connection(self._server)
                self._lines += [client, server]
                for side, source, sink in (("client", client, server), ("server", server, client)):
                    threading.Thread(
                        target=self._pass_on, args=(side, source, sink), daemon=True
                    ).start()

    def _pass_on(self, side: Side, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            for message in _messages(source, first_is_untyped=side == "client"):
                self._flows.wait()
                with self._lock:
                    here = (side, self.seen[side])
                    self.seen[side] += 1
                    if here == self._cut:
                        self._cut, self.away = None, self._for_good
                        self._hang_up()
                        return
                    sink.sendall(message)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


def _messages(source: socket.socket, *, first_is_untyped: bool) -> Iterator[bytes]:
    """The messages of the protocol: a letter, a length that counts itself, and the content.

    A client's first has no letter. (Without encryption: the address says ``sslmode=disable``.)
    """
    if first_is_untyped:
        head = _exactly(source, 4)
        yield head + _exactly(source, int.from_bytes(head, "big") - 4)
    while True:
        head = _exactly(source, 5)
        yield head + _exactly(source, int.from_bytes(head[1:], "big") - 4)


def _exactly(source: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        part = source.recv(size - len(read))
        if not part:
            raise OSError("closed")
        read += part
    return read
