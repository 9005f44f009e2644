"""Stored studies: whole or not at all, the same in memory, in a database and in a forked process."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Never

import numpy as np
import pytest

import shortlist
from history import check_replay
from shortlist.engine.fits import Rows
from shortlist.errors import (
    DamagedStorage,
    InvalidSetting,
    StorageError,
    StudyStopped,
    TrialClosed,
    UnknownTrial,
)
from shortlist.problem import Problem
from shortlist.storage import sql
from shortlist.storage.opening import study_names
from shortlist.study.log import Log
from stored import RNG, NewStorage, X, assert_same, begin, edit, later, result

MANY = RNG.normal(size=(200, 3))
ALGORITHMS = [
    "m-LinGapE",
    "LinGIFA",
    "LUCB both arms",
    "LinGame",
    "Guess-and-verify",
    shortlist.GIFA(candidates="smallest_gap", initialization=None, regularization=0.5, threshold="heuristic"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: getattr(each, "name", each))
def test_a_stored_study_is_the_study_in_memory(
    algorithm: str | shortlist.GIFA, tmp_path: Path
) -> None:
    """Random asks, tells, failures, cancellations and loads, the same on both."""
    choices = np.random.default_rng(3)
    path = str(tmp_path / "study.db")
    memory = begin(algorithm=algorithm, S=2.0, intercept=False)
    stored = begin(path, algorithm=algorithm, S=2.0, intercept=False)
    for step in range(80):
        if step == 30:  # the rest of the initial pulls, at once
            trials = memory.ask(80)
            assert [t.arm for t in stored.ask(80)] == [t.arm for t in trials]
            for study in (memory, stored):
                study.tell_many([(trial.number, result(trial)) for trial in trials])
        if memory.done:
            memory.reopen()
            stored.reopen()
        if memory.set_aside:
            memory.readmit()
            stored.readmit()
        action = choices.integers(10)
        pending = memory.pending
        if action < 4 or not pending:
            count = int(choices.integers(1, 4))
            asked = [t.arm for t in memory.ask(count)]
            assert [t.arm for t in stored.ask(count)] == asked
        elif action < 8:
            trial = pending[choices.integers(len(pending))]
            for study in (memory, stored):
                study.tell(trial.number, result(trial))
        elif action == 8:
            trial = pending[choices.integers(len(pending))]
            for study in (memory, stored):
                study.fail(trial.number, "dropped")
        else:
            for study in (memory, stored):
                study.tell(arm=int(action) % 8, value=0.25 * step)
        if step % 16 == 0:
            assert_same(stored, memory)
            stored = shortlist.Study.load(path)
            assert_same(stored, memory)
    assert memory.stage == "rounds"
    assert memory.evaluations > 100


def test_rows_made_on_demand_are_replayed_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    study = shortlist.Study(MANY, m=4, sigma=0.4, seed=1, storage=path)
    means = MANY @ [0.8, -0.4, 0.3]
    study.run(lambda trial: result(trial, means), max_evaluations=300, progress=False)
    assert isinstance(study.posterior.fits, Rows)
    assert_same(shortlist.Study.load(path), study)


@pytest.mark.slow
def test_two_openings_see_each_other(new_storage: NewStorage) -> None:
    storage = new_storage()
    one, other, memory = begin(storage), begin(storage), begin()
    for _ in range(30):
        trials = one.ask(), other.ask()
        assert [t.number for t in trials] == [len(memory.trials), len(memory.trials) + 1]
        assert [t.arm for t in trials] == [memory.ask().arm, memory.ask().arm]
        for study, trial in ((other, trials[0]), (one, trials[1])):
            value = result(trial)
            study.tell(trial.number, value)
            memory.tell(trial.number, value)
    one.refresh()
    other.refresh()
    assert_same(one, memory)
    assert_same(other, memory)
    assert study_names(storage) == ["study"]
    assert_same(shortlist.Study.load(storage, "study"), memory)


@pytest.mark.slow
def test_a_stop_elsewhere_is_seen_at_the_next_ask(new_storage: NewStorage) -> None:
    storage = new_storage()
    one, other = begin(storage), begin(storage)
    one.run(result, progress=False)
    assert not other.done
    with pytest.raises(StudyStopped, match=f"after {one.evaluations} evaluations"):
        other.ask()
    assert other.shortlist.names == one.shortlist.names
    one.reopen()
    assert other.done
    assert other.ask().number == len(one.trials)
    assert not other.done


@pytest.mark.slow
def test_telling_twice_counts_once(new_storage: NewStorage) -> None:
    storage = new_storage()
    one, other = begin(storage), begin(storage)
    trial = one.ask()
    other.refresh()
    other.tell(trial.number, 1.5)
    with pytest.raises(TrialClosed, match="is told and cannot be told"):
        one.tell(trial, 1.5)
    assert one.tell(trial, 9.0, if_told="ignore").value == 1.5
    assert one.evaluations == 1
    with pytest.raises(UnknownTrial, match="trial 5 is unknown"):
        one.tell(5, 1.0)


@pytest.mark.slow
def test_several_results_are_taken_whole_or_not_at_all(new_storage: NewStorage) -> None:
    study = begin(new_storage())
    trials = study.ask(4)
    before = study.fingerprint
    for wrong in (
        [(0, 1.0), (1, float("nan"))],
        [(0, 1.0), (9, 1.0)],
        [(0, 1.0), (0, 2.0)],
        [(0, 1.0), (1, "two")],
    ):
        with pytest.raises(shortlist.errors.ShortlistError):
            study.tell_many(wrong)  # type: ignore[arg-type]
        study.refresh()
        assert study.fingerprint == before
        assert not study.evaluations
    study.tell_many([(trials[3], 1.0), (1, 2.0)])
    assert [t.number for t in study.taken] == [3, 1]
    with pytest.raises(TrialClosed):
        study.tell_many([(0, 1.0), (1, 2.0)])
    study.tell_many([(0, 1.0), (1, 2.0)], if_told="ignore")
    assert study.evaluations == 3


def test_a_lease_that_is_over_is_given_again_and_a_late_result_counts_once(
    new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = new_storage()
    study = begin(storage, lease=600)
    first = study.ask()
    second = study.ask()
    assert (first.number, second.number) == (0, 1)
    later(monkeypatch, 601.0)
    other = shortlist.Study.load(storage)
    again = other.ask(3)
    assert [t.number for t in again] == [0, 1, 2]
    assert (again[0].arm, again[0].seed) == (first.arm, first.seed)
    third = shortlist.Study.load(storage)  # the new leases are kept, and run from now on
    assert [t.expires_at for t in third.pending] == [t.expires_at for t in again]
    assert all(t.expires_at > third._log.now for t in third.pending)
    assert third.ask().number == 3
    study.tell(first, 1.0)  # late
    assert other.tell(again[0], 2.0, if_told="ignore").value == 1.0
    assert other.evaluations == 1
    with pytest.raises(InvalidSetting, match="lease must be"):
        begin(lease=-1)


def test_a_clock_that_is_ahead_takes_no_leased_trial(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease is over when it is over by the server's clock."""
    import psycopg

    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE skewed")
    storage = f"{postgres}/skewed"
    begin(storage, lease=600.0).ask(3)
    now = time.time
    for ahead in (3600.0, -3600.0, 86400.0 * 365):
        monkeypatch.setattr(time, "time", lambda ahead=ahead: now() + ahead)
        other = shortlist.Study.load(storage)
        assert other.ask().number == len(other.trials) - 1 >= 3
        assert abs(other.trials[-1].asked_at - now()) < 60.0
        assert abs(other._log.now - now()) < 60.0


