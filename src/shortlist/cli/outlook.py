"""What a screen will take: the initial pulls, and with pilot means a bound and a forecast."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shortlist.cli.nearest import unknown_among
from shortlist.errors import InvalidInput, InvalidSetting
from shortlist.numerics.jit import notice

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance
    from shortlist.study.study import Study

RUNS = 20
ERROR_RUNS = 400  # where errors are counted; they come in groups of RUNS
PATIENCE = 4.0  # seconds for all of them
MOST = 200_000  # evaluations of a simulated screen
PROBE = 500  # evaluations to see how long one takes


@dataclass(frozen=True)
class Forecast:
    """Simulated screens with the pilot means for truth, one evaluation after another.

    Attributes
    ----------
    runs, unfinished : int
        How many there were, and how many of them had not stopped after ``most`` evaluations.
    most : int
        Where they were cut off.
    median, low, high : float
        Of the evaluations: the 50 %, 5 % and 95 % quantiles.
    """

    runs: int
    unfinished: int
    most: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class ErrorForecast:
    """Simulated screens with a budget and the pilot means for truth.

    Attributes
    ----------
    runs, wrong : int
        How many there were, and how many of them ended with a wrong shortlist.
    low, high : float
        The 95 % interval of the probability of that.
    """

    runs: int
    wrong: int
    low: float
    high: float


@dataclass(frozen=True)
class Outlook:
    """What is known before the first evaluation.

    Attributes
    ----------
    initial, initial_arms : int
        Pulls before the first round, and of how many arms.
    misfit : float or None
        How far the pilot means are from linear ones, at most; None without a pilot.
    lower_bound : float or None
        On evaluations, on average, at ε = 0 and if the pilot means were true.
    why_no_bound : str or None
        Why there is none in spite of a pilot.
    forecast : Forecast or None
        What simulated screens took.
    errors : ErrorForecast or None
        How many of them erred, with a budget.
    """

    initial: int
    initial_arms: int
    misfit: float | None = None
    lower_bound: float | None = None
    why_no_bound: str | None = None
    forecast: Forecast | None = None
    errors: ErrorForecast | None = None


def look_ahead(study: Study, pilot: dict[str, float] | None, settings: dict[str, Any]) -> Outlook:
    """What a study will take, as far as it can be known.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.
    pilot : dict, optional
        Means by name.
    settings : dict
        Those the study was made with; ``algorithm`` and ``threshold`` are looked at.
    """
    initial = study.bound.engine.setup.initial
    first = len(initial), len(set(initial.tolist()))
    if pilot is None:
        return Outlook(*first)
    if study.problem.noise.is_open:
        return Outlook(*first, why_no_bound="σ is not known before it is estimated")
    instance, misfit = pilot_instance(study, pilot)
    if study.budget is not None:
        return Outlook(*first, misfit, errors=_error_forecast(study, instance))
    samples, why = None, None
    try:
        from shortlist.theory import lower_bound

        with notice("computing the lower bound: with many arms it takes minutes"):
            samples = lower_bound(instance, study.problem.delta).samples
    except InvalidSetting as error:
        why = str(error)
    return Outlook(*first, misfit, samples, why, _forecast(study, instance, settings))


def pilot_instance(study: Study, pilot: dict[str, float]) -> tuple[Instance, float]:
    """The instance whose means are the linear ones nearest to the pilot's, and how near they are."""
    import numpy as np

    from shortlist.simulation import instances

    problem = study.problem
    for name in pilot:
        if name not in problem.names:
            raise unknown_among("arm", name, problem.names)
    rows = [problem.index(name) for name in pilot]
    means = np.array(list(pilot.values()))
    known = problem.reduced[rows]
    rank = int(np.linalg.matrix_rank(known))
    if rank < problem.rank:
        raise InvalidInput(
            f"means of {len(rows)} arms are given, which tell {rank} of the {problem.rank} "
            "dimensions of the features: give means of more arms."
        )
    theta = np.linalg.lstsq(known, means, rcond=None)[0]
    instance = instances.from_arrays(
        problem.features,
        means=problem.reduced @ theta,
        m=problem.m,
        sigma=problem.sigma if problem.noise.each is None else problem.noise.each,
        arms=problem.names,
    )
    return instance, float(np.abs(known @ theta - means).max())


def _forecast(study: Study, instance: Instance, settings: dict[str, Any]) -> Forecast | None:
    import numpy as np

    from shortlist.catalog.gifa import AUTO
    from shortlist.simulation.comparison import compare

    problem, first = study.problem, len(study.bound.engine.setup.initial)

    def simulate(run: int, most: int) -> tuple[int, bool]:
        frame = compare(
            settings.get("algorithm", AUTO),
            instance,
            runs=1,
            start=run,
            delta=problem.delta,
            epsilon=problem.epsilon,
            threshold=settings.get("threshold"),
            S=problem.S,
            max_samples=most,
            workers=1,
            progress=False,
        ).frame
        return int(frame["samples"].iloc[0]), bool(frame["stopped"].iloc[0])

    try:
        most = _affordable(first + PROBE, lambda most: simulate(0, most))
    except InvalidSetting:  # equal means at ranks m and m + 1: no algorithm would stop
        return None
    began = time.monotonic()
    samples: list[int] = []
    unfinished = 0
    while len(samples) < RUNS and time.monotonic() - began < PATIENCE:
        taken, stopped = simulate(len(samples), most)
        samples.append(taken)
        unfinished += not stopped
    low, median, high = np.quantile(samples, [0.05, 0.5, 0.95])
    return Forecast(len(samples), unfinished, most, float(median), float(low), float(high))


def _error_forecast(study: Study, instance: Instance) -> ErrorForecast:
    from shortlist.plans.halving import XYHalving
    from shortlist.simulation.comparison import compare
    from shortlist.simulation.results import clopper_pearson

    problem, halving = study.problem, XYHalving(budget=study.budget or 0)
    began, runs, wrong = time.monotonic(), 0, 0
    while runs < ERROR_RUNS and time.monotonic() - began < PATIENCE:
        frame = compare(
            halving,
            instance,
            runs=RUNS,
            start=runs,
            delta=problem.delta,
            epsilon=problem.epsilon,
            workers=1,
            progress=False,
        ).frame
        runs, wrong = runs + RUNS, wrong + int((~frame["correct"]).sum())
    return ErrorForecast(runs, wrong, *clopper_pearson(wrong, runs))


def _affordable(most: int, simulate: Callable[[int], tuple[int, bool]]) -> int:
    """After how many evaluations to cut a simulated screen, so that it takes a second at most."""
    while True:
        began = time.monotonic()
        taken, stopped = simulate(most)
        pace = taken / (time.monotonic() - began)
        within = max(most, min(MOST, int(pace * PATIENCE / 4)))
        if stopped or within < 4 * most:
            return within
        most *= 4
