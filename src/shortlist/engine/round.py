"""One round of Algorithm 1 of the paper (``decide``), its working record, and its gap indices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from shortlist.allocations.allocation import NONE, Allocation
from shortlist.allocations.game import place_of_key
from shortlist.arrays import NO_ARM, NO_BLOCK
from shortlist.engine.many_arms.memory import Memory
from shortlist.engine.settings import (
    BAD_RULE,
    DESIGN_WANTED,
    PULL,
    ROOM_WANTED,
    STOP,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import count, largest_among, mth_largest
from shortlist.numerics.random import round_key
from shortlist.numerics.records import Address, Integers, Mask, Reals, Record, Table
from shortlist.posterior.least_squares import Updates
from shortlist.posterior.state import WHOLE, OneInteger, OneReal, State
from shortlist.rules.ambiguous import most_ambiguous
from shortlist.rules.candidates import mark_candidates
from shortlist.rules.indices import fill_by_pair, fill_column
from shortlist.rules.pair import Arms, Pair
from shortlist.rules.rule import OWN
from shortlist.rules.selection import select
from shortlist.rules.stopping import stopping_statistic
from shortlist.rules.thresholds import from_table, two_arm_threshold

# Relative: two gap indices that differ by less are told apart by computing them in full.
NEAR = 1e-9
TIMES = 1 << 14  # rounds whose thresholds are kept in a table
# Which of the keys of a round its choices are given, so that ties are broken independently.
FOR_CANDIDATES, FOR_AMBIGUOUS, FOR_CHALLENGER, FOR_SELECTION = 0, 1, 2, 3


class Decision(NamedTuple):
    """One round, read out: why an arm is pulled, or why the search stops."""

    stop: bool
    arm: int
    queued: int | None
    b: int
    c: int
    threshold: float
    gap: float
    statistic: float
    block: int = NO_BLOCK


@dataclass(frozen=True, eq=False)
class Round(Record):
    """What one round computes, and what the next may use of it.

    ``gaps[s]`` is the column B_·j of the arm j whose row is in slot s, as of the round with
    ``column_of[s]`` = number · K + j. ``candidates`` lists J(t) or is scratch; ``inside`` marks it. Of the
    candidates, ``challengers`` are the arms outside of largest B_ij, and ``outside_gaps`` these B_ij.
    ``last_b`` and ``last_c`` are
    the pair of the round before, where the stop reads it. ``thresholds[t]`` is C, 0 if not computed yet,
    where C depends on t alone. ``no_design``, all zeros, stands for a design that no rule needs.
    ``memory`` is there with many arms, ``allocation`` for rules that track one; otherwise they are
    ABSENT.
    """

    inside: Mask
    candidates: Integers
    gaps: Table
    column_of: Integers
    mth_gaps: Reals
    outside_gaps: Reals
    challengers: Integers
    heap: Reals
    design_keys: Integers
    designs: Table
    no_design: Reals
    thresholds: Reals
    number: OneInteger
    b: OneInteger
    c: OneInteger
    last_b: OneInteger
    last_c: OneInteger
    arm: OneInteger
    queued: OneInteger
    threshold: OneReal
    gap: OneReal
    statistic: OneReal
    memory: Memory
    allocation: Allocation

    until_decision: ClassVar[int] = 1  # every result is followed by a decision

    def decision(self, *, stop: bool) -> Decision:
        """What was decided."""
        queued = int(self.queued[0])
        return Decision(
            stop=stop,
            arm=int(self.arm[0]),
            queued=None if queued == NO_ARM else queued,
            b=int(self.b[0]),
            c=int(self.c[0]),
            threshold=float(self.threshold[0]),
            gap=float(self.gap[0]),
            statistic=float(self.statistic[0]),
        )


def make_round(
    arms: int,
    columns: int,
    m: int,
    allocation: Allocation,
    memory: Memory,
    *,
    by_time: bool = False,
) -> Round:
    """An empty round for ``arms`` arms, with the allocation that it is to follow."""
    chosen = ("b", "c", "last_b", "last_c", "arm", "queued")
    return Round.zeros(
        **{name: np.full(1, NO_ARM, np.int64) for name in chosen},
        **{name: np.full(1, np.nan) for name in ("threshold", "gap", "statistic")},
        number=1,
        inside=arms,
        candidates=m,
        gaps=(columns, arms),
        column_of=np.full(columns, NO_ARM, np.int64),
        mth_gaps=np.full(arms, np.nan),
        outside_gaps=np.full(arms, np.nan),
        challengers=np.full(arms, NO_ARM, np.int64),
        heap=m,
        design_keys=np.full(8, NO_ARM, np.int64),
        designs=(8, arms),
        no_design=arms,
        thresholds=TIMES if by_time else 0,
        memory=memory,
        allocation=allocation,
    )


@compiled()
def begin_round(state: State, current: Round, settings: Settings) -> float:
    """Write the threshold C of this round; returns Cσ."""
    constants, time = settings.constants, state.observed[0] + settings.offset
    log_det = state.log_det[0]
    if settings.by_time and time < TIMES:
        threshold = from_table(current.thresholds, settings.threshold, time, log_det, constants)
    else:
        threshold = settings.threshold(time, log_det, constants)
    current.threshold[0] = threshold
    current.number[0] += 1
    return settings.sigma * threshold


@compiled()
def find_row(state: State, settings: Settings, arm: int) -> int:
    """The slot of the arm's row of G, found by ``settings.row`` unless all rows are kept."""
    return arm if state.layout == WHOLE else settings.row(state, arm)


