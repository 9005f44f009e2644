"""What a study will take: its initial pulls, and with means of a pilot a bound and a forecast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shortlist.arrays import Reals
from shortlist.catalog.recommendation import algorithm_for_trust
from shortlist.errors import InvalidInput, InvalidSetting
from shortlist.gifa.thresholds import AUTO
from shortlist.noise.noise import positive
from shortlist.problem import Problem
from shortlist.simulation.comparison import compare
from shortlist.simulation.instances import Instance, from_arrays, table
from shortlist.simulation.results import clopper_pearson
from shortlist.study.study import Study
from shortlist.theory import lower_bound

RUNS = 20
ERROR_RUNS = 400  # where errors are counted; they come in groups of RUNS
MOST = 200_000  # evaluations of a simulated study
NOT_LINEAR = 4.0  # σ: a single evaluation is hardly ever so far off
MOST_ARMS = 2000  # with features that the algorithm does not assume anything about
PROBE = 500  # evaluations after the first plan or the initial pulls: no study is cut off before
# What is simulated follows from the problem alone, and not from how fast or busy the machine is: the
# same seed gives the same forecast. What takes some seconds: evaluations where each decides, times 100
# and the number of arms; evaluations of results in a range; runs by plans, times the number of arms.
BY_ROUNDS, IN_RANGE, BY_PLANS = 2_000_000, 20_000, 1000
FEWEST_RUNS = 2
WITH_BUDGET = 4000  # evaluations after which no other group of studies with a budget is begun
DRAWN = 0x64726177  # a user's own generator of the same seed must give other numbers
BLOCKS = 2000  # different ones, where blocks are drawn afresh
NO_SLACK = 1e-9  # in place of ε = 0 where two means over a pool may be equal by chance
AT_THE_ENDS = (
    "Each of their results was an end of the range, and shared nothing with the others: real ones may "
    "take fewer."
)


@dataclass(frozen=True)
class Forecast:
    """How many evaluations simulated studies took: ``print`` it."""

    # How many studies there were, and how many had not stopped after ``most`` evaluations.
    runs: int
    unfinished: int
    most: int  # where they were cut off
    # The 50 %, 5 % and 95 % quantiles of the evaluations.
    median: float
    low: float
    high: float
    cost: float | None = None  # the median of the costs, where costs were stated
    whole: int | None = None  # evaluations of every arm on every block, where there is a pool
    note: str = ""  # how results were simulated, in a sentence, where not with normal noise

    def __str__(self) -> str:
        return self.words()

    def words(self, least: float = 0.0) -> str:
        """The forecast in words; where simulated studies were cut off, no less than ``least``.

        Examples
        --------
        >>> print(Forecast(20, 0, 10_000, 350.0, 220.0, 510.0))
        about 350 evaluations (220 to 510 in 20 simulated studies, one evaluation at a time).
        """
        cut = f"{self.unfinished} of the {self.runs} were cut off at {self.most:,} evaluations, to save time."
        if 2 * self.unfinished >= self.runs:
            return f"more than {max(self.median, least):,.0f} evaluations: {cut}"
        made = f"{self.low:,.0f} to {self.high:,.0f} in {self.runs} simulated studies"
        made = "in 1 simulated study" if self.runs == 1 else made
        paid = "" if self.cost is None else f", at a cost of about {self.cost:,.4g}"
        pool = "" if self.whole is None else f"Every arm on every block would be {self.whole:,}."
        about = f"about {self.median:,.0f} evaluations{paid} ({made}, one evaluation at a time)."
        return " ".join(filter(None, [about, pool, self.note, cut if self.unfinished else ""]))


@dataclass(frozen=True)
class ErrorForecast:
    """How often simulated studies with a budget erred, with the pilot means as the true ones."""

    # How many studies there were, and how many ended with a wrong shortlist.
    runs: int
    wrong: int
    # The 95 % interval of the probability of a wrong one.
    low: float
    high: float


@dataclass(frozen=True)
class Outlook:
    """What is known before the first evaluation."""

    # The number of pulls before the first round, and of the arms they are of.
    initial: int
    initial_arms: int
    # How far the pilot means are from those that the bound and the forecast take for true, at most;
    # None without a pilot. It is 0 where nothing is assumed to be linear in the features.
    misfit: float | None = None
    # How many arms have no pilot mean and are taken to have the average of the others; 0 where the
    # features tell.
    filled: int = 0
    # On evaluations, on average, at ε = 0 and if the pilot means were true.
    lower_bound: float | None = None
    why_no_bound: str | None = None  # why there is none in spite of a pilot
    forecast: Forecast | None = None  # how many evaluations it may take
    errors: ErrorForecast | None = None  # with a budget, how probable a wrong shortlist is


def look_ahead(study: Study, pilot: dict[str, float] | None, settings: dict[str, Any]) -> Outlook:
    """What a study will take, as far as it can be known; nothing is changed in it.

    ``pilot`` has means by name. Only ``algorithm`` and ``threshold`` are used of the
    settings that the study was made with.
    """
    initial, problem = study.procedure.engine.setup.initial, study.problem
    first = len(initial), len(set(initial.tolist()))
    if pilot is None:
        return Outlook(*first)
    if problem.noise.needs_replicates:
        return Outlook(*first, why_no_bound="σ is not known")
    classical = not study.procedure.relation.uses_features
    every, misfit = _pilot_means(study, pilot)
    known = Outlook(*first, misfit, problem.arms - len(pilot) if classical else 0)
    if is_far_from_linear(known, problem):
        why = f"the pilot is not linear in the features: {misfit:.3g} off, σ = {problem.sigma:g}"
        return replace(known, why_no_bound=why)
    compared = _to_compare(problem, every)
    if not study.aim.certifies:
        return replace(known, errors=_error_forecast(study, *compared))
    known = replace(known, forecast=_forecast(study, lambda run: every, settings))
    try:
        return replace(known, lower_bound=_lower_bound(*compared, classical=classical))
    except InvalidSetting as error:
        return replace(known, why_no_bound=str(error))


def _lower_bound(problem: Problem, means: Reals, *, classical: bool) -> float:
    """Evaluations that any algorithm needs that knows the features, or not if ``classical``."""
    if problem.noise.takes_range:
        raise InvalidSetting("it is for normal noise, and results in a range may take fewer.")
    instance, _ = _normal(problem, means)
    if classical and not problem.is_classical:
        if problem.arms > MOST_ARMS:
            raise InvalidSetting(f"it is not computed for more than {MOST_ARMS:,} arms here")
        instance = replace(instance, features=np.eye(problem.arms))
    return lower_bound(instance, problem.delta).samples


def _to_compare(problem: Problem, means: Reals) -> tuple[Problem, Reals]:
    """The problem and the means of the arms that may be listed: controls are not simulated."""
    if not problem.controls.exist:
        return problem, means
    arms = np.flatnonzero(problem.listable)
    return problem.of_arms(arms), means[arms]


def is_far_from_linear(outlook: Outlook, problem: Problem) -> bool:
    """Whether the pilot's means are further from linear ones than noise explains."""
    return (outlook.misfit or 0.0) > NOT_LINEAR * problem.sigma


