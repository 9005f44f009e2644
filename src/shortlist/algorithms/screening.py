"""b's possible challengers and c where rows of G are made on demand, by whichever way is cheaper."""

from __future__ import annotations

import numpy as np

from shortlist.algorithms.challengers import challenge, list_candidates, mth_gap
from shortlist.algorithms.reach import challenge_by_reach
from shortlist.algorithms.round import ROUND, Round
from shortlist.core.least_squares import STATE, State
from shortlist.core.rule import INTEGER, KEY, REAL, VOID, compiled


@compiled(VOID(STATE, ROUND, INTEGER, REAL, KEY, INTEGER, INTEGER))
def challenge_candidates(
    state: State,
    now: Round,
    m: int,
    scale: float,
    key: np.uint64,
    with_mth_gaps: int,
    with_challengers: int,
) -> None:
    """What the choice of b looks at, for the candidates only."""
    listed = list_candidates(now)
    if with_mth_gaps:
        for k in range(listed):
            now.mth_gaps[now.arm_heap[k]] = mth_gap(state, now, now.arm_heap[k], m, scale)
    if with_challengers:
        if state.rows.shape[0] > m:
            challenge(state, now, listed, scale, key)
        else:
            challenge_by_reach(state, now, listed, scale, key)


@compiled(INTEGER(STATE, ROUND, INTEGER, REAL, KEY, INTEGER))
def challenger_of(
    state: State, now: Round, b: int, scale: float, key: np.uint64, known: int
) -> int:
    """c: the arm outside of largest B_{i,b}."""
    if not known:
        now.arm_heap[0] = b
        challenge(state, now, 1, scale, key)
    return now.challengers[b]
