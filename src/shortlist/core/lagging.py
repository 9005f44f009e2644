"""Estimates of very many arms that lag behind: exact for one arm on demand, bounded for all.

A result changes θ̂ and V, not K means and variances. What an earlier θ̂ and V said of arm i bounds it:
|x_iᵀ(θ̂ − θ̂_s)| ≤ ‖x_i‖_{V_s⁻¹} ‖θ̂ − θ̂_s‖_{V_s}, and variances only shrink, by at most 1 + tr(V_s⁻¹(V − V_s)).
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.core.least_squares import STATE, TRACE, Reals, State, apply
from shortlist.core.passes import inner, products
from shortlist.core.rule import INTEGER, REAL, REALS, TABLE, VOID, compiled

GUARD = 1e-9  # relative: far above what rounding does


@compiled(REAL(TABLE, REALS), fast=True)
def quadratic(matrix: np.ndarray, vector: np.ndarray) -> float:
    """vᵀMv for a symmetric M."""
    total = 0.0
    for i in range(vector.shape[0]):
        part = 0.5 * matrix[i, i] * vector[i]
        for k in range(i):
            part += matrix[i, k] * vector[k]
        total += 2.0 * part * vector[i]
    return total


@compiled(REAL(STATE, INTEGER))
def mean_of(state: State, arm: int) -> float:
    """μ̂_a, exact."""
    if state.theta.shape[0] > 0:
        return inner(state.features, arm, state.theta)
    return state.means[arm]


@compiled(REAL(STATE, INTEGER))
def variance_of(state: State, arm: int) -> float:
    """G_aa, exact; V⁻¹x_a is left in ``scratch``."""
    apply(state, arm, state.inverse, state.scratch)
    return inner(state.features, arm, state.scratch)


@compiled(REAL(STATE))
def drift(state: State) -> float:
    """‖θ̂ − anchor‖ in the norm of V at the last refresh: no mean has moved by more than its deviation
    times that.
    """
    rank = state.theta.shape[0]
    total = 0.0
    for i in range(rank):
        part = 0.0
        for k in range(rank):
            part += state.metric[i, k] * (state.theta[k] - state.anchor[k])
        total += part * (state.theta[i] - state.anchor[i])
    return math.sqrt(max(total, 0.0)) * (1.0 + GUARD)


@compiled(REAL(STATE, REALS))
def metric_norm(state: State, vector: Reals) -> float:
    """‖v‖ in the norm of V at the last refresh."""
    return math.sqrt(max(quadratic(state.metric, vector), 0.0))


@compiled(REAL(STATE))
def shrinkage(state: State) -> float:
    """No variance has become less than its share 1/(1 + this) of that at the last refresh."""
    return state.scalars[TRACE] * (1.0 + GUARD)


@compiled(VOID(STATE))
def renew_means(state: State) -> None:
    """Bring all means up to date: one pass over X."""
    products(state.features, state.theta, state.means)
    for k in range(state.theta.shape[0]):
        state.anchor[k] = state.theta[k]


@compiled(VOID(STATE, REALS))
def all_variances(state: State, out: Reals) -> None:
    """G_aa of every arm, exact."""
    for a in range(out.shape[0]):
        out[a] = variance_of(state, a)
