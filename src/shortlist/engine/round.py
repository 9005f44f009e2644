"""Algorithm 1 of the paper: a round (``decide``), what it computes, and the gap indices it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shortlist.allocations.allocation import ALLOCATED, NO_ROOM, Allocation
from shortlist.allocations.game import place_of_key
from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.memory import Memory
from shortlist.engine.settings import (
    ALLOCATION_USED,
    AMBIGUOUS_RULE,
    BAD_AMBIGUOUS,
    BAD_CANDIDATES,
    BAD_SELECTION,
    BOTH,
    BY_PAIR,
    CANDIDATES_MAY_STAY,
    CANDIDATES_RULE,
    CHECK_STOP,
    DESIGN,
    DESIGN_WANTED,
    HAS_INITIAL_PULLS,
    INDICES_RULE,
    LAGGED,
    LEVELS,
    MTH_GAPS,
    OUTSIDE_GAPS,
    PILOT,
    PILOT_ENDS,
    PULL,
    ROOM_WANTED,
    SELECTION_RULE,
    SHARES_WANTED,
    STOP,
    STOPPING_RULE,
    TARGET,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import count, largest_among, mth_largest
from shortlist.numerics.random import round_key
from shortlist.numerics.records import (
    Address,
    Integers,
    Mask,
    Reals,
    Record,
    Table,
)
from shortlist.posterior.least_squares import Updates
from shortlist.posterior.pilot import pilot_is_over, pilot_threshold, set_aside
from shortlist.posterior.state import ASIDE, FLOOR, LOG_DET, OBSERVED, TICK, WHOLE, State
from shortlist.rules.ambiguous import most_ambiguous
from shortlist.rules.candidates import mark_candidates
from shortlist.rules.indices import fill_by_pair, fill_column
from shortlist.rules.rule import OWN
from shortlist.rules.selection import select
from shortlist.rules.stopping import stopping_statistic
from shortlist.rules.thresholds import remembered, two_arm_threshold

# Places in ``Round.pair`` and ``Round.figures``.
B, C, ARM, QUEUED, LAST_B, LAST_C, REMEMBERS = 0, 1, 2, 3, 4, 5, 6
THRESHOLD, GAP, STATISTIC = 0, 1, 2
ROUNDING = 1e-9
TIMES = 1 << 14  # rounds whose thresholds are remembered


@dataclass(frozen=True, eq=False)
class Round(Record):
    """What one round computes. ``gaps[s]`` is the column B_·j of the arm j whose row is in slot s.

    ``least[j, i]`` is the least B_ij of all rounds so far, with elimination; empty without. ``memory``
    is there with many arms, and ``gaps`` is then empty and ``arm_heap`` lists J(t); ``allocation`` is
    there for rules that track one; otherwise they are ABSENT. ``thresholds[t]`` is C, 0 if not computed
    yet; empty where C depends on more than t.
    """

    inside: Mask
    gaps: Table
    made: Integers
    mth_gaps: Reals
    outside_gaps: Reals
    challengers: Integers
    heap: Reals
    arm_heap: Integers
    design_keys: Integers
    designs: Table
    pair: Integers
    figures: Reals
    thresholds: Reals
    least: Table
    memory: Memory
    allocation: Allocation

    until_look: ClassVar[int] = 1  # every result is followed by a decision


def make_round(
    arms: int,
    resident: int,
    m: int,
    allocation: Allocation,
    least: Table,
    memory: Memory,
    *,
    by_time: bool,
) -> Round:
    """An empty round for ``arms`` arms, with the allocation that it is to follow."""
    return Round(
        inside=np.zeros(arms, np.bool_),
        gaps=np.zeros((resident, arms)),
        made=np.full(resident, NO_ARM, np.int64),
        mth_gaps=np.full(arms, np.nan),
        outside_gaps=np.full(arms, np.nan),
        challengers=np.full(arms, NO_ARM, np.int64),
        heap=np.zeros(m),
        arm_heap=np.zeros(m, np.int64),
        design_keys=np.full(8, NO_ARM, np.int64),
        designs=np.zeros((8, arms)),
        pair=np.full(7, NO_ARM, np.int64),
        figures=np.full(3, np.nan),
        thresholds=np.zeros(TIMES if by_time else 0),
        least=least,
        memory=memory,
        allocation=allocation,
    )


@compiled()
def find_row(state: State, settings: Settings, arm: int) -> int:
    """The slot of the arm's row of G, found by ``settings.row`` unless all rows are kept."""
    return arm if state.layout == WHOLE else settings.row(state, arm)


