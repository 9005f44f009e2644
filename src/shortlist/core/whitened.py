"""A design and what it tells, compiled: norms in V(w)⁻¹, V(w) = Σ_a w_a x_a x_aᵀ, and fitted means.

The arms are whitened once, L⁻¹x_a with V = LLᵀ, and all else is made of that. It is done without a
threaded library: at these sizes it is no slower, and the bits do not depend on how many threads
there are.
"""

from __future__ import annotations

import numpy as np

from shortlist.core.cholesky import cholesky
from shortlist.core.jit import compiled
from shortlist.core.records import BOOLEAN, REAL, REALS, TABLE, VOID, Integers, Reals, Table
from shortlist.errors import SingularDesign


@compiled(BOOLEAN(TABLE, REALS, TABLE, TABLE))
def whiten(features: Table, weights: Reals, factor: Table, white: Table) -> bool:
    """L into ``factor`` and L⁻¹x_a into the columns of ``white``; False if V is singular."""
    arms, rank = features.shape
    for i in range(rank):
        for j in range(i + 1):
            factor[i, j] = 0.0
    for a in range(arms):
        if weights[a] > 0.0:
            for i in range(rank):
                scaled = weights[a] * features[a, i]
                for j in range(i + 1):
                    factor[i, j] += scaled * features[a, j]
    if not cholesky(factor):
        return False
    for i in range(rank):
        for a in range(arms):
            white[i, a] = features[a, i]
        for k in range(i):
            scale = factor[i, k]
            for a in range(arms):
                white[i, a] -= scale * white[k, a]
        shrink = 1.0 / factor[i, i]
        for a in range(arms):
            white[i, a] *= shrink
    return True


@compiled(VOID(TABLE, REALS, REALS, REALS))
def fit(white: Table, sums: Reals, coordinates: Reals, means: Reals) -> None:
    """The means of all arms by least squares, from the sums of their results."""
    rank, arms = white.shape
    for a in range(arms):
        means[a] = 0.0
    for i in range(rank):
        total = 0.0
        for a in range(arms):
            total += white[i, a] * sums[a]
        coordinates[i] = total
        for a in range(arms):
            means[a] += total * white[i, a]


@compiled(VOID(TABLE, REAL, TABLE))
def spread(white: Table, least: float, variances: Table) -> None:
    """‖x_i − x_j‖² for all i and j, at least ``least`` times ‖x_i‖² + ‖x_j‖²; ∞ for i = j."""
    rank, arms = white.shape
    for i in range(arms):
        for j in range(i + 1, arms):
            variances[i, j] = 0.0
        for k in range(rank):
            here = white[k, i]
            for j in range(i + 1, arms):
                away = here - white[k, j]
                variances[i, j] += away * away
        own = 0.0
        for k in range(rank):
            own += white[k, i] * white[k, i]
        variances[i, i] = own
    for i in range(arms):
        for j in range(i + 1, arms):
            floor = least * (variances[i, i] + variances[j, j])
            variances[i, j] = max(variances[i, j], floor)
            variances[j, i] = variances[i, j]
    for i in range(arms):
        variances[i, i] = np.inf


def whitened(features: Table, weights: Reals | Integers) -> Table:
    """L⁻¹x_a of every arm, a column each."""
    arms, rank = features.shape
    white = np.zeros((rank, arms))
    if not whiten.sparing(arms * rank**2)(
        features, weights.astype(np.float64), np.zeros((rank, rank)), white
    ):
        raise SingularDesign(
            f"{int(np.count_nonzero(weights))} arms with weight do not span the features (rank "
            f"{rank}): give weight to a spanning set of arms."
        )
    return white


def fitted(white: Table, sums: Reals) -> Reals:
    """The means of all arms by least squares on the design that they were whitened with.

    Examples
    --------
    >>> white = whitened(np.eye(2), np.array([1, 4]))
    >>> fitted(white, np.array([3.0, 4.0])).tolist()
    [3.0, 1.0]
    """
    means = np.zeros(white.shape[1])
    fit.sparing(2 * white.size)(white, sums, np.zeros(len(white)), means)
    return means


def spreads(white: Table, least: float = 0.0) -> Table:
    """‖x_i − x_j‖² in V(w)⁻¹ for all pairs; ∞ for an arm and itself.

    Examples
    --------
    >>> spreads(whitened(np.eye(2), np.array([1, 4]))).tolist()
    [[inf, 1.25], [1.25, inf]]
    """
    variances = np.zeros((white.shape[1], white.shape[1]))
    spread.sparing(white.size * white.shape[1])(white, least, variances)
    return variances
