"""Gap indices of many arms where rows of G are kept, compared by their squares.

B_ij ≥ l if μ̂_i − μ̂_j ≥ l or C²σ²‖x_i − x_j‖² ≥ (l − μ̂_i + μ̂_j)². Most arms are skipped by this test,
several at once; a root is taken only for the few that remain.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import NO_ARM, Reals
from shortlist.engine.many_arms.state import Memory
from shortlist.engine.round import LAST_B, LAST_C, ROUNDING, Round
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before, insert
from shortlist.posterior.least_squares import row
from shortlist.posterior.passes import SCANNED
from shortlist.posterior.state import FLOOR, TICK, State
from shortlist.rules.indices import paired_index, square_of
from shortlist.rules.selection import reduction

FEW = 32  # arms at once, where some of them are found in almost every row


@compiled(fast=True)
def attains(mean_i: float, mean_j: float, square: float, least: float, square_scale: float) -> bool:
    """Whether B_ij ≥ ``least``, given ‖x_i − x_j‖²: without a root, and without a branch."""
    short = least - mean_i + mean_j
    return (short <= 0.0) | (square_scale * square >= short * short)


@compiled(inline=False, fast=True)
def count_attaining_gap(
    means: Reals,
    variances: Reals,
    row_j: Reals,
    mean: float,
    variance: float,
    least: float,
    square_scale: float,
    floor: float,
    first: int,
    end: int,
) -> int:
    """How many arms i of a block have B_ij ≥ ``least``."""
    found = 0
    means, variances, row_j = means[first:end], variances[first:end], row_j[first:end]
    for i in range(end - first):
        square = square_of(variances[i] + variance, row_j[i], floor)
        found += attains(means[i], mean, square, least, square_scale)
    return found


@compiled(inline=False)
def gap_in_row(state: State, slot: int, i: int, j: int, scale: float) -> float:
    """B_ij, where the row of arm j is in this slot."""
    both = state.variances[i] + state.variances[j]
    square = square_of(both, state.rows[slot, i], state.scalars[FLOOR])
    return paired_index(state.means[i], state.means[j], square, scale)


@compiled(inline=False)
def guarded(least: float, size: float) -> float:
    """A little less than ``least``, so that rounding errors exclude no arm."""
    return least - ROUNDING * (abs(least) + size)


@compiled(inline=False)
def size_of(state: State, j: int, scale: float) -> float:
    """The size of the numbers that make up a gap index of arm j."""
    return abs(state.means[j]) + scale * math.sqrt(max(state.variances[j], 0.0))


@compiled(inline=False)
def slot_of(state: State, memory: Memory, j: int) -> int:
    """The slot of arm j's row and list; the list of another arm in it is emptied."""
    slot = row(state, j)
    if memory.references[slot] != j:
        memory.references[slot] = j
        memory.measured_at[slot] = NO_ARM
        for k in range(memory.top_arms.shape[1]):
            memory.top_arms[slot, k] = NO_ARM
    return slot


@compiled(inline=False)
def rank_row(
    state: State, memory: Memory, slot: int, j: int, m: int, scale: float, key: np.uint64
) -> float:
    """Update the list of arm j, the arms of largest B_ij, of which the first m are right; its m-th gap."""
    arms, gaps = memory.top_arms[slot], memory.gaps[slot]
    means, variances, row_j = state.means, state.variances, state.rows[slot]
    mean, variance, square_scale = means[j], variances[j], scale * scale
    size, floor = size_of(state, j, scale), state.scalars[FLOOR]
    least = np.inf  # the m-th gap is at least the smallest gap index of the arms listed
    for k in range(m):
        listed = arms[k] != NO_ARM
        least = min(least, gap_in_row(state, slot, arms[k], j, scale)) if listed else -np.inf
    for k in range(arms.shape[0]):
        arms[k] = NO_ARM
        gaps[k] = -np.inf
    for first in range(0, means.shape[0], FEW):
        end = min(first + FEW, means.shape[0])
        least = max(least, gaps[m - 1])
        limit = guarded(least, size)
        if not count_attaining_gap(
            means, variances, row_j, mean, variance, limit, square_scale, floor, first, end
        ):
            continue
        for i in range(first, end):
            square = square_of(variances[i] + variance, row_j[i], floor)
            if i != j and attains(means[i], mean, square, limit, square_scale):
                gap = paired_index(means[i], mean, square, scale)
                if gap >= least:
                    insert(gaps, arms, gap, i, key)
    i = 0
    for k in range(m):  # no gap index is a number
        i += i == j
        arms[k] = i if arms[m - 1] == NO_ARM else arms[k]
        i += 1
    memory.measured_at[slot] = state.clock[TICK]
    return gaps[m - 1]


