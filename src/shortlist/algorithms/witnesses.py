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
from shortlist.core.rule import INTEGER, KEY, REAL, REALS, VOID, compiled

SURVIVED, NEXT = 0, 1  # in ``reached``
TOO_MANY, MADE_IF_MANY = 16, 2  # two more rows a round, while 1 of 16 arms survives them
AT_FIRST = 32  # witnesses called before those of earlier rounds are


@compiled(VOID(STATE, ROUND, INTEGER, REAL, KEY))
def guess_candidates(state: State, now: Round, m: int, scale: float, key: np.uint64) -> None:
    """Before the first round: the m arms of largest lower bound."""
    for j in range(state.means.shape[0]):
        now.mth_gaps[j] = state.means[j] - scale * math.sqrt(max(state.variances[j], 0.0))
    mark_anew(now.mth_gaps, 1.0, m, key, now.arm_heap, now.inside)


@compiled(VOID(REALS, REALS, REALS, REALS, REAL, REAL, REAL), fast=True)
def count_witness(
    means: np.ndarray,
    variances: np.ndarray,
    row_i: np.ndarray,
    seen: np.ndarray,
    base: float,
    variance: float,
    square_scale: float,
) -> None:
    """Count arm i as a witness for the arms j of a block whose B_ij exceeds the worst for certain."""
    for j in range(seen.shape[0]):
        wanted = base + means[j] + ROUNDING * abs(means[j])
        square = variances[j] + variance - 2.0 * row_i[j]
        seen[j] += 1.0 if square_scale * max(square, 0.0) > wanted * abs(wanted) else 0.0


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
                base = worst - means[i] + ROUNDING * (abs(worst) + abs(means[i]))
                count_witness(
                    means[first:end], variances[first:end], state.rows[s, first:end],
                    seen[first:end], base, variances[i], scale * scale,
                )  # fmt: skip
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
    # A third is left for the challengers, and for arms that only just fail to be candidates.
    places = (2 * (state.rows.shape[0] - m - 1)) // 3
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


@compiled(INTEGER(STATE, ROUND, INTEGER, INTEGER, INTEGER))
def call_witness(state: State, now: Round, i: int, stamp: int, witnesses: int) -> int:
    """Add arm i, if it has not been a witness in this round; how many there are now."""
    if i == NOBODY or now.stamps[i] == stamp or witnesses == now.images.shape[0]:
        return witnesses
    now.stamps[i] = stamp
    now.challengers[witnesses] = i
    apply(state, i, state.inverse, now.images[witnesses])
    return witnesses + 1


@compiled(VOID(STATE, ROUND, INTEGER, INTEGER))
def remember(state: State, now: Round, j: int, m: int) -> None:
    """The arms of largest B_ij go into the ring of witnesses for later rounds, in place of the oldest."""
    tops = now.tops[state.slots[j]]
    for rank in range(m):
        i = tops[rank]
        if i != NOBODY and math.isnan(now.anchors[i]) and now.ring.shape[0] > 0:
            place = int(now.reached[NEXT]) % now.ring.shape[0]
            if now.ring[place] != NOBODY:
                now.anchors[now.ring[place]] = np.nan
            now.ring[place] = i
            now.anchors[i] = 1.0
            now.reached[NEXT] += 1.0


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
            if witnesses < AT_FIRST:
                i = now.tops[state.slots[candidates[k]], rank]
                witnesses = call_witness(state, now, i, stamp, witnesses)
    worst = gaps[candidates[last]]
    survivors = survive_images(state, now, survivors, m, scale, worst, witnesses)
    if survivors > 0:
        for k in range(m):
            remember(state, now, candidates[k], m)
        witnesses = 0
        for k in range(now.ring.shape[0]):
            witnesses = call_witness(state, now, now.ring[k], stamp, witnesses)
    while survivors > 0:
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
        remember(state, now, j, m)
        if precedes(gaps, -1.0, key, j, candidates[last]):
            now.inside[candidates[last]] = False
            now.inside[j] = True
            candidates[last] = j
            last = worst_candidate(now, m, key)
        witnesses = 0
        for rank in range(m):
            i = now.tops[state.slots[j], rank]
            witnesses = call_witness(state, now, i, stamp, witnesses)
