"""Forked processes go on with a stored study."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import shortlist
from history import check_replay
from stored import NewStorage, begin, result


def test_forked_children_use_connections_of_their_own(new_storage: NewStorage) -> None:
    study = begin(new_storage())
    study.ask()
    child = os.fork()
    if child == 0:
        try:
            trial = study.ask()
            study.tell(trial, 1.0)
            os._exit(0 if trial.number == 1 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert study.ask().number == 2
    assert study.trials[1].value == 1.0


def test_a_child_loses_nothing_when_its_parent_closes(tmp_path: Path) -> None:
    """SQLite takes a forked connection's locks for the child's own, and drops the log under it."""
    path = tmp_path / "study.db"
    study = begin(str(path))
    study.ask()
    go, told = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            study.tell(0, 1.0)
            os.write(told[1], b".")
            os.read(go[0], 1)
            for number in range(1, 6):
                study.tell(study.ask(), float(number))
            os._exit(0)
        except BaseException:
            os._exit(2)
    os.read(told[0], 1)
    study.close()
    os.write(go[1], b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [t.value for t in shortlist.Study.load(path).trials] == [1.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("stored", [True, False])
def test_a_child_forked_while_another_thread_asks_can_ask(stored: bool, tmp_path: Path) -> None:
    study = begin(str(tmp_path / "study.db") if stored else None, sigma=30.0)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            trial = study.ask()
            study.tell(trial, result(trial))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    ends = []
    try:
        for _ in range(12):
            time.sleep(0.003)
            child = os.fork()
            if child == 0:
                signal.alarm(30)  # kills a child that waits for ever
                try:
                    trial = study.ask()
                    study.tell(trial, 1.0)
                    os._exit(0 if study.trials[trial.number].value == 1.0 else 1)
                except BaseException:
                    os._exit(2)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert ends == [0] * 12
    if stored:
        loaded = shortlist.Study.load(tmp_path / "study.db")
        assert sum(t.value == 1.0 for t in loaded.trials) == 12
        check_replay(loaded)