def test_a_file_that_was_moved_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(str(path))
    trial = study.ask()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StorageError, match="moved, deleted or replaced"):
        study.tell(trial, 1.0)
    (tmp_path / "moved.db").rename(path)
    assert study.tell(trial.number, 1.0).value == 1.0


def test_a_locked_file_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = begin(str(tmp_path / "study.db"))
    holder = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(sql, "PATIENCE", 0.2)
    with pytest.raises(StorageError, match="was locked by another process"):
        study.ask()
    holder.close()
    assert study.ask().number == 0


def test_threads_may_share_a_study(new_storage: NewStorage) -> None:
    study = begin(new_storage(), sigma=3.0)

    def work() -> None:
        for _ in range(10):
            trial = study.ask()
            study.tell(trial, result(trial))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [t.number for t in study.trials] == list(range(40))
    assert study.evaluations == 40


TAMPERED = {
    "a value": "UPDATE shortlist_trials SET value = value + 1e-9 WHERE number = 60",
    "an arm": "UPDATE shortlist_trials SET arm = (arm + 1) % 8 WHERE number = 60",
    "a pending arm": "UPDATE shortlist_trials SET arm = (arm + 1) % 8 WHERE number = 121",
    "an arm out of range": "UPDATE shortlist_trials SET arm = 99 WHERE number = 3",
    "a state": "UPDATE shortlist_trials SET state = 'failed' WHERE number = 60",
    "the state of an open trial": "UPDATE shortlist_trials SET state = 'failed' WHERE number = 121",
    "an open trial told": "UPDATE shortlist_trials SET state = 'told', value = 1 WHERE number = 121",
    "an open trial cancelled": "UPDATE shortlist_trials SET state = 'cancelled' WHERE number = 120",
    "a strange open state": "UPDATE shortlist_trials SET state = 'x' WHERE number = 121",
    "a value of an open trial": "UPDATE shortlist_trials SET value = 0 WHERE number = 121",
    "a told trial open": "UPDATE shortlist_trials SET state = 'pending' WHERE number = 60",
    "a candidate out of range": "UPDATE shortlist_trials SET b = 99 WHERE number = 121",
    "a key": "UPDATE shortlist_trials SET key = 'x' WHERE number = 60",
    "a strange state": "UPDATE shortlist_trials SET state = 'x' WHERE number = 60",
    "a lost trial": "DELETE FROM shortlist_trials WHERE number = 60",
    "the last trial": "DELETE FROM shortlist_trials WHERE number = 121",
    "all trials": "DELETE FROM shortlist_trials",
    "another key of a trial": "UPDATE shortlist_trials SET other_keys = '[\"r\"]' WHERE number = 7",
    "an added trial": """INSERT INTO shortlist_trials SELECT study, 122, arm, block, state, value, reason,
        asked_at, closed_at, expires_at, worker, run, in_turn, origin, b, c, gap, statistic,
        second, opened, closed, touched, key, other_keys
        FROM shortlist_trials WHERE number = 60""",
    "a text for a value": "UPDATE shortlist_trials SET value = 'one' WHERE number = 60",
    "a turn": "UPDATE shortlist_trials SET in_turn = 1 - in_turn WHERE number = 121",
    "an origin": "UPDATE shortlist_trials SET origin = 'unasked' WHERE number = 60",
    "a strange origin": "UPDATE shortlist_trials SET origin = 'x' WHERE number = 60",
    "a strange count": "UPDATE shortlist_studies SET changes = 'x'",
    "a strange seed": """UPDATE shortlist_studies
        SET settings = replace(settings, '"seed": 7', '"seed": "x"')""",
    "a strange algorithm": """UPDATE shortlist_studies
        SET settings = replace(settings, '{"name": "m-LinGapE"}', '{"name": 3, "x": 1}')""",
    "a null": "UPDATE shortlist_trials SET value = NULL WHERE number = 60",
    "an order": """UPDATE shortlist_trials SET closed = closed + 2, opened = opened + 2
        WHERE number = 60""",
    "sigma": "UPDATE shortlist_studies SET settings = replace(settings, '0.4', '0.3')",
    "broken settings": "UPDATE shortlist_studies SET settings = '{'",
    "an unknown algorithm":
        "UPDATE shortlist_studies SET settings = replace(settings, 'm-LinGapE', '__import__')",
    "missing settings": "UPDATE shortlist_studies SET settings = '{}'",
    "features": "UPDATE shortlist_studies SET features = zeroblob(length(features))",
    "short features": "UPDATE shortlist_studies SET features = x'00'",
    "names": "UPDATE shortlist_studies SET arms = '[1, 2]'",
    "the count": "UPDATE shortlist_studies SET changes = changes + 1",
    "the fingerprint": "UPDATE shortlist_studies SET fingerprint = 'x'",
    "the version": "UPDATE shortlist_meta SET value = 'one'",
    "a lost table": "DROP TABLE shortlist_events",
    "a false event": "INSERT INTO shortlist_events VALUES (1, 500, 'reopened', -1, 0, '', NULL, NULL)",
    "a strange event": "INSERT INTO shortlist_events VALUES (1, 300, 'nonsense', -1, 0, '', NULL, NULL)",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_file_is_refused_and_left_as_it_is(what: str, file: Path) -> None:
    shortlist.Study.load(file).close()
    edit(file, TAMPERED[what])
    before = file.read_bytes()
    with pytest.raises(shortlist.errors.ShortlistError) as caught:
        shortlist.Study.load(file)
    known = DamagedStorage | shortlist.errors.InvalidInput | shortlist.errors.OtherTables
    assert isinstance(caught.value, known)
    assert str(caught.value)
    assert file.read_bytes() == before


@pytest.mark.slow
def test_no_state_can_be_altered_unnoticed(tmp_path: Path) -> None:
    """Every trial, in every state, to every other state, with and without a value."""
    path = tmp_path / "study.db"
    study = begin(str(path))
    for number, value in ((0, 0.0), (1, 1.5)):
        study.tell(study.ask().number, value)
        assert study.trials[number].value == value
    study.fail(study.ask())
    study.cancel(study.ask())
    study.tell(arm=3, value=0.0, key="a")
    study.ask()
    study.close()
    states = ("pending", "told", "failed", "cancelled")
    row = "SELECT state, value FROM shortlist_trials WHERE number = ?"
    for number in range(6):
        connection = sqlite3.connect(path)
        was = connection.execute(row, [number]).fetchone()
        connection.close()
        for now in ((state, value) for state in states for value in (None, 0.0, 2.5)):
            set_it = "UPDATE shortlist_trials SET state = ?, value = ? WHERE number = ?"
            edit(path, set_it, *now, number)
            if now == was:
                shortlist.Study.load(path).close()
            else:
                with pytest.raises(DamagedStorage):
                    shortlist.Study.load(path)
            edit(path, set_it, *was, number)


@pytest.mark.parametrize("error", [AttributeError, ValueError, KeyError, TypeError])
def test_a_mistake_of_ours_is_not_called_a_damaged_file(
    error: type[Exception], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*given: object) -> Never:
        raise error("a mistake of ours")

    for place in (Log, "refresh"), (shortlist.GIFA, "bind"), (Problem, "locked"):
        with monkeypatch.context() as changed:
            changed.setattr(*place, wrong)
            with pytest.raises(error, match="a mistake of ours") as caught:
                shortlist.Study.load(file)
            assert not isinstance(caught.value, shortlist.errors.ShortlistError)


def test_results_that_give_other_means_here_are_not_called_altered(file: Path) -> None:
    """As with another number of threads of BLAS: then the digest of the means is another one."""
    edit(file, "UPDATE shortlist_studies SET posterior = 'x'")
    with pytest.warns(UserWarning, match="rounded otherwise") as caught:
        study = shortlist.Study.load(file)
    [words] = [str(each.message) for each in caught]
    assert "All stored results are as they were written" in words
    assert not any(word in words for word in ("damaged", "altered", "copy"))
    study.tell(120, 0.5)  # said once
    assert shortlist.Study.load(file).fingerprint == study.fingerprint


def test_a_file_altered_while_it_is_open_is_refused(file: Path) -> None:
    study, other = shortlist.Study.load(file), shortlist.Study.load(file)
    other.tell(120, 0.0)
    edit(file, "UPDATE shortlist_trials SET value = 1.0 WHERE number = 120")
    with pytest.raises(DamagedStorage):
        study.ask()
    with pytest.raises(DamagedStorage):
        study.ask()


def test_a_full_or_broken_disk_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that fails leaves memory and file as they were, and the study can go on."""
    study = begin(str(tmp_path / "study.db"))
    trial = study.ask()
    before = study.fingerprint

    def broken(self: object, connection: object, writes: object) -> None:
        raise sqlite3.OperationalError("disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("shortlist.storage.sql.SQLite.commit", broken)
        with pytest.raises(StorageError, match="disk is full"):
            study.tell(trial, 1.0)
    study.refresh()
    assert study.fingerprint == before
    assert [t.state for t in study.trials] == ["pending"]
    study.tell(trial.number, 1.0)
    assert study.evaluations == 1


def test_a_storage_put_back_to_an_earlier_copy_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(str(path))
    study.run(result, max_evaluations=20, progress=False)
    study.close()
    copy = path.read_bytes()
    study.run(result, max_evaluations=20, progress=False)
    study.close()
    for tail in ("-wal", "-shm"):
        Path(f"{path}{tail}").unlink(missing_ok=True)
    path.write_bytes(copy)
    assert study.ask().number == 20
    assert study.evaluations == 20


def test_nothing_is_read_but_data(file: Path) -> None:
    """Settings are JSON, features are numbers: no column holds anything that runs."""
    connection = sqlite3.connect(file)
    settings, arms, features = connection.execute(
        "SELECT settings, arms, features FROM shortlist_studies"
    ).fetchone()
    connection.close()
    assert json.loads(settings)["algorithm"] == {"name": "m-LinGapE"}
    assert json.loads(arms) == list(range(8))
    np.testing.assert_array_equal(np.frombuffer(features).reshape(8, 3), X)


# Forks


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
        for _ in range(8):
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
    assert ends == [0] * 8
    if stored:
        loaded = shortlist.Study.load(tmp_path / "study.db")
        assert sum(t.value == 1.0 for t in loaded.trials) == 8
        check_replay(loaded)
