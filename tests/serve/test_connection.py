"""Connections of strangers: few, and not for long; and how the server ends while some are open."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

import shortlist
from served import BEARER, TOKEN, begun, server_of
from shortlist.serve import connection

HALF = {
    "nothing": b"",
    "half of the headers": b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "half of a body": b"POST /api/tell HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
    "a whole request": b"GET /wrong/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}
WRITES = f"POST /%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    begun(tmp_path / "study.db")
    return tmp_path / "study.db"


@contextlib.contextmanager
def connected(address: str, *sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent this and wait."""
    parts = urlsplit(address)
    with contextlib.ExitStack() as opened:
        lines = []
        for each in sent:
            line = socket.create_connection((parts.hostname, parts.port), timeout=20)
            lines.append(opened.enter_context(line))
            lines[-1].sendall(each)
        yield lines


def is_closed(line: socket.socket) -> bool:
    with contextlib.suppress(ConnectionError):
        while line.recv(65536):
            pass
    return True


@pytest.mark.parametrize("sent", HALF)
def test_a_stranger_s_connection_ends(
    place: Path, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SECONDS", 0.3)
    with server_of(place) as address, connected(address, HALF[sent]) as [line]:
        begun_at = time.monotonic()
        assert is_closed(line)
        assert time.monotonic() - begun_at < 5


def test_who_has_the_token_has_time(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SECONDS", 0.2)
    begin = WRITES % "api/ask" + "Content-Length: 13\r\n\r\n"
    with server_of(place) as address, connected(address, begin.encode()) as [line]:
        time.sleep(0.6)
        line.sendall(b'{"key": "a1"}')
        assert b"200 OK" in line.recv(65536)


def test_who_has_shown_the_token_is_never_cut(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SECONDS", 0.02)
    with server_of(place) as address:
        for _ in range(60):  # one request after the other while the time for strangers ends
            with httpx.Client(base_url=address) as client:
                end = time.monotonic() + 0.03
                while time.monotonic() < end:
                    assert client.get(f"/{TOKEN}").status_code == 307


def test_strangers_make_way_for_others(place: Path) -> None:
    many = [list(HALF.values())[k % 3] for k in range(4 * connection.STRANGERS)]
    with (
        server_of(place) as address,
        httpx.Client(base_url=address, headers=BEARER, timeout=20) as before,
    ):
        assert before.get("/api/status").status_code == 200
        with connected(address, *many) as lines:
            begun_at = time.monotonic()
            assert httpx.get(f"{address}/api/status", headers=BEARER).status_code == 200
            assert before.post("/api/ask", json={"key": "a"}).status_code == 200
            assert all(is_closed(line) for line in lines[: 2 * connection.STRANGERS])
            assert time.monotonic() - begun_at < connection.SECONDS - 2.0  # not by their time


def test_who_sends_the_token_is_not_closed_for_strangers(place: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    status = WRITES.replace("POST", "GET") % "api/status" + "\r\n"
    sent = [status.encode() if k % 20 == 0 else HALF["half of the headers"] for k in range(400)]
    with connected(address, *sent) as lines, server_of(place, listener=listener):
        replies = [line.recv(65536) for line in lines[::20]]
    assert [reply[:15] for reply in replies] == [b"HTTP/1.1 200 OK"] * 20


# Requests that are cut


@pytest.mark.parametrize("ending", ["closed", "reset"])
@pytest.mark.parametrize("framing", ["Content-Length: 12", "Transfer-Encoding: chunked"])
def test_nothing_is_done_for_half_a_request(place: Path, framing: str, ending: str) -> None:
    study = shortlist.Study.load(place)
    study.ask(20)
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    body = "trials=1" if "Length" in framing else "8\r\ntrials=1\r\n"
    sent = f"{WRITES % f'{TOKEN}/fail'}{form}{framing}\r\n\r\n{body}"
    with server_of(place) as address:
        with connected(address, sent.encode()) as [line]:
            time.sleep(0.1)
            if ending == "reset":
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        time.sleep(0.2)
        assert httpx.get(f"{address}/api/status", headers=BEARER).json()["failed"] == 0


# The end


def test_the_server_ends_while_a_body_is_half_sent(place: Path) -> None:
    begin = WRITES % "api/ask" + "Content-Length: 13\r\n\r\n{"
    with contextlib.ExitStack() as opened:
        address = opened.enter_context(server := server_of(place))
        [line] = opened.enter_context(connected(address, begin.encode()))
        time.sleep(0.2)
        begun_at = time.monotonic()
        server.__exit__(None, None, None)
        assert time.monotonic() - begun_at < 5
        assert b"503 Service Unavailable" in line.recv(65536)
    assert shortlist.Study.load(place).trials == []


def test_the_server_ends_while_the_storage_is_locked(place: Path) -> None:
    shortlist.Study.load(place).ask(2)
    other = sqlite3.connect(place, isolation_level=None)
    replies: list[Any] = []

    def tell(trial: int, address: str) -> None:
        given = {"trial": trial, "value": 0.5}
        replies.append(httpx.post(f"{address}/api/tell", json=given, headers=BEARER, timeout=30))

    with server_of(place) as address:
        tell(0, address)
        other.execute("BEGIN IMMEDIATE")
        waiting = threading.Thread(target=tell, args=(1, address))
        waiting.start()
        time.sleep(1.5)  # until the request is there and waits, also on a busy machine
        begun_at = time.monotonic()
    assert time.monotonic() - begun_at < 5
    waiting.join()
    assert [reply.status_code for reply in replies] == [200, 503]
    assert "send it again" in replies[1].json()["error"]
    other.execute("ROLLBACK")
    other.close()
    assert shortlist.Study.load(place).trials[0].value == 0.5
