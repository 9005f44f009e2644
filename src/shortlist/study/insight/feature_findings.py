"""What can be said about the features before any evaluation.

``features.look_doubtful`` is the check at the door, when a study begins; all this is found when it says so,
or when somebody reads it.
"""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from shortlist.advice import Python, continued, reader
from shortlist.arrays import Reals
from shortlist.errors import UnhealthyFeatures, warn_caller
from shortlist.features import EXPRESSED, LARGEST, TWINS
from shortlist.linalg import (
    deviations,
    even,
    exponents,
    first_like,
    share_left_of_ones,
    singular_values,
    sizes,
    squared_norms,
)
from shortlist.noise.spread import Found
from shortlist.problem import Problem
from shortlist.study.insight.finding import Finding

UNEVEN, ILL = 100.0, 1e3  # ratios of columns' sizes, and condition numbers, to note
OUTLYING = 10.0  # times the median norm
NEAR = 1e-3  # of the usual distance between two arms
_EXAMINED: WeakKeyDictionary[Problem, dict[Python, list[Finding]]] = WeakKeyDictionary()


def examine_features(problem: Problem) -> list[Finding]:
    """What can be said about the features before any evaluation.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [1.0, 0.5], [1.0, 40.0]], m=1, sigma=1.0)
    >>> for finding in examine_features(problem):
    ...     print(f"{finding.name}: {finding.level}. {finding.words}")
    rank: fine. The features have rank 2 for 3 arms.
    redundant columns: fine. None of the 2 columns is a combination of the others.
    scaling: fine. Column 1 is 23.1 times as large as column 0 (root mean square); the condition number is 28.5.
    norms: note. The features of arm 2 have norm 40, 35.8 times the median.
    alike: fine. No two arms are nearly alike.
    offset: fine. The features can express an offset common to all means.
    """
    if problem.is_classical:
        return without_features(
            f"There are no features: each of the {problem.arms} arms is a dimension of its own."
        )
    examined = _EXAMINED.setdefault(problem, {})
    if reader() not in examined:  # of many arms it takes a second, and an answer is asked for often
        checks = {
            **{"rank": _rank, "redundant columns": _redundant, "scaling": _scaling},
            **{"norms": _norms, "alike": _alike, "offset": _offset},
        }
        of = problem
        if problem.controls.wells:  # the features of controls play no part
            of = problem.of_arms(np.flatnonzero(problem.listable))
        examined[reader()] = [Finding(name, *check(of)) for name, check in checks.items()]
    return list(examined[reader()])


def without_features(words: str) -> list[Finding]:
    """The only finding where the features are not used, and why they are not."""
    meaning = "Nothing is assumed about the means, and no arm says anything about another."
    return [Finding("rank", "fine", words, meaning)]


def warn_of_features(problem: Problem) -> None:
    """Warn of features that contradict the guarantee or may keep a study from its stop."""
    for finding in examine_features(problem):
        if finding.level == "warning":
            warn_caller(UnhealthyFeatures(str(finding)))


def _rank(problem: Problem) -> Found:
    which = "features and the intercept" if problem.intercept else "features"
    words = f"The {which} have rank {problem.rank} for {problem.arms} arms."
    if problem.rank < problem.arms:
        meaning = (
            "Each arm says something about the others; the guarantee assumes that the means are "
            "linear in the features."
        )
        return "fine", words, meaning
    meaning = (
        "Any means are linear in them: the guarantee assumes nothing about the means, but there is "
        "no structure to use, and no arm says anything about another. To benefit from "
        "features, use fewer features than arms."
    )
    return "note", words, meaning


def _redundant(problem: Problem) -> Found:
    columns, rank = problem.dimension - problem.intercept, problem.rank - problem.intercept
    if rank == columns:
        words = f"None of the {columns} columns is a combination of the others."
        return "fine", words, "θ is unique."
    return (
        "note",
        f"{columns - rank} of the {columns} columns can be left out: the rank is {rank}.",
        "Estimates and widths do not change by it, and the guarantee holds. Only the threshold "
        "'frequentist' pays for every column. A bound S need only cover the shortest θ.",
    )


def _scaling(problem: Problem) -> Found:
    size = sizes(problem.given.numbers)
    small, large = int(np.argmin(np.where(size > 0.0, size, np.inf))), int(np.argmax(size))
    with np.errstate(over="ignore"):
        ratio = float(size[large] / size[small])
    singular = singular_values(problem.reduced)
    uneven = float(singular[0] / singular[-1])
    pairs = [
        (f"{what.capitalize()} {large + first}", f"{what} {small + first}")
        for what, first in (("column", 0), ("feature", 1))
    ]
    if problem.columns is not None:
        pairs = [(f"Column {problem.columns[large]!r}", repr(problem.columns[small]))] * 2
    words, file_words = (
        f"{one} is {ratio:.3g} times as large as {other} (root mean square); the condition number "
        f"is {uneven:.3g}."
        for one, other in pairs
    )
    # Without S the estimate is in no units: of the condition number, what these make up is no harm.
    units = 1.0 if problem.S is not None else max(ratio, 1.0)
    if uneven <= ILL * units and (ratio <= UNEVEN or problem.S is None):
        alike = (
            "The columns are of comparable size."
            if ratio <= UNEVEN
            else "Units do not matter here."
        )
        return "fine", words, alike, file_words
    reach = "" if problem.S is None else f" (S·L = {problem.S * problem.longest:.3g} here)"
    meaning = (
        "Ordinary least squares is not affected by the scale of the columns. Thresholds that use S "
        "are: their estimate is regularised, which shrinks the coefficients of small columns, and "
        f"S must bound ‖θ‖ in these units{reach}. Bring the columns to the same size first."
    )
    return "note", words, meaning, file_words


