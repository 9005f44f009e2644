"""Challengers among very many arms, found by the upper bounds on their gap indices.

Either the largest B_ij of a candidate j and an arm i outside, or for each reference a list of the arms
of largest gap index, which gives its m-th gap and its challenger.
"""

from __future__ import annotations

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.state import REFERENCES, SCALE, Memory
from shortlist.engine.many_arms.upper_bounds import (
    count_attaining,
    gap_index,
    is_among,
    renew_if_old,
    tighten,
)
from shortlist.engine.round import ROUNDING, Round
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before, insert
from shortlist.posterior.lagging import drift, mean_of
from shortlist.posterior.passes import SCANNED
from shortlist.posterior.state import FLOOR, OBSERVED, State
from shortlist.rules.indices import paired_index, square_of


@compiled()
def note_challenger(now: Round, i: int, j: int, gap: float, key: np.uint64) -> None:
    """Make arm i the challenger of j if its gap index is the largest so far."""
    challengers, gaps = now.challengers, now.outside_gaps
    best = challengers[j]
    if best == NO_ARM or gap > gaps[j]:
        challengers[j] = i
        gaps[j] = gap
    elif i != best and comes_before(gap, i, gaps[j], best, key):
        challengers[j] = i


@compiled(inline=False)
def compare_with_candidates(
    state: State, now: Round, m: int, i: int, scale: float, best: float, key: np.uint64
) -> float:
    """Compute B_ij of arm i and every candidate j, its products being in ``block``; the largest so far."""
    memory, mean = now.memory, mean_of(state, i)
    largest = -np.inf
    for k in range(m):
        j = now.arm_heap[k]
        place = memory.places[j]
        both = state.variances[i] + memory.variances[place]
        square = square_of(both, memory.block[place], state.scalars[FLOOR])
        gap = paired_index(mean, memory.means[place], square, scale)
        largest = max(largest, gap)
        if gap >= best:
            best = gap
            note_challenger(now, i, j, gap, key)
    insert(memory.strongest_gaps, memory.strongest, largest, i, key)
    return best


@compiled(inline=False)
def find_challengers(state: State, now: Round, m: int, scale: float, key: np.uint64) -> None:
    """Find the largest B_ij over j ∈ J and i ∉ J.

    ``outside_gaps`` and ``challengers`` are right for the candidates that attain it; for others the gap
    may be too small.
    """
    memory, candidates, inside = now.memory, now.arm_heap, now.inside
    means, deviations, width_bounds = state.means, state.lagging.deviations, memory.width_bounds
    arms, ratio, moved = means.shape[0], scale / memory.figures[SCALE], drift(state)
    ahead, size = -np.inf, 0.0
    for k in range(m):
        place = memory.places[candidates[k]]
        now.challengers[candidates[k]] = NO_ARM
        now.outside_gaps[candidates[k]] = -np.inf
        ahead = max(ahead, ratio * memory.anchors[place] - memory.means[place])
        size = max(size, abs(memory.means[place]))
    best = -np.inf
    # The strongest of the last round come first: after them few others can attain the largest.
    strongest = memory.strongest.shape[0]
    for k in range(strongest):
        memory.past_strongest[k] = memory.strongest[k]
        memory.strongest[k] = NO_ARM
        memory.strongest_gaps[k] = -np.inf
    for k in range(strongest):
        i = memory.past_strongest[k]
        if i != NO_ARM and not inside[i]:
            renew_if_old(state, i)
            tighten(state, memory, i)
            best = compare_with_candidates(state, now, m, i, scale, best, key)
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        least = best - ahead - ROUNDING * (abs(best) + size)
        if not count_attaining(means, deviations, width_bounds, moved, ratio, least, first, end):
            continue
        for i in range(first, end):
            if inside[i] or means[i] + moved * deviations[i] + ratio * width_bounds[i] < least:
                continue
            if state.lagging.exact_at[i] == state.clock[OBSERVED] and is_among(
                memory.past_strongest, i
            ):
                continue
            mean = mean_of(state, i)
            if mean + ratio * width_bounds[i] < least:
                continue
            # With its exact variance its bound becomes so small that it is not examined again soon.
            renew_if_old(state, i)
            if mean + ratio * tighten(state, memory, i) < least:
                continue
            best = compare_with_candidates(state, now, m, i, scale, best, key)
            least = best - ahead - ROUNDING * (abs(best) + size)
    if best == -np.inf:  # no gap index is a number
        c = 0
        while inside[c]:
            c += 1
        note_challenger(now, c, candidates[0], best, key)


