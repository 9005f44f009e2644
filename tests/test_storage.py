"""A stored study is the study in memory, whoever works on it, and nothing else is touched."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forks
import shortlist
from history import check_replay
from shortlist.errors import (
    DamagedStorage,
    ForeignStorage,
    InvalidSetting,
    NewerSchema,
    StorageError,
    StudyMismatch,
    StudyNotFound,
    StudyStopped,
    TrialClosed,
    UnknownTrial,
)
from shortlist.study.storage import database, opening, process, schema
from shortlist.study.storage.opening import study_names

RNG = np.random.default_rng(5)
X = RNG.normal(size=(8, 3))
MEANS = X @ [0.8, -0.4, 0.3]
MANY = RNG.normal(size=(90, 3))
NewStorage = Callable[[], str]


def result(trial: shortlist.Study | object, means: np.ndarray = MEANS, sigma: float = 0.4) -> float:
    return float(means[trial.arm] + sigma * np.random.default_rng(trial.seed).normal())  # type: ignore[attr-defined]


def begin(storage: str | None = None, **given: object) -> shortlist.Study:
    given = {"m": 3, "sigma": 0.4, "seed": 7, "audit": False, **given}
    return shortlist.Study(X, storage=storage, **given)  # type: ignore[arg-type]


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Put both clocks on: this machine's, and the server's as it is read here."""
    now, clock = time.time, database._Transaction.now.fget
    monkeypatch.setattr(time, "time", lambda: now() + seconds)

    def put_on(self: database._Transaction) -> float:
        return clock(self) + (0.0 if self._ahead is None else seconds)  # type: ignore[misc]

    monkeypatch.setattr(database._Transaction, "now", property(put_on))


def assert_same(one: shortlist.Study, other: shortlist.Study) -> None:
    assert one.fingerprint == other.fingerprint
    assert [t.arm for t in one.trials] == [t.arm for t in other.trials]
    assert [t.value for t in one.trials] == [t.value for t in other.trials]
    assert [t.state for t in one.trials] == [t.state for t in other.trials]
    assert [t.number for t in one.taken] == [t.number for t in other.taken]
    assert [t.number for t in one.pending] == [t.number for t in other.pending]
    assert [t.number for t in one.waiting] == [t.number for t in other.waiting]
    for mine, others in zip(
        one.posterior.state.arrays(), other.posterior.state.arrays(), strict=True
    ):
        np.testing.assert_array_equal(mine, others)
    assert one.done == other.done
    assert one.statistic == other.statistic
    assert one.shortlist.names == other.shortlist.names
    assert one.shortlist.evaluations == other.shortlist.evaluations
    pd.testing.assert_frame_equal(one.table(), other.table())


