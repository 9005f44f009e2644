"""Comparisons on executors: the same runs wherever they are made."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures.process import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import errors
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.contract import Runs
from shortlist.rules.rule import rule
from shortlist.simulation.chunk import Chunk

PATIENCE = 60.0
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def processes(start: str) -> ProcessPoolExecutor:
    # Each that is spawned compiles the rules of its own below: one of them shows as much as two.
    return ProcessPoolExecutor(
        1 if start == "spawn" else 2, mp_context=multiprocessing.get_context(start)
    )


@rule("selection", needs=())
def least_pulled(pair, arms, key):  # type: ignore[no-untyped-def]
    return pair.c if arms.pulls[pair.c] <= arms.pulls[pair.b] else pair.b


def own_threshold(t, log_det, constants):  # type: ignore[no-untyped-def]
    return 3.0


INSTANCE = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3)
ALGORITHMS = [
    "LUCB",
    "m-LinGapE optimized",
    "LinGIFA greedy (as published)",
    "LinGame",
    shortlist.GIFA(selection=least_pulled, name="own selection"),
    shortlist.GIFA(threshold=own_threshold, name="own threshold"),
]
SETTINGS: dict[str, Any] = {"runs": 40, "seed": 3, "max_samples": 2000, "progress": False}


@pytest.mark.slow
@pytest.mark.parametrize("start", [pytest.param("fork", marks=FORKS), "spawn"])
def test_comparisons_are_the_same_in_processes(start: str) -> None:
    here = shortlist.compare(ALGORITHMS, INSTANCE, **SETTINGS).frame
    with processes(start) as pool:
        there = shortlist.compare(ALGORITHMS, INSTANCE, executor=pool, **SETTINGS).frame
    assert there.equals(here)
    assert here.groupby("algorithm")["samples"].nunique().min() > 1


def test_comparisons_are_the_same_for_other_instances_and_cuts() -> None:
    features = np.random.default_rng(0).normal(size=(12, 4))
    rewards = np.random.default_rng(1).normal(size=(30, 12)) + features[:, 0]
    instance = shortlist.instances.recorded(features, rewards, m=3, sigma=2.0)
    frames = []
    for workers in (1, 3, None):
        with ThreadPoolExecutor(3) as pool:
            frames.append(
                shortlist.compare(
                    "LinGIFA", instance, executor=pool, workers=workers, start=2, **SETTINGS
                ).frame
            )
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert frames[0].equals(shortlist.compare("LinGIFA", instance, start=2, **SETTINGS).frame)


@pytest.mark.parametrize(
    ("algorithms", "arms", "workers", "expected"),
    [
        ("LUCB", 4, 2, 2),
        ("Guess-and-verify", 100, 2, 1),
        (shortlist.PairsInDoubt(budget=9), 100, 2, 1),
        (shortlist.GIFA(selection=least_pulled.interpreted(), name="slow"), 4, 2, 1),
        (["LUCB", "Guess-and-verify"], 4, 1, 1),
    ],
)
def test_runs_that_need_the_interpreter_are_made_by_one_thread(
    monkeypatch: pytest.MonkeyPatch, algorithms: Any, arms: int, workers: int, expected: int
) -> None:
    instance = shortlist.instances.random(K=arms, N=2, m=1, seed=0)
    threads, meeting, run = set(), threading.Barrier(2), Chunk.run

    def noted(chunk: Chunk, attempt: int = 0) -> Runs:
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            if expected == 2:
                meeting.wait(PATIENCE)  # for the other thread, or the first may make all runs
        return run(chunk, attempt)

    monkeypatch.setattr(Chunk, "run", noted)
    settings = {**SETTINGS, "runs": 4, "max_samples": 200}
    shortlist.compare(algorithms, instance, workers=workers, **settings)
    assert len(threads) == expected


@FORKS
def test_a_rule_that_does_not_compile_cannot_be_sent_to_processes() -> None:
    slow = shortlist.GIFA(selection=least_pulled.interpreted(), name="slow")
    with (
        processes("fork") as pool,
        pytest.raises(errors.InvalidSetting, match="'slow' or the instance cannot be sent"),
    ):
        shortlist.compare(slow, INSTANCE, executor=pool, **SETTINGS)


class LosesPieces(ThreadPoolExecutor):
    """Cancels every piece so many times."""

    def __init__(self, losses: int) -> None:
        super().__init__(2)
        self.losses, self.sent = losses, 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        self.sent += 1
        if (given or (0,))[0] >= self.losses:
            return super().submit(function, *given, **named)
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_a_piece_that_is_lost_is_sent_again() -> None:
    here = shortlist.compare(["LUCB", "LinGIFA"], INSTANCE, **SETTINGS).frame
    with LosesPieces(2) as pool:
        there = shortlist.compare(
            ["LUCB", "LinGIFA"], INSTANCE, executor=pool, workers=1, **SETTINGS
        ).frame
    assert pool.sent == 3 * 2 * 5
    assert there.equals(here)
    with LosesPieces(99) as pool, pytest.raises(CancelledError, match="again and again"):
        shortlist.compare("LUCB", INSTANCE, executor=pool, **SETTINGS)


def test_an_error_in_a_piece_is_raised_and_leaves_the_pool_free() -> None:
    @rule("selection", needs=())
    def nobody(pair, arms, key):  # type: ignore[no-untyped-def]
        return -1

    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(errors.InvalidSetting, match="must return an arm"):
            shortlist.compare(shortlist.GIFA(selection=nobody), INSTANCE, executor=pool, **SETTINGS)
        assert pool.submit(int, "3").result(PATIENCE) == 3
    with pytest.raises(errors.InvalidSetting, match="got str"):
        shortlist.compare("LUCB", INSTANCE, executor="dask", **SETTINGS)


def test_an_engine_is_sent_without_what_belongs_to_this_process() -> None:
    procedure = find_algorithm("m-LinGapE optimized").bind(
        INSTANCE.problem(delta=0.05, epsilon=0.0)
    )
    engine: Any = procedure.engine
    given = INSTANCE.reward, INSTANCE.parameters, np.array([7], np.uint64), 200
    before = engine.replicate(*given)
    twin = pickle.loads(pickle.dumps(engine))
    assert twin.rules == engine.rules
    assert len(twin.design.__self__) == len(engine.design.__self__) > 0
    assert twin.replicate(*given).pulls.tolist() == before.pulls.tolist()
