"""The challengers of very many arms, without a row for every candidate: one bound an arm, kept.

Arm i's reach E_i bounds κ‖x_i − x_j‖_{V⁻¹} − μ̂_j over all candidates j, with the κ = Cσ and the means
(the anchors) of an earlier round. Widths only shrink. So later, with κ' = rκ,

    B_ij ≤ μ̂_i + r E_i + max_j (r anchor_j − μ̂_j),

which costs two numbers an arm. The few arms whose bound attains the largest gap index found are
computed in full, and their reach is then made as small as it may be. A new candidate is added to
the reach of all arms by one pass over X, and stays a companion for a while after it has left; all is
anchored anew where the bounds have become loose.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.algorithms.challengers import first_gap, note, note_any
from shortlist.algorithms.round import LAST_B, ROUND, ROUNDING, Round
from shortlist.core.least_squares import OBSERVED, REFRESHED, STATE, State, apply
from shortlist.core.passes import SCANNED, inner
from shortlist.core.rule import BOOLEAN, INTEGER, KEY, REAL, REALS, VOID, compiled

SCALE, EPOCH, SINCE, COMPANIONS = 0, 1, 2, 3
ADDED_ONE_BY_ONE = 3  # more new candidates at once are cheaper anchored anew
TOO_MANY, PATIENCE = 8, 16  # anchored anew if an eighth of the arms attains, 16 evaluations later
COMPANY = 1.5  # companions a candidate, at most
GUARD = 1e-9  # of ‖x_i‖² + ‖x_j‖²: far above what rounding does to ‖x_i − x_j‖²


@compiled(VOID(STATE, ROUND, INTEGER, INTEGER, BOOLEAN), fast=True)
def extend(state: State, now: Round, first: int, end: int, anew: bool) -> None:
    """Add the companions from ``first`` to ``end`` to the reach of all arms."""
    features, variances, reach, u = state.features, state.variances, now.reach, state.arm_scratch
    arms, scale = reach.shape[0], now.reached[SCALE]
    for start in range(0, arms, SCANNED):
        stop = min(start + SCANNED, arms)
        if anew:
            for i in range(start, stop):
                reach[i] = -np.inf
        for k in range(first, end):
            mean, variance = now.anchors[now.survivors[k]], variances[now.survivors[k]]
            image = now.images[k]
            for i in range(start, stop):
                u[i] = inner(features, i, image)
            for i in range(start, stop):
                both = variances[i] + variance
                width = math.sqrt(max(both - 2.0 * u[i], 0.0) + GUARD * both)
                reach[i] = max(reach[i], scale * width - mean)


@compiled(VOID(STATE, ROUND, INTEGER))
def accompany(state: State, now: Round, j: int) -> None:
    """Make j a companion: a candidate, or one that was and may be again."""
    count = int(now.reached[COMPANIONS])
    now.survivors[count] = j
    now.anchors[j] = state.means[j]
    apply(state, j, state.inverse, now.images[count])
    now.reached[COMPANIONS] += 1.0


@compiled(VOID(STATE, ROUND, INTEGER, REAL))
def bring_up(state: State, now: Round, listed: int, scale: float) -> None:
    """Make the candidates companions, and ``images`` theirs."""
    candidates, companions, reached = now.arm_heap, now.survivors, now.reached
    added = 0
    for k in range(listed):
        added += math.isnan(now.anchors[candidates[k]])
    count = int(reached[COMPANIONS])
    other = now.pair[LAST_B] < 0 or reached[EPOCH] != state.clock[REFRESHED]
    if other or added > ADDED_ONE_BY_ONE:
        for j in range(now.anchors.shape[0]):
            now.anchors[j] = np.nan
        reached[SCALE], reached[COMPANIONS] = scale, 0.0
        reached[EPOCH], reached[SINCE] = state.clock[REFRESHED], state.clock[OBSERVED]
        for k in range(listed):
            accompany(state, now, candidates[k])
        extend(state, now, 0, listed, True)
        return
    if count + added > COMPANY * listed:
        count = 0
        for k in range(int(reached[COMPANIONS])):
            if now.inside[companions[k]]:
                companions[count] = companions[k]
                count += 1
            else:
                now.anchors[companions[k]] = np.nan
        reached[COMPANIONS] = count
    for k in range(count):
        apply(state, companions[k], state.inverse, now.images[k])
    for k in range(listed):
        if math.isnan(now.anchors[candidates[k]]):
            accompany(state, now, candidates[k])
    extend(state, now, count, int(reached[COMPANIONS]), False)


@compiled(INTEGER(REALS, REALS, REAL, REAL, INTEGER, INTEGER), fast=True)
def count_attaining(
    means: np.ndarray, reach: np.ndarray, ratio: float, least: float, first: int, end: int
) -> int:
    """How many arms of a block may attain ``least``."""
    attaining = 0
    for i in range(first, end):
        if means[i] + ratio * reach[i] >= least:
            attaining += 1
    return attaining


@compiled(VOID(STATE, ROUND, INTEGER, REAL, KEY))
def challenge_by_reach(state: State, now: Round, listed: int, scale: float, key: np.uint64) -> None:
    """What ``challenge`` finds, by the reach of the arms."""
    means, variances, reach, candidates = state.means, state.variances, now.reach, now.arm_heap
    arms = means.shape[0]
    bring_up(state, now, listed, scale)
    best = first_gap(state, now, listed, scale)
    ratio = scale / now.reached[SCALE]
    ahead, size = -np.inf, 0.0
    for k in range(listed):
        j = candidates[k]
        ahead = max(ahead, ratio * now.anchors[j] - means[j])
        size = max(size, abs(means[j]))
    full = 0
    found = False
    for attempt in range(2):
        if found:
            break
        if attempt > 0:  # the first gap was not met again: arms nearly the same, and rounding
            best = -np.inf
        for first in range(0, arms, SCANNED):
            end = min(first + SCANNED, arms)
            least = best - ahead - ROUNDING * (abs(best) + size)
            if count_attaining(means, reach, ratio, least, first, end):
                for i in range(first, end):
                    if now.inside[i] or means[i] + ratio * reach[i] < least:
                        continue
                    full += 1
                    most = -np.inf
                    for k in range(int(now.reached[COMPANIONS])):
                        j = now.survivors[k]
                        both = variances[i] + variances[j]
                        square = max(both - 2.0 * inner(state.features, i, now.images[k]), 0.0)
                        guarded = math.sqrt(square + GUARD * both)
                        most = max(most, now.reached[SCALE] * guarded - now.anchors[j])
                        if now.inside[j]:
                            gap = means[i] - means[j] + scale * math.sqrt(square)
                            if gap >= best:
                                best = gap
                                note(now, i, j, gap, key)
                                found = True
                    reach[i] = most
    if not found:
        note_any(now, key)
    if TOO_MANY * full > arms and state.clock[OBSERVED] >= now.reached[SINCE] + PATIENCE:
        now.reached[EPOCH] = -1.0
