"""What one round of Algorithm 1 computes, and the gap indices it asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from shortlist.core.least_squares import Integers, Reals, State, Table
from shortlist.core.order import mth_largest
from shortlist.core.rows import row
from shortlist.core.rule import INTEGER, INTEGERS, MASK, REALS, TABLE, compiled
from shortlist.rules.allocation import ALLOCATION, Allocation
from shortlist.rules.indices import fill_column

Mask = NDArray[np.bool_]
Arms = NDArray[np.int64]
ARMS = types.Array(types.int64, 2, "C")

B, C, ARM, QUEUED, LAST_B, LAST_C, REMEMBERS = 0, 1, 2, 3, 4, 5, 6
THRESHOLD, GAP, STATISTIC = 0, 1, 2
NOBODY = -1
ROUNDING = 1e-9
WITNESSES = 128


class Round(NamedTuple):
    """What one round computes. ``gaps[s]`` is the column B_·j of the arm j whose row is in slot s.

    ``least[j, i]`` is the least B_ij of all rounds so far, with elimination; empty without.
    Where rows are made on demand, ``images`` are V⁻¹x_j of some arms, ``tops[s]`` the m arms of largest
    B_ij for the arm j whose row is in slot s, and ``reach`` with ``anchors`` and ``reached`` bounds all
    B_ij of an arm i at once (see ``reach.py``); ``survivors``, ``stamps`` and ``ring`` are lists of arms.
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
    least: Table
    images: Table
    tops: Arms
    reach: Reals
    anchors: Reals
    reached: Reals
    survivors: Integers
    stamps: Integers
    ring: Integers
    allocation: Allocation


_TYPES = {"inside": MASK, "allocation": ALLOCATION, "tops": ARMS}
_TYPES |= dict.fromkeys(("gaps", "designs", "images", "least"), TABLE)
_TYPES |= dict.fromkeys(("made", "challengers", "arm_heap", "design_keys", "pair"), INTEGERS)
_TYPES |= dict.fromkeys(("survivors", "stamps", "ring"), INTEGERS)
ROUND = types.NamedTuple([_TYPES.get(name, REALS) for name in Round._fields], Round)


def make_round(
    arms: int,
    rank: int,
    resident: int,
    m: int,
    allocation: Allocation,
    least: Table,
    *,
    screened: bool,
) -> Round:
    """An empty round for ``arms`` arms, with the allocation that it is to follow.

    One that is ``screened`` keeps bounds, and no columns of gap indices.
    """
    listed = arms if screened else 0
    return Round(
        inside=np.zeros(arms, np.bool_),
        gaps=np.zeros((0 if screened else resident, arms)),
        made=np.full(resident, NOBODY, np.int64),
        mth_gaps=np.full(arms, np.nan),
        outside_gaps=np.full(arms, np.nan),
        challengers=np.full(arms, NOBODY, np.int64),
        heap=np.zeros(m),
        arm_heap=np.zeros(m, np.int64),
        design_keys=np.full(8, NOBODY, np.int64),
        designs=np.zeros((8, arms)),
        pair=np.full(7, NOBODY, np.int64),
        figures=np.full(3, np.nan),
        least=least,
        images=np.zeros((max(2 * m, WITNESSES) if screened else 0, rank)),
        tops=np.full((resident, m) if screened else (0, 0), NOBODY, np.int64),
        reach=np.zeros(listed),
        anchors=np.full(listed, np.nan),
        reached=np.zeros(4),
        survivors=np.zeros(listed, np.int64),
        stamps=np.zeros(listed, np.int64),
        ring=np.full(min(WITNESSES, listed // 16), NOBODY, np.int64),
        allocation=allocation,
    )


@compiled()
def column(
    state: State,
    now: Round,
    j: int,
    since: int,
    scale: float,
    number: int,
    indices: Callable[..., None],
) -> int:
    """The slot of B_·j, made at most once a round; with elimination no index ever rises again."""
    slot = row(state, j)
    if now.made[slot] != since + j:
        means, variances = state.means, state.variances
        fill_column(number, indices, j, means, variances, state.rows[slot], scale, now.gaps[slot])
        if now.pair[REMEMBERS] == 1:
            for i in range(means.shape[0]):
                now.least[j, i] = now.gaps[slot, i] = min(now.least[j, i], now.gaps[slot, i])
        now.made[slot] = since + j
    return slot


@compiled()
def candidates_stay(
    state: State,
    now: Round,
    m: int,
    since: int,
    scale: float,
    number: int,
    indices: Callable[..., None],
) -> bool:
    """Whether the last J(t) is still the m arms of smallest m-th gap; fills their m-th gaps only.

    The candidates are m witnesses: the m-th largest B_ij of another arm j is at least the smallest
    B_ij over them. As widths are symmetric, B_ij = B_ji + 2(μ̂_i − μ̂_j), which costs no new column.
    False where a bound does not clear the worst candidate: then all arms must be looked at.
    """
    means, inside, members = state.means, now.inside, now.arm_heap
    arms = means.shape[0]
    marked = 0
    worst = -np.inf
    for j in range(arms):
        if inside[j]:
            slot = column(state, now, j, since, scale, number, indices)
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
    """Where w*(b, c) is, or −1 − the free place for it."""
    key = min(b, c) * arms + max(b, c)
    place = key % keys.shape[0]
    while keys[place] != key:
        if keys[place] == NOBODY:
            return -1 - place
        place = (place + 1) % keys.shape[0]
    return place
