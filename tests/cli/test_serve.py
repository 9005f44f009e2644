"""The command ``serve``: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import contextlib
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx2 as httpx
import pytest

import forks
import shortlist
from command_line import does, fails, run
from served import TOKEN, begun


@pytest.fixture
def place(tmp_path: Path) -> Path:
    begun(tmp_path / "study.db")
    return tmp_path / "study.db"


@pytest.mark.slow
def test_it_serves_until_it_is_interrupted(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SHORTLIST_TOKEN", raising=False)
    command = [*forks.program(), "serve", str(place), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        page, api, names, end = (server.stdout.readline().split() for _ in range(4))
        token = api[-1]
        assert len(token) == 32
        assert page[1].endswith(f"/{token}/")
        assert page[1].startswith("http://127.0.0.1:")
        assert names[:4] == ["It", "answers", "to", "127.0.0.1,"]
        assert end[0] == "Ctrl-C"
        assert "trees" in httpx.get(page[1]).text
        bearer = {"Authorization": f"Bearer {token}"}
        asked = httpx.post(f"{api[1]}ask", json={"key": "a"}, headers=bearer).json()
        assert [trial["arm"] for trial in asked["trials"]] == ["ash"]
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) == 0
    assert [trial.state for trial in shortlist.Study.load(place).trials] == ["pending"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_one_signal_ends_it_while_others_are_at_work(
    place: Path, ending: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One body is half sent, and one write waits for a storage that another process has locked."""
    monkeypatch.setenv("SHORTLIST_TOKEN", TOKEN)
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    command = [*forks.program(), "serve", str(place), "--port", "0"]
    begin = f"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    bodies = (b"{", b'{"key": "a"}')
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        contextlib.ExitStack() as opened,
    ):
        assert server.stdout is not None
        port = int(server.stdout.readline().split("/")[2].partition(":")[2])
        for body in bodies:
            line = socket.create_connection(("127.0.0.1", port), timeout=20)
            opened.enter_context(line).sendall(f"{begin}Content-Length: 12\r\n\r\n".encode() + body)
        time.sleep(0.5)
        server.send_signal(ending)
        assert server.wait(timeout=5) == code
    other.close()
    assert shortlist.Study.load(place).trials == []


def test_what_cannot_be_served_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(run("serve", place.with_name("none.db")), 2, "none.db")
    for everywhere in ("0.0.0.0", "0", "::", "0x0", "::ffff:0.0.0.0"):
        fails(run("serve", place, "--host", everywhere), 2, "--allow lab-pc")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        fails(run("serve", place, "--port", port), 2, f"--port {port}", "0 for a free one")
    fails(run("serve", place, "--host", "no.such.host.example"), 2, "cannot be listened on")
    monkeypatch.setenv("SHORTLIST_TOKEN", "short")
    fails(run("serve", place), 2, "16 to 200 letters")


def test_a_missing_extra_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("shortlist.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    fails(run("serve", place), 2, "pip install 'shortlist[serve]'")


def test_the_help_says_who_may_use_it() -> None:
    words = " ".join(does("serve", "--help").stdout.split())
    assert "Whoever has the printed address" in words
    assert "--allow" in words
