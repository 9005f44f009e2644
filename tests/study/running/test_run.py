"""Study.run with executors: what is in flight, in which order results count, and what fails."""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import shortlist
from shortlist import errors
from shortlist.errors import InvalidInput, StorageError
from shortlist.study.insight import remaining
from shortlist.study.model import Model
from shortlist.study.plate import read_plate
from shortlist.study.running import progress
from shortlist.study.running import run as evaluation
from shortlist.study.running.objective import Call, evaluate_trial
from shortlist.study.running.progress import ProgressLine
from shortlist.study.running.run import WAITING
from shortlist.study.trial import Trial

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9]])
MEANS = X @ [1.0, 0.3]
ONCE = shortlist.GIFA(initialization="each", name="m-LinGapE, each arm once first")
PATIENCE = 60.0  # seconds until a test that hangs is given up
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

# The σ claimed is often smaller than the noise of the objective, to stop early.
pytestmark = pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")


def study(**settings: Any) -> shortlist.Study:
    settings = {"m": 2, "sigma": 0.6, "seed": 1, "algorithm": ONCE, "audit": False, **settings}
    return shortlist.Study(X, **settings)


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


KEPT: dict[str, ProcessPoolExecutor] = {}


@pytest.fixture(scope="module", autouse=True)
def kept_pools() -> Iterator[None]:
    yield
    # A worker may come back to this module: then they are started anew.
    while KEPT:
        KEPT.popitem()[1].shutdown()


@contextmanager
def processes(start: str, count: int = 2) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes; those that start a new study do so slowly, and are used by several tests."""
    if start in KEPT:
        yield KEPT[start]
        return
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context(start))
    if start == "fork":
        with pool:
            yield pool
    else:
        KEPT[start] = pool
        yield pool


STARTS = [pytest.param(start, marks=FORKS) for start in ("fork", "spawn", "forkserver")]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.005)


def wait_for(event: threading.Event) -> None:
    assert event.wait(PATIENCE), "never let go"


@contextmanager
def in_the_background(work: Callable[[], Any]) -> Iterator[Future[Any]]:
    """Something that runs beside the test; its errors are the test's."""
    pool = ThreadPoolExecutor(1)
    task = pool.submit(work)
    yield task
    task.result(PATIENCE)
    pool.shutdown()


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LOOK_ROUND", 0.02)


# Objectives that other processes can import


def by_seed(trial: Trial) -> float:
    return float(MEANS[trial.arm] + 0.6 * np.random.default_rng(trial.seed).standard_normal())


def numpys_global(trial: Trial) -> float:
    return float(np.random.normal())  # noqa: NPY002 - it is the global state that is meant


def pythons_global(trial: Trial) -> float:
    return random.random()


def broken(trial: Trial) -> float:
    raise ZeroDivisionError("no reading")


def too_rich_to_travel(trial: Trial) -> float:
    raise errors.Unsatisfiable("nothing explains this", conflict=("one", "two"))


def not_a_number(trial: Trial) -> float:
    return float("nan")


def text(trial: Trial) -> Any:
    return "0.7"


def unsendable(trial: Trial) -> Any:
    return threading.Lock()


class DiesOnce:
    """Takes its whole process with it, the first time."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, trial: Trial) -> float:
        if trial.number == 5 and not self.file.exists():
            self.file.touch()
            os._exit(1)
        return by_seed(trial)


class FailsOnce:
    """Fails at the first evaluation of some arms, in whichever process it is made."""

    def __init__(self, folder: Path, arms: tuple[int, ...]) -> None:
        self.folder, self.arms = folder, arms

    def __call__(self, trial: Trial) -> float:
        if trial.arm in self.arms:
            try:
                (self.folder / str(trial.arm)).touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                return broken(trial)
        return by_seed(trial)


class Puppet(Executor):
    """Ends evaluations in an order of its own, in no time: the lowest result of those in flight.

    So good results come late. It lets one go whenever ``batch`` are in flight, and the rest when
    ``total`` have been sent.
    """

    def __init__(self, batch: int, total: int) -> None:
        self.batch, self.total, self.sent = batch, total, 0
        self.flying: list[tuple[float, int, Future[Any], Any]] = []

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        outcome = function(*given, **named)
        self.flying.append((outcome.value, self.sent, future, outcome))
        self.sent += 1
        self.let_go()
        return future

    def let_go(self) -> None:
        while len(self.flying) >= self.batch or (self.flying and self.sent == self.total):
            first = min(self.flying)
            self.flying.remove(first)
            first[2].set_result(first[3])


# How many are in flight


class Counts(ThreadPoolExecutor):
    """Counts what was sent and has not come back."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.counting = threading.Lock()
        self.out = self.peak = self.sent = 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        with self.counting:
            self.out += 1
            self.sent += 1
            self.peak = max(self.peak, self.out)
        future = super().submit(function, *given, **named)
        future.add_done_callback(self.back)
        return future

    def back(self, _: Future[Any]) -> None:
        with self.counting:
            self.out -= 1


def test_q_are_in_flight_and_never_more() -> None:
    q, rounds = 4, 5
    gate = threading.Barrier(q, timeout=PATIENCE)  # opens for q at once only: fewer would hang

    def objective(trial: Trial) -> float:
        gate.wait()
        return by_seed(trial)

    with Counts(3 * q) as pool:
        study().run(objective, executor=pool, batch=q, max_evaluations=q * rounds, progress=False)
    assert pool.peak == q
    assert pool.sent == q * rounds


def test_a_slow_one_does_not_keep_the_others_from_going_on() -> None:
    q, others = 3, 12
    begun = []
    enough = threading.Event()

    def objective(trial: Trial) -> float:
        begun.append(trial.number)
        if len(begun) > others:
            enough.set()
        if trial.number == 1:
            wait_for(enough)  # for ever, if each batch were waited for as a whole
        return by_seed(trial)

    s = study()
    with threads(q) as pool:
        s.run(objective, executor=pool, batch=q, max_evaluations=20, progress=False)
    assert s.evaluations == 20
    assert [trial.number for trial in s.taken] == list(range(20))