@compiled(inline=False)
def add_to_list(memory: Memory, place: int, i: int, gap: float, key: np.uint64) -> None:
    """Add arm i to the list of the reference in this place, if its gap index is large enough."""
    arms, gaps = memory.top_arms[place], memory.gaps[place]
    if gap >= gaps[gaps.shape[0] - 1] and not is_among(arms, i):
        insert(gaps, arms, gap, i, key)


@compiled(inline=False)
def update_list(state: State, memory: Memory, place: int, scale: float, key: np.uint64) -> None:
    """Update the gap indices of a reference's list, which begins as another's if it has none."""
    arms, past = memory.top_arms[place], memory.past_top_arms
    other = place
    if arms[0] == NO_ARM:
        for p in range(int(memory.figures[REFERENCES])):
            if memory.top_arms[p, 0] != NO_ARM:
                other = p
    for k in range(arms.shape[0]):
        past[k] = memory.top_arms[other, k]
    for k in range(arms.shape[0]):
        arms[k] = NO_ARM
        memory.gaps[place, k] = -np.inf
    for k in range(arms.shape[0]):
        if past[k] != NO_ARM and past[k] != memory.references[place]:
            add_to_list(
                memory, place, past[k], gap_index(state, memory, past[k], place, scale), key
            )


@compiled()
def least_wanted(memory: Memory, place: int, m: int, ratio: float) -> float:
    """What the mean and the width bound of an arm must sum to, to be among the first m of the list."""
    least = memory.gaps[place, m - 1]
    mean = memory.means[place]
    return least - ROUNDING * (abs(least) + abs(mean)) + mean - ratio * memory.anchors[place]


@compiled(inline=False)
def update_lists(
    state: State, memory: Memory, first: int, end: int, m: int, scale: float, key: np.uint64
) -> None:
    """Update the lists of the references from ``first`` to ``end``: their first m arms are then right."""
    means, deviations, width_bounds = state.means, state.lagging.deviations, memory.width_bounds
    arms, ratio, moved = means.shape[0], scale / memory.figures[SCALE], drift(state)
    for place in range(first, end):
        update_list(state, memory, place, scale, key)
    for start in range(0, arms, SCANNED):
        stop = min(start + SCANNED, arms)
        least = np.inf
        for place in range(first, end):
            least = min(least, least_wanted(memory, place, m, ratio))
        if not count_attaining(means, deviations, width_bounds, moved, ratio, least, start, stop):
            continue
        for i in range(start, stop):
            if means[i] + moved * deviations[i] + ratio * width_bounds[i] < least:
                continue
            mean = mean_of(state, i)
            if mean + ratio * width_bounds[i] < least:
                continue
            renew_if_old(state, i)
            if mean + ratio * tighten(state, memory, i) < least:
                continue
            for place in range(first, end):
                if memory.references[place] != i:
                    both = state.variances[i] + memory.variances[place]
                    square = square_of(both, memory.block[place], state.scalars[FLOOR])
                    gap = paired_index(mean, memory.means[place], square, scale)
                    add_to_list(memory, place, i, gap, key)


@compiled(inline=False)
def list_challengers(now: Round, m: int) -> None:
    """Read m-th gap, challenger and its gap index of every candidate from its list."""
    memory = now.memory
    for k in range(m):
        j = now.arm_heap[k]
        place = memory.places[j]
        now.mth_gaps[j] = memory.gaps[place, m - 1]
        rank = 0  # of m arms not more than m − 1 are candidates
        while now.inside[memory.top_arms[place, rank]]:
            rank += 1
        now.challengers[j] = memory.top_arms[place, rank]
        now.outside_gaps[j] = memory.gaps[place, rank]
