"""The challengers where rows of G are made on demand: looked for in rows, without a root an arm.

B_ij ≥ τ means Cσ‖x_i − x_j‖ ≥ τ − μ̂_i + μ̂_j, and that can be told from squares. A block of arms is
looked at closely only if some arm in it may reach the largest gap index found so far.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.algorithms.round import LAST_B, LAST_C, NOBODY, ROUND, ROUNDING, Round
from shortlist.core.least_squares import STATE, Reals, State, apply
from shortlist.core.passes import SCANNED, inner
from shortlist.core.random import priority
from shortlist.core.rows import make_rows, row
from shortlist.core.rule import INTEGER, KEY, REAL, REALS, VOID, compiled

CLOSE = 1e-11  # far above rounding: what is this close is computed in full


@compiled(INTEGER(REALS, REALS, REALS, REAL, REAL, REAL, REAL, INTEGER, INTEGER))
def count_hits(
    means: Reals,
    variances: Reals,
    row_j: Reals,
    mean: float,
    variance: float,
    least: float,
    square_scale: float,
    first: int,
    end: int,
) -> int:
    """How many arms i of a block may have B_ij ≥ ``least``."""
    base = least + mean - CLOSE * (abs(least) + abs(mean))
    hits = 0
    for i in range(first, end):
        wanted = base - means[i] - CLOSE * abs(means[i])
        square = variances[i] + variance - 2.0 * row_j[i]
        if square_scale * max(square, 0.0) >= wanted * abs(wanted):
            hits += 1
    return hits


@compiled()
def index_in(state: State, slot: int, i: int, j: int, scale: float) -> float:
    """B_ij, with the row of j in this slot; as the rule ``paired`` has it."""
    square = state.variances[i] + state.variances[j] - 2.0 * state.rows[slot, i]
    return state.means[i] - state.means[j] + scale * math.sqrt(max(square, 0.0))


@compiled(REAL(STATE, INTEGER, INTEGER, REAL))
def gap_index(state: State, i: int, j: int, scale: float) -> float:
    """B_ij, without a row."""
    apply(state, j, state.inverse, state.scratch)
    product = inner(state.features, i, state.scratch)
    square = state.variances[i] + state.variances[j] - 2.0 * product
    return state.means[i] - state.means[j] + scale * math.sqrt(max(square, 0.0))


@compiled(INTEGER(ROUND))
def list_candidates(now: Round) -> int:
    """The arms of J(t) into ``arm_heap``; how many they are."""
    listed = 0
    for j in range(now.inside.shape[0]):
        if now.inside[j]:
            now.arm_heap[listed] = j
            listed += 1
    return listed


@compiled(VOID(ROUND, INTEGER, INTEGER, REAL, KEY))
def note(now: Round, i: int, j: int, gap: float, key: np.uint64) -> None:
    """Arm i challenges j with this gap index, if none before did with a larger."""
    best = now.challengers[j]
    if best == NOBODY or gap > now.outside_gaps[j]:
        now.challengers[j] = i
        now.outside_gaps[j] = gap
    elif gap == now.outside_gaps[j] and i != best and priority(key, i) > priority(key, best):
        now.challengers[j] = i


@compiled(VOID(ROUND, KEY))
def note_any(now: Round, key: np.uint64) -> None:
    """Some arm challenges, where no gap index is a number."""
    i = 0
    while now.inside[i]:
        i += 1
    note(now, i, now.arm_heap[0], -np.inf, key)


@compiled(REAL(STATE, ROUND, INTEGER, REAL))
def first_gap(state: State, now: Round, listed: int, scale: float) -> float:
    """A gap index to begin with: the last pair's, or that of any pair. Nobody challenges yet."""
    candidates, inside = now.arm_heap, now.inside
    b, c = candidates[0], now.pair[LAST_C]
    for k in range(listed):
        now.challengers[candidates[k]] = NOBODY
        now.outside_gaps[candidates[k]] = -np.inf
        if candidates[k] == now.pair[LAST_B]:
            b = candidates[k]
    if c == NOBODY or inside[c]:
        c = 0
        while inside[c]:
            c += 1
    gap = gap_index(state, c, b, scale)
    # A little less: the same pair will be met again, computed from a row.
    return gap - ROUNDING * (abs(gap) + abs(state.means[b]) + abs(state.means[c]))