@pytest.mark.parametrize("batch", [1, 3, 5, 8])
def test_max_evaluations_is_never_exceeded(batch: int) -> None:
    calls = []

    def objective(trial: Trial) -> float:
        calls.append(trial.number)
        return by_seed(trial)

    s = study()
    with threads(4) as pool:
        for most, total in ((7, 7), (4, 11)):
            s.run(objective, executor=pool, batch=batch, max_evaluations=most, progress=False)
            assert s.evaluations == len(calls) == len(s.trials) == total
    assert s.pending == []


def test_batches_without_an_executor() -> None:
    s = study()
    s.run(by_seed, batch=4, progress=False)
    assert s.done
    assert len({trial.asked_at for trial in s.trials[:4]}) == 1


# The order in which results are taken in


def puppets(order: str, seed: int = 1, batch: int = 5, total: int = 40) -> shortlist.Study:
    s = study(seed=seed)
    s.run(
        by_seed,
        executor=Puppet(batch, total),
        batch=batch,
        order=order,  # type: ignore[arg-type]
        max_evaluations=total,
        progress=False,
    )
    return s


def completions(s: shortlist.Study) -> list[int]:
    return [trial.number for trial in sorted(s.trials, key=lambda t: t.closed or 0)]


def test_results_count_in_the_order_they_were_asked_for() -> None:
    s = puppets("asked")
    assert completions(s) != list(range(40))  # or this would show nothing
    assert [trial.number for trial in s.taken] == list(range(40))
    # The model is that of somebody who saw them one after the other.
    one_by_one = study()
    for trial in s.trials:
        one_by_one.tell(arm=trial.arm, value=trial.value)
    assert np.array_equal(s.posterior.means, one_by_one.posterior.means)
    assert np.array_equal(s.posterior.variances, one_by_one.posterior.variances)


def test_or_as_they_come_if_that_is_wished() -> None:
    s = puppets("completion")
    assert [trial.number for trial in s.taken] == completions(s) != list(range(40))


@pytest.mark.parametrize("order", ["asked", "completion"])
def test_the_same_completions_give_the_same_pulls(order: str) -> None:
    one, same, other = puppets(order), puppets(order), puppets(order, seed=2)
    pulls = [[(t.number, t.arm, t.seed, t.value) for t in s.taken] for s in (one, same, other)]
    assert pulls[0] == pulls[1] != pulls[2]


def test_threads_that_end_in_reverse_count_in_the_order_they_were_asked_for() -> None:
    q = 6
    over = [threading.Event() for _ in range(q + 1)]
    over[q].set()

    def objective(trial: Trial) -> float:
        wait_for(over[trial.number + 1])
        return float(MEANS[trial.arm])

    s = study()
    ended: list[int] = []
    with threads(q) as pool:
        submit = pool.submit

        def noted(function: Any, /, *given: Any, **named: Any) -> Future[Any]:
            future = submit(function, *given, **named)

            def done(_: Any) -> None:
                ended.append(given[0].trial.number)
                over[given[0].trial.number].set()

            future.add_done_callback(done)
            return future

        pool.submit = noted  # type: ignore[method-assign]
        s.run(objective, executor=pool, batch=q, max_evaluations=q, progress=False)
    assert ended == [5, 4, 3, 2, 1, 0]
    assert [trial.number for trial in s.taken] == [0, 1, 2, 3, 4, 5]


@pytest.mark.slow
def test_completion_order_is_biased_where_good_results_take_long() -> None:
    """The mean of the first n results: what a stopping rule would look at."""
    first: dict[str, list[float]] = {"asked": [], "completion": []}
    for order, means in first.items():
        for seed in range(20):
            taken = puppets(order, seed=seed, batch=8, total=28).taken[:20]
            noise = [trial.value - MEANS[trial.arm] for trial in taken]  # type: ignore[operator]
            means.append(float(np.mean(noise)) / 0.6)
    bias = {order: float(np.mean(means)) for order, means in first.items()}
    error = 1.0 / np.sqrt(20 * 20)  # of a mean of 400 standard normal numbers
    assert abs(bias["asked"]) < 4 * error
    assert bias["completion"] < -6 * error


def test_a_hanging_evaluation_is_not_waited_for_with_others_without_end(
    quick_looks: None, tmp_path: Path
) -> None:
    let_go = threading.Event()

    def objective(trial: Trial) -> float:
        if trial.number == 0:
            wait_for(let_go)
        return by_seed(trial)

    s = study(storage=tmp_path / "study.db")
    limit = WAITING * 2 + 1
    with (
        threads(2) as pool,
        in_the_background(
            lambda: s.run(objective, executor=pool, batch=2, max_evaluations=40, progress=False)
        ),
    ):
        wait_until(lambda: len(s.waiting) == limit, "results that wait")
        time.sleep(0.3)  # it might ask for more now
        assert len(s.trials) == 1 + limit
        assert s.evaluations == 0
        assert s.statistic is None
        stored = shortlist.Study.load(tmp_path / "study.db")
        assert [trial.number for trial in stored.waiting] == list(range(1, 1 + limit))
        assert all(trial.value == by_seed(trial) for trial in stored.waiting)
        let_go.set()
    assert [trial.number for trial in s.taken] == list(range(40))
    assert s.waiting == []


def test_those_that_wait_are_taken_in_when_the_hanging_one_is_failed(quick_looks: None) -> None:
    let_go = threading.Event()

    def objective(trial: Trial) -> float:
        if trial.number == 2:
            wait_for(let_go)
        return by_seed(trial)

    s = study()
    with threads(2) as pool:
        run = in_the_background(
            lambda: s.run(objective, executor=pool, batch=2, max_evaluations=30, progress=False)
        )
        with run as running:
            wait_until(lambda: len(s.waiting) == WAITING * 2 + 1, "results that wait")
            assert [trial.number for trial in s.taken] == [0, 1]
            s.fail(2, "the plate was dropped")
            running.result(PATIENCE)  # although the evaluation still hangs
        assert not let_go.is_set()
        let_go.set()
    assert s.trials[2].state == "failed"
    assert [trial.number for trial in s.taken] == [0, 1, *range(3, 31)]


