"""A round with many arms, most of them passed over."""

from __future__ import annotations

import numpy as np

from shortlist.algorithms.challengers import challenge
from shortlist.algorithms.kernel import begin_round
from shortlist.algorithms.leaders import find_leaders, lead_at_first
from shortlist.algorithms.pursuit import measure_largest, pursue
from shortlist.algorithms.ranking import list_challengers, rank_gaps
from shortlist.algorithms.reach import forget_companions, is_current, keep_company
from shortlist.algorithms.round import (
    ARM,
    GAP,
    LAST_B,
    LAST_C,
    QUEUED,
    STATISTIC,
    B,
    C,
    Round,
    design_slot,
)
from shortlist.algorithms.scanning import (
    challenge_by_rows,
    gap_in_row,
    list_by_rows,
    pursue_by_rows,
)
from shortlist.algorithms.screen import COMPANIONS, EPOCH, NOBODY
from shortlist.algorithms.settings import DECIDE, Settings
from shortlist.algorithms.signals import (
    AMBIGUOUS_RULE,
    BOTH,
    CANDIDATES_RULE,
    CHECK_STOP,
    DESIGN,
    DESIGN_WANTED,
    LAGGED,
    MTH_GAPS,
    PULL,
    SELECTION_RULE,
    STOP,
    STOPPING_RULE,
)
from shortlist.algorithms.witnesses import find_smallest_by_rows
from shortlist.core.jit import compiled
from shortlist.core.lagging import mean_of, variance_of
from shortlist.core.least_squares import lags
from shortlist.core.order import comes_before, mark_best
from shortlist.core.passes import inner
from shortlist.core.random import round_key
from shortlist.core.rows import row
from shortlist.core.state import FLOOR, OBSERVED, REFRESHED, TICK, State
from shortlist.rules.ambiguous import mth_gap
from shortlist.rules.candidates import smallest_gap
from shortlist.rules.indices import paired_index, square_of
from shortlist.rules.selection import greedy, select
from shortlist.rules.stopping import ugape

SMALLEST_GAP, MTH_GAP = smallest_gap.number, mth_gap.number
GREEDY, UGAPE = greedy.number, ugape.number


@compiled(inline=False)
def begin(state: State, now: Round) -> None:
    """Forget all bounds: they were of another run, or of V before a refresh."""
    screen = now.screen
    forget_companions(state, screen)
    screen.pairs[:] = NOBODY
    screen.rivals[:] = NOBODY
    screen.figures[:] = 0.0
    screen.figures[EPOCH] = state.clock[REFRESHED]
    measure_largest(state, screen)


@compiled(inline=False)
def screen_arms(
    state: State,
    now: Round,
    m: int,
    scale: float,
    key: np.uint64,
    challenger_key: np.uint64,
    with_mth_gaps: bool,
) -> None:
    """J(t) by the largest means, listed in ``arm_heap`` and marked in ``inside``, and what the choice of b and c looks at."""
    screen, candidates, inside = now.screen, now.arm_heap, now.inside
    anew = not is_current(state, screen)
    if anew:
        begin(state, now)
        lead_at_first(state, candidates, m, inside, key)
    else:
        find_leaders(state, screen, candidates, m, inside, key)
    keep_company(state, screen, candidates, m, inside, scale)
    if with_mth_gaps:
        rank_gaps(state, screen, 0, int(screen.figures[COMPANIONS]), m, scale, challenger_key)
        list_challengers(now, m)
    else:
        challenge(
            state, screen, candidates, m, inside, scale, now.challengers, now.outside_gaps,
            challenger_key,
        )  # fmt: skip


@compiled(inline=False)
def scan_arms(
    state: State,
    now: Round,
    m: int,
    scale: float,
    key: np.uint64,
    challenger_key: np.uint64,
    with_mth_gaps: bool,
    by_gaps: bool,
) -> None:
    """The same where rows of G are kept; also J(t) by the smallest m-th gap."""
    since = state.clock[TICK]
    if by_gaps:
        find_smallest_by_rows(state, now, m, scale, key, challenger_key)
    else:
        mark_best(state.means, 1.0, m, key, now.arm_heap, now.inside)
    if with_mth_gaps:
        list_by_rows(state, now, m, scale, challenger_key, since)
        list_challengers(now, m)
    else:
        last_b, last_c = now.pair[LAST_B], now.pair[LAST_C]
        challenge_by_rows(state, now, m, scale, challenger_key, last_b, last_c)


