"""J(t) by the largest means where the means of very many arms lag behind.

J(t) by the smallest m-th gap where rows of G are kept: most arms are out on the word of witnesses.

The m-th largest B_ij over any set of witnesses i is at most arm j's m-th gap. So an arm is out if m
witnesses have a larger B_ij than the worst candidate's m-th gap.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many.indices import attains, gap_in_row, rank_row, size_of, slot_of
from shortlist.engine.many.state import LOOKED_UP, SUSPECTED, Screen, testifying
from shortlist.engine.round import ROUNDING, Round
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before, insert, mark_anew, mark_best
from shortlist.numerics.records import Integers, Reals
from shortlist.posterior.lagging import drift, mean_of, renew_means
from shortlist.posterior.least_squares import apply
from shortlist.posterior.passes import SCANNED, inner
from shortlist.posterior.rows import row
from shortlist.posterior.state import FLOOR, ROWS, WHOLE, State
from shortlist.rules.indices import paired_index, square_of


@compiled(inline=False)
def last_of(arms: Integers, values: np.ndarray, count: int, key: np.uint64) -> int:
    """Where the arm is that all others come before."""
    last = 0
    for k in range(1, count):
        if comes_before(values[last], arms[last], values[k], arms[k], key):
            last = k
    return last


@compiled(inline=False, fast=True)
def count_leading(
    means: np.ndarray, deviations: np.ndarray, moved: float, least: float, first: int, end: int
) -> int:
    """How many arms of a block may have a mean of ``least``."""
    leading = 0
    means, deviations = means[first:end], deviations[first:end]
    for i in range(end - first):
        leading += means[i] + moved * deviations[i] >= least
    return leading


@compiled(inline=False)
def find_leaders(
    state: State, screen: Screen, candidates: Integers, m: int, inside: np.ndarray, key: np.uint64
) -> None:
    """J(t) of the rule ``top_means``, from the last one."""
    means, deviations, figures = state.means, state.lagging.deviations, screen.figures
    arms = means.shape[0]
    values = screen.block
    if figures[LOOKED_UP] > arms:  # as much as one pass
        renew_means(state)
        figures[LOOKED_UP] = 0.0
    moved = drift(state)
    size = 0.0
    for k in range(m):
        values[k] = mean_of(state, candidates[k])
        size = max(size, abs(values[k]))
    last = last_of(candidates, values, m, key)
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        least = values[last] - ROUNDING * size
        if not count_leading(means, deviations, moved, least, first, end):
            continue
        for i in range(first, end):
            if inside[i] or means[i] + moved * deviations[i] < least:
                continue
            figures[LOOKED_UP] += 1.0
            mean = mean_of(state, i)
            if comes_before(mean, i, values[last], candidates[last], key):
                inside[candidates[last]] = False
                inside[i] = True
                candidates[last], values[last] = i, mean
                last = last_of(candidates, values, m, key)
                least = values[last] - ROUNDING * size


@compiled(inline=False)
def lead_at_first(
    state: State, candidates: Integers, m: int, inside: np.ndarray, key: np.uint64
) -> None:
    """J(t) of the rule ``top_means``, from all means."""
    renew_means(state)
    mark_anew(state.means, 1.0, m, key, candidates, inside)


DEAR = 5.0  # times K/N arms under suspicion cost as much as other witnesses


@compiled(inline=False, fast=True)
def testify(
    means: np.ndarray,
    variances: np.ndarray,
    row_i: np.ndarray,
    i: int,
    least: float,
    square_scale: float,
    floor: float,
    first: int,
    end: int,
    votes: np.ndarray,
) -> None:
    """One vote for every arm j of a block with B_ij ≥ ``least``."""
    mean, variance = means[i], variances[i]
    own = votes[i - first] if first <= i < end else 0.0
    means, variances, row_i = means[first:end], variances[first:end], row_i[first:end]
    for j in range(end - first):
        square = square_of(variances[j] + variance, row_i[j], floor)
        votes[j] += attains(mean, means[j], square, least, square_scale)
    if first <= i < end:  # nobody testifies for himself
        votes[i - first] = own


@compiled(inline=False, fast=True)
def count_lacking(votes: np.ndarray, wanted: int, size: int) -> int:
    """How many arms have fewer votes than wanted."""
    lacking = 0
    for k in range(size):
        lacking += votes[k] < wanted
    return lacking


@compiled(inline=False)
def call_witnesses(state: State, screen: Screen, scale: float, key: np.uint64) -> None:
    """The arms of largest upper bound, in order: most arms have m gap indices against them that are large."""
    pool, bounds = screen.pool, screen.bounds
    for k in range(pool.shape[0]):
        pool[k] = NO_ARM
        bounds[k] = -np.inf
    for i in range(state.means.shape[0]):
        bound = state.means[i] + scale * math.sqrt(max(state.variances[i], 0.0))
        if bound >= bounds[bounds.shape[0] - 1]:
            insert(bounds, pool, bound, i, key)


@compiled(inline=False)
def suspect_by_rows(
    state: State, now: Round, m: int, scale: float, worst: float, votes: Reals
) -> int:
    """Arms that the first witnesses do not keep out of J(t), by the m-th largest of their B_ij; how many."""
    screen, means, variances = now.screen, state.means, state.variances
    arms, square_scale, found = means.shape[0], scale * scale, 0
    floor = state.scalars[FLOOR]
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        size, block = end - first, votes[first:end]
        for k in range(size):
            block[k] = np.inf if now.inside[first + k] else 0.0
        lacking, turn = size, 0
        while lacking and turn < testifying(m, arms):
            i = screen.pool[turn]
            testify(
                means, variances, state.rows[row(state, i)], i, worst, square_scale, floor, first, end, block,
            )  # fmt: skip
            turn += 1
            if turn >= m:
                lacking = count_lacking(block, m, size)
        if lacking:
            for k in range(size):
                if block[k] < m:
                    screen.suspects[found] = first + k
                    found += 1
    return found


@compiled(inline=False)
def is_out(
    state: State, screen: Screen, j: int, m: int, scale: float, worst: float, votes: float
) -> bool:
    """Whether arm j is kept out of J(t): by the arms of its list, if it has a row, or by other witnesses."""
    arms = state.means.shape[0]
    if state.layout == WHOLE or state.kept.slots[j] != NO_ARM:
        slot = slot_of(state, screen, j)
        for k in range(m):
            i = screen.tops[slot, k]
            if i == NO_ARM or not gap_in_row(state, slot, i, j, scale) > worst:
                return False
        return True
    apply(state, j, state.kept.inverse, state.scratch)
    for k in range(testifying(m, arms), screen.pool.shape[0]):
        i = screen.pool[k]
        if i != j:
            both = state.variances[i] + state.variances[j]
            product = inner(state.features, i, state.scratch)
            square = square_of(both, product, state.scalars[FLOOR])
            votes += paired_index(state.means[i], state.means[j], square, scale) > worst
            if votes >= m:
                return True
    return False


@compiled(inline=False)
def hold_rows(state: State, screen: Screen, candidates: Integers) -> None:
    """Let no row make room that the next round looks at again: another suspect's does."""
    m = candidates.shape[0]
    for k in range(m):
        row(state, candidates[k])
    for k in range(testifying(m, state.means.shape[0])):
        row(state, screen.pool[k])


