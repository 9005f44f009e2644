"""Commits that fail and replies that are lost; cuts before every message are in torture.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from proxy import Proxy, Side
from shortlist.errors import StorageError, TrialClosed
from shortlist.storage import sql

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


@pytest.mark.slow
@pytest.mark.parametrize("commits", [True, False])
def test_a_run_whose_replies_are_lost_evaluates_what_it_asked_for(
    line: tuple[Proxy, str, str], commits: bool
) -> None:
    proxy, through, direct = line
    study = begin(through)
    evaluated: list[int] = []

    def objective(trial: shortlist.study.trial.Trial) -> float:
        evaluated.append(trial.number)
        if len(evaluated) % 3 == 0:  # the next commit, that of this result, is lost
            side: Side = "server" if commits else "client"
            proxy.count((side, 4 if commits else 3))
        return float(trial.number)

    study.run(objective, max_evaluations=12, progress=False)
    loaded = shortlist.Study.load(direct)
    assert [(t.number, t.value) for t in loaded.trials] == [(n, float(n)) for n in range(12)]
    assert evaluated == list(range(12))


def test_a_file_whose_commit_fails_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "study.db")
    study = begin(path)

    class Broken:
        """A connection whose commits fail."""

        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

        def execute(self, text: str, *values: Any) -> Any:
            if text == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return self._connection.execute(text, *values)

    connect = sql.SQLite.connect
    monkeypatch.setattr(sql.SQLite, "connect", lambda self: Broken(connect(self)))
    study.close()
    for attempt in (lambda: study.tell(arm=1, value=0.5), study.ask):
        with pytest.raises(StorageError, match=r"disk I/O error. Nothing was changed"):
            attempt()
        assert not study.trials
    monkeypatch.undo()
    study.close()
    assert not shortlist.Study.load(path).trials
    assert study.ask().number == 0


def test_a_key_counts_once(new_storage: Callable[[], str]) -> None:
    for place in (None, new_storage()):
        study = shortlist.Study(X, m=2, sigma=1.0, seed=7, storage=place)
        first = study.tell(arm=3, value=0.0, key="plate 1, row 2")
        assert study.tell(arm=3, value=0.0, key="plate 1, row 2") == first
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
