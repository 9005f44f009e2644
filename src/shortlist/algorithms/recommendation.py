"""Which algorithm to take where none is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shortlist.algorithms.catalog import ALGORITHMS, Algorithm, find_algorithm
from shortlist.algorithms.contrasts import MOST
from shortlist.algorithms.gifa import AUTO, GIFA
from shortlist.problem import Problem

# For more arms than a strategy keeps tables of.
MANY_ARMS = GIFA(threshold=AUTO, name="m-LinGapE with the threshold auto")


def recommended(problem: Problem) -> Algorithm:
    """The proven algorithm that is expected to need the fewest evaluations.

    Examples
    --------
    >>> recommended(Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0)).name
    'Phased'
    """
    if problem.arms <= MOST and problem.noise.kind != "estimate":
        return ALGORITHMS["Phased"]
    return MANY_ARMS


def meant(choice: str | Algorithm, threshold: Any, problem: Problem) -> tuple[str | Algorithm, Any]:
    """Algorithm and threshold with every ``"auto"`` replaced by what it means on the problem.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0)
    >>> meant("m-LinGapE", "auto", problem)
    ('m-LinGapE', 'pilot')
    """
    if is_auto(choice):
        choice = recommended(problem)
    algorithm = find_algorithm(choice)
    if not isinstance(algorithm, GIFA):
        return choice, None if is_auto(threshold) else threshold
    if is_auto(threshold):
        return choice, algorithm.chosen_threshold(problem, threshold).name
    if is_auto(algorithm.threshold):
        return replace(algorithm, threshold=algorithm.chosen_threshold(problem)), threshold
    return choice, threshold


def is_auto(choice: Any) -> bool:
    """Whether it is the word."""
    return isinstance(choice, str) and choice == AUTO