@compiled(inline=False)
def find_smallest_by_rows(
    state: State, now: Round, m: int, scale: float, key: np.uint64, challenger_key: np.uint64
) -> None:
    """J(t) of the rule ``smallest_gap``, from the last one."""
    screen, candidates, inside, kept = now.screen, now.arm_heap, now.inside, now.heap
    suspects, votes, figures = screen.suspects, state.arm_scratch, screen.figures
    known = True
    for k in range(m):
        known = known and inside[candidates[k]]
    if not known:
        mark_best(state.means, 1.0, m, key, candidates, inside)
    worst, size = -np.inf, 0.0
    for k in range(m):
        j = candidates[k]
        slot = slot_of(state, screen, j)
        now.mth_gaps[j] = rank_row(state, screen, slot, j, m, scale, challenger_key)
        worst = max(worst, now.mth_gaps[j])
        size = max(size, size_of(state, j, scale))
    # Above the worst by more than rounding does: who attains it is worse.
    limit = worst + ROUNDING * (abs(worst) + size)
    if (
        screen.pool[0] == NO_ARM
        or figures[SUSPECTED] > DEAR * votes.shape[0] / state.scratch.shape[0]
    ):
        call_witnesses(state, screen, scale, key)
        figures[SUSPECTED] = 0.0
    found = suspect_by_rows(state, now, m, scale, limit, votes)
    figures[SUSPECTED] += found
    for k in range(m):
        suspects[found + k] = candidates[k]
        kept[k] = -np.inf
    candidates[:] = NO_ARM
    for k in range(found, found + m):
        inside[suspects[k]] = False
        insert(kept, candidates, -now.mth_gaps[suspects[k]], suspects[k], key)
    for k in range(found):
        j = suspects[k]
        limit = -kept[m - 1] + ROUNDING * (abs(kept[m - 1]) + size)
        if is_out(state, screen, j, m, scale, limit, votes[j]):
            continue
        if state.layout == ROWS and state.kept.slots[j] == NO_ARM:
            hold_rows(state, screen, suspects[found : found + m])
        slot = slot_of(state, screen, j)
        now.mth_gaps[j] = rank_row(state, screen, slot, j, m, scale, challenger_key)
        insert(kept, candidates, -now.mth_gaps[j], j, key)
    for k in range(m):
        inside[candidates[k]] = True
