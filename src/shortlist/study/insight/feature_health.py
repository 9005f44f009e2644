"""What the features say before any evaluation: whether they can carry the linear model."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from shortlist.arrays import Reals
from shortlist.errors import UnhealthyFeatures
from shortlist.numerics.tall import (
    blocks,
    condition,
    even,
    exponents,
    first_like,
    share_left_of_ones,
    singular_values,
    sizes,
    squared_norms,
)
from shortlist.problem import Problem

UNEVEN, ILL, LOST = 100.0, 1e3, 1e6  # columns' sizes; condition numbers to note, to warn of
FAR = 500  # powers of two: the squares of such columns are out of range
OUTLYING = 10.0  # times the median norm
NEAR, TWINS = 1e-3, 1e-6  # of the usual distance between two arms
EXPRESSED = 1e-8  # what may be left of a constant that the features express


_EXAMINED: WeakKeyDictionary[Problem, list[Finding]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
        What was looked at.
    level : {"fine", "untested", "note", "warning"}
        A warning speaks against the guarantee or against the numbers it is made of; a note costs
        evaluations, or is worth a look; what is untested is assumed, and nothing is known of it.
    words : str
        What was found, with the figures.
    meaning : str
        What that means for the guarantee, and what to do.
    file_words : str
        ``words`` for features that come from a file, which are counted from 1, if that differs.
    """

    name: str
    level: Literal["fine", "untested", "note", "warning"]
    words: str
    meaning: str
    file_words: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.level}): {self.words} {self.meaning}"


def examine_features(problem: Problem) -> list[Finding]:
    """What can be said of the features before any evaluation.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [1.0, 0.5], [1.0, 40.0]], m=1, sigma=1.0)
    >>> for finding in examine_features(problem):
    ...     print(f"{finding.name}: {finding.level}. {finding.words}")
    rank: fine. The features have rank 2 for 3 arms.
    redundant columns: fine. None of the 2 columns is a combination of the others.
    scaling: fine. Column 1 is 23.1 times as large as column 0 (root mean square); the condition number is 28.5.
    norms: note. The features of arm '2' have norm 40, 35.8 times the median.
    alike: fine. No two arms are nearly alike.
    offset: fine. The features can express an offset that all means share.
    """
    if is_classical(problem):
        return [
            Finding(
                "rank",
                "fine",
                f"There are no features: each of the {problem.arms} arms is a dimension of its own.",
                "Nothing is assumed about the means, and no arm teaches anything about another.",
            )
        ]
    if problem not in _EXAMINED:  # of many arms it takes a second, and an answer is asked for often
        looks = (_rank, _redundant, _scaling, _norms, _alike, _offset)
        _EXAMINED[problem] = [look(problem) for look in looks]
    return list(_EXAMINED[problem])


def warn_of_features(problem: Problem, stacklevel: int = 2) -> None:
    """Warn of what speaks against the guarantee; notes stay with ``examine_features``."""
    for finding in examine_features(problem):
        if finding.level == "warning":
            warnings.warn(str(finding), UnhealthyFeatures, stacklevel=stacklevel)


def is_classical(problem: Problem) -> bool:
    """Whether every arm is a dimension of its own."""
    return problem.is_classical


def _rank(problem: Problem) -> Finding:
    words = f"The features have rank {problem.rank} for {problem.arms} arms."
    if problem.rank < problem.arms:
        return Finding(
            "rank",
            "fine",
            words,
            "Arms teach about each other; the guarantee assumes that the means are linear in the "
            "features.",
        )
    return Finding(
        "rank",
        "note",
        words,
        "Any means are linear in them: the guarantee assumes nothing about the means, but there is "
        "no structure to use, and no arm teaches anything about another. To gain from features, "
        "take fewer than there are arms.",
    )


def _redundant(problem: Problem) -> Finding:
    columns, rank = problem.dimension, problem.rank
    if rank == columns:
        words = f"None of the {columns} columns is a combination of the others."
        return Finding("redundant columns", "fine", words, "θ is unique.")
    return Finding(
        "redundant columns",
        "note",
        f"{columns - rank} of the {columns} columns can be left out: the rank is {rank}.",
        "Estimates and widths do not change by it, and the guarantee holds. Only the threshold "
        "'frequentist' pays for every column. A bound S need only cover the shortest θ.",
    )


def _scaling(problem: Problem) -> Finding:
    size = sizes(problem.features)
    small, large = int(np.argmin(np.where(size > 0.0, size, np.inf))), int(np.argmax(size))
    with np.errstate(over="ignore"):
        ratio = float(size[large] / size[small])
    singular = singular_values(problem.reduced)
    uneven, bent = float(singular[0] / singular[-1]), 1.0
    if problem.rank == problem.dimension:
        bent = condition(problem.features)
    if bent > LOST:  # the reduced features are then others
        uneven = max(uneven, bent)
    words, file_words = (
        f"{what.capitalize()} {large + first} is {ratio:.3g} times as large as {what} "
        f"{small + first} (root mean square); the condition number is {uneven:.3g}."
        for what, first in (("column", 0), ("feature", 1))
    )
    if ratio <= UNEVEN and uneven <= ILL:
        return Finding("scaling", "fine", words, "The columns are of comparable size.", file_words)
    reach = "" if problem.S is None else f" (S·L = {problem.S * problem.longest:.3g} here)"
    meaning = (
        "Plain least squares does not mind the size of columns. Thresholds that use S do: their "
        "estimate is regularised, which holds back the coefficients of small columns, and S must "
        f"bound ‖θ‖ in these units{reach}. Bring the columns to the same size first."
    )
    if bent > LOST:
        meaning = (
            f"About {2 * math.log10(bent):.0f} of 16 digits are lost in solving for the means, and the "
            "guarantee is no better than the rest: even with columns brought to the same size the "
            f"condition number is {bent:.1g}. Leave out columns that are nearly combinations of "
            f"others. {meaning}"
        )
    return Finding("scaling", "warning" if bent > LOST else "note", words, meaning, file_words)


