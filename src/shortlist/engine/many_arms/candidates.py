"""J(t) by the smallest m-th gap among many arms, from J(t) of the round before.

The m-th largest B_ij over any set of arms i is at most the m-th gap of arm j. So j is excluded if m arms i
have a B_ij larger than the m-th gap of the worst candidate. The arms of largest upper bound are tried, as
they exclude most.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.lists import (
    SCANNED,
    attains,
    gap_in_row,
    rank_row,
    size_of,
    slot_of,
)
from shortlist.engine.many_arms.memory import Memory, rows_read
from shortlist.engine.round import NEAR, Round
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import insert, mark_best
from shortlist.numerics.records import Integers, Reals
from shortlist.posterior.least_squares import apply, row
from shortlist.posterior.passes import inner
from shortlist.posterior.state import ROWS, WHOLE, State
from shortlist.rules.indices import paired_index, square_of

COSTLY = 5.0  # times K/N undecided arms cost as much as a new list of high arms


@compiled(inline=False, fast=True)
def count_larger(
    means: np.ndarray,
    variances: np.ndarray,
    row_i: np.ndarray,
    i: int,
    least: float,
    square_scale: float,
    first: int,
    end: int,
    counts: np.ndarray,
) -> None:
    """Add 1 to the count of every arm j of a block with B_ij ≥ ``least``.

    The floor under ‖x_i − x_j‖² is left out, which saves an eighth of a round: without it B_ij is never
    larger, so that no arm is excluded that should not be.
    """
    mean, variance = means[i], variances[i]
    own = counts[i - first] if first <= i < end else 0.0
    means, variances, row_i = means[first:end], variances[first:end], row_i[first:end]
    for j in range(end - first):
        square = variances[j] + variance - 2.0 * row_i[j]
        counts[j] += attains(mean, means[j], square, least, square_scale)
    if first <= i < end:  # no arm excludes itself
        counts[i - first] = own


@compiled(inline=False, fast=True)
def count_below(counts: np.ndarray, wanted: int, size: int) -> int:
    """How many of the counts are below ``wanted``."""
    lacking = 0
    for k in range(size):
        lacking += counts[k] < wanted
    return lacking


@compiled(inline=False)
def list_high_arms(state: State, memory: Memory, scale: float, key: np.uint64) -> None:
    """List the arms of largest upper bound, in order: most arms have m large gap indices against them."""
    high_arms, high_bounds = memory.high_arms, memory.high_bounds
    for k in range(high_arms.shape[0]):
        high_arms[k] = NO_ARM
        high_bounds[k] = -np.inf
    for i in range(state.means.shape[0]):
        bound = state.means[i] + scale * math.sqrt(max(state.variances[i], 0.0))
        if bound >= high_bounds[high_bounds.shape[0] - 1]:
            insert(high_bounds, high_arms, bound, i, key)


@compiled(inline=False)
def list_undecided(
    state: State, current: Round, m: int, scale: float, worst: float, counts: Reals
) -> int:
    """List the arms that the first high arms do not exclude from J(t); returns how many there are."""
    memory, means, variances = current.memory, state.means, state.variances
    arms, square_scale, found = means.shape[0], scale * scale, 0
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        size, block = end - first, counts[first:end]
        for k in range(size):
            block[k] = np.inf if current.inside[first + k] else 0.0
        lacking, turn = size, 0
        while lacking and turn < rows_read(m, arms):
            i = memory.high_arms[turn]
            count_larger(
                means, variances, state.rows[row(state, i)], i, worst, square_scale, first, end, block,
            )  # fmt: skip
            turn += 1
            if turn >= m:
                lacking = count_below(block, m, size)
        if lacking:
            for k in range(size):
                if block[k] < m:
                    memory.undecided[found] = first + k
                    found += 1
    return found


@compiled(inline=False)
def is_excluded(
    state: State, memory: Memory, j: int, m: int, scale: float, worst: float, counts: float
) -> bool:
    """Whether arm j is excluded from J(t), by the arms of its list if it has a row, or by other high arms."""
    arms = state.means.shape[0]
    if state.layout == WHOLE or state.kept.slots[j] != NO_ARM:
        slot = slot_of(state, memory, j)
        for k in range(m):
            i = memory.top_arms[slot, k]
            if i == NO_ARM or not gap_in_row(state, slot, i, j, scale) > worst:
                return False
        return True
    apply(state, j, state.kept.inverse, state.scratch)
    for k in range(rows_read(m, arms), memory.high_arms.shape[0]):
        i = memory.high_arms[k]
        if i != j:
            both = state.variances[i] + state.variances[j]
            product = inner(state.features, i, state.scratch)
            square = square_of(both, product, state.floor)
            counts += paired_index(state.means[i], state.means[j], square, scale) > worst
            if counts >= m:
                return True
    return False


@compiled(inline=False)
def keep_rows(state: State, memory: Memory, candidates: Integers) -> None:
    """Mark rows that the next round reads as used, so that the row of an undecided arm is replaced first."""
    m = candidates.shape[0]
    for k in range(m):
        row(state, candidates[k])
    for k in range(rows_read(m, state.means.shape[0])):
        row(state, memory.high_arms[k])


@compiled(inline=False)
def update_smallest_gaps(
    state: State, current: Round, scale: float, key: np.uint64, challenger_key: np.uint64
) -> None:
    """Update J(t) by the rule ``smallest_gap``."""
    memory, candidates, inside, largest = (
        current.memory,
        current.candidates,
        current.inside,
        current.heap,
    )
    undecided, counts, examined = memory.undecided, state.arm_scratch, memory.examined
    m, known = candidates.shape[0], True
    for k in range(m):
        known = known and inside[candidates[k]]
    if not known:
        mark_best(state.means, 1.0, m, key, candidates, inside)
    worst, size = -np.inf, 0.0
    for k in range(m):
        j = candidates[k]
        slot = slot_of(state, memory, j)
        current.mth_gaps[j] = rank_row(state, current, slot, j, scale, challenger_key)
        worst = max(worst, current.mth_gaps[j])
        size = max(size, size_of(state, j, scale))
    # Above the worst by more than rounding errors: an arm that attains it is worse.
    limit = worst + NEAR * (abs(worst) + size)
    if (
        memory.high_arms[0] == NO_ARM
        or examined[0] > COSTLY * counts.shape[0] / state.scratch.shape[0]
    ):
        list_high_arms(state, memory, scale, key)
        examined[0] = 0
    found = list_undecided(state, current, m, scale, limit, counts)
    examined[0] += found
    for k in range(m):
        undecided[found + k] = candidates[k]
        largest[k] = -np.inf
    candidates[:] = NO_ARM
    for k in range(found, found + m):
        inside[undecided[k]] = False
        insert(largest, candidates, -current.mth_gaps[undecided[k]], undecided[k], key)
    for k in range(found):
        j = undecided[k]
        limit = -largest[m - 1] + NEAR * (abs(largest[m - 1]) + size)
        if is_excluded(state, memory, j, m, scale, limit, counts[j]):
            continue
        if state.layout == ROWS and state.kept.slots[j] == NO_ARM:
            keep_rows(state, memory, undecided[found : found + m])
        slot = slot_of(state, memory, j)
        current.mth_gaps[j] = rank_row(state, current, slot, j, scale, challenger_key)
        insert(largest, candidates, -current.mth_gaps[j], j, key)
    for k in range(m):
        inside[candidates[k]] = True