ALGORITHMS = [
    "m-LinGapE",
    "m-LinGapE optimized",
    "m-LinGapE greedy (as published)",
    "LinGIFA",
    "UGapE",
    "LUCB both",
    "LUCB both (as published)",
    "LinGame",
    "Uniform",
    "FWS",
    "lazy track-and-stop",
    "Phased",
    shortlist.GIFA(candidates="smallest_gap", initialization=None, regularization=0.5, threshold="heuristic"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: getattr(each, "name", each))
def test_a_stored_study_is_the_study_in_memory(
    algorithm: str | shortlist.GIFA, tmp_path: Path
) -> None:
    """Random asks, tells, failures, cancellations and loads, the same on both."""
    choices = np.random.default_rng(3)
    path = str(tmp_path / "study.db")
    memory = begin(algorithm=algorithm, S=2.0)
    stored = begin(path, algorithm=algorithm, S=2.0)
    for step in range(150):
        if memory.done:
            memory.reopen()
            stored.reopen()
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
        if step % 10 == 0:
            assert_same(stored, memory)
            stored = shortlist.Study.load(path)
            assert_same(stored, memory)
    assert memory.evaluations > 50


def test_rows_made_on_demand_are_replayed_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    study = shortlist.Study(MANY, m=4, sigma=0.4, seed=1, storage=path)
    means = MANY @ [0.8, -0.4, 0.3]
    study.run(lambda trial: result(trial, means), max_evaluations=300, progress=False)
    assert study.posterior.state.rows.shape[0] < len(MANY)
    assert_same(shortlist.Study.load(path), study)


@pytest.mark.slow
def test_two_openings_see_each_other(new_storage: NewStorage) -> None:
    storage = new_storage()
    one, other, memory = begin(storage), begin(storage), begin()
    for _ in range(40):
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
    with pytest.raises(TrialClosed, match="told, not pending"):
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


def test_other_settings_are_refused_with_what_differs(new_storage: NewStorage) -> None:
    storage = new_storage()
    study = begin(storage, algorithm="m-LinGapE")
    changed = X.copy()
    changed[2, 1] += 1e-12
    cases: list[tuple[dict[str, object], str]] = [
        ({"sigma": 0.5}, "sigma = 0.4, and was now given sigma = 0.5"),
        ({"m": 2}, "m = 3"),
        ({"delta": 0.1}, "delta"),
        ({"epsilon": 0.1}, "epsilon"),
        ({"S": 3.0}, "S = None"),
        ({"seed": 8}, "seed = 7"),
        ({"lease": 60}, "lease"),
        ({"algorithm": "LinGIFA"}, "algorithm = m-LinGapE"),
        ({"threshold": "heuristic"}, "threshold"),
        ({"arms": list("abcdefgh")}, "an arm '0' in place of 'a'"),
    ]
    for settings_now, words in cases:
        with pytest.raises(StudyMismatch, match=words):
            begin(storage, **{"algorithm": "m-LinGapE", **settings_now})
    for features, words in (
        (changed, "feature 1 of arm '2'"),
        (X[:, :2], "columns"),
        (X[:7], "8 arms"),
    ):
        with pytest.raises(StudyMismatch, match=words):
            shortlist.Study(features, m=3, sigma=0.4, seed=7, audit=False, storage=storage)
    with pytest.raises(StudyMismatch, match="a table, not the arms alone"):
        shortlist.Study(arms=range(8), m=3, sigma=0.4, seed=7, audit=False, storage=storage)
    assert begin(storage, seed=None).seed == 7
    other = begin(storage, name="another", sigma=1.0)
    assert study_names(storage) == ["study", "another"]
    with pytest.raises(InvalidSetting, match="holds 2 studies: name one of study, another"):
        shortlist.Study.load(storage)
    with pytest.raises(StudyNotFound, match="did you mean 'another'"):
        shortlist.Study.load(storage, "anothr")
    assert shortlist.Study.load(storage, "another").problem.sigma == 1.0
    assert other.trials == study.trials == []


def test_classical_studies_and_names_are_kept(new_storage: NewStorage) -> None:
    storage = new_storage()
    arms = ["ash\n", "<b>", "'; DROP TABLE shortlist_trials; --", "élan", "\x00"]
    study = shortlist.Study(
        arms=arms, m=2, sigma=1.0, algorithm="UGapE", storage=storage, name="'; --"
    )
    study.fail(study.ask(), "no\x00thing \udc80")
    loaded = shortlist.Study.load(storage, "'; --")
    assert loaded.problem.names == tuple(arms)
    assert loaded.trials[0].reason == "nothing \\udc80"
    assert_same(loaded, study)


def test_rules_of_ones_own_are_named_never_stored(tmp_path: Path) -> None:
    path = tmp_path / "own.db"

    def challenger(b, c, row_b, row_c, variances, pulls, design, key):  # type: ignore[no-untyped-def]
        return c

    own = shortlist.GIFA(selection=shortlist.rule("selection", needs=())(challenger))
    study = begin(str(path), algorithm=own)
    study.run(result, max_evaluations=90, progress=False)
    with pytest.raises(InvalidSetting, match="pass the same algorithm="):
        shortlist.Study.load(path)
    with pytest.raises(StudyMismatch):
        shortlist.Study.load(path, algorithm=shortlist.GIFA(stopping="ugape"))
    assert_same(shortlist.Study.load(path, algorithm=own), study)


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
    assert all(t.expires_at > third._journal.now for t in third.pending)
    assert third.ask().number == 3
    study.tell(first, 1.0)  # late
    assert other.tell(again[0], 2.0, if_told="ignore").value == 1.0
    assert other.evaluations == 1
    with pytest.raises(InvalidSetting, match="lease must be"):
        begin(lease=-1)


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


def test_the_trials_of_a_run_before_a_restart_are_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = begin(str(tmp_path / "study.db"))
    here = process._here()
    assert here is not None
    with process.running(time.time()) as run:
        study._journal.ask(1, in_turn=True, process=run)
        assert study.ask().number == 1  # it is at work
        monkeypatch.setattr(process, "_here", lambda: ("elsewhere", *here[1:]))
        assert study.ask().number == 2  # so is one on another machine
        monkeypatch.setattr(process, "_here", lambda: (here[0], "another boot", here[2]))
        monkeypatch.setattr(process, "_uptime", lambda: -10.0)  # started after the run began
        assert study.ask().number == 0
        monkeypatch.undo()


def test_a_machine_of_the_same_name_keeps_its_live_trials(
    new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines made from one image: equal host name and machine-id, and each its own start."""
    storage = new_storage()
    one = begin(storage)
    here = process._here()
    assert here is not None
    with process.running(one._journal.now) as run:
        one._journal.ask(3, in_turn=True, process=run)
        monkeypatch.setattr(process, "_here", lambda: (here[0], "another boot", here[2]))
        other = shortlist.Study.load(storage)
        assert [t.number for t in other.ask(2)] == [3, 4]
        # Started after the run of the other began, so that it might be the same machine, restarted.
        # A server sees that the other is still connected. A file is on one machine by its contract.
        monkeypatch.setattr(process, "_uptime", lambda: -10.0)
        again = [t.number for t in other.ask(2)]
        assert again == ([5, 6] if "://" in storage else [0, 1])


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
        assert abs(other._journal.now - now()) < 60.0


def test_a_run_that_ended_badly_leaves_no_orphans(tmp_path: Path) -> None:
    """Its process lives on, as a notebook does, and the storage was away when it ended."""
    study = begin(str(tmp_path / "study.db"))
    with process.running(time.time()) as run:
        study._journal.ask(2, in_turn=True, process=run)
    assert [t.number for t in study.ask(3)] == [0, 1, 2]


def test_a_path_is_meant_as_seen_from_where_the_study_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the file is called, and wherever the process goes."""
    (tmp_path / "elsewhere").mkdir()
    for name in ("study.db", "./:memory:", "file:study.db", "a?mode=memory", "x%20y.db"):
        monkeypatch.chdir(tmp_path)
        study = begin(name)
        trial = study.ask()
        os.chdir("elsewhere")
        study.tell(trial, 1.0)
        study.close()
        study.tell(study.ask(), 2.0)
        assert [t.value for t in shortlist.Study.load(tmp_path / name).trials] == [1.0, 2.0]
        assert [t.value for t in shortlist.Study.load(str(study.storage)).trials] == [1.0, 2.0]
        assert study_names(str(study.storage)) == ["study"]
        assert not list((tmp_path / "elsewhere").iterdir())


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """Shows a folder elsewhere, read-only, as a mount does."""
    shown: list[Path] = []

    def show(folder: Path) -> Path:
        place = tmp_path / f"mount-{len(shown)}"
        place.mkdir()
        for step in (["--bind", str(folder), str(place)], ["-o", "remount,ro,bind", str(place)]):
            if subprocess.run(["mount", *step], capture_output=True).returncode:
                pytest.skip("no file system can be mounted here")
        shown.append(place)
        return place

    yield show
    for place in shown:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("left", ["closed", "open", "killed", "version 2"])
def test_a_study_on_a_read_only_mount_can_be_read(
    left: str, tmp_path: Path, read_only: Callable[[Path], Path]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    study = begin(str(folder / "study.db"))
    study.run(result, max_evaluations=30, progress=False)
    trial = study.ask()
    if left != "open":
        study.close()
    if left == "killed":
        code = f"import os, shortlist; s = shortlist.Study.load({str(folder / 'study.db')!r})"
        code += f"; s.tell({trial.number}, 1.0); os.kill(os.getpid(), 9)"
        subprocess.run([*forks.python(), "-c", code])
        assert (folder / "study.db-wal").stat().st_size
        study.refresh()
        study.close()
        (folder / "study.db-shm").unlink(missing_ok=True)
    if left == "version 2":
        for dropped in ("trials DROP COLUMN key", "trials DROP COLUMN opened_by",
                        "trials DROP COLUMN closed_by", "events DROP COLUMN made_by"):  # fmt: skip
            edit(folder / "study.db", f"ALTER TABLE shortlist_{dropped}")
        edit(folder / "study.db", "UPDATE shortlist_meta SET value = '2'")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    path = read_only(folder) / "study.db"
    loaded = shortlist.Study.load(path)
    assert_same(loaded, study)
    assert study_names(path) == ["study"]
    loaded.refresh()
    for attempt in (
        loaded.ask,
        lambda: loaded.tell(arm=1, value=0.5),
        lambda: begin(str(path)),
        lambda: begin(str(path), name="another"),
    ):
        with pytest.raises(StorageError, match="can be read, and not written: nothing was changed"):
            attempt()
    if left == "open":
        study.tell(trial, 0.5)
        loaded.refresh()
        assert_same(loaded, study)
    else:
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    loaded.close()


HALF_MADE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN")
connection.execute("PRAGMA application_id = 0x53484C54")
connection.execute("CREATE TABLE shortlist_meta (x)")
for _ in range(100):
    connection.execute("INSERT INTO shortlist_meta VALUES (zeroblob(3000))")
os.kill(os.getpid(), 9)  # with pages written, and a journal beside them
"""


@pytest.mark.parametrize("begins_with", [None, bytes(4096), os.urandom(4096)])
def test_a_file_that_was_being_made_when_the_power_failed_is_made_anew(
    begins_with: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "study.db"
    subprocess.run([sys.executable, "-c", HALF_MADE, str(path)])
    assert path.stat().st_size > 4096
    assert Path(f"{path}-journal").exists()
    if begins_with is not None:  # the first page had not reached the disk
        with path.open("r+b") as file:
            file.write(begins_with)
    with pytest.raises(StudyNotFound):
        shortlist.Study.load(path)
    assert begin(str(path)).ask().number == 0
    assert len(shortlist.Study.load(path).trials) == 1


def test_a_foreign_file_that_was_being_written_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    edit(path, "CREATE TABLE shortlist_meta (x)")
    subprocess.run([sys.executable, "-c", HALF_MADE.replace("0x53484C54", "7").replace(
        "CREATE TABLE shortlist_meta (x)", "CREATE TABLE history (x)"), str(path)])  # fmt: skip
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert set(before) == {"other.db", "other.db-journal"}
    for attempt in (lambda: begin(str(path)), lambda: shortlist.Study.load(path)):
        with pytest.raises(ForeignStorage):
            attempt()
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


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
    monkeypatch.setattr(database, "PATIENCE", 0.2)
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


@pytest.mark.slow
def test_opening_a_file_twice_in_a_process_keeps_its_locks(tmp_path: Path) -> None:
    """A second look at the file must not drop the locks of the first: its results would be lost."""
    path = tmp_path / "study.db"
    study = begin(str(path))
    trials = study.ask(3)
    shortlist.Study.load(path)
    study_names(path)
    other = f"import shortlist; shortlist.Study.load({str(path)!r}).tell(0, 1.0)"
    subprocess.run([*forks.python(), "-c", other], check=True)
    study.tell(trials[1], 2.0)
    subprocess.run(
        [*forks.python(), "-c", other.replace("tell(0, 1.0)", "tell(2, 3.0)")], check=True
    )
    seen = f"import shortlist; print([t.value for t in shortlist.Study.load({str(path)!r}).trials])"
    out = subprocess.run([sys.executable, "-c", seen], check=True, capture_output=True, text=True)
    assert out.stdout.split() == ["[1.0,", "2.0,", "3.0]"]


def test_a_file_replaced_by_a_foreign_one_is_seen_as_such(tmp_path: Path) -> None:
    path, other = tmp_path / "study.db", tmp_path / "other.db"
    begin(str(path)).close()
    edit(other, "CREATE TABLE history (url TEXT)")
    with path.open("r+b") as file:  # the same file to the system, with another content
        file.truncate()
        file.write(other.read_bytes())
    before = path.read_bytes()
    with pytest.raises(ForeignStorage):
        begin(str(path))
    assert path.read_bytes() == before


OPEN = """
import sys, shortlist
from shortlist.study.study import Study  # all is loaded before the start
X = {X!r}
print("ready", flush=True)
sys.stdin.readline()
study = Study(X, m=3, sigma=0.4, seed=7, storage=sys.argv[1])
print(study.ask().number)
"""


@pytest.mark.slow
def test_sixteen_processes_open_a_new_study_at_once(new_storage: NewStorage) -> None:
    storage = new_storage()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    start = ["-c", OPEN.format(X=X.tolist()), storage]
    commands = [[sys.executable, *start], *([*forks.python(), *start] for _ in range(15))]
    children = [subprocess.Popen(each, text=True, **pipes) for each in commands]  # type: ignore[call-overload]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate() for child in children]
    assert [child.returncode for child in children] == [0] * 16, said
    assert sorted(int(out) for out, _ in said) == list(range(16))


# Files that are not what they should be


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    study = begin(str(path), algorithm="m-LinGapE")
    study.run(result, max_evaluations=120, progress=False)
    study.ask(2)
    study.close()
    opening._OURS.clear()  # as another process would find the file
    return path


def edit(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


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
    "an added trial": """INSERT INTO shortlist_trials SELECT study, 122, arm, state, value, reason,
        asked_at, closed_at, expires_at, worker, process, in_turn, origin, b, c, gap, statistic,
        second, opened, closed, touched, key, opened_by, closed_by
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
    "the posterior": "UPDATE shortlist_studies SET posterior = 'x'",
    "the version": "UPDATE shortlist_meta SET value = 'one'",
    "a lost table": "DROP TABLE shortlist_events",
    "a false event": "INSERT INTO shortlist_events VALUES (1, 500, 'reopened', -1, 0, '', 0)",
    "a strange event": "INSERT INTO shortlist_events VALUES (1, 300, 'nonsense', -1, 0, '', 0)",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_file_is_refused_and_left_as_it_is(what: str, file: Path) -> None:
    shortlist.Study.load(file).close()
    edit(file, TAMPERED[what])
    before = file.read_bytes()
    with pytest.raises(shortlist.errors.ShortlistError) as caught:
        shortlist.Study.load(file)
    assert isinstance(caught.value, DamagedStorage | shortlist.errors.InvalidInput)
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


def test_a_file_altered_while_it_is_open_is_refused(file: Path) -> None:
    study, other = shortlist.Study.load(file), shortlist.Study.load(file)
    other.tell(120, 0.0)
    edit(file, "UPDATE shortlist_trials SET value = 1.0 WHERE number = 120")
    with pytest.raises(DamagedStorage):
        study.ask()
    with pytest.raises(DamagedStorage):
        study.ask()


@pytest.mark.slow
@pytest.mark.parametrize("kept", [1, 50, 99, 100, 4096, 0.3, 0.6, 0.9, -1])
def test_a_truncated_file_is_refused_and_left_as_it_is(kept: float, file: Path) -> None:
    whole = file.read_bytes()
    size = int(kept * len(whole)) if 0 < kept < 1 else int(kept)
    file.write_bytes(whole[:size])
    before = file.read_bytes()
    with pytest.raises(StorageError) as caught:
        shortlist.Study.load(file)
    assert isinstance(caught.value, DamagedStorage | ForeignStorage)
    with pytest.raises(StorageError):
        begin(str(file))
    assert file.read_bytes() == before


def test_a_damaged_page_is_refused(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    whole[2 * 4096 : 3 * 4096] = os.urandom(4096)
    file.write_bytes(whole)
    with pytest.raises(DamagedStorage):
        shortlist.Study.load(file)
    assert file.read_bytes() == bytes(whole)


def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    text, other, empty = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "empty.db"
    text.write_text("x,y\n1,2\n" * 100)
    edit(other, "CREATE TABLE history (url TEXT)")
    empty.touch()
    for path in (text, other):
        before = path.read_bytes()
        for attempt in (lambda p=path: begin(str(p)), lambda p=path: shortlist.Study.load(p)):
            with pytest.raises(ForeignStorage, match=path.name):
                attempt()
        assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.db", "notes.txt", "other.db"]
    with pytest.raises(StudyNotFound, match="is empty"):
        shortlist.Study.load(empty)
    with pytest.raises(StudyNotFound, match="there is no file"):
        shortlist.Study.load(tmp_path / "nowhere.db")
    assert not (tmp_path / "nowhere.db").exists()
    with pytest.raises(StorageError, match="is a folder"):
        begin(str(tmp_path))
    with pytest.raises(StorageError, match="there is no folder"):
        begin(str(tmp_path / "no" / "study.db"))
    begin(str(empty)).ask()


@pytest.mark.parametrize(
    "storage",
    ["mysql://host/db", 3, "", "postgresql://[", b"x", ":memory:", "a\x00b", "x" * 5000 + ".db"],
)
def test_a_storage_that_cannot_be(storage: object) -> None:
    with pytest.raises(shortlist.errors.ShortlistError):
        begin(storage)  # type: ignore[arg-type]


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(StorageError, match=r"ann:\*\*\*@127.0.0.1") as caught:
        begin("postgresql://ann:secret@127.0.0.1:1/db")
    assert "secret" not in str(caught.value)
    with pytest.raises(StorageError) as caught:
        begin("postgresql://ann@127.0.0.1:1/db?password=secret")
    assert "secret" not in str(caught.value)


def test_a_newer_file_is_refused_and_left_as_it_is(file: Path) -> None:
    edit(file, "UPDATE shortlist_meta SET value = '4' WHERE key = 'version'")
    before = file.read_bytes()
    for attempt in (lambda: begin(str(file)), lambda: shortlist.Study.load(file)):
        with pytest.raises(NewerSchema, match="pip install --upgrade"):
            attempt()
    assert file.read_bytes() == before


def test_an_older_file_is_migrated(
    new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = new_storage()
    begin(storage).ask()

    def migrate(connection: sqlalchemy.Connection) -> None:
        connection.execute(sqlalchemy.text("ALTER TABLE shortlist_trials ADD COLUMN plate TEXT"))

    def fail(connection: sqlalchemy.Connection) -> None:
        migrate(connection)
        raise RuntimeError("in the middle")

    monkeypatch.setattr(schema, "VERSION", 4)
    with pytest.raises(DamagedStorage, match="no way is known from version 3"):
        shortlist.Study.load(storage)
    monkeypatch.setitem(schema.MIGRATIONS, 3, fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        shortlist.Study.load(storage)
    monkeypatch.setitem(schema.MIGRATIONS, 3, migrate)  # fails if the first left its column behind
    study = shortlist.Study.load(storage)
    assert study.ask().number == 1
    with study._journal.storage._connected() as connection:
        assert schema.stored_version(connection) == 4


def test_studies_written_by_version_2_go_on_as_they_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written by the version before keys and numbered transactions, with all kinds of changes."""
    path = tmp_path / "study.db"
    connection = sqlite3.connect(path)
    connection.executescript((Path(__file__).parent / "fixtures/studies_version_2.sql").read_text())
    connection.execute(f"PRAGMA application_id = {opening.APPLICATION_ID}")
    connection.close()
    for _ in range(2):
        study, stopped = (shortlist.Study.load(path, name) for name in ("study", "stopped"))
        assert study.fingerprint == "2ebb2669dec3cf1d56f6d8936da8f805"
        assert [t.arm for t in study.trials] == [0, 1, 2, 3, 4, 4, 1, 2, 0, 2, 3, 1, 2, 0, 4]
        assert [t.number for t in study.taken] == [0, 1, 2, 3, 4, 5, 6, 7, 10, 11]
        assert [t.number for t in study.waiting] == [14]
        assert [t.number for t in study.pending] == [12, 13]
        assert stopped.fingerprint == "dc2294a76a4fa814313a0344787d498a"
        assert stopped.done
        assert stopped.shortlist.names == ("y",)
        check_replay(study)
        check_replay(stopped)
    study.tell(12, 0.5)
    study.tell(arm="c", value=0.5, key="late")
    later(monkeypatch, 1e9)
    assert [t.number for t in study.ask(2)] == [13, 16]  # the lease of 13 is over
    check_replay(shortlist.Study.load(path, "study"))


def test_a_server_of_version_2_is_brought_up_to_date(new_storage: NewStorage) -> None:
    storage = new_storage()
    study = begin(storage)
    study.run(result, max_evaluations=20, progress=False)
    with study._journal.storage._connected(writing=True) as connection:
        for dropped in ("trials DROP COLUMN key", "trials DROP COLUMN opened_by",
                        "trials DROP COLUMN closed_by", "events DROP COLUMN made_by"):  # fmt: skip
            connection.execute(sqlalchemy.text(f"ALTER TABLE shortlist_{dropped}"))
        index = "CREATE INDEX shortlist_trials_touched ON shortlist_trials (study, touched)"
        connection.execute(sqlalchemy.text(index))
        connection.execute(sqlalchemy.text("UPDATE shortlist_meta SET value = '2'"))
    study.close()
    loaded = shortlist.Study.load(storage)
    assert_same(loaded, study)
    assert loaded.tell(arm=1, value=0.5, key="k").number == 20
    check_replay(shortlist.Study.load(storage))


def test_a_full_or_broken_disk_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that fails leaves memory and file as they were, and the study can go on."""
    study = begin(str(tmp_path / "study.db"))
    trial = study.ask()
    before = study.fingerprint

    def broken(self: object, standing: object) -> None:
        raise sqlalchemy.exc.OperationalError("x", {}, sqlite3.OperationalError("disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr("shortlist.study.storage.database._Transaction.seal", broken)
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
    assert json.loads(arms) == [str(i) for i in range(8)]
    np.testing.assert_array_equal(np.frombuffer(features).reshape(8, 3), X)


# The order in which results are taken in


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    in_turn=st.lists(st.booleans(), min_size=1, max_size=12),
    data=st.data(),
)
def test_results_in_turn_wait_for_those_before_them(
    in_turn: list[bool], data: st.DataObject
) -> None:
    """One by one, or all at once from a file: the same results are taken in, in the same order."""
    study = begin()
    journal = study._journal
    for turn in in_turn:
        journal.ask(1, in_turn=turn, process=None)
    order = data.draw(st.permutations(range(len(in_turn))))
    closed: set[int] = set()
    expected: list[int] = []
    states = data.draw(
        st.lists(st.sampled_from(["told", "told", "failed"]), min_size=12, max_size=12)
    )
    for number in order:
        if states[number] == "told":
            study.tell(number, float(number))
        else:
            study.fail(number)
        closed.add(number)
        for candidate in range(len(in_turn)):
            earlier = [k for k in range(candidate) if in_turn[k] and k not in closed]
            free = not in_turn[candidate] or not earlier
            if (
                candidate in closed
                and states[candidate] == "told"
                and free
                and candidate not in expected
            ):
                expected.append(candidate)
        assert [t.number for t in study.taken] == expected
        assert {t.number for t in study.waiting} == {
            k for k in closed if states[k] == "told"
        } - set(expected)
    from shortlist.study.journal import Ledger

    book = Ledger(study.problem.names, study.seed, journal._definition.digest)
    book.take_over([t.row for t in study.trials], [], journal.ledger.changes)
    steps = book.settle()
    assert [t.number for t in book.taken] == expected
    assert book.fingerprint == study.fingerprint
    assert [v for v, k in zip(steps.values, steps.kinds, strict=True) if k == 0] == [
        float(k) for k in expected
    ]


def test_results_that_wait_count_as_under_way() -> None:
    """What is asked for next may not depend on results that are not taken in yet."""
    waiting, pending = begin(), begin()
    for study in (waiting, pending):
        study.run(result, max_evaluations=90, progress=False)
        assert study._journal.ask(4, in_turn=True, process=None)
    for number in (91, 92, 93):
        waiting.tell(number, 50.0)
    assert [t.number for t in waiting.waiting] == [91, 92, 93]
    assert waiting.evaluations == 90
    alone = begin()
    alone.run(result, max_evaluations=90, progress=False)
    following = [t.arm for t in waiting.ask(6)]
    assert following == [t.arm for t in pending.ask(6)]
    assert following != [t.arm for t in alone.ask(6)]  # so that it matters
    assert waiting.ask().number == 100