@compiled(VOID(STATE, ROUND, INTEGER, REAL, KEY))
def challenge(state: State, now: Round, listed: int, scale: float, key: np.uint64) -> None:
    """The largest B_ij over i ∉ J and the first ``listed`` arms j of ``arm_heap``, from their rows.

    ``outside_gaps`` and ``challengers`` are right for the arms that attain it; those of another may
    be too small.
    """
    means, variances = state.means, state.variances
    arms = means.shape[0]
    best = first_gap(state, now, listed, scale)
    for k in range(listed):
        row(state, now.arm_heap[k])
    found = False
    for attempt in range(2):
        if found:
            break
        if attempt > 0:  # the first gap was not met again: arms nearly the same, and rounding
            best = -np.inf
        for first in range(0, arms, SCANNED):
            end = min(first + SCANNED, arms)
            for k in range(listed):
                j = now.arm_heap[k]
                slot = state.slots[j]
                if count_hits(
                    means, variances, state.rows[slot], means[j], variances[j], best, scale * scale,
                    first, end,
                ):  # fmt: skip
                    for i in range(first, end):
                        if not now.inside[i]:
                            gap = index_in(state, slot, i, j, scale)
                            if gap >= best:
                                best = gap
                                note(now, i, j, gap, key)
                                found = True
    if not found:
        note_any(now, key)


@compiled(REAL(STATE, ROUND, INTEGER, INTEGER, REAL))
def mth_gap(state: State, now: Round, j: int, m: int, scale: float) -> float:
    """The m-th largest B_ij over i ≠ j; the m arms i are kept in ``tops`` and are a good start."""
    means, variances, kept = state.means, state.variances, now.heap
    arms = means.shape[0]
    slot = row(state, j)
    tops = now.tops[slot]
    # Of any m arms the smallest gap index is at most the m-th largest of all. Another arm's will do.
    other = state.slots[now.arm_heap[0]]
    known = tops if now.made[slot] == j or other < 0 else now.tops[other]
    least = np.inf
    for k in range(m):
        if known[k] == NOBODY or known[k] == j:
            least = -np.inf
        else:
            least = min(least, index_in(state, slot, known[k], j, scale))
    now.made[slot] = j
    for k in range(m):
        kept[k] = -np.inf
        tops[k] = NOBODY
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        if count_hits(
            means, variances, state.rows[slot], means[j], variances[j], max(least, kept[m - 1]),
            scale * scale, first, end,
        ):  # fmt: skip
            for i in range(first, end):
                if i != j:
                    gap = index_in(state, slot, i, j, scale)
                    if gap >= least and gap > kept[m - 1]:
                        k = m - 1
                        while k > 0 and kept[k - 1] < gap:
                            kept[k] = kept[k - 1]
                            tops[k] = tops[k - 1]
                            k -= 1
                        kept[k] = gap
                        tops[k] = i
    return kept[m - 1]


@compiled(INTEGER(STATE, INTEGER, INTEGER, KEY))
def select_greedily(state: State, b: int, c: int, key: np.uint64) -> int:
    """The arm of the selection rule ``greedy``, without a division an arm."""
    make_rows(state, b, c)
    row_b, row_c = state.rows[state.slots[b]], state.rows[state.slots[c]]
    variances, noise = state.variances, state.noise
    arms = variances.shape[0]
    best = b
    largest = (row_b[b] - row_c[b]) ** 2 / (noise[b] + variances[b])
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        hits = 0
        least = largest * (1.0 - CLOSE)
        for a in range(first, end):
            if (row_b[a] - row_c[a]) ** 2 >= least * (noise[a] + variances[a]):
                hits += 1
        if hits:
            for a in range(first, end):
                gain = (row_b[a] - row_c[a]) ** 2 / (noise[a] + variances[a])
                if gain > largest:
                    best, largest = a, gain
                elif gain == largest and a != best and priority(key, a) > priority(key, best):
                    best = a
    return best
