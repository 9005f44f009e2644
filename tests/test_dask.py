"""Studies and comparisons on a real cluster: a scheduler and two workers, each its own process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest

import shortlist
from forks import python

if TYPE_CHECKING:
    from shortlist.study.trial import Trial

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt"),
]
HERE = Path(__file__).parent
X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9]])
MEANS = X @ [1.0, 0.3]
PATIENCE = 60.0
# What the tests define must be importable there, as a user's own code must be.
START = f"""
import sys
sys.path[:0] = [{str(HERE.parent)!r}, {str(HERE)!r}]
from distributed.cli.{{program}} import main
main()
"""


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, **settings}
        address = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        self.start("dask_scheduler", *address, "--scheduler-file", self.file)

    def start(self, program: str, *options: object) -> subprocess.Popen[bytes]:
        with (self.folder / f"{program}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [*python(), "-c", START.format(program=program), *map(str, options)],
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        self.processes.append(process)
        return process

    def add_worker(self) -> subprocess.Popen[bytes]:
        options = ("--nthreads", 1, "--no-nanny", "--no-dashboard", "--death-timeout", 60)
        return self.start("dask_worker", "--scheduler-file", self.file, *options)

    def client(self) -> Any:
        wait_until(lambda: self.address() is not None, "the scheduler")
        return distributed.Client(self.address(), timeout=PATIENCE, set_as_default=False)

    def address(self) -> str | None:
        """None while the scheduler has yet to make its file, or to write it to its end."""
        try:
            return str(json.loads(self.file.read_text())["address"])
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def kill(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait(PATIENCE)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.add_worker()
        made.add_worker()
        yield made
    finally:
        made.kill()


@pytest.fixture(scope="module")
def connection(cluster: Cluster) -> Iterator[Any]:
    with cluster.client() as client:
        yield client


@pytest.fixture
def client(cluster: Cluster, connection: Any) -> Any:
    """The cluster with two workers, also after a test that has killed one."""
    alive = sum(process.poll() is None for process in cluster.processes) - 1
    for _ in range(2 - alive):
        cluster.add_worker()
    wait_until(lambda: len(connection.scheduler_info()["workers"]) == 2, "two workers")
    return connection


def study(**settings: Any) -> shortlist.Study:
    settings = {"m": 2, "sigma": 0.6, "seed": 1, **settings}
    return shortlist.Study(X, **settings, audit=False)


def results(s: shortlist.Study) -> list[tuple[int, int, int, float | None]]:
    return [(trial.number, trial.arm, trial.seed, trial.value) for trial in s.taken]


# What the workers import


def by_seed(trial: Trial) -> float:
    return float(MEANS[trial.arm] + 0.6 * np.random.default_rng(trial.seed).standard_normal())


def clear(trial: Trial) -> float:
    """So little noise that the initial pulls are enough."""
    return float(MEANS[trial.arm] + 1e-3 * np.random.default_rng(trial.seed).standard_normal())


def numpys_global(trial: Trial) -> float:
    return float(np.random.normal())  # noqa: NPY002 - it is the global state that is meant


def pythons_global(trial: Trial) -> float:
    return random.random()


def entropy(_: object) -> float:
    return random.SystemRandom().random()


def broken(trial: Trial) -> float:
    raise ZeroDivisionError("no reading")


class Hangs:
    """An evaluation of one trial that hangs, once, and says in which process."""

    def __init__(self, number: int, file: Path, objective: Callable[[Trial], float]) -> None:
        self.number, self.file, self.objective = number, file, objective

    def __call__(self, trial: Trial) -> float:
        if trial.number == self.number and not self.file.exists():
            draft = self.file.with_suffix(".draft")
            draft.write_text(str(os.getpid()))
            draft.rename(self.file)
            time.sleep(2 * PATIENCE)
        return self.objective(trial)


@contextmanager
def killed_in_the_middle(
    number: int, file: Path, objective: Callable[[Trial], float]
) -> Iterator[Hangs]:
    """An objective whose process is killed by a signal while it evaluates a trial."""

    def kill() -> None:
        wait_until(file.exists, "the evaluation")
        os.kill(int(file.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    yield Hangs(number, file, objective)
    killer.join(PATIENCE)


# Running


def test_the_futures_of_dask_can_be_waited_for(client: Any) -> None:
    executor = client.get_executor(pure=False)
    first, second = executor.submit(int, "3"), executor.submit(time.sleep, 0.2)
    called: list[Future[Any]] = []
    first.add_done_callback(called.append)
    assert first in wait([first, second], timeout=PATIENCE, return_when=FIRST_COMPLETED).done
    assert wait([first, second], timeout=PATIENCE).not_done == set()
    assert called == [first]


@pytest.mark.parametrize("given", ["client", "executor"])
def test_a_study_asks_on_a_cluster_what_it_asks_here(client: Any, given: str) -> None:
    here, there = study(), study()
    here.run(by_seed, progress=False)
    where = client if given == "client" else client.get_executor()
    found = there.run(by_seed, executor=where, batch=1, progress=False)
    assert found.final
    assert there.fingerprint == here.fingerprint


def test_several_in_flight(client: Any) -> None:
    s = study()
    # Dask sends the code too: what a pool of processes could not be given.
    s.run(lambda trial: by_seed(trial), executor=client, batch=4, progress=False)
    assert s.done
    assert s.pending == []
    told = [trial.number for trial in s.trials if trial.state == "told"]
    assert [number for number, *_ in results(s)] == told
    assert told[:-3] == list(range(len(told) - 3))  # of those under way at the stop any may be in
    assert [trial.value for trial in s.taken] == [by_seed(trial) for trial in s.taken]
    assert client.submit(int, "3").result(PATIENCE) == 3


@pytest.mark.parametrize("objective", [numpys_global, pythons_global])
def test_global_generators_never_repeat(client: Any, objective: Callable[[Trial], float]) -> None:
    s = study()
    s.run(objective, executor=client, batch=4, max_evaluations=24, progress=False)
    assert len({trial.value for trial in s.trials}) == len(s.trials) == 24


def test_nothing_is_taken_for_a_repetition(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = client.get_executor()
    executor._futures = set()  # while a result is held, Dask does not compute it again
    once, twice = (executor.submit(entropy, 1).result(PATIENCE) for _ in range(2))
    assert once == twice  # or this would show nothing
    # Two studies whose trials agree in everything, also in when they were asked for.
    monkeypatch.setattr("shortlist.study.log.time", SimpleNamespace(time=lambda: 1e9))
    one, other = study(), study()
    for s in (one, other):
        s.run(entropy, executor=executor, batch=2, max_evaluations=10, progress=False)
    assert [trial.seed for trial in one.trials] == [trial.seed for trial in other.trials]
    values = [trial.value for trial in one.trials + other.trials]
    assert len(set(values)) == len(values) == 20


# Failures


def test_a_failure_keeps_the_traceback(client: Any) -> None:
    s = study()
    with pytest.raises(ZeroDivisionError, match="no reading") as raised:
        s.run(broken, executor=client, batch=2, max_failures=2, progress=False)
    failed = [trial for trial in s.trials if trial.state == "failed"]
    assert len(failed) >= 3
    for trial in failed:
        assert 'raise ZeroDivisionError("no reading")' in str(trial.reason)
    assert "in broken" in "".join(raised.value.__notes__)


def test_an_objective_that_cannot_travel_leaves_nothing_behind(client: Any) -> None:
    s, lock = study(), threading.Lock()
    with pytest.raises(TypeError, match=r"(?i)serialize|pickle"):
        s.run(lambda trial: lock.locked(), executor=client, batch=2, progress=False)
    assert [trial.state for trial in s.trials] == ["pending"] * 2
    s.run(by_seed, executor=client, batch=1, max_evaluations=2, progress=False)
    assert [trial.state for trial in s.trials] == ["told"] * 2


# Comparing


def test_comparisons_are_the_same_on_a_cluster(client: Any) -> None:
    def least_pulled(now):  # type: ignore[no-untyped-def]
        return -now.pulls

    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3)
    own = shortlist.GIFA(selection=least_pulled, name="own")
    settings: dict[str, Any] = {"seed": 3, "max_samples": 300, "progress": False}
    for algorithms, runs in ((["LUCB", "LinGame", own], 200), ("auto", 10)):
        here = shortlist.compare(algorithms, instance, runs, workers=1, **settings).frame
        with joblib.parallel_config(backend="dask", client=client):
            there = shortlist.compare(algorithms, instance, runs, **settings).frame
        assert there.equals(here)


# Killed workers


def test_a_worker_killed_in_the_middle_loses_nothing(client: Any, tmp_path: Path) -> None:
    """The initial pulls are the same whatever comes back first, and here they are enough."""
    settings = {"sigma": 0.05, "algorithm": "m-LinGapE"}
    here, there = study(**settings), study(**settings, storage=tmp_path / "study.db")
    undisturbed = here.run(clear, batch=3, progress=False)
    with killed_in_the_middle(7, tmp_path / "pid", clear) as objective:
        found = there.run(objective, executor=client, batch=3, progress=False)
    wait_until(lambda: len(client.scheduler_info()["workers"]) == 1, "the end of a worker")
    assert found.final
    assert found.evaluations == undisturbed.evaluations == 40
    assert results(there)[:40] == results(here)[:40]
    assert found.names == undisturbed.names
    assert {trial.state for trial in there.trials[:40]} == {"told"}
    assert len(there.taken) == sum(trial.state == "told" for trial in there.trials)
    assert shortlist.Study.load(tmp_path / "study.db").fingerprint == there.fingerprint


@pytest.mark.parametrize("max_failures", [0, 1])
def test_what_dask_gives_up_is_not_lost(client: Any, tmp_path: Path, max_failures: int) -> None:
    # Dask gives a task up when it was on four workers that died; here, on one.
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    here, there = study(), study(storage=tmp_path / "study.db")
    here.run(by_seed, progress=False)
    with killed_in_the_middle(5, tmp_path / "pid", by_seed) as objective:
        if max_failures == 0:
            with pytest.raises(distributed.KilledWorker):
                there.run(objective, executor=client, batch=1, progress=False)
            assert [trial.number for trial in there.pending] == [5]
        there.run(objective, executor=client, batch=1, max_failures=max_failures, progress=False)
    assert results(there) == results(here)
    assert {trial.state for trial in there.trials} == {"told"}