@compiled()
def column(state: State, current: Round, settings: Settings, j: int, scale: float) -> int:
    """The slot of B_·j, computed at most once per round."""
    slot = find_row(state, settings, j)
    means, variances = state.means, state.variances
    made = current.number[0] * means.shape[0] + j
    if current.column_of[slot] != made:
        row_j, gaps = state.rows[slot], current.gaps[slot]
        if settings.by_pair:
            fill_by_pair(
                settings.indices, j, means, variances, row_j, settings.sigma, settings.constants,
                state.floor, gaps,
            )  # fmt: skip
        else:
            fill_column(
                settings.indices, settings.own_indices, j, means, variances, row_j, scale,
                state.floor, gaps,
            )  # fmt: skip
        current.column_of[slot] = made
    return slot


@compiled()
def candidates_stay(state: State, current: Round, settings: Settings, scale: float) -> bool:
    """Whether the last J(t) is still the m arms of smallest m-th gap; fills their m-th gaps only.

    The m-th largest B_ij of another arm j is at least the smallest B_ij over the m candidates i. As
    widths are symmetric, B_ij = B_ji + 2(μ̂_i − μ̂_j), which costs no new column. False where this bound
    is not above the m-th gap of the worst candidate: then all arms must be examined.
    """
    means, inside, members = state.means, current.inside, current.candidates
    arms, m = means.shape[0], settings.m
    marked = 0
    worst = -np.inf
    for j in range(arms):
        if inside[j]:
            slot = column(state, current, settings, j, scale)
            current.mth_gaps[j] = mth_largest(current.gaps[slot], j, m, current.heap)
            worst = max(worst, current.mth_gaps[j])
            members[marked] = j
            marked += 1
    if marked != m:
        return False
    for j in range(arms):
        if not inside[j]:
            bound = np.inf
            for k in range(m):
                i = members[k]
                gap = current.gaps[find_row(state, settings, i), j]
                bound = min(bound, gap + 2.0 * (means[i] - means[j]))
            if not bound - worst > NEAR * (abs(bound) + abs(worst) + abs(means[j])):
                return False
    return True


@compiled()
def find_candidates(
    state: State, current: Round, settings: Settings, scale: float, key: np.uint64
) -> None:
    """J(t), by its rule from the estimates of all arms."""
    if settings.needs_mth_gaps:
        for j in range(state.means.shape[0]):
            slot = column(state, current, settings, j, scale)
            current.mth_gaps[j] = mth_largest(current.gaps[slot], j, settings.m, current.heap)
    mark_candidates(
        settings.candidates, settings.own_candidates, settings.m, state.means, current.mth_gaps, key,
        current.candidates, current.inside,
    )  # fmt: skip


@compiled()
def find_challenger(
    state: State, current: Round, settings: Settings, j: int, scale: float, key: np.uint64
) -> None:
    """The arm outside J(t) of largest B_ij, and this gap index."""
    slot = column(state, current, settings, j, scale)
    challenger = largest_among(current.gaps[slot], current.inside, False, key)
    current.challengers[j] = challenger
    current.outside_gaps[j] = current.gaps[slot, challenger]