@compiled(inline=False)
def most_ambiguous_listed(now: Round, m: int, by_mth_gap: bool, key: np.uint64) -> int:
    """b_t of the candidates listed."""
    values = now.mth_gaps if by_mth_gap else now.outside_gaps
    best = now.arm_heap[0]
    for k in range(1, m):
        j = now.arm_heap[k]
        if comes_before(values[j], j, values[best], best, key):
            best = j
    return best


@compiled(inline=False)
def largest_mth_gap(now: Round, m: int) -> float:
    """τ_UGapE of the candidates listed."""
    largest = -np.inf
    for k in range(m):
        largest = max(largest, now.mth_gaps[now.arm_heap[k]])
    return largest


@compiled(inline=False)
def pair_index(state: State, i: int, j: int, scale: float) -> float:
    """B_ij of two arms."""
    if not lags(state):
        return gap_in_row(state, row(state, j), i, j, scale)
    both = variance_of(state, i) + variance_of(state, j)
    product = inner(state.features, i, state.scratch)
    square = square_of(both, product, state.scalars[FLOOR])
    return paired_index(mean_of(state, i), mean_of(state, j), square, scale)


@compiled(DECIDE)
def decide_screened(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """The round of ``decide`` with many arms, most of them passed over."""
    m, epsilon, flags, numbers = settings.m, settings.epsilon, settings.flags, settings.numbers
    figures, pair, t = now.figures, now.pair, state.clock[OBSERVED]
    scale = begin_round(state, now, settings)
    if flags & LAGGED and flags & CHECK_STOP and pair[LAST_B] >= 0:
        figures[GAP] = figures[STATISTIC] = pair_index(state, pair[LAST_C], pair[LAST_B], scale)
        if figures[STATISTIC] <= epsilon:
            return STOP
    key, challenger_key = round_key(seed, t, 0), round_key(seed, t, 2)
    by_gaps = numbers[CANDIDATES_RULE] == SMALLEST_GAP
    with_mth_gaps = flags & MTH_GAPS != 0
    if lags(state):
        screen_arms(state, now, m, scale, key, challenger_key, with_mth_gaps)
    else:
        scan_arms(state, now, m, scale, key, challenger_key, with_mth_gaps, by_gaps)
    by_mth_gap = numbers[AMBIGUOUS_RULE] == MTH_GAP
    b = most_ambiguous_listed(now, m, by_mth_gap, round_key(seed, t, 1))
    c = now.challengers[b]
    pair[B], pair[C] = b, c
    if not flags & LAGGED:
        figures[GAP] = now.outside_gaps[b]
        by_ugape = numbers[STOPPING_RULE] == UGAPE
        figures[STATISTIC] = largest_mth_gap(now, m) if by_ugape else figures[GAP]
        if flags & CHECK_STOP and figures[STATISTIC] <= epsilon:
            return STOP
    key = round_key(seed, t, 3)
    if numbers[SELECTION_RULE] == GREEDY and lags(state):
        pair[ARM] = pursue(state, now.screen, b, c, key)
    elif numbers[SELECTION_RULE] == GREEDY:
        pair[ARM] = pursue_by_rows(state, b, c, key)
    else:
        design, none = state.noise, state.variances  # no rule but `greedy` looks at rows
        if flags & DESIGN:
            place = design_slot(now.design_keys, state.means.shape[0], b, c)
            if place < 0:
                return DESIGN_WANTED
            design = now.designs[place]
        pair[ARM] = select(
            numbers[SELECTION_RULE], settings.selection, b, c, none, none, none, state.pulls, design, key
        )  # fmt: skip
    pair[QUEUED] = c if flags & BOTH else NOBODY
    pair[LAST_B], pair[LAST_C] = b, c
    return PULL