def _pilot_means(study: Study, pilot: dict[str, float]) -> tuple[Reals, float]:
    """Means of all arms that go with the pilot's, and how far off these are at most.

    Where the algorithm assumes linear means, they are the nearest that are linear in the features.
    Else they are the pilot's own, and other arms have the average of these.
    """
    problem = study.problem
    rows = [problem.index(name) for name in pilot]
    means = study.procedure.mirrored(np.array(list(pilot.values())))
    if not study.procedure.relation.uses_features:
        every = np.full(problem.arms, means.mean())
        every[rows] = means
        return every, 0.0
    known = problem.reduced[rows]
    rank = int(np.linalg.matrix_rank(known[problem.listable[rows]]))
    if rank < problem.rank:
        raise InvalidInput(
            f"means of {len(rows)} arms are given, which tell {rank} of the {problem.rank} "
            "dimensions of the features: give means of more arms."
        )
    theta = np.linalg.lstsq(known, means, rcond=None)[0]
    return problem.reduced @ theta, float(np.abs(known @ theta - means).max())


def forecast(
    features: Any = None,
    m: int = 1,
    *,
    sigma: Any,
    spread: float | None = None,
    means: Any = None,
    **settings: Any,
) -> Forecast:
    """How many evaluations a study would take, by simulating it.

    Say how far apart the means are: either ``means``, such as those of a pilot, or ``spread``, the
    standard deviation of the means over the arms. With a spread, every simulated study has other
    means: linear in the features, where the answer assumes that. The noise is normal; results in a
    range are at its ends, which takes the most evaluations. Shifts of blocks and controls are left out.
    It takes a few seconds.

    Parameters
    ----------
    features, m, sigma, **settings
        As for ``Study``; σ must be a number or ``"bounded"``.
    spread : float
        How far apart the means of the arms are: their standard deviation.
    means : array, Series or dict
        The means, in the order of the arms or by their names; not every arm needs one.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(20, 3))
    >>> expected = forecast(features, m=3, sigma=0.5, epsilon=0.1, spread=1.0)
    >>> expected.low <= expected.median <= expected.high
    True
    """
    study = Study(features, m, sigma=sigma, **settings)
    problem = study.problem
    if (spread is None) == (means is None):
        raise InvalidSetting(
            "a forecast depends on how far apart the means are: give spread=…, their standard "
            "deviation over the arms, or means=…, and not both."
        )
    if problem.noise.needs_replicates or not study.aim.certifies:
        raise InvalidSetting(
            "there is a forecast for a σ that is given, and for a study without a budget: give "
            "sigma=… as a number, or sigma='bounded', and no budget."
        )
    if "trust" in settings:
        trusted = {"has_features": features is not None}
        chosen = algorithm_for_trust(settings["trust"], settings.get("algorithm"), **trusted)
        settings = {**settings, "algorithm": chosen or AUTO}
    if means is not None:
        given = means.items() if hasattr(means, "items") else zip(problem.names, means, strict=True)
        truth, _ = _pilot_means(study, {str(name): float(mean) for name, mean in given})
        simulation = _forecast(study, lambda run: truth, settings)
    else:
        size, (low, high) = positive("spread", spread), problem.noise.limits
        if size > (high - low) / 2:
            raise InvalidSetting(
                f"the means lie between {low:g} and {high:g}, so that their standard deviation is "
                f"{(high - low) / 2:g} at most, got spread={size:g}."
            )
        simulation = _forecast(study, lambda run: _drawn_means(study, size, run), settings)
    if simulation is None:
        raise InvalidSetting(
            f"the means of ranks {problem.m} and {problem.m + 1} are equal: no study stops at "
            "epsilon=0. Set epsilon > 0."
        )
    return simulation


