"""What one round of Algorithm 1 computes, and the gap indices it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from shortlist.allocations.allocation import Allocation
from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.state import Memory
from shortlist.engine.settings import BY_PAIR, INDICES_RULE, SETTINGS, Settings
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import mth_largest
from shortlist.numerics.records import (
    BOOLEAN,
    INTEGER,
    INTEGERS,
    KEY,
    Address,
    Integers,
    Mask,
    Reals,
    Record,
    Table,
    record_type,
)
from shortlist.posterior.least_squares import OBSERVES
from shortlist.posterior.rows import row
from shortlist.posterior.state import FLOOR, STATE, State
from shortlist.rules.indices import fill_by_pair, fill_column

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


ROUND = record_type(Round)
DECIDE = INTEGER(STATE, ROUND, SETTINGS, KEY)


@dataclass(frozen=True, eq=False)
class Routines(Record):
    """Functions that the loops call by address, so that each kind of study compiles only its own."""

    decide: Annotated[Callable[..., int], Address(DECIDE)]
    observe: Annotated[Callable[..., None], Address(OBSERVES)]
    refresh: Annotated[Callable[..., bool], Address(BOOLEAN(STATE))]


ROUTINES = record_type(Routines)


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
def column(state: State, now: Round, settings: Settings, j: int, since: int, scale: float) -> int:
    """The slot of B_·j, which is computed at most once a round; with elimination no index ever rises."""
    slot = row(state, j)
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
                bound = min(bound, now.gaps[row(state, i), j] + 2.0 * (means[i] - means[j]))
            if not bound - worst > ROUNDING * (abs(bound) + abs(worst) + abs(means[j])):
                return False
    return True


@compiled(INTEGER(INTEGERS, INTEGER, INTEGER, INTEGER))
def design_slot(keys: Integers, arms: int, b: int, c: int) -> int:
    """The place of w*(b, c), or −1 − the free place for it."""
    key = min(b, c) * arms + max(b, c)
    place = key % keys.shape[0]
    while keys[place] != key:
        if keys[place] == NO_ARM:
            return -1 - place
        place = (place + 1) % keys.shape[0]
    return place