@compiled()
def column(state: State, now: Round, settings: Settings, j: int, since: int, scale: float) -> int:
    """The slot of B_·j, computed at most once per round; with elimination no index ever rises."""
    slot = find_row(state, settings, j)
    if now.made[slot] != since + j:
        means, variances, floor = state.means, state.variances, state.scalars[FLOOR]
        number, own, gaps = settings.numbers[INDICES_RULE], settings.indices, now.gaps[slot]
        given = means, variances, state.rows[slot]
        if settings.flags & BY_PAIR:
            fill_by_pair(number, j, *given, settings.sigma, settings.constants, floor, gaps)
        else:
            fill_column(number, own, j, *given, scale, floor, gaps)
        if now.pair[REMEMBERS] == 1:
            for i in range(means.shape[0]):
                now.least[j, i] = now.gaps[slot, i] = min(now.least[j, i], now.gaps[slot, i])
        now.made[slot] = since + j
    return slot


@compiled()
def candidates_stay(state: State, now: Round, settings: Settings, since: int, scale: float) -> bool:
    """Whether the last J(t) is still the m arms of smallest m-th gap; fills their m-th gaps only.

    The m-th largest B_ij of another arm j is at least the smallest B_ij over the m candidates i. As
    widths are symmetric, B_ij = B_ji + 2(μ̂_i − μ̂_j), which costs no new column. False where this bound
    is not above the m-th gap of the worst candidate: then all arms must be examined.
    """
    means, inside, members = state.means, now.inside, now.arm_heap
    arms, m = means.shape[0], settings.m
    marked = 0
    worst = -np.inf
    for j in range(arms):
        if inside[j]:
            slot = column(state, now, settings, j, since, scale)
            now.mth_gaps[j] = mth_largest(now.gaps[slot], j, m, now.heap)
            worst = max(worst, now.mth_gaps[j])
            members[marked] = j
            marked += 1
    if marked != m:
        return False
    for j in range(arms):
        if not inside[j]:
            bound = np.inf
            for k in range(m):
                i = members[k]
                bound = min(
                    bound, now.gaps[find_row(state, settings, i), j] + 2.0 * (means[i] - means[j])
                )
            if not bound - worst > ROUNDING * (abs(bound) + abs(worst) + abs(means[j])):
                return False
    return True


@compiled(typed=True)
def design_slot(keys: Integers, arms: int, b: int, c: int) -> int:
    """The place of w*(b, c), or −1 − the free place for it."""
    return place_of_key(keys, min(b, c) * arms + max(b, c))


@compiled()
def begin_round(state: State, now: Round, settings: Settings) -> float:
    """Write the threshold C of this round to ``figures``; returns Cσ."""
    flags, constants, t = settings.flags, settings.constants, state.clock[OBSERVED]
    # C is evaluated at t after initial pulls, at t + 1 without them (as in the published runs).
    time = t if flags & HAS_INITIAL_PULLS else t + 1
    if flags & PILOT and state.clock[ASIDE] == 0:
        threshold = pilot_threshold(time, constants)
    else:
        log_det = state.scalars[LOG_DET]
        if flags & (PILOT | LEVELS):
            log_det = settings.log_det(state, settings.sigma, constants[1] - 1.0)
        threshold = remembered(now.thresholds, settings.threshold, time, log_det, constants)
    now.figures[THRESHOLD] = threshold
    state.clock[TICK] += 1
    return settings.sigma * threshold