def test_a_run_waits_for_the_evaluations_of_another(quick_looks: None, tmp_path: Path) -> None:
    let_go = threading.Event()

    def slow(trial: Trial) -> float:
        wait_for(let_go)
        return by_seed(trial)

    one, other = (study(storage=tmp_path / "study.db", sigma=0.3) for _ in range(2))
    with in_the_background(lambda: one.run(slow, progress=False, max_evaluations=1)):
        wait_until(lambda: len(one.pending) == 1, "the first evaluation")
        with in_the_background(lambda: other.run(by_seed, progress=False)):
            wait_until(lambda: len(other.waiting) == WAITING + 1, "results that wait")
            time.sleep(0.2)
            assert len(other.trials) == 2 + WAITING
            let_go.set()
    assert other.done
    numbers = [trial.number for trial in other.taken]
    assert numbers == list(range(len(numbers)))


def test_a_run_that_waits_for_another_says_so_once(
    quick_looks: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(evaluation, "PATIENCE", 0.1)
    one, other = (study(storage=tmp_path / "study.db", sigma=0.3) for _ in range(2))
    held = one._log.ask(1, in_turn=True, run=None)
    assert held is not None
    with (  # noqa: PT031
        pytest.warns(UserWarning, match=r"waiting for 1 trial of other workers.*trial 0") as warned,
        in_the_background(lambda: other.run(by_seed, progress=False)),
    ):
        wait_until(lambda: len(other.waiting) == WAITING + 1, "results that wait")
        time.sleep(0.5)
        one.tell(held[0], 0.5)
    assert other.done
    assert sum("is waiting for" in str(each.message) for each in warned) == 1


def test_an_asynchronous_client_is_refused() -> None:
    client = SimpleNamespace(get_executor=None, nthreads=None, asynchronous=True)
    with pytest.raises(errors.InvalidSetting, match="asynchronous=False"):
        study().run(by_seed, executor=client, progress=False)


# Seeds


@FORKS
def test_processes_forked_from_one_state_would_draw_the_same(tmp_path: Path) -> None:
    """The danger that the next tests are about."""
    drawn = []
    for _ in range(2):
        with processes("fork", 1) as pool:
            drawn.append(pool.submit(np.random.normal).result(PATIENCE))
    assert drawn[0] == drawn[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "objective"),
    [
        pytest.param("fork", numpys_global, marks=FORKS),
        pytest.param("fork", pythons_global, marks=FORKS),
        pytest.param("spawn", numpys_global),
        pytest.param("forkserver", pythons_global),
    ],
)
def test_global_generators_never_repeat_in_processes(
    start: str, objective: Callable[[Trial], float]
) -> None:
    s = study()
    for _ in range(2 if start == "fork" else 1):  # the second begins with the state of the first
        with processes(start) as pool:
            s.run(objective, executor=pool, batch=4, max_evaluations=20, progress=False)
    values = [trial.value for trial in s.trials]
    assert len(set(values)) == len({trial.seed for trial in s.trials}) == len(values) >= 20


def test_seeds_use_all_their_bits_elsewhere() -> None:
    """Seeds that agree in 32 bits would meet after some ten thousand trials."""
    trials = [Trial(k, 0, "ash", 7 + (k << 32)) for k in range(3)]
    kept = np.random.get_state()  # noqa: NPY002
    try:
        drawn = [
            evaluate_trial(Call(numpys_global, trial, ("elsewhere", 0), "")).value
            for trial in trials
        ]
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    assert len(set(drawn)) == 3


@pytest.mark.parametrize("objective", [numpys_global, pythons_global])
def test_a_trial_evaluated_again_elsewhere_draws_the_same(
    objective: Callable[[Trial], float],
) -> None:
    trial = Trial(0, 0, "ash", 7)
    kept = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        drawn = [
            evaluate_trial(Call(objective, trial, ("elsewhere", 0), "")).value for _ in range(2)
        ]
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002
        random.setstate(kept[1])
    assert drawn[0] == drawn[1]


def test_the_askers_own_generators_are_left_alone() -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.normal(size=6).tolist()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    s = study()
    s.run(numpys_global, max_evaluations=6, progress=False)
    assert [trial.value for trial in s.trials] == expected


def test_a_simulator_given_the_same_arm_again_gives_another_value() -> None:
    s = study()
    with threads(3) as pool:
        s.run(by_seed, executor=pool, batch=3, max_evaluations=40, progress=False)
    for arm in range(4):
        values = [trial.value for trial in s.trials if trial.arm == arm]
        assert len(set(values)) == len(values)
    assert max(s.posterior.pulls) > 5


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_processes_ask_what_a_loop_would_ask(start: str) -> None:
    here, there = study(), study()
    here.run(by_seed, max_evaluations=25, progress=False)
    with processes(start) as pool:
        there.run(by_seed, executor=pool, batch=1, max_evaluations=25, progress=False)
    assert there.fingerprint == here.fingerprint


# Failures


def pools() -> list[Any]:
    kinds = [pytest.param(start, marks=FORKS) for start in ("fork", "spawn", "forkserver")]
    return ["here", "threads", *kinds]


@contextmanager
def pool_of(kind: str) -> Iterator[Executor | None]:
    if kind == "here":
        yield None
        return
    with threads(2) if kind == "threads" else processes(kind) as pool:
        yield pool


