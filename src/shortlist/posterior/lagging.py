"""Estimates of very many arms that are not kept current: exact for one arm on demand, bounded for all.

A result changes θ̂ and V, not K means and variances. What an earlier θ̂ and V said of arm i bounds it:
|x_iᵀ(θ̂ − θ̂_s)| ≤ ‖x_i‖_{V_s⁻¹} ‖θ̂ − θ̂_s‖_{V_s}, and variances only shrink, by at most 1 + tr(V_s⁻¹(V − V_s)).
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Reals
from shortlist.posterior.least_squares import apply
from shortlist.posterior.passes import inner, products
from shortlist.posterior.state import BEHIND, LAGGING, OBSERVED, RECENT, TRACE, State

GUARD = 1e-9  # relative: far above rounding errors


@compiled(inline=False, fast=True)
def bilinear(matrix: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
    """vᵀMw."""
    total = 0.0
    for i in range(v.shape[0]):
        part = 0.0
        for k in range(w.shape[0]):
            part += matrix[i, k] * w[k]
        total += part * v[i]
    return total


@compiled(inline=False)
def mean_of(state: State, arm: int) -> float:
    """μ̂_a, exact."""
    if state.layout == LAGGING:
        return inner(state.features, arm, state.lagging.theta)
    return state.means[arm]


@compiled(inline=False)
def variance_of(state: State, arm: int) -> float:
    """G_aa, exact; V⁻¹x_a is left in ``scratch``."""
    apply(state, arm, state.kept.inverse, state.scratch)
    return inner(state.features, arm, state.scratch)


@compiled(inline=False)
def metric_norm(state: State, vector: Reals) -> float:
    """‖v‖ in the norm of V at the last refresh."""
    return math.sqrt(max(bilinear(state.lagging.metric, vector, vector), 0.0))


@compiled(inline=False)
def drift(state: State) -> float:
    """‖θ̂ − anchor‖ in the norm of V at the last refresh: no mean has moved by more than its deviation
    times that.
    """
    moved = state.scratch
    for k in range(moved.shape[0]):
        moved[k] = state.lagging.theta[k] - state.lagging.anchor[k]
    return metric_norm(state, moved) * (1.0 + GUARD)


@compiled(inline=False)
def shrinkage(state: State) -> float:
    """No variance has become less than its share 1/(1 + this) of that at the last refresh."""
    return state.scalars[TRACE] * (1.0 + GUARD)


@compiled(inline=False)
def renew_means(state: State) -> None:
    """Bring all means up to date: one pass over X."""
    products(state.features, state.lagging.theta, state.means)
    for k in range(state.lagging.theta.shape[0]):
        state.lagging.anchor[k] = state.lagging.theta[k]


@compiled(inline=False)
def renew_variance(state: State, arm: int) -> None:
    """Bring one arm's variance up to date, by the recent pulls if they are few."""
    observed = state.clock[OBSERVED]
    since = max(state.lagging.exact_at[arm], observed - state.clock[BEHIND])
    if observed - since > RECENT:
        state.variances[arm] = variance_of(state, arm)
    else:
        for n in range(since + 1, observed + 1):
            product = inner(state.features, arm, state.lagging.recent[n % RECENT])
            state.variances[arm] -= product * product / state.lagging.growths[n % RECENT]
    state.lagging.exact_at[arm] = observed


@compiled(inline=False)
def all_variances(state: State, out: Reals) -> None:
    """G_aa of every arm, exact."""
    for a in range(out.shape[0]):
        out[a] = variance_of(state, a)
