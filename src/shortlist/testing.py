"""Checks for parts of your own: a rule, an algorithm, a strategy, or a place to store studies in.

Each check raises ``AssertionError`` with what was expected and what came. Call them in your tests:

>>> import numpy as np
>>> import shortlist
>>> from shortlist.testing import check_algorithm, check_rule
>>> @shortlist.rule("selection")
... def fewest_pulls(now):
...     "The one of b_t and c_t that was pulled less."
...     return np.where(now.in_pair, -now.pulls, -np.inf)
>>> check_rule(fewest_pulls)
>>> check_algorithm(shortlist.GIFA(selection=fewest_pulls, name="mine"), runs=50)

The package's own rules, algorithms and databases pass the same checks in its tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.catalog.gifa import GIFA
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.algorithm import Algorithm
from shortlist.engine.fits import fits_of
from shortlist.engine.seeds import run_seeds
from shortlist.errors import InvalidSetting, TrialClosed
from shortlist.gifa.round import Memory, Round, decide
from shortlist.gifa.rules import Pairs, Rule
from shortlist.plans.algorithm import Planned
from shortlist.plans.question import Question
from shortlist.plans.strategy import Strategy
from shortlist.problem import Problem
from shortlist.simulation.comparison import compare
from shortlist.simulation.instances import Instance, from_arrays
from shortlist.study.study import Study

RUNS, ROUNDS = 3, 25  # of a rule that is checked
ALIKE = 1e-9  # a product of matrices has other last bits where it has other rows
# Six arms of three dimensions, whose means (1, 0.84, 0.06, −0.2, −0.57, −0.98) stand apart.
FEATURES = np.array(
    [[1.0, 0, 0], [0.9, 0.3, 0], [0, 0.2, 1.0], [0, 1.0, 0], [-0.5, 0.5, 0.3], [-1.0, 0, 0.2]]
)
THETA = np.array([1.0, -0.2, 0.1])
SURE = 1e-6  # how improbable an error rate must be, were the true one δ, before a check fails


def _require(holds: Any, words: str) -> None:
    """Raise where something does not hold; unlike ``assert``, also under ``python -O``."""
    if not holds:
        raise AssertionError(words)


def check_rule(rule: Rule, *, seed: int = 0) -> None:
    """Check what a rule returns, that it writes nowhere, and that it depends on its arguments only.

    In rounds of several runs it must return numbers of the right shape, leave the arrays that it is given as
    they are, give the same answer when called again, and give a run the same answer alone as among others.

    Parameters
    ----------
    rule : Rule
        Made by ``shortlist.rule``.
    seed : int
        The seed of the results.

    Examples
    --------
    >>> from shortlist.gifa.rules import greedy
    >>> check_rule(greedy)
    >>> import shortlist
    >>> @shortlist.rule("selection")
    ... def first(now):
    ...     "The number of an arm, where a number for each arm is asked for."
    ...     return now.candidates[:, :1] * np.ones(2)
    >>> check_rule(first)
    Traceback (most recent call last):
        ...
    AssertionError: the selection rule 'first' must return a number for each arm of each run, of which the largest is pulled; it returned an array of shape (3, 2) where (3, 6) is wanted.
    """
    _require(isinstance(rule, Rule), f"expected a rule made by shortlist.rule, got {rule!r}")
    words, generator = f"the {rule.kind} rule {rule.name!r}", np.random.default_rng(seed)
    for features, m in ((FEATURES, 2), (FEATURES[:5], 4), (np.eye(4), 1)):
        results = generator.standard_normal((ROUNDS, RUNS, len(features)))
        try:
            together, *alone = (
                _answers(rule, words, features, m, results, runs)
                for runs in (np.arange(RUNS), *np.arange(RUNS)[:, None])
            )
        except InvalidSetting as error:
            raise AssertionError(str(error)) from error
        for run, answers in enumerate(alone):
            for among, own in zip(together, answers, strict=True):
                by_run = among.size == RUNS * own.size
                wanted = among.reshape(RUNS, *own.shape)[run] if by_run else among
                size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
                _require(
                    np.allclose(own, wanted, rtol=ALIKE, atol=ALIKE * size),
                    f"{words} must give a run the same answer alone and among others: {own} alone, "
                    f"{wanted} as one of {RUNS}",
                )


def _answers(
    rule: Rule, words: str, features: Reals, m: int, results: Reals, runs: Integers
) -> list[Reals]:
    """What a rule returns in some rounds of some runs; ``results`` are by round, run and arm."""
    found: list[Reals] = []

    def watched(*given: Any) -> Any:
        before = deepcopy(_arrays(given))
        returned = rule(*given)
        first, again = np.array(returned), np.array(rule(*given))
        after = {name: array for name, array in _arrays(given).items() if name in before}
        _require(_same(before, after), f"{words} must not write into what it is given")
        _require(
            _same({"": first}, {"": again}),
            f"{words} must depend on its arguments only: it gave {first}, and called again {again}",
        )
        found.append(first)
        return returned

    rules: dict[str, Any] = {"threshold": "heuristic", rule.kind: replace(rule, function=watched)}
    allocation = "game" if "allocation" in rule.traits else None
    algorithm = GIFA(**rules, allocation=allocation, initialization=None, regularization=0.1)
    problem = Problem.of(features, m, sigma=1.0, S=1.0)
    recipe = algorithm.bind(problem).engine.recipe  # type: ignore[attr-defined]
    fits = fits_of(problem.reduced, len(runs), regularization=0.1)
    memory, seeds = Memory(recipe, len(runs)), run_seeds(0, RUNS)[runs]
    for t in range(ROUNDS):
        decided = decide(recipe, fits, seeds, memory, stops=False)
        arms = decided.arm if t >= len(features) else np.full(len(runs), t)
        fits.observe(arms, results[t, runs, arms])
        if rule.kind in ("stopping", "threshold") and found:  # a late stop waits for a pair
            what = "finite" if rule.kind == "stopping" else "a C above 0 and finite"
            right = np.isfinite(found[-1]) & ((found[-1] > 0.0) | (rule.kind == "stopping"))
            _require(right.all(), f"{words} must return numbers that are {what}; got {found[-1]}")
    return found


def _arrays(given: tuple[Any, ...]) -> dict[str, Any]:
    """The arrays that a rule can reach."""
    held: dict[str, Any] = {"log_det": given[1]} if len(given) > 1 else {}
    for each in given:
        held |= each._asdict() if isinstance(each, Pairs) else {}
        held |= {**vars(each), **vars(each.fits)} if isinstance(each, Round) else {}
    return {name: array for name, array in held.items() if isinstance(array, np.ndarray)}


def check_algorithm(algorithm: str | Algorithm, *, runs: int = 200, seed: int = 0) -> None:
    """Check an algorithm as studies and comparisons use it.

    It must stop on easy problems, with and without features; name m arms; be wrong no more often than
    its δ allows; and a study must pull the same arms when it is made again from its results.

    Parameters
    ----------
    algorithm : str, GIFA, Planned, or PairsInDoubt
        What ``Study`` and ``compare`` take.
    runs : int
        Simulated runs, of which errors are counted.
    seed : int
        The seed of the instances and the runs.
    """
    chosen = find_algorithm(algorithm)
    if isinstance(chosen, Planned):
        check_strategy(chosen.strategy)
    m = getattr(chosen, "only_m", None) or 2
    bounded = not chosen.bind(Problem.of(FEATURES, m, sigma=1.0)).noise.uses_sigma
    _check_error_rate(chosen, _easy_instance(m, 0.3, bounded=bounded), runs, seed)
    _check_replay(chosen, _easy_instance(m, 1.0, bounded=bounded), seed)


def _easy_instance(m: int, sigma: float, *, bounded: bool) -> Instance:
    """Arms whose best m stand apart; with ``bounded`` their results are 0 or 1."""
    if not bounded:
        return from_arrays(FEATURES, theta=THETA, m=m, sigma=sigma)
    return from_arrays(
        np.eye(6), means=0.5 + 0.4 * (FEATURES @ THETA), m=m, sigma=0.5, noise="bernoulli"
    )


def _check_error_rate(algorithm: Algorithm, instance: Instance, runs: int, seed: int) -> None:
    from scipy.stats import binom

    delta = 0.1
    results = compare(
        [algorithm], instance, runs=runs, seed=seed, delta=delta, max_samples=10**6, progress=False
    )
    row = results.summary(lower_bound=False).iloc[0]
    _require(
        row["unfinished"] == 0,
        f"{algorithm.name} must stop on an easy instance; {int(row['unfinished'])} of {runs} runs did "
        "not within 10⁶ evaluations",
    )
    errors = round(row["error_rate"] * runs)
    likely = binom.sf(errors - 1, runs, delta)
    _require(
        likely > SURE,
        f"{algorithm.name} must be wrong in at most {delta:.0%} of the runs; {errors} of {runs} were "
        f"(probability {likely:.1g} at a rate of {delta:g})",
    )


def _check_replay(algorithm: Algorithm, instance: Instance, seed: int) -> None:
    settings: dict[str, Any] = {"sigma": instance.sigma, "seed": seed, "algorithm": algorithm}
    settings["intercept"] = False  # the instance is the whole model
    study, again = (Study(instance.features, instance.m, **settings) for _ in range(2))
    while not study.done and study.evaluations < 300:
        trial = study.ask()
        value = instance.draw(trial.arm, trial.seed)
        study.tell(trial, value)
        same = again.ask()
        _require(
            (same.arm, same.seed) == (trial.arm, trial.seed),
            f"{algorithm.name} must ask for the same arms after the same results; evaluation "
            f"{study.evaluations} was of arm {trial.arm}, and of arm {same.arm} the second time",
        )
        again.tell(same, value)


def check_strategy(strategy: Callable[[Question], Strategy], *, seed: int = 0) -> None:
    """Check a strategy that makes plans (see ``shortlist.plans.strategy.Strategy``).

    Its first plan must span the features and every plan must ask for something; it names m arms, with b
    among them and c not; the bounds on differences to b contain the estimates of the arms outside;
    a copy is independent; it depends on its results only; and it stops when results leave no doubt.

    Parameters
    ----------
    strategy : callable
        Given a ``Question``, returns a strategy that has seen no results; usually a class.
    seed : int
        Given to the strategy for ties.

    Examples
    --------
    >>> from shortlist.plans.pairs_in_doubt import PairsInDoubtStrategy
    >>> check_strategy(PairsInDoubtStrategy)
    """
    means = 0.5 + 0.4 * (FEATURES @ THETA)
    features = np.column_stack([FEATURES, np.ones(6)])
    problem = Problem.of(features, 2, sigma=0.5, intercept=False)
    task = Question.plain(problem, features)
    now, twin = strategy(task), strategy(task)
    rank = np.linalg.matrix_rank(features[now.plan > 0])
    _require(
        rank == 4, f"the first plan must span the 4 dimensions of the features; it spans {rank}"
    )
    turn, told = 0, 0
    while turn == 0 or now.statistic > task.epsilon:
        _check_plan(now, task, turn)
        _require(
            told < 10**7,
            f"a strategy must stop when the results leave no doubt; after {told:,} results it had "
            "not",
        )
        told += int(now.plan.sum())
        turn += 1
        pulled = np.repeat(np.arange(len(means)), now.plan)
        results = pulled, means[pulled]
        before, other = _held(now), now.copy()
        other.decide(*results, seed)
        _require(
            _same(before, _held(now)),
            "a copy must be independent, but deciding on it changed the original: replace arrays, "
            "never write into them",
        )
        now.decide(*results, seed)
        twin.decide(*results, seed)
        _require(
            _same(_held(now), _held(twin)),
            f"a strategy must depend on its results only, but two with the same results differ after "
            f"plan {turn}",
        )
    found = np.flatnonzero(now.inside).tolist()
    _require(
        found == [0, 1], f"with results at the means, arms 0 and 1 are best; it answers {found}"
    )
    _check_plan(now, task, turn)  # a study may be reopened after its stop


def _check_plan(now: Strategy, task: Question, turn: int) -> None:
    """Raise where what a strategy shows after ``turn`` plans cannot be."""
    when, arms = f"after {turn} plans", task.arms
    plan = np.asarray(now.plan)
    whole = np.issubdtype(plan.dtype, np.integer) and plan.shape == (arms,)
    asks = whole and plan.min() >= 0 and plan.max() > 0
    _require(
        asks,
        f"{when}, the plan must be a number of pulls for each of the {arms} arms, not all 0; got {plan}",
    )
    if turn == 0:
        return
    marked = int(np.sum(now.inside))
    _require(marked == task.m, f"{when}, inside must mark m = {task.m} arms; it marks {marked}")
    apart = bool(now.inside[now.b] & ~now.inside[now.c])
    _require(apart, f"{when}, b must be inside and c outside; got b = {now.b}, c = {now.c}")
    gap, lower, upper = now.differences(int(now.b))
    held = (lower <= gap + 1e-9) & (gap <= upper + 1e-9) | now.inside
    _require(
        held.all(),
        f"{when}, the bounds on the differences to arm {now.b} must contain the estimates; those "
        f"of arms {np.flatnonzero(~held).tolist()} do not",
    )


def _held(strategy: Strategy) -> dict[str, Any]:
    """What a strategy shows, copied."""
    names = ("plan", "inside", "b", "c", "threshold", "statistic")
    return {name: np.copy(getattr(strategy, name)) for name in names if hasattr(strategy, name)}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        for name in one
    )


def check_storage(storage: str | os.PathLike[str], *, workers: int = 4, results: int = 40) -> None:
    """Check a place to keep studies in: a database server, or a folder on an unusual file system.

    A study of a name of its own is made there. What was told must be read back to the bit, by another
    connection too; a result must not be told twice; and what several workers do at once must all be
    there, once.

    Parameters
    ----------
    storage : path or URL
        What ``Study(storage=…)`` takes. The study that is made stays there.
    workers : int
        Threads that ask and tell at once, each with a connection of its own.
    results : int
        How many results each tells.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_storage(pathlib.Path(folder) / "studies.db", results=5)
    """
    name = f"check {uuid4().hex}"
    settings: dict[str, Any] = {"sigma": 1e12, "seed": 0, "storage": storage, "name": name}
    study = Study(np.eye(4), 1, **settings, audit=False)
    awkward = [0.1, -1e-300, 1.0 / 3.0, 123456789.123456789]
    told = {}
    for value in awkward:
        trial = study.ask()
        study.tell(trial, value)
        told[trial.number] = value
    read = {trial.number: trial.value for trial in Study.load(storage, name).trials}
    _require(read == told, f"results must be read back to the bit: told {told}, read {read}")
    trial = study.ask()
    study.tell(trial, 1.0)
    second = Study.load(storage, name)
    try:
        second.tell(trial.number, 2.0)
    except TrialClosed:
        pass
    else:
        raise AssertionError("a result that was told must not be told again by another connection")

    def work(worker: int) -> list[tuple[int, float]]:
        own = Study.load(storage, name)
        done = []
        for k in range(results):
            asked, value = own.ask(), 1_000.0 * worker + k
            own.tell(asked, value)
            done.append((asked.number, value))
        return done

    with ThreadPoolExecutor(workers) as pool:
        acknowledged = [pair for done in pool.map(work, range(workers)) for pair in done]
    numbers = [number for number, _ in acknowledged]
    _require(
        len(set(numbers)) == len(numbers),
        "a trial must be given out once; some were given out twice",
    )
    kept = {trial.number: trial.value for trial in Study.load(storage, name).trials}
    lost = [number for number, value in acknowledged if kept.get(number) != value]
    _require(not lost, f"what was acknowledged must be kept; trials {lost} are lost or changed")
    expected = len(awkward) + 1 + workers * results
    _require(len(kept) == expected, f"{expected} trials were told, and {len(kept)} are kept")
