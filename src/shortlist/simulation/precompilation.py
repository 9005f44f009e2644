"""Compile beforehand what every kind of study and comparison uses."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np

from shortlist.engine.algorithm import Algorithm
from shortlist.errors import GuaranteeInDoubt, unknown_name
from shortlist.numerics.jit import compile_at_once
from shortlist.plans.pairs_in_doubt import PairsInDoubt
from shortlist.gifa.thresholds import THRESHOLDS
from shortlist.simulation.comparison import compare
from shortlist.simulation.instances import from_arrays
from shortlist.study.study import Study

FEW, SOME, MANY = 6, 150, 5000  # arms: all of G is kept, some rows of it, none
RESULTS = 40  # of each study and each run


def precompile(kinds: Sequence[str] = ()) -> Iterator[str]:
    """Compile what these kinds of studies and comparisons use; yields each kind when it is done.

    All kinds if none is named. Where there are several, as many processes as cores compile.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("kind of study", kind, KINDS)
    wanted = list(kinds or KINDS)
    workers = min(len(wanted), os.cpu_count() or 1)
    if workers == 1:
        for kind in wanted:
            precompile_kind(kind)
            yield kind
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        tasks = {pool.submit(precompile_kind, kind): kind for kind in wanted}
        for task in as_completed(tasks):
            task.result()
            yield tasks[task]


def precompile_kind(kind: str) -> None:
    """Compile one kind, by short studies and runs that use all of it."""
    compile_at_once()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeInDoubt)
        KINDS[kind]()


def _use(
    *algorithms: Algorithm | str, arms: int = FEW, noise: str = "gaussian", sigma: Any = 0.5
) -> None:
    """Run a study and a comparison with each algorithm, for a few results."""
    x = np.random.default_rng(0).uniform(size=(arms, 3)) / 3.0
    means = x.sum(axis=1)
    told: dict[str, Any] = {"sigma": sigma}
    if noise == "bernoulli":
        told = {"sigma": "bounded", "reward_range": (0.0, 1.0)}
    for algorithm in algorithms:
        study = Study(x, m=1, **told, algorithm=algorithm, seed=0, audit=False)
        for _ in range(RESULTS):
            if not study.done:
                trial = study.ask()
                # Not equal, since σ may have to be estimated from them.
                study.tell(trial, float(means[trial.arm]) + 0.001 * study.evaluations)
        study.table()
        instance = from_arrays(x, m=1, sigma=0.5, means=means, noise=noise)
        most = len(study.procedure.engine.setup.initial) + RESULTS
        compare([algorithm], instance, runs=1, **told, max_samples=most, progress=False)


def _use_thresholds() -> None:
    """Compile every threshold."""
    for threshold in THRESHOLDS.values():
        if threshold.rule.is_compiled:
            threshold.rule.function.compile()


# The slowest to compile first. One algorithm stands for all that share its code.
KINDS: dict[str, Callable[[], None]] = {
    "few": lambda: _use("m-LinGapE", "m-LinGapE optimized", "LUCB"),  # and UGapE, LinGapE, LinGIFA
    "many": lambda: _use("m-LinGapE", arms=MANY),
    "some": lambda: _use("LinGIFA", arms=SOME),
    "allocations": lambda: _use("LinGame"),
    "plans": lambda: _use("Guess-and-verify"),
    "classical": lambda: _use("Guess-and-verify (own results)", noise="bernoulli"),
    "budgets": lambda: _use(PairsInDoubt(budget=RESULTS)),
    "thresholds": _use_thresholds,
    "estimates": lambda: _use("Guess-and-verify", sigma="estimate"),  # of σ
}
