"""Least squares in arm space, compiled: the arrays, and what keeps them current."""

from __future__ import annotations

import math

from shortlist.core.cholesky import cholesky, solve_factor
from shortlist.core.passes import absorb, inner, norms, products
from shortlist.core.rule import BOOLEAN, INTEGER, REAL, REALS, TABLE, VOID, compiled
from shortlist.core.state import (
    ASIDE,
    BEHIND,
    FIRST_REFRESH,
    LEVEL,
    LOG_DET,
    NEXT_CLIMB,
    NEXT_REFRESH,
    OBSERVED,
    PRIOR_LOG_DET,
    READY,
    RECENT,
    REFRESH_EVERY,
    REFRESHED,
    REGULARIZATION,
    SHIFT,
    STATE,
    STEEPEST,
    STEP,
    TRACE,
    Reals,
    State,
)


@compiled(BOOLEAN(STATE, REAL, BOOLEAN))
def factorize(state: State, ridge: float, with_pilot: bool) -> bool:
    """Cholesky factor of ridge·I + Σ_a (N_a/n_a) x_a x_aᵀ into ``factor``; False if not positive."""
    x, factor = state.features, state.factor
    rank = x.shape[1]
    for i in range(rank):
        for j in range(i + 1):
            factor[i, j] = ridge if i == j else 0.0
    for a in range(x.shape[0]):
        counted = state.pulls[a] if with_pilot else state.pulls[a] - state.pilot[a]
        count = counted / state.noise[a]
        if count > 0.0:
            for i in range(rank):
                scaled = count * x[a, i]
                for j in range(i + 1):
                    factor[i, j] += scaled * x[a, j]
    return cholesky(factor)


@compiled(REAL(STATE, REAL))
def log_determinant(state: State, scale: float) -> float:
    """Ln det(M / scale) of the matrix M last factorized."""
    total = 0.0
    rank = state.factor.shape[0]
    for i in range(rank):
        total += 2.0 * math.log(state.factor[i, i])
    return total - rank * math.log(scale)


@compiled(REAL(INTEGER))
def price(level: int) -> float:
    """What a level k of a grid of shifts adds to ln det, having 1/((k + 1)(k + 2)) of δ; 0 if none."""
    return 2.0 * math.log((level + 1.0) * (level + 2.0)) if level >= 0 else 0.0


@compiled(VOID(STATE, REALS))
def solve(state: State, vector: Reals) -> None:
    """Solve in place with the factor last made."""
    solve_factor(state.factor, vector)


@compiled(VOID(STATE, TABLE))
def invert(state: State, inverse: Reals) -> None:
    """The inverse of the matrix last factorized."""
    for i in range(inverse.shape[0]):
        for j in range(inverse.shape[0]):
            inverse[i, j] = 1.0 if i == j else 0.0
        solve(state, inverse[i])


@compiled()
def dot(state: State, arm: int, vector: Reals) -> float:
    """x_aᵀ v."""
    total = 0.0
    for k in range(state.features.shape[1]):
        total += state.features[arm, k] * vector[k]
    return total


@compiled()
def apply(state: State, arm: int, matrix: Reals, product: Reals) -> None:
    """M x_a for a symmetric M."""
    for i in range(matrix.shape[0]):
        product[i] = 0.0
    for k in range(matrix.shape[0]):
        weight = state.features[arm, k]
        for i in range(matrix.shape[0]):
            product[i] += weight * matrix[k, i]


@compiled()
def excess_of(state: State, arm: int) -> float:
    """Σ (y − ν_a)/n_a over the arm's evaluations since the pilot was set aside."""
    since = state.pulls[arm] - state.pilot[arm]
    excess = state.sums[arm] - state.pilot_sums[arm] - since * state.prior[arm]
    return excess / state.noise[arm]


@compiled()
def lags(state: State) -> bool:
    """Whether the estimates of the arms may lag behind."""
    return state.theta.shape[0] > 0


