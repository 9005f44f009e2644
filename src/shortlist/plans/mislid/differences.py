"""Upper bounds on differences of two means, by a linear model that is off by c and by two arms alone.

With V = Σ N_a x_a x_aᵀ and s_a = N_a x_aᵀV⁻¹(x_i − x_j), least squares estimates μ_i − μ_j by sᵀμ̂.
If μ = Xθ + η with |η_a| ≤ c, then μ_i − μ_j = sᵀμ − (s − e_i + e_j)ᵀη. So the estimate is off by the
noise sᵀ(μ̂ − μ) and by c‖s − e_i + e_j‖₁ at most. The arms' own averages are off by noise alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import (
    INTEGER,
    MASK,
    REAL,
    TABLE,
    VOID,
    Real,
    Reals,
    Record,
    Table,
    record_type,
)
from shortlist.rules.indices import square_of


@dataclass(frozen=True, eq=False)
class Known(Record):
    """What the results say: N and μ̂, G = X V⁻¹ Xᵀ, and Xθ̂ by least squares."""

    pulls: Reals
    averages: Reals
    gram: Table
    fitted: Reals


KNOWN = record_type(Known)


@dataclass(frozen=True, eq=False)
class Widths(Record):
    """How wide the bounds are; infinite where they are not to be used.

    ``linear`` is σC of the linear one, ``alone`` ln(n/δ) of that by two arms, ``prior`` its ρ.
    ``floor`` is the least ‖x_i − x_j‖² that is told from rounding (see ``LEAST_SHARE``).
    """

    misspecification: Real
    sigma: Real
    linear: Real
    alone: Real
    prior: Real
    floor: Real


WIDTHS = record_type(Widths)


@compiled(REAL(KNOWN, INTEGER, INTEGER))
def reliance(known: Known, i: int, j: int) -> float:
    """‖s − e_i + e_j‖₁: how much of the estimate rests on the model. j = −1: that of μ_i itself."""
    total, gram = 0.0, known.gram
    for a in range(known.pulls.shape[0]):
        share = gram[a, i] if j < 0 else gram[a, i] - gram[a, j]
        share *= known.pulls[a]
        if a == i:
            share -= 1.0
        elif a == j:
            share += 1.0
        total += abs(share)
    return total


@compiled(REAL(KNOWN, WIDTHS, INTEGER, INTEGER))
def level(known: Known, widths: Widths, i: int, j: int) -> float:
    """ln(n/δ) + ½ ln(1 + N_i/ρ) + ½ ln(1 + N_j/ρ), of the mixture for two arms."""
    rho = widths.prior
    own = math.log1p(known.pulls[i] / rho) + math.log1p(known.pulls[j] / rho)
    return widths.alone + 0.5 * own


@compiled(REAL(KNOWN, WIDTHS, INTEGER, INTEGER))
def linear_bound(known: Known, widths: Widths, i: int, j: int) -> float:
    """On μ_i − μ_j, by least squares."""
    if math.isinf(widths.linear):
        return np.inf
    gram = known.gram
    square = max(square_of(gram[i, i] + gram[j, j], gram[i, j], widths.floor), 0.0)
    bias = widths.misspecification * reliance(known, i, j)
    return known.fitted[i] - known.fitted[j] + bias + widths.linear * math.sqrt(square)


@compiled(REAL(KNOWN, WIDTHS, INTEGER, INTEGER))
def two_arm_bound(known: Known, widths: Widths, i: int, j: int) -> float:
    """On μ_i − μ_j, by the two arms' own averages."""
    if math.isinf(widths.alone):
        return np.inf
    rho, n_i, n_j = widths.prior, known.pulls[i], known.pulls[j]
    square = (1.0 + rho / n_i) / n_i + (1.0 + rho / n_j) / n_j
    width = widths.sigma * math.sqrt(2.0 * level(known, widths, i, j) * square)
    return known.averages[i] - known.averages[j] + width


@compiled(REAL(KNOWN, WIDTHS, INTEGER, INTEGER))
def difference_bound(known: Known, widths: Widths, i: int, j: int) -> float:
    """B_ij: the better of the two."""
    return min(linear_bound(known, widths, i, j), two_arm_bound(known, widths, i, j))


@compiled(VOID(KNOWN, WIDTHS, MASK, MASK, TABLE))
def fill_bounds(
    known: Known, widths: Widths, over: np.ndarray, under: np.ndarray, bounds: Table
) -> None:
    """B_ij of every i marked in ``over`` and every other j marked in ``under``."""
    for i in range(over.shape[0]):
        if over[i]:
            for j in range(under.shape[0]):
                if under[j] and j != i:
                    bounds[i, j] = difference_bound(known, widths, i, j)