def _norms(problem: Problem) -> Found:
    features = problem.given.numbers
    power = int(exponents(features).max())
    if abs(power) > LARGEST:
        norms = np.ldexp(np.sqrt(squared_norms(np.ldexp(features, -power))), power)
    else:
        norms = np.sqrt(squared_norms(features))
    arm, median = int(np.argmax(norms)), float(np.median(norms))
    ratio = float(norms[arm] / median) if median > 0.0 else math.inf
    words = (
        f"The features of arm {problem.names[arm]!r} have norm {norms[arm]:.3g}, {ratio:.3g} times "
        "the median."
    )
    if ratio <= OUTLYING:
        return "fine", words, "No arm stands out by its size."
    return (
        "note",
        words,
        "Under the linear model its mean is that much larger than others', and its results weigh "
        "that much more in θ: if the linear model fails anywhere, it is most likely there. The "
        "threshold 'frequentist' grows with the largest norm. Check the units, or take logarithms.",
    )


def _alike(problem: Problem) -> Found:
    x = problem.features
    first = first_like(x)
    again = np.flatnonzero(first != np.arange(len(x)))
    if len(again):
        shared, other = int(first[again[0]]), int(again[0])
        alike = len(again) + len(np.unique(first[again]))
        return (
            "note",
            f"{alike} arms have the same features as another, such as "
            f"{problem.names[shared]!r} and {problem.names[other]!r}.",
            "Under the linear model their means are equal: which of them is on the shortlist is "
            f"chance, and right up to ε = {problem.epsilon:g}. Keep one of each, or add a feature "
            "that tells them apart.",
        )
    near, pair, distance = _nearest_pair(x)
    if near == 0:
        return (
            "fine",
            "No two arms are nearly alike.",
            "No two arms are so close that telling them apart needs extra evaluations.",
        )
    words = (
        f"{near} arms are nearly like another; the nearest, {problem.names[pair[0]]!r} and "
        f"{problem.names[pair[1]]!r}, differ by {distance:.2g} of the usual distance (columns "
        "brought to the same spread)."
    )
    if distance < TWINS:
        return (
            "warning",
            words,
            "That is barely more than rounding error, and no width is taken to be smaller than "
            "rounding error: if both stand at the boundary, the study may never stop. Keep one of "
            "them, or set epsilon above 0.",
        )
    return (
        "note",
        words,
        "The guarantee holds. But if two such arms lie on opposite sides of the boundary, the "
        "evaluations needed to tell them apart may grow as 1/distance²: always with individual "
        "indices (LUCB, UGapE), with paired ones unless other arms differ more in that direction. "
        "A small epsilon avoids it.",
    )


def _nearest_pair(x: Reals) -> tuple[int, tuple[int, int], float]:
    """How many arms have a near neighbour, the nearest pair, and its relative distance."""
    from scipy.spatial import KDTree

    if np.abs(exponents(x)).max() > LARGEST:
        x = even(x)
    spread = deviations(x)
    varies = spread > 0.0
    scale = np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
    usual = math.sqrt(2.0 * int(varies.sum()))
    # A projection shortens distances, so those near are near in it too; a tree of few dimensions
    # is quick, and one of all is needed for the few arms that are left.
    arms = np.arange(len(x))
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((x.shape[1], 6)))[0]
    for seen in (x @ (scale[:, None] * directions), None):
        points = x[arms] * scale if seen is None else seen
        lengths, partners = KDTree(points).query(points, k=2, distance_upper_bound=NEAR * usual)
        distances, partner = np.asarray(lengths)[:, 1] / usual, np.asarray(partners)[:, 1]
        near = np.isfinite(distances)
        if not near.any():
            return 0, (0, 0), math.inf
        one = int(np.argmin(distances))
        pair = int(arms[one]), int(arms[partner[one]])
        arms = arms[near]
    return int(near.sum()), pair, float(distances[one])


def _offset(problem: Problem) -> Found:
    left = share_left_of_ones(problem.reduced)
    if left < EXPRESSED:
        which = "features and the intercept" if problem.intercept else "features"
        words = f"The {which} can express an offset common to all means."
        return "fine", words, "The results may have any common level."
    return (
        "note",
        f"The features cannot express an offset common to all means: {100.0 * left:.0f} % of a "
        "constant remains unexplained.",
        "If the results have a common level, such as a background, the linear model is wrong by it "
        f"and the guarantee does not hold: {continued(intercept=True)} has a column of ones for "
        "it. Without a level, an arm whose features are all 0 has mean 0.",
    )
