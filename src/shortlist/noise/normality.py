"""Whether results look as normal noise makes them: the one furthest off, and how skewed they are.

For independent normal noise both levels hold, but for the adaptive choice of arms: what a result is from
the others, in their own spread, has Student's distribution, and the skewness of n results a known
variance, and from eight results on a known distribution (D'Agostino 1970). Extremes that are too rare
to be among the results are not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.arrays import Integers, Reals

FEWEST = 4  # results of a group of which the shape is looked at
KNOWN_SHAPE = 8  # from which the distribution of the skewness of a group is known
ALL_EQUAL, MANY_EQUAL = 5, 12  # results of a group of which all, or more than half, are equal
LEAST = 1e-9  # of the largest result: a smaller spread is rounding


@dataclass(frozen=True)
class Shape:
    """How results lie about the means of their groups, such as arms.

    Attributes
    ----------
    furthest : int
        The place of the result that is furthest from the others of its group, in their own spread.
    distance : float
        How far, in standard deviations of the others.
    p_furthest : float
        The probability that the furthest one is as far off, at most.
    skewness : float
        Of the group that is skewed most, or of all together, whichever is less likely.
    p_skewed : float
        The probability of as much.
    group : int or None
        Which group that is; None if all are together.

    Examples
    --------
    >>> groups, values = np.repeat([0, 1], 20), np.random.default_rng(0).standard_normal(40)
    >>> shape = shape_of(groups, values)
    >>> shape.p_furthest > 0.01, shape.p_skewed > 0.01
    (True, True)
    >>> values[7] -= 12.0
    >>> shape = shape_of(groups, values)
    >>> shape.furthest, shape.p_furthest < 1e-6, round(shape.skewness), shape.group
    (7, True, -3, 0)
    """

    furthest: int
    distance: float
    p_furthest: float
    skewness: float
    p_skewed: float
    group: int | None


def shape_of(groups: Integers, values: Reals) -> Shape | None:
    """How the results of groups lie about the means of these; None where they are too few.

    Every group has a spread of its own.
    """
    from scipy.special import ndtr, stdtr

    counts = np.bincount(groups)
    means = np.bincount(groups, values) / np.maximum(counts, 1)
    rest = values - means[groups]
    squares = np.bincount(groups, rest**2)
    largest = float(np.abs(values).max(initial=0.0))
    shown = (counts >= FEWEST) & (squares > counts * (LEAST * largest) ** 2)
    places = np.flatnonzero(shown[groups])
    if not len(places):
        return None
    own, off = groups[places], rest[places]
    n = counts[own]
    # The variance of the others about their mean, and how far the one is from that.
    others = np.maximum(squares[own] - off**2 * n / (n - 1), 1e-12 * squares[own]) / (n - 2)
    apart = np.abs(off) * n / (n - 1) / np.sqrt(others)
    tails = 2.0 * stdtr(n - 2, -apart * np.sqrt((n - 1) / n))
    worst = int(np.argmin(tails))
    p_furthest = min(1.0, float(tails[worst]) * len(places))

    arms = np.flatnonzero(shown)
    sizes = counts[arms].astype(np.float64)
    spread = np.ones(len(counts))
    spread[arms] = np.sqrt(squares[arms] / sizes)
    scaled = np.where(shown[groups], rest / spread[groups], 0.0)
    skew = np.bincount(groups, scaled**3)[arms] / sizes
    scores = skew / np.sqrt(6.0 * (sizes - 2.0) / ((sizes + 1.0) * (sizes + 3.0)))
    known = sizes >= KNOWN_SHAPE
    scores[known] = _normal_scores(scores[known], sizes[known])
    together = float(np.sqrt(sizes) @ scores / math.sqrt(sizes.sum()))
    p_together, mean = 2.0 * float(ndtr(-abs(together))), float(sizes @ skew / sizes.sum())
    found: tuple[float, float, int | None] = (p_together, mean, None)
    if known.any():
        each = np.where(known, 2.0 * ndtr(-np.abs(scores)), 1.0)
        least = int(np.argmin(each))
        p_one = float(each[least]) * int(known.sum())
        if p_one < p_together:
            found = (p_one, float(skew[least]), int(arms[least]))
    p_skewed = min(1.0, 2.0 * found[0])  # the smaller of two
    return Shape(int(places[worst]), float(apart[worst]), p_furthest, found[1], p_skewed, found[2])


def mostly_equal(groups: Integers, values: Reals) -> int | None:
    """The first group of which most results are one number, as normal noise never makes them.

    All of five or more, or more than half of twelve or more: results that are rounded to a tenth of their
    spread hardly ever are.

    Examples
    --------
    >>> mostly_equal(np.array([3] * 5 + [4]), np.array([0.1] * 5 + [0.2]))
    3
    """
    for group in np.unique(groups):
        own = values[groups == group]
        most = int(np.unique(own, return_counts=True)[1].max())
        if most >= ALL_EQUAL and (most == len(own) or 2 * most > len(own) >= MANY_EQUAL):
            return int(group)
    return None


def differences_of_pairs(arms: Integers, blocks: Integers, values: Reals) -> tuple[Integers, Reals]:
    """Differences from the arm with most results, on the blocks that both have.

    Returns the places of the other arms' results, and the differences. An arm has one result on a block,
    or its first one there counts.

    Examples
    --------
    >>> arms, blocks = np.array([0, 1, 0, 1, 0]), np.array([3, 3, 5, 5, 6])
    >>> places, differences = differences_of_pairs(arms, blocks, np.array([1.0, 4.0, 2.0, 7.0, 0.0]))
    >>> places.tolist(), differences.tolist()
    ([1, 3], [3.0, 5.0])
    """
    with_all = int(np.bincount(arms).argmax())
    known, first = np.unique(blocks[arms == with_all], return_index=True)
    levels = values[arms == with_all][first]
    others = np.flatnonzero((arms != with_all) & np.isin(blocks, known))
    return others, values[others] - levels[np.searchsorted(known, blocks[others])]


def _normal_scores(scores: Reals, n: Reals) -> Reals:
    """Standardized skewness of n normal values each, made normal itself (D'Agostino 1970)."""
    fourth = 3.0 * (n**2 + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
    fourth /= (n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0)
    square = np.sqrt(2.0 * (fourth - 1.0)) - 1.0
    scale = np.sqrt(2.0 / (square - 1.0))
    return np.asarray(np.arcsinh(scores / scale) / np.sqrt(0.5 * np.log(square)))
