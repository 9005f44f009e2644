"""Least squares in arm space, compiled: what keeps the arrays of a ``State`` current.

Rows of G that are not kept are made on demand, in the slot of the least recently used one. Each way to
keep G (see ``State.layout``) has its own ``refresh``, which computes everything from counts
and sums, and its own ``observe``, which takes in one evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import cholesky, dot, solve_factor
from shortlist.numerics.records import (
    Address,
    Reals,
    Record,
    Table,
)
from shortlist.posterior.passes import absorb, inner, norms, products
from shortlist.posterior.state import (
    FIRST_REFRESH,
    REFRESH_EVERY,
    ROWS,
    STEEPEST,
    WHOLE,
    State,
)


@compiled(typed=True)
def factorize(state: State, ridge: float) -> bool:
    """Cholesky factor of ridge·I + Σ_a (N_a/n_a) x_a x_aᵀ into ``factor``; False if not positive."""
    x, factor = state.features, state.factor
    rank = x.shape[1]
    for i in range(rank):
        for j in range(i + 1):
            factor[i, j] = ridge if i == j else 0.0
    for a in range(x.shape[0]):
        count = state.pulls[a] / state.noise[a]
        if count > 0.0:
            for i in range(rank):
                scaled = count * x[a, i]
                for j in range(i + 1):
                    factor[i, j] += scaled * x[a, j]
    return cholesky(factor)


@compiled(typed=True)
def log_determinant(state: State, scale: float) -> float:
    """Ln det(M / scale) of the matrix M last factorized."""
    total = 0.0
    rank = state.factor.shape[0]
    for i in range(rank):
        total += 2.0 * math.log(state.factor[i, i])
    return total - rank * math.log(scale)


@compiled(typed=True)
def invert(state: State, inverse: Table) -> None:
    """The inverse of the matrix last factorized."""
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            inverse[i, j] = 1.0 if i == j else 0.0
        solve_factor(state.factor, inverse[i])


@compiled()
def apply(state: State, arm: int, matrix: Reals, product: Reals) -> None:
    """M x_a for a symmetric M."""
    for i in range(matrix.shape[0]):
        product[i] = 0.0
    for k in range(matrix.shape[0]):
        weight = state.features[arm, k]
        for i in range(matrix.shape[0]):
            product[i] += weight * matrix[k, i]


@compiled(typed=True)
def fit(state: State) -> bool:
    """Factorize V and write θ̂ to ``scratch``, as every refresh begins; False if V is singular."""
    x, y = state.features, state.scratch
    arms, rank = x.shape
    if not factorize(state, state.regularization):
        return False
    if state.shift > 0.0 and not state.keeps_shifted:
        state.log_det[0] = log_determinant(state, state.shift)
    for i in range(rank):
        y[i] = 0.0
    for a in range(arms):
        total = state.sums[a] / state.noise[a]
        if total != 0.0:
            for i in range(rank):
                y[i] += total * x[a, i]
    solve_factor(state.factor, y)
    return True


@compiled(typed=True)
def renew_shifted(state: State) -> None:
    """Compute the shifted inverse, its ln det and the time of the next refresh, as every refresh ends."""
    if state.keeps_shifted:
        factorize(state, state.shift)
        invert(state, state.shifted)
        state.log_det[0] = log_determinant(state, state.shift)
    state.ready[0] = 1
    state.refreshes[0] += 1
    state.next_refresh[0] = FIRST_REFRESH
    while state.next_refresh[0] <= state.observed[0]:
        state.next_refresh[0] += min(state.next_refresh[0], REFRESH_EVERY)


@compiled(typed=True)
def refresh_whole(state: State) -> bool:
    """Recompute everything where all of G is kept; False if the design is singular."""
    x, y = state.features, state.scratch
    arms, rank = x.shape
    if not fit(state):
        return False
    for a in range(arms):
        state.means[a] = dot(state.features, a, y)
    for a in range(arms):
        for i in range(rank):
            y[i] = x[a, i]
        solve_factor(state.factor, y)
        for i in range(arms):
            state.rows[a, i] = dot(state.features, i, y)
        state.variances[a] = state.rows[a, a]
    renew_shifted(state)
    return True


@compiled(typed=True)
def refresh_rows(state: State) -> bool:
    """Recompute everything where some rows of G are kept; False if the design is singular."""
    x, y, kept = state.features, state.scratch, state.kept
    rank = x.shape[1]
    if not fit(state):
        return False
    products(x, y, state.means)
    norms(x, state.factor, y, state.variances)
    for s in range(state.rows.shape[0]):
        if kept.owners[s] >= 0:
            for i in range(rank):
                y[i] = x[kept.owners[s], i]
            solve_factor(state.factor, y)
            products(x, y, state.rows[s])
            state.variances[kept.owners[s]] = state.rows[s, kept.owners[s]]
    invert(state, kept.inverse)
    renew_shifted(state)
    return True


@compiled(typed=True)
def start(state: State) -> None:
    """Forget every evaluation; with a regularisation a refresh must follow."""
    for a in range(state.features.shape[0]):
        state.pulls[a] = 0
        state.sums[a] = 0.0
        state.means[a] = 0.0
    if state.layout == ROWS:
        kept = state.kept
        for s in range(state.rows.shape[0]):
            if kept.owners[s] >= 0:
                kept.slots[kept.owners[s]] = -1
            kept.owners[s] = -1
            kept.used[s] = 0
    state.observed[0] = state.ready[0] = 0
    state.log_det[0] = 0.0


@compiled()
def downdate(matrix: Reals, product: Reals, growth: float) -> None:
    """Sherman–Morrison: M − (Mx)(Mx)ᵀ / (noise + xᵀMx)."""
    shrink = 1.0 / growth
    for i in range(matrix.shape[0]):
        factor = product[i] * shrink
        for k in range(matrix.shape[0]):
            matrix[i, k] -= factor * product[k]


@compiled()
def count_in(state: State, arm: int, value: float) -> bool:
    """Add one evaluation to the counts and sums; returns whether there are estimates to update."""
    state.pulls[arm] += 1
    state.sums[arm] += value
    state.observed[0] += 1
    return state.ready[0] == 1


@compiled()
def is_due(state: State, steep: bool) -> bool:
    """Whether a refresh is due, by the number of evaluations or after a steep one."""
    if state.observed[0] < state.next_refresh[0]:
        return steep
    state.next_refresh[0] += REFRESH_EVERY
    return True


@compiled()
def is_steep(growth: float, noise: float) -> bool:
    """Whether a variance falls a hundred-thousandfold at once, and would lose its digits."""
    return not noise <= growth <= STEEPEST * noise


@compiled()
def log_of(ratio: float) -> float:
    """Ln, as machine code has it for what is not positive: there the interpreter would raise."""
    if ratio > 0.0:
        return math.log(ratio)
    return -math.inf if ratio == 0.0 else math.nan


@compiled()
def update_shifted(state: State, arm: int, growth: float) -> None:
    """Update the shifted inverse and its ln det by one evaluation."""
    noise = state.noise[arm]
    if state.keeps_shifted:
        apply(state, arm, state.shifted, state.scratch)
        growth = noise + dot(state.features, arm, state.scratch)
        downdate(state.shifted, state.scratch, growth)
    if state.shift > 0.0:
        state.log_det[0] += log_of(growth / noise)


@compiled(typed=True)
def observe_whole(state: State, arm: int, value: float) -> bool:
    """Take in one evaluation where all of G is kept; returns whether a refresh is due."""
    if not count_in(state, arm, value):
        return False
    u, rows = state.arm_scratch, state.rows
    arms = u.shape[0]
    for i in range(arms):
        u[i] = rows[arm, i]
    noise = state.noise[arm]
    growth = noise + u[arm]
    steep = is_steep(growth, noise)
    shrink = 1.0 / growth
    step = (value - state.means[arm]) * shrink
    for i in range(arms):
        state.means[i] += u[i] * step
    for i in range(arms):
        state.variances[i] -= (u[i] * shrink) * u[i]
    for s in range(arms):
        factor = u[s] * shrink
        for i in range(arms):
            rows[s, i] -= factor * u[i]
        if steep:
            rows[s, arm] = noise * factor
    if steep:
        # The same without a difference: G_ia − u_i u_a/(n + u_a) = n u_i/(n + u_a).
        for i in range(arms):
            rows[arm, i] = noise * (u[i] * shrink)
        state.variances[arm] = noise * (u[arm] * shrink)
    update_shifted(state, arm, growth)
    return is_due(state, steep)


@compiled(typed=True)
def update_rows(state: State, arm: int, shrink: float) -> None:
    """The rows of G that are kept after an evaluation that shrinks a variance steeply."""
    u, owners = state.arm_scratch, state.kept.owners
    for s in range(state.rows.shape[0]):
        if owners[s] >= 0:
            factor = u[owners[s]] * shrink
            for i in range(u.shape[0]):
                state.rows[s, i] -= factor * u[i]
            state.rows[s, arm] = state.noise[arm] * factor  # without a difference, as above
            if owners[s] == arm:
                for i in range(u.shape[0]):
                    state.rows[s, i] = state.noise[arm] * (u[i] * shrink)


@compiled(typed=True)
def observe_rows(state: State, arm: int, value: float) -> bool:
    """Take in one evaluation where some rows of G are kept; returns whether a refresh is due."""
    if not count_in(state, arm, value):
        return False
    u, kept = state.arm_scratch, state.kept
    apply(state, arm, kept.inverse, state.scratch)
    u[arm] = inner(state.features, arm, state.scratch)
    noise = state.noise[arm]
    growth = noise + u[arm]
    steep = is_steep(growth, noise)
    shrink = 1.0 / growth
    step = (value - state.means[arm]) * shrink
    if steep:
        products(state.features, state.scratch, u)
        for i in range(u.shape[0]):
            state.means[i] += u[i] * step
        for i in range(u.shape[0]):
            state.variances[i] -= (u[i] * shrink) * u[i]
        update_rows(state, arm, shrink)
        state.variances[arm] = noise * (u[arm] * shrink)
    else:
        absorb(
            state.features, state.scratch, state.rows, kept.owners, kept.slots[arm], u,
            state.means, state.variances, shrink, step,
        )  # fmt: skip
    downdate(kept.inverse, state.scratch, growth)
    update_shifted(state, arm, growth)
    return is_due(state, steep)


REFRESH = {WHOLE: refresh_whole, ROWS: refresh_rows}
OBSERVE = {WHOLE: observe_whole, ROWS: observe_rows}


@dataclass(frozen=True, eq=False)
class Updates(Record):
    """How a layout takes in an evaluation and computes everything anew, called by address."""

    observe: Annotated[Callable[..., bool], Address(observe_whole.signature)]
    refresh: Annotated[Callable[..., bool], Address(refresh_whole.signature)]


UPDATES = {layout: Updates(OBSERVE[layout], REFRESH[layout]) for layout in OBSERVE}


@compiled()
def take_in(state: State, updates: Updates, arm: int, value: float) -> None:
    """Take in one evaluation, and refresh if that is due and V is not singular."""
    if updates.observe(state, arm, value):
        updates.refresh(state)


@compiled(typed=True)
def make_row(state: State, arm: int) -> int:
    """Make the arm's row of G in the least recently used slot; returns the slot."""
    slot = 0
    for s in range(state.kept.used.shape[0]):
        if state.kept.used[s] < state.kept.used[slot]:
            slot = s
    if state.kept.owners[slot] >= 0:
        state.kept.slots[state.kept.owners[slot]] = -1
    state.kept.owners[slot] = arm
    state.kept.slots[arm] = slot
    apply(state, arm, state.kept.inverse, state.scratch)
    products(state.features, state.scratch, state.rows[slot])
    return slot


@compiled(typed=True, inline=True)
def row(state: State, arm: int) -> int:
    """The slot of the arm's row of G, which is made if it is missing."""
    if state.layout == WHOLE:
        return arm
    slot = state.kept.slots[arm]
    if slot < 0:
        slot = make_row(state, arm)
    state.kept.tick[0] += 1
    state.kept.used[slot] = state.kept.tick[0]
    return slot
