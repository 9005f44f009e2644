"""σ from replicates: an upper bound that normal noise exceeds with a chosen probability.

Σ_a Σ_k (y_ak − ȳ_a)² / σ² is χ² with Σ_a (n_a − 1) degrees of freedom, whatever the means. So σ² is
at most that sum of squares over the χ² quantile at q, but with probability q. For noise that is only
known to be sub-Gaussian no such bound exists: a rare large value need not be among the replicates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# A fifth of δ, and at least 60 degrees of freedom: docs/noise.md says why.
SHARE = 0.2
DEGREES = 60


class Estimate(NamedTuple):
    """An upper bound on σ, the replicates' spread (0 if but for rounding), and their degrees of freedom."""

    sigma: float
    spread: float
    degrees: int


def bound_from_replicates(replicates: Sequence[Sequence[float]], risk: float) -> Estimate:
    """The bound, wrong with probability ``risk`` for normal noise with the same σ for all arms.

    Parameters
    ----------
    replicates : sequence of sequences
        The results of each arm. How many there are must be fixed before any is seen.
    risk : float
        The share of δ that is paid.

    Examples
    --------
    >>> found = bound_from_replicates([[1.0, 1.2, 0.8], [2.1, 1.9, 2.0]], risk=0.01)
    >>> round(found.sigma, 3), round(found.spread, 3), found.degrees
    (0.58, 0.158, 4)
    """
    # Exact sums and a rounded factor: the same σ on every machine, in every process.
    squares = math.fsum(square for values in replicates for square in _squares(values))
    degrees = sum(len(values) - 1 for values in replicates)
    spread = math.sqrt(squares / degrees)
    rounding = max(1e-12 * max(abs(value) for values in replicates for value in values), 1e-150)
    if spread <= rounding:  # no width can be made of 0
        return Estimate(rounding, 0.0, degrees)
    return Estimate(spread * inflation(degrees, risk), spread, degrees)


def inflation(degrees: int, risk: float) -> float:
    """By how much the bound is larger than the spread of the replicates, rounded up.

    Examples
    --------
    >>> round(inflation(60, 0.01), 3)
    1.265
    """
    from scipy.special import gammaincinv

    quantile = 2.0 * float(gammaincinv(degrees / 2.0, risk))
    return math.ceil(math.sqrt(degrees / quantile) * 1e9) / 1e9


def rounds_for(degrees: int, initial: NDArray[np.int64]) -> int:
    """How often to go through the initial pulls for so many degrees of freedom.

    Examples
    --------
    >>> rounds_for(60, np.arange(10)), rounds_for(60, np.arange(4))
    (7, 16)
    """
    return -(-(degrees + len(np.unique(initial))) // len(initial))


def first_of_each(
    arms: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64]
) -> list[list[float]] | None:
    """The first ``wanted`` results of each arm, in order; None as long as one is missing.

    Examples
    --------
    >>> first_of_each(np.array([0, 1, 0, 0]), np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 1]))
    [[1.0, 3.0], [2.0]]
    """
    if (np.bincount(arms, minlength=len(wanted)) < wanted).any():
        return None
    return [values[arms == a][: wanted[a]].tolist() for a in np.flatnonzero(wanted)]


def _squares(values: Sequence[float]) -> list[float]:
    from_first = [value - values[0] for value in values]
    mean = math.fsum(from_first) / len(values)
    return [(value - mean) ** 2 for value in from_first]