def _drawn_means(study: Study, spread: float, run: int) -> Reals:
    """Means with this standard deviation over the arms, linear where the answer assumes that."""
    draw, problem = np.random.default_rng([run, DRAWN]), study.problem
    basis = problem.orthonormal if study.procedure.relation.shape else None
    size = problem.arms if basis is None else basis.shape[1]
    free = draw.standard_normal(size)
    truth = free if basis is None else basis @ free
    about = truth - truth.mean()
    middle = sum(problem.noise.limits_given(problem.minimizes)) / 2  # of a range; else 0
    return np.asarray(middle + about * (spread / max(float(about.std()), np.finfo(float).tiny)))


def _forecast(
    study: Study, drawn: Callable[[int], Reals], settings: dict[str, Any]
) -> Forecast | None:
    """What simulated studies took, each with the means that are drawn for it."""
    problem, setup = study.problem, study.procedure.engine.setup
    in_range = problem.noise.takes_range
    enough, most_runs = RUNS * MOST, RUNS  # evaluations in all
    if not setup.pace.makes_plans:
        enough = BY_ROUNDS // (100 + problem.arms)
    elif in_range:
        enough = IN_RANGE
    else:
        most_runs = max(FEWEST_RUNS, min(RUNS, BY_PLANS // problem.arms))
    within = max(len(setup.initial) + PROBE, min(MOST, enough // FEWEST_RUNS))
    asked = settings.get("algorithm", AUTO), settings.get("threshold")
    frames = list[pd.DataFrame]()
    try:
        while len(frames) < most_runs and sum(int(each["samples"][0]) for each in frames) < enough:
            compared, truth = _to_compare(problem, drawn(len(frames)))
            made = (_at_the_ends if in_range else _normal)(compared, truth, len(frames))
            frames.append(_simulated(compared, made, *asked, start=len(frames), most=within))
    except InvalidSetting:  # equal means at ranks m and m + 1: no algorithm would stop
        return None
    runs = pd.concat(frames)
    low, median, high = runs["samples"].quantile([0.05, 0.5, 0.95]).tolist()
    costs = [compared.costs.total(pulls) for pulls in runs["pulls"]]
    figures = len(runs), int((~runs["stopped"]).sum()), within, median, low, high
    paid = float(np.median(costs)) if problem.costs.stated else None
    return Forecast(*figures, paid, compared.cells, AT_THE_ENDS if in_range else "")


def _error_forecast(study: Study, problem: Problem, means: Reals) -> ErrorForecast:
    """How often groups of studies with a budget err, whose results are normal."""
    runs, wrong, budget, made = 0, 0, study.aim.room(0), _normal(problem, means)
    while runs < ERROR_RUNS and runs * budget < WITH_BUDGET:
        frame = _simulated(problem, made, study.procedure.algorithm, start=runs, runs=RUNS)
        runs, wrong = runs + RUNS, wrong + int((~frame["correct"]).sum())
    return ErrorForecast(runs, wrong, *clopper_pearson(wrong, runs))


Made = tuple[Instance, dict[str, Any]]  # a bandit, and what ``compare`` is told of it


def _simulated(
    problem: Problem,
    made: Made,
    algorithm: Any,
    threshold: Any = None,
    *,
    start: int,
    runs: int = 1,
    most: int = MOST,
) -> pd.DataFrame:
    told = {"delta": problem.delta, "epsilon": problem.epsilon, "S": problem.S, **made[1]}
    told |= {"threshold": threshold, "start": start, "max_samples": most, "progress": False}
    return compare(algorithm, made[0], runs, workers=1, **told).frame


def _normal(problem: Problem, truth: Reals, run: int = 0) -> Made:
    """These means and normal noise."""
    told: dict[str, Any] = {"arms": problem.names, "costs": problem.costs}
    sigma = problem.noise.deviations
    return from_arrays(problem.features, means=truth, m=problem.m, sigma=sigma, **told), {}


def _at_the_ends(problem: Problem, truth: Reals, run: int) -> Made:
    """These means and results at both ends of their range, which is brought to [0, 1]."""
    low, high = problem.noise.limits_given(problem.minimizes)
    share, unit = np.clip((truth - low) / (high - low), 0.0, 1.0), high - low
    told: dict[str, Any] = {"sigma": "bounded", "reward_range": (0.0, 1.0)}
    told |= {"epsilon": problem.epsilon / unit, "S": problem.S and problem.S / unit}
    if not problem.blocks.exist:
        described: dict[str, Any] = {"m": problem.m, "sigma": 0.5, "noise": "bernoulli"}
        described |= {"arms": problem.names, "costs": problem.costs}
        return from_arrays(problem.features, means=share, **described), told
    shape = problem.arms, problem.blocks.number or BLOCKS
    draw = np.random.default_rng([run, DRAWN, 1])
    scores = (draw.random(shape) < share[:, None]).astype(np.float64)
    kind = "random" if problem.blocks.number is None else "pool"
    told["epsilon"] = max(told["epsilon"], NO_SLACK)
    return table(scores, m=problem.m, blocks=kind, arms=problem.names), told