def _norms(problem: Problem) -> Finding:
    power = int(exponents(problem.features).max())
    if abs(power) > FAR:
        norms = np.ldexp(np.sqrt(squared_norms(np.ldexp(problem.features, -power))), power)
    else:
        norms = np.sqrt(squared_norms(problem.features))
    arm, median = int(np.argmax(norms)), float(np.median(norms))
    ratio = float(norms[arm] / median) if median > 0.0 else math.inf
    words = (
        f"The features of arm {problem.names[arm]!r} have norm {norms[arm]:.3g}, {ratio:.3g} times "
        "the median."
    )
    if ratio <= OUTLYING:
        return Finding("norms", "fine", words, "No arm stands out by its size.")
    return Finding(
        "norms",
        "note",
        words,
        "Under the linear model its mean is that much larger than others', and its results weigh "
        "that much more in θ: if the model bends anywhere, it is there. The threshold 'frequentist' "
        "grows with the largest norm. Look for a slip in the units, or take logarithms.",
    )


def _alike(problem: Problem) -> Finding:
    name, x = "alike", problem.features
    first = first_like(x)
    again = np.flatnonzero(first != np.arange(len(x)))
    if len(again):
        shared, other = int(first[again[0]]), int(again[0])
        alike = len(again) + len(np.unique(first[again]))
        return Finding(
            name,
            "note",
            f"{alike} arms have the same features as another, such as "
            f"{problem.names[shared]!r} and {problem.names[other]!r}.",
            "Under the linear model their means are equal: which of them is on the shortlist is "
            f"chance, and right up to ε = {problem.epsilon:g}. Keep one of each, or add a feature "
            "that tells them apart.",
        )
    near, pair, distance = _nearest(x)
    if near == 0:
        return Finding(
            name, "fine", "No two arms are nearly alike.", "Distances cost nothing here."
        )
    words = (
        f"{near} arms are nearly like another; the nearest, {problem.names[pair[0]]!r} and "
        f"{problem.names[pair[1]]!r}, differ by {distance:.2g} of the usual distance (columns "
        "brought to the same spread)."
    )
    if distance < TWINS:
        return Finding(
            name,
            "warning",
            words,
            "That is hardly told from rounding, and widths are not taken to be smaller than rounding "
            "makes them: if both stand at the boundary, the study may never stop. Keep one of them, "
            "or set epsilon above 0.",
        )
    return Finding(
        name,
        "note",
        words,
        "The guarantee holds. But if two such stand on either side of the boundary, telling them "
        "apart may take evaluations as 1/distance²: always with individual indices (LUCB, UGapE), "
        "with paired ones unless other arms differ more in that direction. A small epsilon avoids "
        "it.",
    )


def _nearest(x: Reals) -> tuple[int, tuple[int, int], float]:
    """How many arms have a near neighbour, the nearest two, and their distance to the usual one."""
    from scipy.spatial import KDTree

    if np.abs(exponents(x)).max() > FAR:
        x = even(x)
    spread = _spread(x)
    varies = spread > 0.0
    scale = np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
    usual = math.sqrt(2.0 * int(varies.sum()))
    # A projection shortens distances, so those near are near in it too; a tree of few dimensions
    # is quick, and one of all is needed for the few arms that are left.
    kept = np.arange(len(x))
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((x.shape[1], 6)))[0]
    for seen in (x @ (scale[:, None] * directions), None):
        points = x[kept] * scale if seen is None else seen
        found, partners = KDTree(points).query(points, k=2, distance_upper_bound=NEAR * usual)
        distances, partner = np.asarray(found)[:, 1] / usual, np.asarray(partners)[:, 1]
        near = np.isfinite(distances)
        if not near.any():
            return 0, (0, 0), math.inf
        one = int(np.argmin(distances))
        pair = int(kept[one]), int(kept[partner[one]])
        kept = kept[near]
    return int(near.sum()), pair, float(distances[one])


def _spread(x: Reals) -> Reals:
    """The standard deviation of every column."""
    middle, total = x.mean(axis=0), np.zeros(x.shape[1])
    for rows in blocks(x):
        total += ((x[rows] - middle) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(total / len(x)))


def _offset(problem: Problem) -> Finding:
    left = share_left_of_ones(problem.reduced)
    if left < EXPRESSED:
        words = "The features can express an offset that all means share."
        return Finding("offset", "fine", words, "The results may have any common level.")
    return Finding(
        "offset",
        "note",
        f"The features cannot express an offset that all means share: {left:.0%} of it is left.",
        "If the results have a common level, such as a background, the linear model is wrong by it "
        "and the guarantee does not hold. Add a column of ones, unless an arm with all features 0 "
        "would have mean 0.",
    )
