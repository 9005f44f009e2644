"""J(t) by the smallest m-th gap where rows of G are made on demand: most arms are out on witnesses.

The m-th largest B_ij over any set of witnesses i is at most arm j's m-th gap. So j is out of J(t) once
m witnesses exceed the worst m-th gap of m other arms. Witnesses are the arms whose rows are there
anyway, then the arms of largest B_ij for the candidates; an arm that neither puts out is computed in
full, and brings its own witnesses. What remains is exactly the J(t) of looking at all arms.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.algorithms.challengers import list_candidates, mth_gap
from shortlist.algorithms.round import NOBODY, ROUND, ROUNDING, Round
from shortlist.core.least_squares import STATE, TICK, State, apply
from shortlist.core.order import mark_anew, precedes
from shortlist.core.passes import BLOCK, inner
from shortlist.core.rows import row
from shortlist.core.rule import INTEGER, KEY, REAL, VOID, compiled

SURVIVED = 0  # in ``reached``
TOO_MANY, MADE_IF_MANY = 32, 3  # three more rows a round, while 1 of 32 arms survives them


@compiled(VOID(STATE, ROUND, INTEGER, REAL, KEY))
def guess_candidates(state: State, now: Round, m: int, scale: float, key: np.uint64) -> None:
    """Before the first round: the m arms of largest lower bound."""
    for j in range(state.means.shape[0]):
        now.mth_gaps[j] = state.means[j] - scale * math.sqrt(max(state.variances[j], 0.0))
    mark_anew(now.mth_gaps, 1.0, m, key, now.arm_heap, now.inside)


@compiled(INTEGER(STATE, ROUND, INTEGER, REAL, REAL))
def survive_rows(state: State, now: Round, m: int, scale: float, worst: float) -> int:
    """Arms outside that fewer than m resident arms put out, into ``survivors``; how many they are.

    ``arm_scratch`` holds how many witnesses each of them has.
    """
    means, variances, seen = state.means, state.variances, state.arm_scratch
    arms = means.shape[0]
    survivors = 0
    for first in range(0, arms, BLOCK):
        end = min(first + BLOCK, arms)
        for j in range(first, end):
            seen[j] = 0.0
        for s in range(state.rows.shape[0]):
            i = state.owners[s]
            if i >= 0:
                row_i = state.rows[s]
                variance, square_scale = variances[i], scale * scale
                base = worst - means[i] + ROUNDING * (abs(worst) + abs(means[i]))
                for j in range(first, end):
                    wanted = base + means[j] + ROUNDING * abs(means[j])
                    square = variances[j] + variance - 2.0 * row_i[j]
                    over = square_scale * max(square, 0.0) > wanted * abs(wanted)
                    seen[j] += 1.0 if over else 0.0
        for j in range(first, end):
            # An arm with a row would be its own witness: it is looked at again.
            if (seen[j] < m or state.slots[j] >= 0) and not now.inside[j]:
                now.survivors[survivors] = j
                survivors += 1
                if state.slots[j] >= 0:
                    seen[j] = 0.0
    return survivors


@compiled(INTEGER(STATE, ROUND, INTEGER, INTEGER, REAL, REAL, INTEGER))
def survive_images(
    state: State,
    now: Round,
    survivors: int,
    m: int,
    scale: float,
    worst: float,
    witnesses: int,
) -> int:
    """Which survivors are left after more witnesses, the first arms in ``challengers``."""
    means, variances, seen = state.means, state.variances, state.arm_scratch
    square_scale = scale * scale
    left = 0
    for k in range(survivors):
        j = now.survivors[k]
        mean, variance = means[j], variances[j]
        for w in range(witnesses):
            if seen[j] >= m:
                break
            i = now.challengers[w]
            if i != j:
                wanted = worst - means[i] + mean
                wanted += ROUNDING * (abs(worst) + abs(means[i]) + abs(mean))
                square = variance + variances[i] - 2.0 * inner(state.features, j, now.images[w])
                if square_scale * max(square, 0.0) > wanted * abs(wanted):
                    seen[j] += 1.0
        if seen[j] < m:
            now.survivors[left] = j
            left += 1
    return left


@compiled(VOID(STATE, ROUND, INTEGER, INTEGER))
def keep_witnesses(state: State, now: Round, m: int, most_made: int) -> None:
    """Keep rows of the arms of largest B_ij for the candidates; few of them are made in a round."""
    state.clock[TICK] += 1
    stamp = state.clock[TICK]
    places = state.rows.shape[0] - m - 1  # one is left for the challenger
    made = 0
    for rank in range(m):
        for k in range(m):
            i = now.tops[state.slots[now.arm_heap[k]], rank]
            if places > 0 and i != NOBODY and not now.inside[i] and now.stamps[i] != stamp:
                now.stamps[i] = stamp
                if state.slots[i] >= 0 or made < most_made:
                    made += state.slots[i] < 0
                    row(state, i)
                    places -= 1


@compiled(INTEGER(STATE, ROUND, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER))
def call_witnesses(
    state: State, now: Round, j: int, first: int, end: int, stamp: int, witnesses: int
) -> int:
    """Add arms of large B_ij, by rank, that have not been witnesses yet; how many there are now."""
    tops = now.tops[state.slots[j]]
    for rank in range(first, end):
        i = tops[rank]
        if i != NOBODY and now.stamps[i] != stamp and witnesses < now.images.shape[0]:
            now.stamps[i] = stamp
            now.challengers[witnesses] = i
            apply(state, i, state.inverse, now.images[witnesses])
            witnesses += 1
    return witnesses


@compiled(INTEGER(ROUND, INTEGER, KEY))
def worst_candidate(now: Round, m: int, key: np.uint64) -> int:
    """Where in ``arm_heap`` the candidate is that all others precede."""
    worst = 0
    for k in range(1, m):
        if precedes(now.mth_gaps, -1.0, key, now.arm_heap[worst], now.arm_heap[k]):
            worst = k
    return worst


@compiled(VOID(STATE, ROUND, INTEGER, REAL, KEY))
def find_candidates(state: State, now: Round, m: int, scale: float, key: np.uint64) -> None:
    """J(t) of the rule ``smallest_gap``, and the m-th gaps of its arms."""
    if list_candidates(now) != m:
        guess_candidates(state, now, m, scale, key)
        list_candidates(now)
    candidates, gaps = now.arm_heap, now.mth_gaps
    for k in range(m):
        gaps[candidates[k]] = mth_gap(state, now, candidates[k], m, scale)
    last = worst_candidate(now, m, key)
    many = now.reached[SURVIVED] * TOO_MANY > state.means.shape[0]
    keep_witnesses(state, now, m, MADE_IF_MANY if many else 0)
    survivors = survive_rows(state, now, m, scale, gaps[candidates[last]])
    now.reached[SURVIVED] = survivors
    if survivors == 0:
        return
    state.clock[TICK] += 1
    stamp = state.clock[TICK]
    for s in range(state.rows.shape[0]):
        if state.owners[s] >= 0:
            now.stamps[state.owners[s]] = stamp  # a witness already
    witnesses = 0
    for rank in range(m):
        for k in range(m):
            witnesses = call_witnesses(state, now, candidates[k], rank, rank + 1, stamp, witnesses)
    while True:
        worst = gaps[candidates[last]]
        survivors = survive_images(state, now, survivors, m, scale, worst, witnesses)
        if survivors == 0:
            return
        # The likeliest of those left is computed in full.
        likeliest, highest = 0, -np.inf
        for k in range(survivors):
            j = now.survivors[k]
            low = state.means[j] - scale * math.sqrt(max(state.variances[j], 0.0))
            if low > highest:
                likeliest, highest = k, low
        j = now.survivors[likeliest]
        survivors -= 1
        now.survivors[likeliest] = now.survivors[survivors]
        gaps[j] = mth_gap(state, now, j, m, scale)
        if precedes(gaps, -1.0, key, j, candidates[last]):
            now.inside[candidates[last]] = False
            now.inside[j] = True
            candidates[last] = j
            last = worst_candidate(now, m, key)
        witnesses = call_witnesses(state, now, j, 0, m, stamp, 0)
