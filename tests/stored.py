"""A stored study, for the tests of storage."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shortlist
from shortlist.storage import sql

RNG = np.random.default_rng(5)
X = RNG.normal(size=(8, 3))
MEANS = X @ [0.8, -0.4, 0.3]
NewStorage = Callable[[], str]


def result(trial: shortlist.Study | object, means: np.ndarray = MEANS, sigma: float = 0.4) -> float:
    return float(means[trial.arm] + sigma * np.random.default_rng(trial.seed).normal())  # type: ignore[attr-defined]


def begin(storage: str | None = None, **given: object) -> shortlist.Study:
    given = {"m": 3, "sigma": 0.4, "seed": 7, "audit": False, **given}
    return shortlist.Study(X, storage=storage, **given)  # type: ignore[arg-type]


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Put both clocks on: this machine's, and the server's as it is read here."""
    now, clock = time.time, sql._Transaction.now.fget
    monkeypatch.setattr(time, "time", lambda: now() + seconds)

    def put_on(self: sql._Transaction) -> float:
        return clock(self) + (0.0 if self._ahead is None else seconds)  # type: ignore[misc]

    monkeypatch.setattr(sql._Transaction, "now", property(put_on))


def arrays_of(study: shortlist.Study) -> list[np.ndarray]:
    """All numbers behind its means."""
    fits = study.posterior.fits
    return [getattr(fits, name).copy() for name in fits.by_run]


def assert_same(one: shortlist.Study, other: shortlist.Study) -> None:
    assert one.fingerprint == other.fingerprint
    assert [t.arm for t in one.trials] == [t.arm for t in other.trials]
    assert [t.value for t in one.trials] == [t.value for t in other.trials]
    assert [t.state for t in one.trials] == [t.state for t in other.trials]
    assert [t.number for t in one.taken] == [t.number for t in other.taken]
    assert [t.number for t in one.pending] == [t.number for t in other.pending]
    assert [t.number for t in one.waiting] == [t.number for t in other.waiting]
    for mine, others in zip(arrays_of(one), arrays_of(other), strict=True):
        np.testing.assert_array_equal(mine, others)
    assert one.done == other.done
    assert one.statistic == other.statistic
    shortlists = one.shortlist, other.shortlist
    assert shortlists[0].names == shortlists[1].names
    assert shortlists[0].evaluations == shortlists[1].evaluations
    pd.testing.assert_frame_equal(one.table(), other.table())


def edit(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()