@compiled(inline=False)
def update_lists_by_rows(
    state: State, now: Round, m: int, scale: float, key: np.uint64, since: int
) -> None:
    """Update the lists of the candidates, except those updated since the tick ``since``."""
    for k in range(m):
        j = now.arm_heap[k]
        slot = slot_of(state, now.memory, j)
        now.memory.places[j] = slot
        if now.memory.measured_at[slot] < since:
            rank_row(state, now.memory, slot, j, m, scale, key)


@compiled(inline=False)
def find_challengers_by_rows(
    state: State, now: Round, m: int, scale: float, key: np.uint64
) -> None:
    """Find the largest B_ij over j ∈ J and i ∉ J, starting from B_cb of the last round.

    ``outside_gaps`` and ``challengers`` are right for the candidates that attain it; for others the gap
    may be too small.
    """
    means, variances, inside = state.means, state.variances, now.inside
    square_scale, floor = scale * scale, state.scalars[FLOOR]
    best = -np.inf
    b, c = now.pair[LAST_B], now.pair[LAST_C]
    if b != NO_ARM and inside[b] and not inside[c]:
        best = gap_in_row(state, row(state, b), c, b, scale)
    for k in range(m):
        j = now.arm_heap[k]
        slot = row(state, j)
        row_j, mean, variance = state.rows[slot], means[j], variances[j]
        challenger, largest, size = NO_ARM, -np.inf, size_of(state, j, scale)
        for first in range(0, means.shape[0], SCANNED):
            end = min(first + SCANNED, means.shape[0])
            least = guarded(best, size)
            if not count_attaining_gap(
                means, variances, row_j, mean, variance, least, square_scale, floor, first, end
            ):
                continue
            for i in range(first, end):
                square = square_of(variances[i] + variance, row_j[i], floor)
                if inside[i] or not attains(means[i], mean, square, least, square_scale):
                    continue
                gap = paired_index(means[i], mean, square, scale)
                if challenger == NO_ARM or comes_before(gap, i, largest, challenger, key):
                    challenger, largest = i, gap
                    best = max(best, gap)
        now.challengers[j], now.outside_gaps[j] = challenger, largest
    if best == -np.inf:  # no gap index is a number
        c = 0
        while inside[c]:
            c += 1
        now.challengers[now.arm_heap[0]] = c


@compiled(inline=False, fast=True)
def count_gaining(
    row_b: Reals, row_c: Reals, noise: Reals, variances: Reals, least: float, first: int, end: int
) -> int:
    """How many arms of a block gain ``least`` or more."""
    found = 0
    row_b, row_c = row_b[first:end], row_c[first:end]
    noise, variances = noise[first:end], variances[first:end]
    for a in range(end - first):
        product = row_b[a] - row_c[a]
        found += product * product >= least * (noise[a] + variances[a])
    return found


@compiled(inline=False)
def greedy_arm_by_rows(state: State, b: int, c: int, key: np.uint64) -> int:
    """The arm that the rule ``greedy`` pulls: the one of most gain, which is mostly b or c."""
    slot = row(state, c)
    row_b, row_c = state.rows[row(state, b)], state.rows[slot]
    noise, variances = state.noise, state.variances
    best, largest = b, reduction(b, row_b, row_c, variances, noise)
    gain = reduction(c, row_b, row_c, variances, noise)
    if comes_before(gain, c, largest, b, key):
        best, largest = c, gain
    for first in range(0, variances.shape[0], SCANNED):
        end = min(first + SCANNED, variances.shape[0])
        least = largest * (1.0 - ROUNDING)
        if not count_gaining(row_b, row_c, noise, variances, least, first, end):
            continue
        for a in range(first, end):
            gain = reduction(a, row_b, row_c, variances, noise)
            if comes_before(gain, a, largest, best, key) and a != best:
                best, largest = a, gain
    return best
