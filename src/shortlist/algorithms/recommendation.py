"""Which algorithm to take where none is named."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from shortlist.algorithms.catalog import ALGORITHMS, Algorithm, find_algorithm
from shortlist.algorithms.contrasts import MOST
from shortlist.algorithms.engine import GRAM_LIMIT
from shortlist.algorithms.gifa import AUTO, GIFA
from shortlist.algorithms.xy_halving import NAME as WITH_BUDGET
from shortlist.algorithms.xy_halving import XYHalving
from shortlist.errors import InvalidSetting
from shortlist.problem import Problem

# For more arms than a strategy keeps tables of.
MANY_ARMS = GIFA(threshold=AUTO, name="m-LinGapE with the threshold auto")
FEW_DIMENSIONS = GIFA(
    threshold="pilot", elimination=True, name="m-LinGapE with a pilot and elimination"
)
A_DIMENSION = 1.55  # what one adds to a pilot's C², as measured on instances of 3 to 10 dimensions


def recommended(problem: Problem) -> Algorithm:
    """The proven algorithm that is expected to need the fewest evaluations.

    They go as C² and as σ². In the C² of Phased there is 2 ln(1/δ) and 2 ln(m(K − m)/2), of m-LinGapE
    with a pilot 2 ln(1/δ) and a constant for every dimension. Where σ differs from arm to arm, Phased
    takes the largest for all.

    Examples
    --------
    >>> recommended(Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0)).name
    'Phased'
    """
    if problem.arms > MOST or problem.noise.kind == "estimate":
        return MANY_ARMS
    confidence = 2.0 * math.log(1.0 / problem.delta)
    pairs = problem.m * (problem.arms - problem.m)
    phased = confidence + max(2.0 * math.log(pairs / 2.0), 0.0)
    quieter = float(problem.relative_noise.mean())
    pilot = quieter * (confidence + A_DIMENSION * problem.reduced.shape[1])
    if pilot < phased and problem.arms <= GRAM_LIMIT:
        return FEW_DIMENSIONS
    return ALGORITHMS["Phased"]


def meant(
    choice: str | Algorithm | None, threshold: Any, problem: Problem, budget: object = None
) -> tuple[str | Algorithm, Any]:
    """Algorithm and threshold with every ``"auto"`` replaced by what it means on the problem.

    Where nothing is named it is ``"auto"``: with a budget XY-halving; with a threshold m-LinGapE, as
    strategies have bounds of their own; else what is ``recommended``.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0)
    >>> meant("m-LinGapE", "auto", problem)
    ('m-LinGapE', 'pilot')
    """
    if budget is not None:
        choice = _with_budget(choice, budget)
    elif choice is None or is_auto(choice):
        given = threshold is not None and not is_auto(threshold)
        choice = "m-LinGapE" if given else recommended(problem)
    algorithm = find_algorithm(choice)
    if not isinstance(algorithm, GIFA):  # its bound is its own
        return choice, None if is_auto(threshold) else threshold
    if is_auto(threshold):
        return choice, algorithm.chosen_threshold(problem, threshold).name
    if is_auto(algorithm.threshold):
        return replace(algorithm, threshold=algorithm.chosen_threshold(problem)), threshold
    return choice, threshold


def _with_budget(choice: str | Algorithm | None, budget: object) -> Algorithm:
    """The only algorithm that works on a budget, where no other one was named."""
    halving = XYHalving(budget=budget)  # type: ignore[arg-type]  # it is checked there
    if choice is None or is_auto(choice) or choice in (WITH_BUDGET, halving):
        return halving
    if isinstance(choice, XYHalving):
        raise InvalidSetting(
            f"budget={budget} was given, and an algorithm with a budget of {choice.budget}: leave "
            "out one of the two."
        )
    name = find_algorithm(choice).name
    raise InvalidSetting(
        f"budget={budget} and algorithm={name!r} contradict each other: {name} stops when it is "
        f"certain enough, and only {WITH_BUDGET} works on a budget. Leave out one of the two."
    )


def is_left_open(choice: Any, threshold: Any, budget: object) -> bool:
    """Whether nothing was named: a stored study keeps what it was begun with, whatever is
    recommended now.
    """
    return budget is None and all(each is None or is_auto(each) for each in (choice, threshold))


def is_auto(choice: Any) -> bool:
    """Whether it is the word."""
    return isinstance(choice, str) and choice == AUTO
