"""The closest means under which an arm of the m best and another change places.

The means are Xθ + η with |η| ≤ c. For a pair i inside and j outside the alternatives are those with
λ_j − λ_i ≥ ε; how far they are is a quadratic program (``numerics.quadratic``). Its dual,

    min ½ Σ_a w_a (μ_a − λ_a)² = ½ max over s with Xᵀs = x_i − x_j of
        (sᵀμ + ε − c‖s − e_i + e_j‖₁)₊² / Σ_a s_a²/w_a,

bounds it from below by any s. With s = e_i − e_j that is the classical distance, with the s of
least squares and c = 0 the linear one; the best s between these two has a closed form. Only pairs
whose bound is below the closest alternative found so far are solved, which is one or two as a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import dot, solve_factor
from shortlist.numerics.quadratic import (
    FAINT,
    Workspace,
    factorize_weighted,
    nearest,
    workspace,
)
from shortlist.numerics.records import (
    Address,
    Mask,
    Reals,
    Record,
    Table,
)
from shortlist.posterior.state import LEAST_SHARE
from shortlist.rules.indices import square_of


@dataclass(frozen=True, eq=False)
class WeightedFit(Record):
    """Scratch: weights above 0, Xθ fitted to the means, G = X V(w)⁻¹ Xᵀ, a bound for each pair."""

    weights: Reals
    fitted: Reals
    column: Reals
    gram: Table
    bounds: Table
    factor: Table


@dataclass(frozen=True, eq=False)
class Alternatives(Record):
    """Scratch and the answer: the pair (i, j) with the price of its gap, and the alternative.

    ``solve`` is ``nearest``, called by its address: so it is compiled once, for this and for Python.
    """

    fit: WeightedFit
    work: Workspace
    pair: Reals
    means: Reals
    solve: Annotated[Callable[..., float], Address(nearest.signature)]


def alternatives(features: Table) -> Alternatives:
    """Scratch for these features."""
    arms, rank = features.shape
    square, factor = (arms, arms), (rank, rank)
    fit = WeightedFit.zeros(
        weights=arms, fitted=arms, column=rank, gram=square, bounds=square, factor=factor
    )
    return Alternatives(fit, workspace(features), np.zeros(3), np.zeros(arms), nearest)


@compiled(typed=True)
def fit_weighted(features: Table, weights: Reals, means: Reals, fit: WeightedFit) -> None:
    """Fill in G and the fitted means under these weights."""
    arms, rank = features.shape
    w, column, gram = fit.weights, fit.column, fit.gram
    largest = 0.0
    for a in range(arms):
        largest = max(largest, weights[a])
    for a in range(arms):
        w[a] = max(weights[a], FAINT * largest)
    factorize_weighted(features, w, fit.factor)
    for a in range(arms):
        for k in range(rank):
            column[k] = features[a, k]
        solve_factor(fit.factor, column)
        for b in range(a + 1):
            gram[a, b] = gram[b, a] = dot(features, b, column)
    for a in range(arms):
        fit.fitted[a] = 0.0
        for b in range(arms):
            fit.fitted[a] += gram[a, b] * w[b] * means[b]


@compiled(typed=True)
def model_weight(weights: Reals, gram: Table, i: int, j: int) -> float:
    """‖s − e_i + e_j‖₁, s of least squares: how much of the estimate rests on the model.

    That of μ_i alone for j = −1.
    """
    total = 0.0
    for a in range(weights.shape[0]):
        share = weights[a] * (gram[a, i] if j < 0 else gram[a, i] - gram[a, j])
        if a == i:
            share -= 1.0
        elif a == j:
            share += 1.0
        total += abs(share)
    return total


@compiled(typed=True)
def model_loss(c: float, means: Reals, i: int, j: int, fit: WeightedFit) -> float:
    """(s − e_i + e_j)ᵀμ − c‖s − e_i + e_j‖₁ for the s of least squares: its loss by η."""
    size = model_weight(fit.weights, fit.gram, i, j)
    return fit.fitted[i] - fit.fitted[j] - (means[i] - means[j]) - c * size


@compiled(typed=True)
def distance_bound(c: float, means: Reals, i: int, j: int, slack: float, fit: WeightedFit) -> float:
    """A lower bound on an alternative's distance, by the best s₁ + q(e_i − e_j − s₁), 0 ≤ q ≤ 1."""
    gap = means[i] - means[j] + slack
    if gap <= 0.0:
        return 0.0
    gram, loss = fit.gram, model_loss(c, means, i, j, fit)
    linear = square_of(gram[i, i] + gram[j, j], gram[i, j], LEAST_SHARE)
    rest = max(1.0 / fit.weights[i] + 1.0 / fit.weights[j] - linear, 0.0)
    q = 0.0
    if gap + loss <= 0.0:
        q = 1.0
    elif loss < 0.0 and rest > 0.0:
        q = min(1.0, -loss * linear / ((gap + loss) * rest))
    seen = gap if q == 1.0 else max(gap + (1.0 - q) * loss, 0.0)  # the loss may be infinite
    return 0.5 * seen * seen / (linear + q * q * rest)


@compiled(typed=True)
def closest(
    c: float, weights: Reals, means: Reals, inside: Mask, slack: float, found: Alternatives
) -> float:
    """Half the weighted squared distance of the closest alternative, which is written to ``found``.

    ``found.pair`` becomes (i, j, the price of the gap), ``found.means`` the alternative.
    """
    fit, bounds, work = found.fit, found.fit.bounds, found.work
    arms, least = means.shape[0], np.inf
    for a in range(arms):
        work.target[a], work.given_weights[a] = means[a], weights[a]
    fit_weighted(work.features, weights, means, fit)
    for i in range(arms):
        for j in range(arms):
            if inside[i] and not inside[j]:
                bounds[i, j] = distance_bound(c, means, i, j, slack, fit)
    while True:
        bound, best_i, best_j = np.inf, NO_ARM, NO_ARM
        for i in range(arms):
            for j in range(arms):
                if inside[i] and not inside[j] and bounds[i, j] < bound:
                    bound, best_i, best_j = bounds[i, j], i, j
        if not bound < least:
            return least
        bounds[best_i, best_j] = np.inf
        value = found.solve(c, best_i, best_j, -slack, work)
        if value < least:
            least = value
            found.pair[0], found.pair[1] = best_i, best_j
            found.pair[2] = work.price[0]
            for a in range(arms):
                found.means[a] = work.means[a]
