"""Gap indices B_ij(t): upper confidence bounds on μ_i − μ_j (Section 2 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shortlist.core.rule import compiled, rule


@compiled()
def paired_index(mean_i: float, mean_j: float, square: float, scale: float) -> float:
    """B_ij = μ̂_i − μ̂_j + Cσ‖x_i − x_j‖_{V⁻¹}, of the square norm."""
    return mean_i - mean_j + scale * math.sqrt(max(square, 0.0))


@rule("indices", traits=("symmetric",), number=0)
def paired(
    j: int,
    means: np.ndarray,
    variances: np.ndarray,
    row: np.ndarray,
    scale: float,
    column: np.ndarray,
) -> None:
    """B_ij = μ̂_i − μ̂_j + Cσ‖x_i − x_j‖_{V⁻¹}, the difference bounded as one."""
    # Read before the loop, or the column might be them, and no two arms could be done at once.
    mean, variance = means[j], variances[j]
    for i in range(means.shape[0]):
        square = variances[i] + variance - 2.0 * row[i]
        column[i] = paired_index(means[i], mean, square, scale)


@rule("indices", traits=("symmetric",), number=1)
def individual(
    j: int,
    means: np.ndarray,
    variances: np.ndarray,
    row: np.ndarray,
    scale: float,
    column: np.ndarray,
) -> None:
    """B_ij = U_i − L_j = μ̂_i − μ̂_j + Cσ(‖x_i‖_{V⁻¹} + ‖x_j‖_{V⁻¹}), each arm bounded alone."""
    mean, width = means[j], math.sqrt(max(variances[j], 0.0))
    for i in range(means.shape[0]):
        own = math.sqrt(max(variances[i], 0.0))
        column[i] = means[i] - mean + scale * (own + width)


_paired = paired.function
_individual = individual.function


@compiled()
def fill_column(
    number: int,
    own: Callable[..., None],
    j: int,
    means: np.ndarray,
    variances: np.ndarray,
    row: np.ndarray,
    scale: float,
    column: np.ndarray,
) -> None:
    """B_ij over i by the rule of this number, or by the user's own."""
    if number == 0:
        _paired(j, means, variances, row, scale, column)
    elif number == 1:
        _individual(j, means, variances, row, scale, column)
    else:
        own(j, means, variances, row, scale, column)
