"""A commit whose reply was lost: what is said of it is true, and what is done again counts once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from history import check_history
from proxy import Proxy, Side
from shortlist.errors import OutcomeUnknown, StorageError, TrialClosed
from shortlist.storage import database

X = np.random.default_rng(5).normal(size=(6, 3))
VALUES = count(1)


def begin(place: str, **given: object) -> shortlist.Study:
    return shortlist.Study(X, m=2, sigma=20.0, seed=7, storage=place, **given)  # type: ignore[arg-type]


@pytest.fixture
def line(postgres: str) -> Iterator[tuple[Proxy, str, str]]:
    """A line to a new database that can be cut, its address, and the database's own."""
    import psycopg

    name = f"cut_{next(VALUES)}"
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    host, _, port = postgres.rpartition(":")
    proxy = Proxy(int(port))
    try:
        yield proxy, f"{host}:{proxy.port}/{name}?sslmode=disable", f"{postgres}/{name}"
    finally:
        proxy.close()


def cut_everywhere(
    proxy: Proxy, act: Callable[[], Any], *, every: int = 1
) -> Iterator[tuple[Side, int, Any]]:
    """Do something with the line cut before each message of it: what came out, or the error."""
    proxy.count()
    act()
    length = dict(proxy.seen)
    sides: tuple[Side, Side] = ("client", "server")
    for side in sides:
        for number in range(0, length[side], every):
            proxy.count((side, number))
            try:
                came: Any = act()
            except StorageError as error:
                came = error
            yield side, number, came


@pytest.mark.slow
def test_unasked_results_are_there_once_or_not_as_was_said(line: tuple[Proxy, str, str]) -> None:
    proxy, through, direct = line
    study = begin(through)
    attempted: list[tuple[int, float]] = []
    acknowledged: list[tuple[int, float]] = []

    def tell() -> shortlist.study.trial.Trial:
        attempted.append((1, float(next(VALUES))))
        return study.tell(arm=1, value=attempted[-1][1])

    tell()
    acknowledged.append(attempted[-1])
    kinds = set()
    for _, _, came in cut_everywhere(proxy, tell, every=2):
        kinds.add(type(came))
        if isinstance(came, StorageError):
            assert "othing was changed" in str(came), came
        else:
            acknowledged.append((came.arm, came.value))
    loaded = shortlist.Study.load(direct)
    # What was said not to be stored is not; all else is, once.
    stored = [(t.arm, t.value) for t in loaded.trials]
    first_pair = attempted[1]  # the one by which the messages were counted
    assert stored == [pair for pair in attempted if pair in [*acknowledged, first_pair]]
    check_history(loaded, acknowledged, attempted)
    assert len(acknowledged) > 3


@pytest.mark.slow
def test_asking_leaves_no_orphan(line: tuple[Proxy, str, str]) -> None:
    proxy, through, direct = line
    study = begin(through)
    study.ask()
    asked = [trial.number for trial in study.trials]

    def ask() -> int:
        return study.ask().number

    for _, _, came in cut_everywhere(proxy, ask, every=3):
        if not isinstance(came, StorageError):
            asked.append(came)
    assert [t.number for t in shortlist.Study.load(direct).trials] == sorted([*asked, 1])


@pytest.mark.slow
@pytest.mark.parametrize("commits", [True, False])
def test_a_server_that_stays_away_is_said_to_be_unknown(
    line: tuple[Proxy, str, str], monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    proxy, through, direct = line
    monkeypatch.setattr(database, "COMMIT_CHECK_SECONDS", 0.2)
    study = begin(through)

    def last_message(act: Callable[[], Any]) -> tuple[Side, int]:
        """The client's that makes the server commit, or the server's word on it."""
        act()  # a new line first takes the statements themselves
        proxy.count()
        act()
        side: Side = "server" if commits else "client"
        return side, proxy.seen[side] - 1

    given = [(1, float(next(VALUES))) for _ in range(2)]
    unused = iter(given)
    proxy.count(last_message(lambda: study.tell(arm=1, value=next(unused)[1])), for_good=True)
    with pytest.raises(OutcomeUnknown, match="may or may not be stored") as caught:
        study.tell(arm=2, value=0.75, key="b")
    assert "othing was changed" not in str(caught.value)
    proxy.count()
    assert study.tell(arm=2, value=0.75, key="b").value == 0.75
    proxy.count(last_message(study.ask), for_good=True)
    asked = [trial.number for trial in study.pending]
    with pytest.raises(OutcomeUnknown):
        study.ask()
    proxy.count()
    number = study.ask().number  # the same one, if it had been stored
    loaded = shortlist.Study.load(direct)
    assert [t.number for t in loaded.pending] == [*asked, number]
    check_history(loaded, [*given, (2, 0.75)], [*given, (2, 0.75)])


@pytest.mark.parametrize("committed", [True, False])
def test_a_file_whose_commit_fails_is_looked_at_again(
    committed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "study.db")
    study = begin(path)
    commit = database._SQLite.commit

    def broken(self: Any, statements: Any) -> None:
        if committed:
            commit(self, statements)
        raise database.CommitLost from sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(database._SQLite, "commit", broken)
    if committed:
        assert study.tell(arm=1, value=0.5).number == 0
        assert study.ask().number == 1
    else:
        for attempt in (lambda: study.tell(arm=1, value=0.5), study.ask):
            with pytest.raises(StorageError, match=r"disk I/O error. Nothing was changed"):
                attempt()
    monkeypatch.undo()
    assert len(shortlist.Study.load(path).trials) == (2 if committed else 0)
    assert study.ask().number == (2 if committed else 0)


def test_a_key_counts_once(new_storage: Callable[[], str]) -> None:
    for place in (None, new_storage()):
        study = shortlist.Study(X, m=2, sigma=1.0, seed=7, storage=place)
        first = study.tell(arm=3, value=0.0, key="plate 1, row 2")
        assert study.tell(arm=3, value=0.0, key="plate 1, row 2") is first
        study.tell(arm=3, value=0.0, key="plate 1, row 3")
        study.tell(arm=3, value=0.0)
        assert study.evaluations == 3
        with pytest.raises(TrialClosed, match="was told before as trial 0"):
            study.tell(arm=3, value=0.5, key="plate 1, row 2")
        with pytest.raises(TrialClosed, match="was told before as trial 0"):
            study.tell(arm=2, value=0.0, key="plate 1, row 2")
        for wrong in ("", 3, "x" * 201, "a\x00", "\ud800"):
            with pytest.raises(shortlist.errors.InvalidInput, match="key must be"):
                study.tell(arm=3, value=0.0, key=wrong)  # type: ignore[arg-type]
        with pytest.raises(shortlist.errors.InvalidSetting, match="can only be used with arm="):
            study.tell(study.ask(), 0.0, key="plate 1, row 4")
        if place is not None:
            loaded = shortlist.Study.load(place)
            assert [t.key for t in loaded.trials[:3]] == ["plate 1, row 2", "plate 1, row 3", None]
            assert loaded.tell(arm=3, value=0.0, key="plate 1, row 3").number == 1
            assert loaded.fingerprint == study.fingerprint