@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
@pytest.mark.parametrize("kind", pools())
def test_a_failure_keeps_the_traceback_and_is_raised(kind: str) -> None:
    s = study()
    with pool_of(kind) as pool:
        with pytest.raises(ZeroDivisionError, match="no reading"):
            s.run(broken, executor=pool, batch=1, progress=False)
        assert [trial.state for trial in s.trials] == ["failed"]
        with pytest.raises(ZeroDivisionError, match="no reading") as raised:
            s.run(broken, executor=pool, batch=1, max_failures=3, progress=False)
    assert [trial.state for trial in s.trials] == ["failed"] * 5
    for trial in s.trials:
        assert "in broken" in str(trial.reason)
        assert 'raise ZeroDivisionError("no reading")' in str(trial.reason)  # the very line
        assert "evaluate_trial" not in str(trial.reason)  # our own lines are of no interest
    if kind not in ("here", "threads"):
        assert "in broken" in "".join(raised.value.__notes__)
    assert s.evaluations == 0


@pytest.mark.parametrize("kind", ["threads", pytest.param("fork", marks=FORKS)])
def test_three_failures_may_be_gone_on_after(kind: str, tmp_path: Path) -> None:
    s = study()
    with pool_of(kind) as pool:
        s.run(
            FailsOnce(tmp_path, arms=(1, 2, 3)),
            executor=pool,
            batch=2,
            max_failures=3,
            max_evaluations=9,
            progress=False,
        )
    assert sorted(t.arm for t in s.trials if t.state == "failed") == [1, 2, 3]
    assert s.evaluations == 9


@pytest.mark.parametrize("kind", ["here", "threads", pytest.param("fork", marks=FORKS)])
@pytest.mark.parametrize(
    ("objective", "words"),
    [(not_a_number, "must be finite, got nan"), (text, "'0.7' (str)"), (unsendable, "(lock)")],
)
def test_what_is_no_number_is_a_failure(
    kind: str, objective: Callable[[Trial], Any], words: str
) -> None:
    s = study()
    with pool_of(kind) as pool, pytest.raises(errors.InvalidInput) as raised:
        s.run(objective, executor=pool, batch=1, progress=False)
    assert words in str(raised.value)
    assert s.trials[0].state == "failed"
    assert s.trials[0].reason == str(raised.value)


@FORKS
def test_an_error_that_cannot_travel_does_not_break_the_pool() -> None:
    s = study()
    with processes("fork") as pool:
        with pytest.raises(errors.ShortlistError, match="nothing explains this"):
            s.run(too_rich_to_travel, executor=pool, batch=1, progress=False)
        s.run(by_seed, executor=pool, batch=1, max_evaluations=3, progress=False)
    assert "in too_rich_to_travel" in str(s.trials[0].reason)
    assert s.evaluations == 3


@FORKS
def test_an_objective_that_cannot_travel_is_named_at_once(tmp_path: Path) -> None:
    s = study(storage=tmp_path / "study.db")
    with processes("fork") as pool:
        with pytest.raises(errors.InvalidSetting, match="cannot be sent to other processes"):
            s.run(lambda trial: 0.0, executor=pool, progress=False)
        assert s.trials == []
        s.run(by_seed, executor=pool, max_evaluations=3, progress=False)


def test_words_that_no_database_takes_are_kept_as_they_can_be(tmp_path: Path) -> None:
    def objective(trial: Trial) -> float:
        raise ValueError("a \x00 and a \ud800")

    s = study(storage=tmp_path / "study.db")
    with pytest.raises(ValueError, match="and a"):
        s.run(objective, progress=False)
    stored = shortlist.Study.load(tmp_path / "study.db").trials[0]
    assert stored.reason == s.trials[0].reason
    assert "ValueError: a  and a \\ud800" in str(stored.reason)


def test_others_in_flight_are_given_back_and_asked_for_again() -> None:
    let_go = threading.Event()
    all_there = threading.Barrier(4, timeout=PATIENCE)

    def objective(trial: Trial) -> float:
        all_there.wait()
        if trial.number == 1:
            raise OSError("out of order")
        wait_for(let_go)
        return by_seed(trial)

    s = study()
    with threads(4) as pool:
        with pytest.raises(OSError, match="out of order"):
            s.run(objective, executor=pool, batch=4, progress=False)
        assert not let_go.is_set()  # it did not wait for them
        let_go.set()
    assert s.trials[1].state == "failed"
    given_back = [(trial.number, trial.seed) for trial in s.pending]
    assert [number for number, _ in given_back] == [0, 2, 3]
    seen = []

    def second(trial: Trial) -> float:
        seen.append((trial.number, trial.seed))
        return by_seed(trial)

    s.run(second, batch=4, max_evaluations=6, progress=False)
    assert seen[:3] == given_back
    assert [trial.number for trial in s.taken] == [0, 2, 3, 4, 5, 6]
    assert s.trials[2].value == by_seed(s.trials[2])


def test_what_came_along_with_a_failure_is_told() -> None:
    """Without an executor all of a batch are there when the first is looked at."""

    def objective(trial: Trial) -> float:
        return broken(trial) if trial.number == 1 else by_seed(trial)

    s = study()
    with pytest.raises(ZeroDivisionError):
        s.run(objective, batch=4, progress=False)
    assert [trial.state for trial in s.trials] == ["told", "failed", "told", "told"]


def test_an_interruption_gives_back_what_was_not_evaluated() -> None:
    def objective(trial: Trial) -> float:
        if trial.number == 4:
            raise KeyboardInterrupt
        return by_seed(trial)

    s = study()
    with pytest.raises(KeyboardInterrupt):
        s.run(objective, batch=3, progress=False)
    assert [trial.state for trial in s.trials] == ["told"] * 4 + ["pending"] * 2
    seen = []
    s.run(lambda trial: seen.append(trial.number) or 0.5, max_evaluations=3, progress=False)
    assert seen == [4, 5, 6]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python as it is at a terminal: what was started in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_control_c_gives_back_what_is_in_flight(interruptible: None) -> None:
    let_go = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def objective(trial: Trial) -> float:
        if trial.number == 3:
            signal.pthread_kill(main, signal.SIGINT)
        if trial.number >= 2:
            wait_for(let_go)
        return by_seed(trial)

    s = study()
    with threads(2) as pool:
        with pytest.raises(KeyboardInterrupt):
            s.run(objective, executor=pool, batch=2, progress=False)
        let_go.set()
        assert [trial.number for trial in s.taken] == [0, 1]
        assert [trial.number for trial in s.pending] == [2, 3]
        s.run(by_seed, executor=pool, batch=2, max_evaluations=4, progress=False)
    assert [trial.number for trial in s.taken] == list(range(6))