@compiled()
def stops(current: Round, settings: Settings, gap: float) -> bool:
    """Record the pair's gap index and the statistic; returns whether they stop the search."""
    statistic = stopping_statistic(
        settings.stopping, settings.own_stopping, gap, current.inside, current.mth_gaps
    )
    current.gap[0], current.statistic[0] = gap, statistic
    return statistic <= settings.stop_at


@compiled(typed=True)
def design_slot(keys: Integers, arms: int, b: int, c: int) -> int:
    """The place of w*(b, c), or −1 − the free place for it."""
    return place_of_key(keys, min(b, c) * arms + max(b, c))


@compiled()
def choose_arm(
    state: State, current: Round, settings: Settings, row_b: Reals, row_c: Reals, key: np.uint64
) -> int:
    """a_t for the pair with these rows of G; returns PULL, or what is missing or wrong."""
    b, c, arms = current.b[0], current.c[0], state.means.shape[0]
    design, wanted = current.no_design, current.no_design
    if settings.needs_design:
        place = design_slot(current.design_keys, arms, b, c)
        if place < 0:
            return DESIGN_WANTED
        design = current.designs[place]
    if settings.allocation != NONE:
        if not settings.allocate(
            settings.allocation, state, current.inside, settings.sigma, settings.epsilon,
            current.allocation,
        ):  # fmt: skip
            return ROOM_WANTED
        wanted = current.allocation.wanted
    pair = Pair(b, c, row_b, row_c, design)
    known = Arms(state.means, state.variances, state.pulls, state.noise, wanted)
    arm = select(settings.selection, settings.own_selection, pair, known, key)
    current.arm[0] = arm
    if settings.selection == OWN and not 0 <= arm < arms:
        return BAD_RULE
    if settings.pulls_both:
        current.queued[0] = c
    if settings.stops_late:
        current.last_b[0], current.last_c[0] = b, c
    return PULL


@compiled(typed=True)
def decide(state: State, current: Round, settings: Settings, seed: np.uint64) -> int:
    """One round of Algorithm 1, up to the pull: J(t), b_t, c_t, the stop, a_t."""
    arms, t = state.means.shape[0], state.observed[0]
    scale = begin_round(state, current, settings)
    # As published, the stop is tested before the next pair is chosen: on the pair of the round before,
    # by the results that came since.
    if settings.stops_late and current.last_b[0] != NO_ARM:
        slot = column(state, current, settings, current.last_b[0], scale)
        if stops(current, settings, current.gaps[slot, current.last_c[0]]):
            return STOP

    # J(t). Whether the last one still holds takes m columns; to find it anew may take all K.
    if not settings.candidates_may_stay or not candidates_stay(state, current, settings, scale):
        find_candidates(state, current, settings, scale, round_key(seed, t, FOR_CANDIDATES))
        if settings.candidates == OWN and count(current.inside) != settings.m:
            return BAD_RULE

    # b_t, and its challenger c_t: of every candidate first, where the rule for b_t compares them.
    key = round_key(seed, t, FOR_CHALLENGER)
    if settings.needs_outside_gaps:
        for j in range(arms):
            if current.inside[j]:
                find_challenger(state, current, settings, j, scale, key)
    b = most_ambiguous(
        settings.ambiguous, settings.own_ambiguous, current.inside, current.mth_gaps,
        current.outside_gaps, round_key(seed, t, FOR_AMBIGUOUS),
    )  # fmt: skip
    current.b[0] = b
    if settings.ambiguous == OWN and not (0 <= b < arms and current.inside[b]):
        return BAD_RULE
    if not settings.needs_outside_gaps:
        find_challenger(state, current, settings, b, scale, key)
    current.c[0] = c = current.challengers[b]
    if settings.by_pair:
        variances = state.variances
        current.threshold[0] = two_arm_threshold(settings.constants, variances[b], variances[c])

    # The stop.
    if not settings.stops_late and stops(current, settings, current.outside_gaps[b]):
        return STOP

    # a_t. The row of c is found first: if it is made, that takes the place of the row used longest
    # ago, which might be b's; b's is then made again, and c's is the last one used.
    slot_c = find_row(state, settings, c)
    slot_b = find_row(state, settings, b)
    key = round_key(seed, t, FOR_SELECTION)
    return choose_arm(state, current, settings, state.rows[slot_b], state.rows[slot_c], key)


@dataclass(frozen=True, eq=False)
class Routines(Record):
    """Functions that the loops call by address, so that each kind of study compiles only its own."""

    decide: Annotated[Callable[..., int], Address(decide.signature)]
    updates: Updates
