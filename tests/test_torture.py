"""A small part of the torture (``make torture`` does all of it): nothing lost, nothing invented.

Kills are in test_crash.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import torture
from requirements import missing
from server import Server, running_server, server_programs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    programs = server_programs()
    if programs is None:
        missing("PostgreSQL")
        return
    with running_server(programs) as started:
        yield started


def test_cut_lines(server: Server) -> None:
    figures = torture.cut_lines(server, every=4)
    assert figures["cuts"] > 8
    assert figures["unknown"] > 0


def test_server_crashes(server: Server) -> None:
    assert torture.server_crashes(server, 2, between=15)["acknowledged"] > 2


def test_restarts(server: Server) -> None:
    assert torture.restarts(server, 2, between=15)["acknowledged"] > 2


def test_wrong_clocks(server: Server) -> None:
    assert torture.wrong_clocks(server, 30)["results"] == 30


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forks(tmp_path: Path) -> None:
    assert torture.forks(str(tmp_path / "study.db"), 5)["acknowledged"] >= 10


def test_strangers(tmp_path: Path) -> None:
    assert torture.strangers(str(tmp_path / "study.db"), 300, 256, 3)["acknowledged"] >= 3