def test_an_interruption_elsewhere_ends_the_run_however_many_may_fail() -> None:
    calls = []

    def objective(trial: Trial) -> float:
        calls.append(trial.number)
        raise KeyboardInterrupt

    s = study()
    with threads(2) as pool, pytest.raises(KeyboardInterrupt):
        s.run(objective, executor=pool, batch=1, max_failures=9, progress=False)
    assert calls == [0]
    assert [trial.state for trial in s.trials] == ["pending"]


@FORKS
def test_a_worker_that_dies_breaks_the_pool_and_loses_nothing(tmp_path: Path) -> None:
    objective = DiesOnce(tmp_path / "died")
    s = study(storage=tmp_path / "study.db")
    with processes("fork") as pool, pytest.raises(BrokenProcessPool):
        s.run(objective, executor=pool, batch=3, max_evaluations=12, progress=False)
    assert {trial.state for trial in s.trials} <= {"told", "pending"}
    given_back = [(trial.number, trial.seed) for trial in s.pending]
    assert 5 in [number for number, _ in given_back]
    with processes("fork") as pool:
        s.run(objective, executor=pool, batch=3, max_evaluations=12, progress=False)
    for number, seed in given_back:
        assert (s.trials[number].state, s.trials[number].seed) == ("told", seed)
    assert [trial.number for trial in s.taken] == list(range(len(s.trials)))
    assert [trial.value for trial in s.trials] == [by_seed(trial) for trial in s.trials]


class Loses(ThreadPoolExecutor):
    """Cancels the first sendings of one evaluation, as a cluster may."""

    def __init__(self, losses: int) -> None:
        super().__init__(2)
        self.losses = losses

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        if given[0].trial.number == 3 and self.losses > 0:
            self.losses -= 1
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future
        return super().submit(function, *given, **named)


def test_what_an_executor_loses_is_sent_again_or_given_back() -> None:
    s = study()
    with Loses(2) as pool:
        with pytest.raises(CancelledError):
            s.run(by_seed, executor=pool, batch=2, max_evaluations=8, progress=False)
        assert 3 in [trial.number for trial in s.pending]
        s.run(by_seed, executor=pool, batch=2, max_evaluations=8, max_failures=1, progress=False)
    assert pool.losses == 0
    assert {trial.state for trial in s.trials} == {"told"}
    assert [trial.number for trial in s.taken] == list(range(len(s.trials)))


def test_a_pool_that_is_shut_loses_nothing() -> None:
    s = study()
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        s.run(by_seed, executor=pool, batch=3, progress=False)
    assert [trial.number for trial in s.pending] == [0, 1, 2]
    s.run(by_seed, max_evaluations=3, progress=False)
    assert [trial.number for trial in s.taken] == [0, 1, 2]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_lease_that_is_over_has_the_trial_evaluated_again(batch: int) -> None:
    let_go = threading.Event()
    calls: list[tuple[int, int]] = []

    def objective(trial: Trial) -> float:
        calls.append((trial.number, trial.seed))
        if trial.number == 2 and [number for number, _ in calls].count(2) == 1:
            wait_for(let_go)
            return -99.0
        return by_seed(trial)

    s = study(lease=0.5)
    with threads(3) as pool:
        s.run(objective, executor=pool, batch=batch, max_evaluations=30, progress=False)
        assert not let_go.is_set()
        let_go.set()
    assert [trial.number for trial in s.taken] == list(range(30))
    again = [seed for number, seed in calls if number == 2]
    assert len(again) >= 2
    assert set(again) == {s.trials[2].seed}
    assert s.trials[2].value == by_seed(s.trials[2])


def test_two_evaluations_of_one_trial_are_told_once() -> None:
    """The lease is too short; whichever comes first counts, and the other is nothing."""
    both = threading.Barrier(2, timeout=PATIENCE)

    def objective(trial: Trial) -> float:
        if trial.number == 2:
            both.wait()
        return by_seed(trial)

    s = study(lease=0.3)
    with threads(3) as pool:
        s.run(objective, executor=pool, batch=2, max_evaluations=40, progress=False)
    assert [trial.number for trial in s.taken] == list(range(40))


@pytest.mark.parametrize("late", [False, True])
def test_a_trial_that_another_has_taken_over_is_left_to_it(
    late: bool, quick_looks: None, tmp_path: Path
) -> None:
    let_go, last = threading.Event(), threading.Event()

    def objective(trial: Trial) -> float:
        if trial.number == 3:  # the last one that is wanted
            last.set()
        if trial.number == 0 or (trial.number == 3 and late):
            wait_for(let_go)
        return by_seed(trial)

    one, other = (study(storage=tmp_path / "study.db") for _ in range(2))
    settings: dict[str, Any] = {"order": "completion", "max_evaluations": 3, "progress": False}
    with Counts(2) as pool:
        with in_the_background(lambda: one.run(objective, executor=pool, **settings)):
            wait_until(lambda: len(one.pending) >= 1, "the first evaluation")
            log = other._log

            def take_over(transaction: Any) -> None:
                # As if a lease had been over, and another had come first.
                log.ledger.renew(log.ledger.find(0), "another", None, None, transaction.now, "a")

            log.change(take_over)
            wait_for(last)
            if late:
                with one._log._lock:  # until both have come
                    let_go.set()
                    wait_until(lambda: pool.out == 0, "both")
        let_go.set()
    assert len(one.taken) == 3  # also where both came at once
    if not late:
        assert [trial.number for trial in one.taken] == [1, 2, 3]
        assert one.trials[0].state == "pending"
        assert one.trials[0].expires_at is None  # not given back: it is not ours