@compiled(VOID(STATE))
def start_lagging(state: State) -> None:
    """The norms that bound what changes from now on."""
    factor, metric = state.factor, state.metric
    for i in range(metric.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += factor[i, k] * factor[j, k]
            metric[i, j] = metric[j, i] = total
    for a in range(state.deviations.shape[0]):
        state.deviations[a] = math.sqrt(state.variances[a])
        state.exact_at[a] = -1
    state.scalars[TRACE] = 0.0
    state.clock[BEHIND] = 0


@compiled(BOOLEAN(STATE))
def refresh(state: State) -> bool:
    """Everything anew from the counts and sums, by Cholesky; False if the design is singular."""
    x, scalars, clock, y = state.features, state.scalars, state.clock, state.scratch
    arms, rank = x.shape
    shift = scalars[SHIFT]
    separate = state.shifted.shape[0] > 0
    if not factorize(state, scalars[REGULARIZATION], False):
        return False
    if shift > 0.0 and not separate:
        scalars[LOG_DET] = log_determinant(state, shift)
    for i in range(rank):
        y[i] = 0.0
    for a in range(arms):
        total = (state.sums[a] - state.pilot_sums[a]) / state.noise[a]
        if total != 0.0:
            for i in range(rank):
                y[i] += total * x[a, i]
    solve(state, y)
    if state.rows.shape[0] == arms:
        for a in range(arms):
            state.means[a] = dot(state, a, y)
        for a in range(arms):
            for i in range(rank):
                y[i] = x[a, i]
            solve(state, y)
            for i in range(arms):
                state.rows[a, i] = dot(state, i, y)
            state.variances[a] = state.rows[a, a]
    else:
        products(x, y, state.means)
        if lags(state):
            for i in range(rank):
                state.theta[i] = state.anchor[i] = y[i]
        norms(x, state.factor, y, state.variances)
        for s in range(state.rows.shape[0]):
            if state.owners[s] >= 0:
                for i in range(rank):
                    y[i] = x[state.owners[s], i]
                solve(state, y)
                products(x, y, state.rows[s])
                state.variances[state.owners[s]] = state.rows[s, state.owners[s]]
        invert(state, state.inverse)
        if lags(state):
            start_lagging(state)
    if separate and shift > 0.0:
        factorize(state, shift, True)
        invert(state, state.shifted)
        scalars[LOG_DET] = log_determinant(state, shift) + price(clock[LEVEL])
    elif clock[ASIDE] > 0:
        factorize(state, 0.0, True)
        invert(state, state.shifted)
        scalars[LOG_DET] = log_determinant(state, 1.0) - scalars[PRIOR_LOG_DET]
        for i in range(rank):
            state.lean[i] = 0.0
        for a in range(arms):
            excess = excess_of(state, a)
            for i in range(rank):
                state.lean[i] += excess * x[a, i]
    clock[READY] = 1
    clock[REFRESHED] += 1
    clock[NEXT_REFRESH] = FIRST_REFRESH
    while clock[NEXT_REFRESH] <= clock[OBSERVED]:
        clock[NEXT_REFRESH] += min(clock[NEXT_REFRESH], REFRESH_EVERY)
    return True


@compiled(BOOLEAN(STATE))
def start(state: State) -> bool:
    """Forget every evaluation."""
    for a in range(state.features.shape[0]):
        state.pulls[a] = 0
        state.sums[a] = 0.0
        state.means[a] = 0.0
        state.pilot[a] = 0
        state.pilot_sums[a] = 0.0
    if state.rows.shape[0] < state.slots.shape[0]:
        for s in range(state.rows.shape[0]):
            if state.owners[s] >= 0:
                state.slots[state.owners[s]] = -1
            state.owners[s] = -1
            state.used[s] = 0
    state.clock[OBSERVED] = state.clock[READY] = state.clock[ASIDE] = 0
    state.clock[NEXT_CLIMB] = 0
    while state.clock[LEVEL] > 0:
        state.clock[LEVEL] -= 1
        state.scalars[SHIFT] /= STEP
    state.scalars[LOG_DET] = 0.0
    for k in range(state.theta.shape[0]):
        state.theta[k] = state.anchor[k] = 0.0
    if state.scalars[REGULARIZATION] > 0.0:
        return refresh(state)
    return True


@compiled()
def downdate(matrix: Reals, product: Reals, growth: float) -> None:
    """Sherman–Morrison: M − (Mx)(Mx)ᵀ / (noise + xᵀMx)."""
    shrink = 1.0 / growth
    for i in range(matrix.shape[0]):
        factor = product[i] * shrink
        for k in range(matrix.shape[0]):
            matrix[i, k] -= factor * product[k]


@compiled(VOID(STATE, INTEGER, REAL))
def update_rows(state: State, arm: int, shrink: float) -> None:
    """The resident rows of G after an evaluation that shrinks a variance steeply."""
    u = state.arm_scratch
    arms = u.shape[0]
    for s in range(state.rows.shape[0]):
        owner = s if state.rows.shape[0] == arms else state.owners[s]
        if owner >= 0:
            factor = u[owner] * shrink
            for i in range(arms):
                state.rows[s, i] -= factor * u[i]
            # The same without a difference: G_ia − u_i u_a/(n + u_a) = n u_i/(n + u_a).
            state.rows[s, arm] = state.noise[arm] * factor
            if owner == arm:
                for i in range(arms):
                    state.rows[s, i] = state.noise[arm] * (u[i] * shrink)


@compiled()
def observe(state: State, arm: int, value: float) -> None:
    """Take in one evaluation: a rank-one update, or a refresh when it is due."""
    clock, scalars, u = state.clock, state.scalars, state.arm_scratch
    state.pulls[arm] += 1
    state.sums[arm] += value
    clock[OBSERVED] += 1
    if clock[READY] == 0:
        return
    if clock[OBSERVED] >= clock[NEXT_REFRESH]:
        clock[NEXT_REFRESH] += REFRESH_EVERY
        if refresh(state):
            return
    arms = u.shape[0]
    whole = state.rows.shape[0] == arms
    if whole:
        for i in range(arms):
            u[i] = state.rows[arm, i]
    else:
        apply(state, arm, state.inverse, state.scratch)
        u[arm] = inner(state.features, arm, state.scratch)
    noise = state.noise[arm]
    growth = noise + u[arm]
    # A variance that falls a hundred-thousandfold at once would leave its digits behind.
    steep = not noise <= growth <= STEEPEST * noise
    if steep and refresh(state):
        return
    shrink = 1.0 / growth
    mean = inner(state.features, arm, state.theta) if lags(state) else state.means[arm]
    step = (value - mean) * shrink
    if lags(state):
        turn = clock[OBSERVED] % RECENT
        for k in range(state.theta.shape[0]):
            state.theta[k] += state.scratch[k] * step
            state.recent[turn, k] = state.scratch[k]
        state.growths[turn] = growth
        clock[BEHIND] += 1
        scalars[TRACE] += state.deviations[arm] ** 2 / noise
    elif whole or steep:
        if not whole:
            products(state.features, state.scratch, u)
        for i in range(arms):
            state.means[i] += u[i] * step
        for i in range(arms):
            state.variances[i] -= (u[i] * shrink) * u[i]
    if lags(state):
        pass
    elif steep:
        update_rows(state, arm, shrink)
    elif whole:
        for s in range(arms):
            factor = u[s] * shrink
            for i in range(arms):
                state.rows[s, i] -= factor * u[i]
    else:
        absorb(
            state.features, state.scratch, state.rows, state.owners, state.slots[arm], u,
            state.means, state.variances, shrink, step,
        )  # fmt: skip
    if steep and not lags(state):
        state.variances[arm] = noise * (u[arm] * shrink)
    if not whole:
        downdate(state.inverse, state.scratch, growth)
    if state.shifted.shape[0] > 0:
        if scalars[SHIFT] > 0.0 or clock[ASIDE] > 0:
            apply(state, arm, state.shifted, state.scratch)
            growth = noise + dot(state, arm, state.scratch)
            downdate(state.shifted, state.scratch, growth)
            scalars[LOG_DET] += math.log(growth / noise)
        if clock[ASIDE] > 0:
            excess = (value - state.prior[arm]) / noise
            for k in range(state.lean.shape[0]):
                state.lean[k] += excess * state.features[arm, k]
    elif scalars[SHIFT] > 0.0:
        scalars[LOG_DET] += math.log(growth / noise)
