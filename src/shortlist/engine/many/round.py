"""A round with many arms, most of them passed over."""

from __future__ import annotations

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.loop import begin_round
from shortlist.engine.many.candidates import find_leaders, find_smallest_by_rows, lead_at_first
from shortlist.engine.many.challengers import challenge, list_challengers, rank_gaps
from shortlist.engine.many.indices import (
    challenge_by_rows,
    gap_in_row,
    list_by_rows,
    pursue_by_rows,
)
from shortlist.engine.many.selection import measure_largest, pursue
from shortlist.engine.many.state import COMPANIONS, EPOCH
from shortlist.engine.many.upper_bounds import forget_companions, is_current, keep_company
from shortlist.engine.round import (
    ARM,
    DECIDE,
    GAP,
    LAST_B,
    LAST_C,
    QUEUED,
    ROUND,
    STATISTIC,
    B,
    C,
    Round,
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
    SETTINGS,
    STOP,
    STOPPING_RULE,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before, mark_best
from shortlist.numerics.random import round_key
from shortlist.numerics.records import BOOLEAN, KEY
from shortlist.posterior.lagging import mean_of, variance_of
from shortlist.posterior.passes import inner
from shortlist.posterior.rows import row
from shortlist.posterior.state import FLOOR, OBSERVED, REFRESHED, STATE, TICK, State
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
    screen.pairs[:] = NO_ARM
    screen.rivals[:] = NO_ARM
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


@compiled()
def looks_back(now: Round, settings: Settings) -> bool:
    """Whether the pair of the round before may end this one."""
    flags = settings.flags
    return bool(flags & LAGGED and flags & CHECK_STOP and now.pair[LAST_B] >= 0)


@compiled()
def ends(now: Round, settings: Settings, gap: float, statistic: float) -> bool:
    """Write down the gap and the statistic; whether they stop the search."""
    now.figures[GAP], now.figures[STATISTIC] = gap, statistic
    return bool(settings.flags & CHECK_STOP and statistic <= settings.epsilon)


@compiled(BOOLEAN(STATE, ROUND, SETTINGS, KEY))
def name_pair(state: State, now: Round, settings: Settings, seed: np.uint64) -> bool:
    """b_t and c_t from the lists of this round; whether they stop the search."""
    m, numbers, t = settings.m, settings.numbers, state.clock[OBSERVED]
    by_mth_gap = numbers[AMBIGUOUS_RULE] == MTH_GAP
    b = most_ambiguous_listed(now, m, by_mth_gap, round_key(seed, t, 1))
    now.pair[B], now.pair[C] = b, now.challengers[b]
    if settings.flags & LAGGED:
        return False
    gap = now.outside_gaps[b]
    statistic = largest_mth_gap(now, m) if numbers[STOPPING_RULE] == UGAPE else gap
    return ends(now, settings, gap, statistic)


@compiled(BOOLEAN(STATE, ROUND, SETTINGS, KEY))
def select_by_rule(state: State, now: Round, settings: Settings, key: np.uint64) -> bool:
    """a_t by a rule that does not look at rows of G; False where a design is wanted first."""
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
    """Remember the pair; c_t is pulled next where a rule pulls both."""
    pair = now.pair
    pair[QUEUED] = pair[C] if settings.flags & BOTH else NO_ARM
    pair[LAST_B], pair[LAST_C] = pair[B], pair[C]
    return PULL


@compiled(DECIDE)
def decide_by_rows(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """The round of ``decide`` with many arms, most of them passed over, where rows of G are kept."""
    m, flags, pair, t = settings.m, settings.flags, now.pair, state.clock[OBSERVED]
    scale = begin_round(state, now, settings)
    if looks_back(now, settings):
        j = pair[LAST_B]
        gap = gap_in_row(state, row(state, j), pair[LAST_C], j, scale)
        if ends(now, settings, gap, gap):
            return STOP
    key, challenger_key = round_key(seed, t, 0), round_key(seed, t, 2)
    by_gaps = settings.numbers[CANDIDATES_RULE] == SMALLEST_GAP
    scan_arms(state, now, m, scale, key, challenger_key, flags & MTH_GAPS != 0, by_gaps)
    if name_pair(state, now, settings, seed):
        return STOP
    key = round_key(seed, t, 3)
    if settings.numbers[SELECTION_RULE] == GREEDY:
        pair[ARM] = pursue_by_rows(state, pair[B], pair[C], key)
    elif not select_by_rule(state, now, settings, key):
        return DESIGN_WANTED
    return end_round(now, settings)


@compiled(DECIDE)
def decide_lagging(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """The same where no row is kept and the estimates of the arms lag behind."""
    m, flags, pair, t = settings.m, settings.flags, now.pair, state.clock[OBSERVED]
    scale = begin_round(state, now, settings)
    if looks_back(now, settings):
        i, j = pair[LAST_C], pair[LAST_B]
        both = variance_of(state, i) + variance_of(state, j)
        product = inner(state.features, i, state.scratch)
        square = square_of(both, product, state.scalars[FLOOR])
        gap = paired_index(mean_of(state, i), mean_of(state, j), square, scale)
        if ends(now, settings, gap, gap):
            return STOP
    key, challenger_key = round_key(seed, t, 0), round_key(seed, t, 2)
    screen_arms(state, now, m, scale, key, challenger_key, flags & MTH_GAPS != 0)
    if name_pair(state, now, settings, seed):
        return STOP
    key = round_key(seed, t, 3)
    if settings.numbers[SELECTION_RULE] == GREEDY:
        pair[ARM] = pursue(state, now.screen, pair[B], pair[C], key)
    elif not select_by_rule(state, now, settings, key):
        return DESIGN_WANTED
    return end_round(now, settings)
