"""The closest alternative: where one candidate i and one other arm j change places.

Under weights w of the arms, the λ nearest to θ̂ with λᵀ(x_j − x_i) ≥ ε lies at the distance
(g + ε)₊²/‖y‖² with y = x_i − x_j, g = θ̂ᵀy and the norm of V(w)⁻¹, V(w) = Σ_a w_a x_a x_aᵀ, each
arm in units of its noise n_a = σ_a²/σ² where these differ: w_a/n_a. The closest alternative is the
nearest of these over all pairs. At ε = 0 that is the closest θ with another answer; ε > 0 is a
relaxation: λ need not be an error there, since some other arm of J(t) may be as bad as i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import cholesky
from shortlist.numerics.records import (
    Integers,
    Mask,
    Reals,
    Record,
    Table,
)
from shortlist.posterior.state import State

RIDGE = 1e-12  # of V(w)'s trace: a direction may be left without any weight


@dataclass(frozen=True, eq=False)
class Pairs(Record):
    """Scratch: the m arms inside and then the others, their distances, x_aᵀ(θ̂ − λ) and L⁻¹x_a.

    ``distances[k, n]`` is that of the k-th arm inside and the n-th outside.
    """

    sides: Integers
    distances: Table
    shift: Reals
    whitened: Table


def make_pairs(arms: int, rank: int, m: int) -> Pairs:
    """Memory for the pairs of m arms and the others; none at all where ``arms`` is 0."""
    shape = (m, arms - m) if arms else (0, 0)
    return Pairs.zeros(sides=arms, distances=shape, shift=arms, whitened=(arms, rank))


@compiled(typed=True)
def whiten(state: State, weights: Reals, ridge: float, whitened: Table) -> None:
    """Fill in L⁻¹x_a with LLᵀ = ridge·I + V(w), whose inner products are those of its inverse."""
    x, factor = state.features, state.factor
    arms, rank = x.shape
    trace = 0.0
    factor[:] = 0.0
    for a in range(arms):
        for i in range(rank):
            scaled = weights[a] / state.noise[a] * x[a, i]
            trace += scaled * x[a, i]
            for j in range(i + 1):
                factor[i, j] += scaled * x[a, j]
    for i in range(rank):
        factor[i, i] += ridge + RIDGE * trace
    cholesky(factor)
    for a in range(arms):
        for i in range(rank):
            total = x[a, i]
            for k in range(i):
                total -= factor[i, k] * whitened[a, k]
            whitened[a, i] = total / factor[i, i]


@compiled(typed=True)
def nearest_pair(means: Reals, inside: Mask, epsilon: float, pairs: Pairs) -> int:
    """The pair of least (g + ε)₊²/‖y‖², the first of equals; fills in the distances of all."""
    sides, distances, whitened = pairs.sides, pairs.distances, pairs.whitened
    m, others = distances.shape
    first, other = 0, m
    for a in range(m + others):
        if inside[a]:
            sides[first] = a
            first += 1
        else:
            sides[other] = a
            other += 1
    nearest, least = 0, np.inf
    for k in range(m):
        i = sides[k]
        for n in range(others):
            j = sides[m + n]
            margin, square = max(means[i] - means[j] + epsilon, 0.0), 0.0
            for d in range(whitened.shape[1]):
                away = whitened[i, d] - whitened[j, d]
                square += away * away
            distances[k, n] = margin * margin / square if square > 0.0 else np.inf
            if distances[k, n] < least:
                nearest, least = k * others + n, distances[k, n]
    return nearest


@compiled(typed=True)
def displace(means: Reals, pair: int, epsilon: float, pairs: Pairs) -> None:
    """Fill in x_aᵀ(θ̂ − λ) of every arm, λ the nearest where the arms of the pair change places."""
    sides, shift, whitened = pairs.sides, pairs.shift, pairs.whitened
    m, others = pairs.distances.shape
    k, n = pair // others, pair % others
    i, j = sides[k], sides[m + n]
    margin = max(means[i] - means[j] + epsilon, 0.0)
    # (g + ε)/‖y‖²; arms of equal features never change places, and at margin 0 they just did.
    step = pairs.distances[k, n] / margin if margin > 0.0 else 0.0
    if not step < np.inf:
        step = 0.0
    for a in range(m + others):
        shift[a] = 0.0
        for d in range(whitened.shape[1]):
            shift[a] += step * whitened[a, d] * (whitened[i, d] - whitened[j, d])
