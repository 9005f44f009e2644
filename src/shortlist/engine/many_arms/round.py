"""The round of ``engine.round.decide`` with many arms, most of which are skipped."""

from __future__ import annotations

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.candidates import (
    first_top_means,
    update_smallest_gaps,
    update_top_means,
)
from shortlist.engine.many_arms.challengers import find_challengers, list_challengers, update_lists
from shortlist.engine.many_arms.indices import (
    find_challengers_by_rows,
    gap_in_row,
    greedy_arm_by_rows,
    update_lists_by_rows,
)
from shortlist.engine.many_arms.selection import greedy_arm, largest_variance_at_refresh
from shortlist.engine.many_arms.state import EPOCH, REFERENCES
from shortlist.engine.many_arms.upper_bounds import clear_references, update_references
from shortlist.engine.round import (
    ARM,
    GAP,
    LAST_B,
    LAST_C,
    QUEUED,
    STATISTIC,
    B,
    C,
    Round,
    begin_round,
    design_slot,
)
from shortlist.engine.settings import (
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
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before, mark_best
from shortlist.numerics.random import round_key
from shortlist.posterior.lagging import mean_of, variance_of
from shortlist.posterior.least_squares import row
from shortlist.posterior.passes import inner
from shortlist.posterior.state import FLOOR, OBSERVED, REFRESHED, TICK, State
from shortlist.rules.ambiguous import mth_gap
from shortlist.rules.candidates import smallest_gap
from shortlist.rules.indices import paired_index, square_of
from shortlist.rules.selection import greedy, select
from shortlist.rules.stopping import ugape

SMALLEST_GAP, MTH_GAP = smallest_gap.number, mth_gap.number
GREEDY, UGAPE = greedy.number, ugape.number


@compiled(inline=False)
def begin(state: State, now: Round) -> None:
    """Forget all bounds: they belong to another run, or to V before a refresh."""
    memory = now.memory
    clear_references(memory)
    memory.pairs[:] = NO_ARM
    memory.strongest[:] = NO_ARM
    memory.figures[:] = 0.0
    memory.figures[EPOCH] = state.clock[REFRESHED]
    largest_variance_at_refresh(state, memory)


@compiled(inline=False)
def most_ambiguous_listed(now: Round, m: int, by_mth_gap: bool, key: np.uint64) -> int:
    """b_t, from the candidates in ``arm_heap``."""
    values = now.mth_gaps if by_mth_gap else now.outside_gaps
    best = now.arm_heap[0]
    for k in range(1, m):
        j = now.arm_heap[k]
        if comes_before(values[j], j, values[best], best, key):
            best = j
    return best


@compiled(inline=False)
def largest_mth_gap(now: Round, m: int) -> float:
    """τ_UGapE, from the candidates in ``arm_heap``."""
    largest = -np.inf
    for k in range(m):
        largest = max(largest, now.mth_gaps[now.arm_heap[k]])
    return largest


@compiled()
def checks_last_pair(now: Round, settings: Settings) -> bool:
    """Whether the stop is to be checked on the pair of the round before."""
    flags = settings.flags
    return bool(flags & LAGGED and flags & CHECK_STOP and now.pair[LAST_B] >= 0)


@compiled()
def ends(now: Round, settings: Settings, gap: float, statistic: float) -> bool:
    """Record the gap and the statistic; returns whether they stop the search."""
    now.figures[GAP], now.figures[STATISTIC] = gap, statistic
    return bool(settings.flags & CHECK_STOP and statistic <= settings.epsilon)


@compiled(typed=True)
def choose_pair(state: State, now: Round, settings: Settings, seed: np.uint64) -> bool:
    """Choose b_t and c_t from the lists of this round; returns whether they stop the search."""
    m, numbers, t = settings.m, settings.numbers, state.clock[OBSERVED]
    by_mth_gap = numbers[AMBIGUOUS_RULE] == MTH_GAP
    b = most_ambiguous_listed(now, m, by_mth_gap, round_key(seed, t, 1))
    now.pair[B], now.pair[C] = b, now.challengers[b]
    if settings.flags & LAGGED:
        return False
    gap = now.outside_gaps[b]
    statistic = largest_mth_gap(now, m) if numbers[STOPPING_RULE] == UGAPE else gap
    return ends(now, settings, gap, statistic)


@compiled(typed=True)
def select_by_rule(state: State, now: Round, settings: Settings, key: np.uint64) -> bool:
    """Choose a_t by a rule that reads no rows of G; False where a design is needed first."""
    b, c = now.pair[B], now.pair[C]
    design, none = state.noise, state.variances
    if settings.flags & DESIGN:
        place = design_slot(now.design_keys, state.means.shape[0], b, c)
        if place < 0:
            return False
        design = now.designs[place]
    number, own = settings.numbers[SELECTION_RULE], settings.selection
    now.pair[ARM] = select(number, own, b, c, none, none, none, state.pulls, design, key)
    return True


@compiled()
def end_round(now: Round, settings: Settings) -> int:
    """Record the pair; c_t is pulled next where a rule pulls both."""
    pair = now.pair
    pair[QUEUED] = pair[C] if settings.flags & BOTH else NO_ARM
    pair[LAST_B], pair[LAST_C] = pair[B], pair[C]
    return PULL


@compiled(typed=True)
def decide_by_rows(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """One round where rows of G are kept."""
    m, flags, pair, t = settings.m, settings.flags, now.pair, state.clock[OBSERVED]
    scale = begin_round(state, now, settings)
    if checks_last_pair(now, settings):
        j = pair[LAST_B]
        gap = gap_in_row(state, row(state, j), pair[LAST_C], j, scale)
        if ends(now, settings, gap, gap):
            return STOP
    key, challenger_key, since = round_key(seed, t, 0), round_key(seed, t, 2), state.clock[TICK]
    if settings.numbers[CANDIDATES_RULE] == SMALLEST_GAP:
        update_smallest_gaps(state, now, m, scale, key, challenger_key)
    else:
        mark_best(state.means, 1.0, m, key, now.arm_heap, now.inside)
    if flags & MTH_GAPS:
        update_lists_by_rows(state, now, m, scale, challenger_key, since)
        list_challengers(now, m)
    else:
        find_challengers_by_rows(state, now, m, scale, challenger_key)
    if choose_pair(state, now, settings, seed):
        return STOP
    key = round_key(seed, t, 3)
    if settings.numbers[SELECTION_RULE] == GREEDY:
        pair[ARM] = greedy_arm_by_rows(state, pair[B], pair[C], key)
    elif not select_by_rule(state, now, settings, key):
        return DESIGN_WANTED
    return end_round(now, settings)


@compiled(typed=True)
def decide_lagging(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """One round where no row is kept and the estimates of the arms are not all current."""
    m, flags, pair, t = settings.m, settings.flags, now.pair, state.clock[OBSERVED]
    scale = begin_round(state, now, settings)
    if checks_last_pair(now, settings):
        i, j = pair[LAST_C], pair[LAST_B]
        both = variance_of(state, i) + variance_of(state, j)
        product = inner(state.features, i, state.scratch)
        square = square_of(both, product, state.scalars[FLOOR])
        gap = paired_index(mean_of(state, i), mean_of(state, j), square, scale)
        if ends(now, settings, gap, gap):
            return STOP
    key, challenger_key = round_key(seed, t, 0), round_key(seed, t, 2)
    memory, candidates, inside = now.memory, now.arm_heap, now.inside
    if memory.figures[EPOCH] != state.clock[REFRESHED]:
        begin(state, now)
        first_top_means(state, candidates, m, inside, key)
    else:
        update_top_means(state, memory, candidates, m, inside, key)
    update_references(state, memory, candidates, m, inside, scale)
    if flags & MTH_GAPS:
        update_lists(state, memory, 0, int(memory.figures[REFERENCES]), m, scale, challenger_key)
        list_challengers(now, m)
    else:
        find_challengers(state, now, m, scale, challenger_key)
    if choose_pair(state, now, settings, seed):
        return STOP
    key = round_key(seed, t, 3)
    if settings.numbers[SELECTION_RULE] == GREEDY:
        pair[ARM] = greedy_arm(state, now.memory, pair[B], pair[C], key)
    elif not select_by_rule(state, now, settings, key):
        return DESIGN_WANTED
    return end_round(now, settings)
