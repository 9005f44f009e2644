"""Where a run evaluates: how many at a time, coroutine functions, retries, and runs that died."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from shortlist import Study, errors
from shortlist.study.running import run as evaluation
from shortlist.study.running.process import is_dead, name_of_run
from shortlist.study.trial import Trial

NAMES = [f"C{k}" for k in range(12)]


def begin(**others: object) -> Study:
    given = {"m": 2, "sigma": 1.0, "epsilon": 0.5, "seed": 0, "arms": NAMES, **others}
    return Study(**given)  # type: ignore[arg-type]


def noise(trial: Trial) -> float:
    return float(trial.arm / 6 + np.random.default_rng(trial.seed).normal())


class Busy:
    """How many evaluations are under way at once, at most."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self.now -= 1


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_as_many_evaluations_as_there_are_workers(workers: int) -> None:
    busy = Busy()

    def slow(trial: Trial) -> float:
        with busy:
            time.sleep(0.05)
        return noise(trial)

    with ThreadPoolExecutor(workers) as pool:
        begin().run(slow, executor=pool, max_evaluations=40, progress=False)
    assert busy.most == workers


def test_a_batch_without_an_executor_says_that_it_is_made_one_by_one() -> None:
    with pytest.warns(UserWarning, match=r"batch=8 without an executor.*ThreadPoolExecutor\(8\)"):
        begin().run(noise, batch=8, max_evaluations=8, progress=False)


@pytest.mark.parametrize(("batch", "most"), [(None, 8), (3, 3)])
def test_a_coroutine_function_is_awaited(batch: int | None, most: int) -> None:
    busy = Busy()

    async def ask_model(trial: Trial) -> float:
        with busy:
            await asyncio.sleep(0.01)
        return noise(trial)

    study = begin()
    study.run(ask_model, batch=batch, max_evaluations=40, progress=False)
    assert study.evaluations == 40
    assert busy.most == most
    assert study.taken == sorted(study.taken, key=lambda trial: trial.number)


def test_its_errors_are_raised_and_name_the_trial() -> None:
    async def broken(trial: Trial) -> float:
        raise OSError("429")

    with pytest.raises(OSError, match="429") as raised:
        begin().run(broken, progress=False)
    assert "arm 'C" in raised.value.__notes__[0]
    with (
        ThreadPoolExecutor(2) as pool,
        pytest.raises(errors.InvalidSetting, match="leave executor"),
    ):
        begin().run(broken, executor=pool)


def test_a_coroutine_as_a_result_says_what_to_give() -> None:
    async def ask_model(trial: Trial) -> float:
        return noise(trial)

    with pytest.raises(errors.InvalidInput, match="coroutine function itself"):
        begin().run(lambda trial: ask_model(trial), progress=False)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_evaluation_that_raised_is_repeated_after_growing_pauses(
    is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "FIRST_WAIT", 0.02)
    times: dict[int, list[float]] = {}

    def measure(trial: Trial) -> float:
        times.setdefault(trial.number, []).append(time.monotonic())
        if len(times[trial.number]) < 4:
            raise OSError("429: too many requests")
        return noise(trial)

    async def awaited(trial: Trial) -> float:
        return measure(trial)

    study = begin()
    study.run(awaited if is_async else measure, retries=3, max_evaluations=3, progress=False)
    assert [trial.state for trial in study.trials if trial.number in range(3)] == ["told"] * 3
    pauses = np.diff(times[0])
    assert (pauses > 0.75 * np.array([0.02, 0.08, 0.32])).all()
    assert study.trials[0].reason == "raised 3× first: OSError: 429: too many requests"


def test_what_no_waiting_mends_is_raised_at_once() -> None:
    made = []

    def measure(trial: Trial) -> float:
        made.append(trial)
        return undefined_name  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(NameError):
        begin().run(measure, retries=3, progress=False)
    assert len(made) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_trials_of_a_run_that_was_killed_are_given_out_at_once(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    begin(storage=place)
    child = os.fork()
    if child == 0:
        study = Study.load(place)
        study.run(lambda trial: os._exit(1), progress=False)
    os.waitpid(child, 0)
    study = Study.load(place)
    assert len(study.pending) == 1
    began = time.monotonic()
    study.run(noise, max_evaluations=3, progress=False)
    assert time.monotonic() - began < 20
    assert study.trials[0].state == "told"


def test_a_run_that_waits_says_when_trials_are_given_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "PATIENCE", 0.0)
    monkeypatch.setattr(evaluation, "LOOK_ROUND", 0.05)
    study = begin(storage=tmp_path / "study.db", blocks=2, sigma="bounded", reward_range=(-9, 9))
    study._log.storage.hold("elsewhere", 3.0)
    study._log.ask(1, in_turn=True, run="elsewhere")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        study.run(noise, progress=False)
    [words] = [str(each.message) for each in said if "waiting for" in str(each.message)]
    assert "if nothing is heard from there, it is given out again in " in words


def test_a_run_of_this_process_is_not_dead() -> None:
    assert not is_dead(name_of_run())
    assert len(name_of_run()) <= 64
    name, _, machine = name_of_run().split(" ")
    assert is_dead(f"{name} 99999999 {machine}")
    assert not is_dead(f"{name} 99999999 elsewhere")