@compiled(typed=True)
def decide(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """One round of Algorithm 1, up to the pull: J(t), b_t, c_t, the stop, the arm."""
    arms, m, epsilon, flags = state.means.shape[0], settings.m, settings.epsilon, settings.flags
    t, figures, pair, numbers = state.clock[OBSERVED], now.figures, now.pair, settings.numbers
    in_pilot = flags & PILOT != 0 and state.clock[ASIDE] == 0
    scale = begin_round(state, now, settings)
    pair[REMEMBERS] = now.least.shape[0] > 0 and not in_pilot  # a pilot's indices are not bounds
    # Columns made in this round are numbered from here on: a later round starts above them all.
    since = state.clock[TICK] * arms

    if flags & LAGGED and flags & CHECK_STOP and pair[LAST_B] >= 0 and not in_pilot:
        slot = column(state, now, settings, pair[LAST_B], since, scale)
        figures[GAP] = now.gaps[slot, pair[LAST_C]]
        figures[STATISTIC] = stopping_statistic(
            numbers[STOPPING_RULE], settings.stopping, figures[GAP], now.inside, now.mth_gaps
        )
        if figures[STATISTIC] <= epsilon:
            return STOP

    if not flags & CANDIDATES_MAY_STAY or not candidates_stay(state, now, settings, since, scale):
        if flags & MTH_GAPS:
            for j in range(arms):
                slot = column(state, now, settings, j, since, scale)
                now.mth_gaps[j] = mth_largest(now.gaps[slot], j, m, now.heap)
        mark_candidates(
            *(numbers[CANDIDATES_RULE], settings.candidates, m, state.means, now.mth_gaps),
            *(round_key(seed, t, 0), now.arm_heap, now.inside),
        )
        if numbers[CANDIDATES_RULE] == OWN and count(now.inside) != m:
            return BAD_CANDIDATES
    key = round_key(seed, t, 2)
    if flags & OUTSIDE_GAPS:
        for j in range(arms):
            if now.inside[j]:
                slot = column(state, now, settings, j, since, scale)
                challenger = largest_among(now.gaps[slot], now.inside, False, key)
                now.challengers[j] = challenger
                now.outside_gaps[j] = now.gaps[slot, challenger]
    b = most_ambiguous(
        *(numbers[AMBIGUOUS_RULE], settings.ambiguous, now.inside, now.mth_gaps, now.outside_gaps),
        round_key(seed, t, 1),
    )
    if numbers[AMBIGUOUS_RULE] == OWN and not (0 <= b < arms and now.inside[b]):
        return BAD_AMBIGUOUS
    slot = column(state, now, settings, b, since, scale)
    if flags & OUTSIDE_GAPS:
        c = now.challengers[b]
    else:
        c = largest_among(now.gaps[slot], now.inside, False, key)
    pair[B], pair[C] = b, c
    if flags & BY_PAIR:
        figures[THRESHOLD] = two_arm_threshold(
            settings.constants, state.variances[b], state.variances[c]
        )
    if in_pilot:
        gap = state.means[b] - state.means[c]
        figures[GAP] = now.gaps[slot, c]
        if flags & CHECK_STOP and pilot_is_over(
            gap + epsilon, (figures[GAP] + gap) / figures[THRESHOLD], settings.constants
        ):
            return PILOT_ENDS
    elif not flags & LAGGED:
        figures[GAP] = now.gaps[slot, c]
        figures[STATISTIC] = stopping_statistic(
            numbers[STOPPING_RULE], settings.stopping, figures[GAP], now.inside, now.mth_gaps
        )
        if flags & CHECK_STOP and figures[STATISTIC] <= epsilon:
            return STOP

    design = state.noise
    if flags & DESIGN:
        place = design_slot(now.design_keys, arms, b, c)
        if place < 0:
            return DESIGN_WANTED
        design = now.designs[place]
    if flags & TARGET:
        asked = settings.allocate(
            numbers[ALLOCATION_USED], state, now.inside, settings.sigma, epsilon, now.allocation
        )
        if asked != ALLOCATED:
            return ROOM_WANTED if asked == NO_ROOM else SHARES_WANTED
        design = now.allocation.wanted
    slot_c = find_row(state, settings, c)
    slot_b = find_row(state, settings, b)
    pair[ARM] = select(
        *(
            numbers[SELECTION_RULE],
            settings.selection,
            b,
            c,
            state.rows[slot_b],
            state.rows[slot_c],
        ),
        *(state.variances, state.pulls, design, round_key(seed, t, 3)),
    )
    if numbers[SELECTION_RULE] == OWN and not 0 <= pair[ARM] < arms:
        return BAD_SELECTION
    pair[QUEUED] = c if flags & BOTH else NO_ARM
    pair[LAST_B], pair[LAST_C] = b, c
    return PULL


@dataclass(frozen=True, eq=False)
class Routines(Record):
    """Functions that the loops call by address, so that each kind of study compiles only its own.

    ``set_aside`` is called when a pilot ends, and ABSENT where there is none.
    """

    decide: Annotated[Callable[..., int], Address(decide.signature)]
    set_aside: Annotated[Callable[..., None], Address(set_aside.signature)]
    updates: Updates
