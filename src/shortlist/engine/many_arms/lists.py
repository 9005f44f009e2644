"""Gap indices of many arms where rows of G are kept, compared by their squares.

B_ij ≥ l if μ̂_i − μ̂_j ≥ l or C²σ²‖x_i − x_j‖² ≥ (l − μ̂_i + μ̂_j)². Most arms are skipped by this test,
several at once; a root is taken only for the few that remain.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import NO_ARM, Reals
from shortlist.engine.many_arms.memory import Memory
from shortlist.engine.round import NEAR, Round
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import insert
from shortlist.posterior.least_squares import row
from shortlist.posterior.state import State
from shortlist.rules.indices import paired_index, square_of

SCANNED = 128  # arms in a block that is skipped if none of them can matter
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
    square = square_of(both, state.rows[slot, i], state.floor)
    return paired_index(state.means[i], state.means[j], square, scale)


@compiled(inline=False)
def guarded(least: float, size: float) -> float:
    """A little less than ``least``, so that rounding errors exclude no arm."""
    return least - NEAR * (abs(least) + size)


@compiled(inline=False)
def size_of(state: State, j: int, scale: float) -> float:
    """The size of the numbers that make up a gap index of arm j."""
    return abs(state.means[j]) + scale * math.sqrt(max(state.variances[j], 0.0))


@compiled(inline=False)
def slot_of(state: State, memory: Memory, j: int) -> int:
    """The slot of arm j's row and list; the list of another arm in it is emptied."""
    slot = row(state, j)
    if memory.owners[slot] != j:
        memory.owners[slot] = j
        memory.ranked_at[slot] = NO_ARM
        for k in range(memory.top_arms.shape[1]):
            memory.top_arms[slot, k] = NO_ARM
    return slot


@compiled(inline=False)
def rank_row(
    state: State, current: Round, slot: int, j: int, scale: float, key: np.uint64
) -> float:
    """Update the list of arm j, the arms of largest B_ij, of which the first m are right; its m-th gap."""
    memory, m = current.memory, current.candidates.shape[0]
    arms, gaps = memory.top_arms[slot], memory.gaps[slot]
    means, variances, row_j = state.means, state.variances, state.rows[slot]
    mean, variance, square_scale = means[j], variances[j], scale * scale
    size, floor = size_of(state, j, scale), state.floor
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
    memory.ranked_at[slot] = current.number[0]
    return gaps[m - 1]


@compiled(inline=False)
def find_challengers(state: State, current: Round, scale: float, key: np.uint64) -> None:
    """Read m-th gap, challenger and its gap index of every candidate from its list.

    A list that is not of this round is made first.
    """
    memory, m = current.memory, current.candidates.shape[0]
    for k in range(m):
        j = current.candidates[k]
        slot = slot_of(state, memory, j)
        if memory.ranked_at[slot] != current.number[0]:
            rank_row(state, current, slot, j, scale, key)
        current.mth_gaps[j] = memory.gaps[slot, m - 1]
        rank = 0  # of m arms not more than m − 1 are candidates
        while current.inside[memory.top_arms[slot, rank]]:
            rank += 1
        current.challengers[j] = memory.top_arms[slot, rank]
        current.outside_gaps[j] = memory.gaps[slot, rank]
