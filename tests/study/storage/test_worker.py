"""Trials of processes that have ended are given again, those of living ones are not."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

import forks
import shortlist
from shortlist.study.storage import worker
from stored import NewStorage, X, begin


@pytest.mark.slow
def test_the_trials_of_a_process_that_has_ended_are_given_again(tmp_path: Path) -> None:
    path = str(tmp_path / "study.db")
    code = f"""
import os, shortlist, numpy as np
X = np.array({X.tolist()!r})
study = shortlist.Study(X, m=3, sigma=0.4, seed=7, storage={path!r})
study.ask()
study.run(lambda trial: os._exit(0), progress=False)
"""
    subprocess.run([*forks.python(), "-c", code], check=True)
    study = shortlist.Study.load(path)
    assert [t.process is None for t in study.pending] == [True, False]
    # The first was asked for by hand: whoever did may still be at it. The second died with its run.
    assert [t.number for t in study.ask(2)] == [1, 2]
    living = study.trials[1]
    assert not living.process


def test_the_trials_of_a_run_before_a_restart_are_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = begin(str(tmp_path / "study.db"))
    here = worker._here()
    assert here is not None
    with worker.running(time.time()) as run:
        study._journal.ask(1, in_turn=True, process=run)
        assert study.ask().number == 1  # it is at work
        monkeypatch.setattr(worker, "_here", lambda: ("elsewhere", *here[1:]))
        assert study.ask().number == 2  # so is one on another machine
        monkeypatch.setattr(worker, "_here", lambda: (here[0], "another boot", here[2]))
        monkeypatch.setattr(worker, "_uptime", lambda: -10.0)  # started after the run began
        assert study.ask().number == 0
        monkeypatch.undo()


def test_a_machine_of_the_same_name_keeps_its_live_trials(
    new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines made from one image: equal host name and machine-id, and each its own start."""
    storage = new_storage()
    one = begin(storage)
    here = worker._here()
    assert here is not None
    with worker.running(one._journal.now) as run:
        one._journal.ask(3, in_turn=True, process=run)
        monkeypatch.setattr(worker, "_here", lambda: (here[0], "another boot", here[2]))
        other = shortlist.Study.load(storage)
        assert [t.number for t in other.ask(2)] == [3, 4]
        # Started after the run of the other began, so that it might be the same machine, restarted.
        # A server sees that the other is still connected. A file is on one machine by its contract.
        monkeypatch.setattr(worker, "_uptime", lambda: -10.0)
        again = [t.number for t in other.ask(2)]
        assert again == ([5, 6] if "://" in storage else [0, 1])


def test_a_run_that_ended_badly_leaves_no_orphans(tmp_path: Path) -> None:
    """Its process lives on, as a notebook does, and the storage was away when it ended."""
    study = begin(str(tmp_path / "study.db"))
    with worker.running(time.time()) as run:
        study._journal.ask(2, in_turn=True, process=run)
    assert [t.number for t in study.ask(3)] == [0, 1, 2]