@pytest.mark.parametrize("stored", [False, True])
def test_a_result_that_was_interrupted_on_its_way_in_is_told_at_the_end(
    stored: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    s = study(**({"storage": tmp_path / "study.db"} if stored else {}))
    evaluated: list[int] = []
    take = Model.take

    def objective(trial: Trial) -> float:
        evaluated.append(trial.number)
        return by_seed(trial)

    def interrupted(self: Model, steps: Any, at_stop: Any) -> None:
        take(self, steps, at_stop)
        if len(evaluated) == 5:
            evaluated.append(-1)
            raise KeyboardInterrupt

    monkeypatch.setattr(Model, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        s.run(objective, progress=False)
    assert [trial.number for trial in s.taken] == evaluated[:5] == [0, 1, 2, 3, 4]
    assert s.evaluations == 5
    s.run(objective, progress=False, max_evaluations=3)
    assert evaluated == [0, 1, 2, 3, 4, -1, 5, 6, 7]  # none was evaluated twice


# The stop


def test_at_the_stop_the_rest_is_cancelled_and_the_pool_is_free(tmp_path: Path) -> None:
    let_go = threading.Event()

    def objective(trial: Trial) -> float:
        if trial.number >= 4:
            wait_for(let_go)
        return float(MEANS[trial.arm])

    s = study(sigma=0.01, storage=tmp_path / "study.db")
    with threads(7) as pool:
        found = s.run(objective, executor=pool, batch=10, progress=False)
        assert found.final
        assert found.evaluations == 4
        assert not let_go.is_set()  # six of them hang, and three were not even begun
        assert [trial.state for trial in s.trials] == ["told"] * 4 + ["cancelled"] * 6
        assert pool.submit(int, "3").result(PATIENCE) == 3
        let_go.set()
    assert shortlist.Study.load(tmp_path / "study.db").fingerprint == s.fingerprint
    assert s.run(objective, progress=False) is found


@FORKS
def test_a_process_pool_is_free_after_the_stop() -> None:
    s = study(sigma=0.3)
    with processes("fork") as pool:
        assert s.run(by_seed, executor=pool, batch=6, progress=False).final
        assert s.pending == []
        assert pool.submit(int, "3").result(PATIENCE) == 3


def test_a_study_that_another_process_stopped(quick_looks: None, tmp_path: Path) -> None:
    let_go = threading.Event()

    def slow(trial: Trial) -> float:
        wait_for(let_go)
        return by_seed(trial)

    one, other = (study(storage=tmp_path / "study.db", sigma=0.01) for _ in range(2))
    with threads(1) as pool:
        run = in_the_background(
            lambda: one.run(slow, executor=pool, order="completion", progress=False)
        )
        with run as running:
            wait_until(lambda: len(one.pending) >= 1, "the first evaluation")
            for arm, mean in enumerate(MEANS):
                other.tell(arm=arm, value=mean)
            assert other.done
            running.result(PATIENCE)  # although its evaluation hangs
        let_go.set()
    assert one.done
    assert one.trials[0].state == "cancelled"


# Words


def test_what_is_no_executor_and_no_order() -> None:
    with pytest.raises(errors.InvalidSetting, match=r"concurrent\.futures\.Executor .* got int"):
        study().run(by_seed, executor=4, progress=False)
    with pytest.raises(errors.UnknownName, match="did you mean 'asked'"):
        study().run(by_seed, order="aksed", progress=False)  # type: ignore[arg-type]


def test_the_line_shows_what_is_in_flight_and_what_waits() -> None:
    s = study()
    s.run(by_seed, max_evaluations=10, progress=False)
    trials = s._log.ask(3, in_turn=True, run=None)
    assert trials is not None
    assert "10 evaluations · 3 in flight · " in progress.describe(s)
    s.tell(trials[1], 0.5)
    line = progress.describe(s, "about 40 left")
    assert line.startswith("10 evaluations · 2 in flight · 1 waiting for earlier ones · about 40 ")


def test_the_line_says_from_the_start_what_to_expect() -> None:
    pool = {"sigma": "bounded", "reward_range": (0.0, 1.0), "blocks": 500}
    s = shortlist.Study(arms=range(40), m=3, seed=0, **pool)
    line = progress.describe(s, s.remaining().short)
    assert line == "0 of at most 20,000 evaluations · at least 240 left · initial pulls"


def test_the_line_projects_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    clock = 0.0

    def counted(study: shortlist.Study) -> remaining.Projection:
        calls.append(study)
        return remaining.Projection(1234, 617, 4321, "")

    monkeypatch.setattr(progress, "remaining", counted)
    monkeypatch.setattr(progress, "monotonic", lambda: clock)
    screen = io.StringIO()
    s = study()
    s.run(by_seed, max_evaluations=10, progress=False)
    with progress.ProgressLine(
        s, True, Console(file=screen, force_terminal=True, width=160)
    ) as line:
        for _ in range(100):
            clock += 0.025
            line.update()
    assert len(calls) == 3
    assert "about 1,200 left (620 to 4,300)" in screen.getvalue()


# A storage that is away when a result is to be told


def away_for(monkeypatch: pytest.MonkeyPatch, study: shortlist.Study, fails: int) -> list[int]:
    """The storage refuses the next so many changes, once the first evaluation is made."""
    storage = study._log.storage
    transaction, refused = storage.transaction, [0]

    def refusing(**given: Any) -> Any:
        if refused[0] < 0 or refused[0] >= fails:
            return transaction(**given)
        refused[0] += 1
        raise StorageError("the database is away: nothing was changed.")

    refused[0] = -1
    monkeypatch.setattr(storage, "transaction", refusing)
    monkeypatch.setattr(evaluation, "FIRST_PAUSE", 0.01)
    return refused


@pytest.mark.parametrize("threads", [0, 3])
def test_a_result_is_kept_until_the_storage_is_back(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = begin_stored(None)
    undisturbed.run(told_by_seed, max_evaluations=30, progress=False)
    study = begin_stored(tmp_path / "study.db")
    refused = away_for(monkeypatch, study, 4)
    made: list[int] = []

    def objective(trial: Trial) -> float:
        made.append(trial.number)
        if len(made) in (5, 20):
            refused[0] = 0
        return told_by_seed(trial)

    with ThreadPoolExecutor(max(threads, 1)) as pool:
        study.run(
            objective,
            executor=pool if threads else None,
            batch=max(threads, 1),
            max_evaluations=30,
            progress=False,
        )
    assert refused[0] == 4
    assert len(set(made)) == len(made)  # nothing was evaluated twice
    loaded = shortlist.Study.load(tmp_path / "study.db")
    assert loaded.evaluations == 30
    if not threads:
        assert [(t.arm, t.value) for t in loaded.taken] == [
            (t.arm, t.value) for t in undisturbed.taken
        ]


@pytest.mark.parametrize("ends_by", ["the storage", "Ctrl-C"])
def test_what_could_not_be_told_is_written_down(
    ends_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = begin_stored(tmp_path / "study.db")
    refused = away_for(monkeypatch, study, 10**9)
    values: dict[int, float] = {}
    said: list[str] = []
    monkeypatch.setattr(ProgressLine, "say", lambda self, words: said.append(words))

    def objective(trial: Trial) -> float:
        values[trial.number] = told_by_seed(trial)
        if len(values) == 3:
            refused[0] = 0
        return values[trial.number]

    if ends_by == "Ctrl-C":
        monkeypatch.setattr(evaluation.time, "sleep", lambda _: signal.raise_signal(signal.SIGINT))
    expected = StorageError if ends_by == "the storage" else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        study.run(objective, progress=False, patience=0.2)
    words = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "1 finished results are kept in" in words
    assert any("1 results are held in memory; retrying" in each for each in said)
    (file,) = tmp_path.glob("study.db.untold-*.csv")
    assert str(file) in words
    refused[0] = -1
    results = shortlist.read_untold(file)
    assert results == [(2, values[2])]
    # As the error advises.
    assert f"study.tell_many(shortlist.read_untold({str(file)!r}), if_told='same')" in words
    study.tell_many(shortlist.read_untold(str(file)), if_told="same")
    loaded = shortlist.Study.load(tmp_path / "study.db")
    assert {t.number: t.value for t in loaded.trials if t.state == "told"} == values
    # A plate of the command line reads it too.
    assert [(row.trial, float(row.value)) for row in read_plate(file)] == results
    with pytest.raises(errors.InvalidInput, match="is a folder, a pipe or a device"):
        shortlist.read_untold(tmp_path)


def test_results_that_come_after_the_end_of_a_run_are_written_down_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = begin_stored(tmp_path / "study.db")
    refused = away_for(monkeypatch, study, 10**9)
    go_on = threading.Event()

    def objective(trial: Trial) -> float:
        if trial.number:
            go_on.wait(30)
        else:
            refused[0] = 0
        return float(trial.number)

    with ThreadPoolExecutor(3) as pool:
        with pytest.raises(StorageError, match="1 finished results are kept in"):
            study.run(objective, executor=pool, batch=3, progress=False, patience=0.1)
        go_on.set()
    (file,) = tmp_path.glob("study.db.untold-*.csv")
    assert sorted(shortlist.read_untold(file)) == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_results_of_a_study_in_memory_are_written_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    take = Model.take

    def interrupted(self: Model, steps: Any, at_stop: Any) -> None:
        take(self, steps, at_stop)
        if self.posterior.observed >= 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Model, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study().run(lambda trial: float(trial.number), progress=False)
    (file,) = tmp_path.glob("study.untold-*.csv")
    assert shortlist.read_untold(file) == [(2, 2.0)]


@pytest.mark.slow
def test_a_damaged_storage_is_not_waited_for(tmp_path: Path) -> None:
    study = begin_stored(tmp_path / "study.db")

    def objective(trial: Trial) -> float:
        connection = sqlite3.connect(tmp_path / "study.db")
        connection.execute("UPDATE shortlist_studies SET fingerprint = 'x'")
        connection.commit()
        connection.close()
        return 0.5

    begun = time.monotonic()
    with pytest.raises(StorageError, match="1 finished results are kept in"):
        study.run(objective, progress=False)
    assert time.monotonic() - begun < 60


def test_a_timeout_ends_the_asking_and_waits_for_what_is_under_way() -> None:
    slow = study(sigma=50.0)

    def objective(trial: Trial) -> float:
        time.sleep(0.05)
        return float(MEANS[trial.arm])

    with threads(2) as pool:
        slow.run(objective, executor=pool, batch=2, timeout=0.2, progress=False)
    assert not slow.done
    assert not slow.pending
    assert 2 <= slow.evaluations == len(slow.trials)
    before = slow.evaluations
    slow.run(objective, max_evaluations=1, timeout=60, progress=False)
    assert slow.evaluations == before + 1


@pytest.mark.parametrize("timeout", [0, -1, "1 h", True, float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(errors.InvalidSetting, match="timeout must be a number of seconds above 0"):
        study().run(told_by_seed, timeout=timeout)


def test_callbacks_see_every_trial_that_was_told_or_has_failed() -> None:
    seen: list[tuple[int, str, float | None]] = []
    lengths: list[int] = []

    def objective(trial: Trial) -> float:
        if trial.number == 1:
            raise RuntimeError("dropped")
        return float(MEANS[trial.arm])

    mine = study()
    mine.run(
        objective,
        max_failures=1,
        progress=False,
        callbacks=[
            lambda study, trial: seen.append((trial.number, trial.state, trial.value)),
            lambda study, trial: lengths.append(study.evaluations),
        ],
    )
    assert seen == [(t.number, t.state, t.value) for t in mine.trials]
    assert seen[1][1] == "failed"
    assert lengths == sorted(lengths)
    assert lengths[-1] == mine.evaluations


def test_what_a_callback_raises_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    kept = begin_stored(tmp_path / "study.db")

    def refuse(study: shortlist.Study, trial: Trial) -> None:
        if trial.number == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        kept.run(told_by_seed, callbacks=[refuse], progress=False)
    loaded = shortlist.Study.load(tmp_path / "study.db")
    assert loaded.evaluations == 3
    assert not loaded.pending


def test_callbacks_are_called_once_when_the_storage_was_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = begin_stored(tmp_path / "study.db")
    refused = away_for(monkeypatch, kept, 2)
    seen: list[int] = []

    def objective(trial: Trial) -> float:
        refused[0] = 0 if trial.number == 1 else refused[0]
        return told_by_seed(trial)

    kept.run(
        objective,
        max_evaluations=4,
        progress=False,
        callbacks=[lambda _, trial: seen.append(trial.number)],
    )
    assert refused == [2]
    assert seen == [0, 1, 2, 3]


@pytest.mark.parametrize("given", [print, 3, ["print"], None])
def test_callbacks_are_a_list_of_functions(given: Any) -> None:
    with pytest.raises(errors.InvalidSetting, match="callbacks must be a list of functions"):
        study().run(told_by_seed, callbacks=given)


@pytest.mark.parametrize(
    "value", [np.array(0.5), np.float32(0.5), np.float64(0.5), np.int8(1), np.bool_(True)]
)
def test_results_may_be_numpy_scalars_and_arrays_of_no_dimension(value: Any) -> None:
    mine = study()
    mine.run(lambda trial: value, max_evaluations=1, progress=False)
    mine.tell(mine.ask(), value)
    assert [trial.value for trial in mine.trials] == [float(value)] * 2
    assert all(type(trial.value) is float for trial in mine.trials)


@pytest.mark.parametrize("value", [np.array([0.5]), np.array("0.5"), np.array(1j), [0.5], "0.5"])
def test_results_are_numbers(value: Any) -> None:
    with pytest.raises(errors.InvalidInput, match="a result must be a number"):
        study().tell(arm=0, value=value)


def test_the_packages_logger_says_what_is_asked_told_failed_and_stopped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", logger="shortlist")
    mine = study()
    mine.fail(mine.ask(), "dropped")
    mine.run(lambda trial: float(MEANS[trial.arm]), progress=False)
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert ("DEBUG", "trial 0 (0) asked") in said
    assert ("WARNING", "trial 0 (0) failed: dropped") in said
    assert ("DEBUG", "trial 1 (0) told: 1.0") in said
    assert ("INFO", f"the study 'study' stopped after {mine.evaluations} evaluations") in said
    assert {record.name.partition(".")[0] for record in caplog.records} == {"shortlist"}


def test_trials_as_a_dataframe_have_a_row_each() -> None:
    mine = study(arms=["ash", "elm", "oak", "yew"])
    assert list(mine.trials_dataframe()["value"]) == []
    mine.tell(mine.ask(), 0.5)
    mine.fail(mine.ask(), "dropped")
    mine.tell(arm="yew", value=0.25, key="plate 3")
    mine.ask()
    frame = mine.trials_dataframe()
    assert list(frame["state"]) == ["told", "failed", "told", "pending"]
    assert frame["value"].dropna().tolist() == [0.5, 0.25]
    assert frame["name"].tolist() == [trial.name for trial in mine.trials]
    assert frame["reason"].tolist()[1] == "dropped"
    assert frame["origin"].tolist()[2] == "unasked"
    assert frame["closed_at"].isna().tolist() == [False, False, False, True]
    assert str(frame["asked_at"].dt.tz) == "UTC"


def begin_stored(path: Path | None) -> shortlist.Study:
    features = np.random.default_rng(5).normal(size=(6, 3))
    return shortlist.Study(features, m=2, sigma=20.0, seed=7, storage=path)


def told_by_seed(trial: Trial) -> float:
    return float(np.random.default_rng(trial.seed).normal())


# Who is at work


def test_the_trials_of_a_run_that_is_not_heard_of_are_given_out_again(
    new_storage: Callable[[], str],
) -> None:
    place = new_storage()
    one, other = study(storage=place), study(storage=place)
    one.ask()  # by hand: whoever asked may still be at it
    one._log.storage.hold("dead", 2.0)
    one._log.ask(1, in_turn=True, run="dead")
    assert other.ask().number == 2
    one._log.storage.hold("dead", 2.0)
    assert other.ask().number == 3
    time.sleep(2.1)
    assert [trial.number for trial in other.ask(2)] == [1, 4]
    assert other.trials[1].run is None


@pytest.mark.usefixtures("quick_looks")
@pytest.mark.parametrize("pool", [False, True])
def test_a_run_says_that_it_is_at_work_however_long_it_takes(
    pool: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "RUN_LEASE", 0.4)
    one, other = (study(storage=tmp_path / "study.db") for _ in range(2))
    begun, over = threading.Event(), threading.Event()

    def slow(trial: Trial) -> float:
        begun.set()
        assert over.wait(60)
        return by_seed(trial)

    with ThreadPoolExecutor(1) as executor:
        given: dict[str, Any] = {"executor": executor if pool else None, "max_evaluations": 1}
        with in_the_background(lambda: one.run(slow, progress=False, **given)):
            assert begun.wait(60)
            time.sleep(1.0)
            assert other.ask().number == 1
            over.set()
    assert one.trials[0].state == "told"
    assert other._log.storage.names() == ["study"]
    with other._log.storage.transaction(writing=False) as transaction:
        assert transaction.leases() == {}


def test_an_error_names_the_trial_and_the_arm() -> None:
    study = shortlist.Study(arms=["ash", "elm"], m=1, sigma=1.0, seed=0)
    for returned in (None, "broken"):
        with pytest.raises(InvalidInput, match="must be a number") as raised:
            study.run(lambda trial, given=returned: given, progress=False)
        [note] = raised.value.__notes__
        assert "trial " in note
        assert "arm 'ash'" in note or "arm 'elm'" in note
        assert "run(max_failures=…)" in note
