"""A study, its server in this process, and clients of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import shortlist
from shortlist.serve.application import application, server

TOKEN = "token-for-these-tests"
NAMES = ["127.0.0.1", "localhost", "::1"]
BEARER = {"Authorization": f"Bearer {TOKEN}"}
MEANS = {"ash": 0.1, "elm": 0.5, "oak": 0.9}


def begun(place: Path | str, **settings: Any) -> shortlist.Study:
    """A small stored study without features."""
    given = {"arms": list(MEANS), "m": 1, "sigma": 0.1, "seed": 0, "name": "trees", **settings}
    return shortlist.Study(storage=place, **given)


class Client:
    """A client that holds the token."""

    def __init__(self, http: TestClient) -> None:
        self.http = http

    def page(self, path: str = "", **given: Any) -> Any:
        return self.http.request("POST" if given else "GET", f"/{TOKEN}/{path}", **given)

    def api(self, path: str, given: Any = None, **more: Any) -> Any:
        method = "GET" if given is None else "POST"
        return self.http.request(method, f"/api/{path}", json=given, headers=BEARER, **more)


@contextmanager
def client_of(place: Path | str) -> Iterator[Client]:
    """A client of a server in this process; errors of the server are raised here."""
    app = application(lambda: shortlist.Study.load(place), token=TOKEN, names=NAMES)
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as http:
        yield Client(http)


@contextmanager
def server_of(
    place: Path | str, token: str = TOKEN, port: int = 0, listener: socket.socket | None = None
) -> Iterator[str]:
    """The address of a real server, in a thread."""
    app = application(lambda: shortlist.Study.load(place), token=token, names=NAMES)
    listener = listener or socket.create_server(("127.0.0.1", port))
    running = server(app)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not running.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join()
        listener.close()
