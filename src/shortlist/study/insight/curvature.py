"""A test of curvature: whether the square of a feature, or a product of two, improves the fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shortlist.arrays import Reals
from shortlist.linalg import even
from shortlist.study.insight.own_spread import normal_scores

MOST_TERMS = 2000  # squares and products; with more than that, only squares are tested
SPANNED = (
    1e-6  # of the length of a term: no more is left, by rounding, of one that a line expresses
)
FLAT = 1e-9  # of the length of a column: what varies less does not vary


class Curvature(NamedTuple):
    """The square or the product that improves the fit most."""

    gain: float  # by how much the weighted sum of squares drops
    columns: tuple[int, int]  # of the features; twice the same for a square
    terms: int  # how many squares and products were tried


def curvature(
    features: Reals,
    roots: Reals,
    means: Reals,
    own: tuple[Reals, Reals] | None = None,
) -> Curvature | None:
    """Add each square and each product of features, one at a time, to a linear model of averages.

    The linear model has an offset. With normal noise, means that are linear, and ``roots`` that are
    1/(standard error) of every average, the gain of each term has a χ² distribution with one degree
    of freedom if the arms were chosen beforehand: the p-value of the largest is at most ``terms``
    times its own (Bonferroni). None if the arms cannot show a curvature.

    Parameters
    ----------
    features : ndarray
        Those of the arms that have results, one row each.
    roots, means : ndarray
        The root of the weight of every average, and the averages.
    own : tuple of ndarray, optional
        The variance of every average by its own results, and the degrees of freedom of that, where
        weights say nothing of the noise. A gain is then the square of a normal score.

    Examples
    --------
    >>> dose = np.arange(6.0)
    >>> found = curvature(dose[:, None], np.ones(6), 1.0 + dose**2)
    >>> found.terms, found.columns, round(found.gain, 3)
    (1, (0, 0), 37.333)
    >>> curvature(dose[:2, None], np.ones(2), dose[:2]) is None
    True
    """
    x = even(np.asarray(features, np.float64))
    x = x - x.mean(axis=0)
    spread = np.sqrt((x**2).mean(axis=0))
    varied = np.flatnonzero(spread > FLAT)
    x = x[:, varied] / spread[varied]
    one, other = np.triu_indices(len(varied))
    if len(one) > MOST_TERMS:
        one = other = np.arange(len(varied))
    line = np.column_stack([np.ones(len(x)), x]) * roots[:, None]
    left, sizes, _ = np.linalg.svd(line, full_matrices=False)
    left = left[:, sizes > FLAT * sizes[0]]
    added = x[:, one] * x[:, other] * roots[:, None]
    lengths = np.linalg.norm(added, axis=0)
    z = roots * means
    for _ in range(2):  # once more, for what rounding left
        added, z = added - left @ (left.T @ added), z - left @ (left.T @ z)
    rest = np.linalg.norm(added, axis=0)
    not_linear = rest > SPANNED * lengths
    if len(x) <= left.shape[1] or not not_linear.any():
        return None
    drops = z @ added / np.where(not_linear, rest, 1.0)
    if own is not None:
        added = (added * roots[:, None] / np.where(not_linear, rest, 1.0)) ** 2 * own[0][:, None]
        variances = added.sum(axis=0)
        known = variances > 0.0
        variances = np.where(known, variances, 1.0)
        degrees = variances**2 / np.where(known, (added**2 / own[1][:, None]).sum(axis=0), 1.0)
        drops = np.where(known, normal_scores(drops / np.sqrt(variances), degrees), 0.0)
    gains = np.where(not_linear, drops**2, -1.0)
    best = int(np.argmax(gains))
    pair = int(varied[one[best]]), int(varied[other[best]])
    return Curvature(float(gains[best]), pair, int(not_linear.sum()))
