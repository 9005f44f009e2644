"""Gap indices B_ij(t): upper confidence bounds on μ_i − μ_j (Section 2 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Reals
from shortlist.posterior.state import LEAST_SHARE
from shortlist.rules.rule import rule
from shortlist.rules.thresholds import two_arm_threshold


@compiled()
def square_of(both: float, product: float, floor: float) -> float:
    """‖x_i − x_j‖² from ‖x_i‖² + ‖x_j‖² and x_iᵀx_j, in V⁻¹, but not less than rounding allows to tell."""
    return max(both - 2.0 * product, floor * both)


@compiled()
def paired_index(mean_i: float, mean_j: float, square: float, scale: float) -> float:
    """B_ij = μ̂_i − μ̂_j + Cσ‖x_i − x_j‖_{V⁻¹}, of the square norm."""
    return mean_i - mean_j + scale * math.sqrt(max(square, 0.0))


@compiled()
def paired_column(
    j: int, means: Reals, variances: Reals, row: Reals, scale: float, floor: float, column: Reals
) -> None:
    """The rule ``paired`` with a floor of its own (see ``square_of``)."""
    # Read before the loop: for all the compiler knows, the column might be the same memory, and it would
    # not compute several arms at once.
    mean, variance = means[j], variances[j]
    for i in range(means.shape[0]):
        square = square_of(variances[i] + variance, row[i], floor)
        column[i] = paired_index(means[i], mean, square, scale)


@rule("indices", traits=("symmetric",), number=0)
def paired(j: int, means: Reals, variances: Reals, row: Reals, scale: float, column: Reals) -> None:
    """B_ij = μ̂_i − μ̂_j + Cσ‖x_i − x_j‖_{V⁻¹}, the difference bounded as one."""
    paired_column(j, means, variances, row, scale, LEAST_SHARE, column)


@rule("indices", traits=("symmetric",), number=1)
def individual(
    j: int, means: Reals, variances: Reals, row: Reals, scale: float, column: Reals
) -> None:
    """B_ij = U_i − L_j = μ̂_i − μ̂_j + Cσ(‖x_i‖_{V⁻¹} + ‖x_j‖_{V⁻¹}), each arm bounded alone."""
    mean, width = means[j], math.sqrt(max(variances[j], 0.0))
    for i in range(means.shape[0]):
        own = math.sqrt(max(variances[i], 0.0))
        column[i] = means[i] - mean + scale * (own + width)


@compiled(typed=True)
def fill_by_pair(
    number: int,
    j: int,
    means: Reals,
    variances: Reals,
    row: Reals,
    sigma: float,
    constants: Reals,
    floor: float,
    column: Reals,
) -> None:
    """B_ij over i by the rule of this number, paired or individual, with a C for each pair."""
    mean, variance = means[j], variances[j]
    for i in range(means.shape[0]):
        scale = sigma * two_arm_threshold(constants, variances[i], variance)
        if number == 0:
            square = square_of(variances[i] + variance, row[i], floor)
            column[i] = paired_index(means[i], mean, square, scale)
        else:
            widths = math.sqrt(max(variances[i], 0.0)) + math.sqrt(max(variance, 0.0))
            column[i] = means[i] - mean + scale * widths


@compiled()
def fill_column(
    number: int,
    own: Callable[..., None],
    j: int,
    means: Reals,
    variances: Reals,
    row: Reals,
    scale: float,
    floor: float,
    column: Reals,
) -> None:
    """B_ij over i by the rule of this number, or by the user's own."""
    if number == 0:
        paired_column(j, means, variances, row, scale, floor, column)
    elif number == 1:
        individual(j, means, variances, row, scale, column)
    else:
        own(j, means, variances, row, scale, column)
