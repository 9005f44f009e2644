"""A grid of shifts: the shift rises with λ_min(A), and ln det(I + A/shift) no longer grows with t."""

from __future__ import annotations

from shortlist.core.jit import compiled
from shortlist.core.least_squares import factorize, invert, log_determinant, price
from shortlist.core.records import REAL, VOID
from shortlist.core.state import LEVEL, LOG_DET, NEXT_CLIMB, OBSERVED, SHIFT, STATE, STEP, State

SELDOM = 16  # a look costs as much as a refresh without rows: after a sixteenth more evaluations


@compiled(VOID(STATE, REAL))
def climb(state: State, inflation: float) -> None:
    """Go up to the highest level whose c = shift/u is at most λ_min(A), if that narrows the bound.

    A − cI has a Cholesky factor exactly if λ_min(A) > c, and as A only grows it stays so.
    """
    clock, scalars = state.clock, state.scalars
    if clock[OBSERVED] < clock[NEXT_CLIMB]:
        return
    clock[NEXT_CLIMB] = clock[OBSERVED] + max(clock[OBSERVED] // SELDOM, 1)
    level, shift = clock[LEVEL], scalars[SHIFT]
    while factorize(state, -STEP * shift / inflation, True):
        shift *= STEP
        level += 1
    if level == clock[LEVEL]:
        return
    factorize(state, shift, True)
    log_det = log_determinant(state, shift) + price(level)
    if log_det < scalars[LOG_DET]:
        invert(state, state.shifted)
        clock[LEVEL] = level
        scalars[SHIFT], scalars[LOG_DET] = shift, log_det
