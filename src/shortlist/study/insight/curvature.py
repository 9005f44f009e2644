"""A test of curvature: whether squares and products of the features explain what a line leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shortlist.arrays import Reals
from shortlist.numerics.blockwise import even

MOST_DIRECTIONS = 10  # whose squares and products are tested: 55 are enough to share the test's power
SPANNED = 1e-6  # of a column's length: what is left of one that the others span, by rounding
FLAT = 1e-9  # of the length of a column: what varies less does not vary


class Curvature(NamedTuple):
    """How much better the curved model fits."""

    gain: float  # the drop of the weighted sum of squares
    degrees: int  # how many dimensions the squares and products add to the linear model


def curvature(features: Reals, roots: Reals, means: Reals) -> Curvature:
    """Compare a linear model of averages with one that has squares and products as well.

    With normal noise, ``roots`` that are 1/(standard error) of every average, and means that are
    linear in the features up to an offset, the gain has a χ² distribution with ``degrees`` degrees
    of freedom if the arms were chosen beforehand. With many features, the squares and products are
    those of the leading principal components, no more than the averages can tell apart.

    Parameters
    ----------
    features : ndarray
        Those of the arms that have results, one row each.
    roots, means : ndarray
        The root of the weight of every average, and the averages.

    Examples
    --------
    >>> dose = np.arange(6.0)
    >>> found = curvature(dose[:, None], np.ones(6), 1.0 + dose**2)
    >>> found.degrees, round(found.gain, 3)
    (1, 37.333)
    >>> curvature(dose[:, None], np.ones(6), 1.0 + dose).gain < 1e-20
    True
    """
    points = _principal(features)
    line = np.column_stack([np.ones(len(points)), points])
    spare = len(points) - line.shape[1]
    directions = min(points.shape[1], MOST_DIRECTIONS)
    while directions * (directions + 1) // 2 > spare and directions:
        directions -= 1
    one, other = np.triu_indices(directions)
    curved = points[:, one] * points[:, other]
    left, _ = np.linalg.qr(line * roots[:, None])
    added = curved * roots[:, None]
    lengths = np.linalg.norm(added, axis=0)
    added = added[:, lengths > 0.0] / lengths[lengths > 0.0]
    for _ in range(2):  # once more, for what rounding left
        added = added - left @ (left.T @ added)
    basis, sizes, _ = np.linalg.svd(added, full_matrices=False)
    basis = basis[:, sizes > SPANNED]
    # Of z without its linear part: that is large beside the gain where the noise is small.
    z = roots * means
    z = z - left @ (left.T @ z)
    return Curvature(float(((basis.T @ z) ** 2).sum()), basis.shape[1])


def _principal(features: Reals) -> Reals:
    """The principal components of the standardised columns, the largest first, each of size 1."""
    x = even(np.asarray(features, np.float64))
    x = x - x.mean(axis=0)
    spread = np.sqrt((x**2).mean(axis=0))
    x = x[:, spread > FLAT] / spread[spread > FLAT]
    left, sizes, _ = np.linalg.svd(x, full_matrices=False)
    kept = sizes > FLAT * sizes.max(initial=0.0)
    return np.asarray(left[:, kept] * np.sqrt(len(x)))
