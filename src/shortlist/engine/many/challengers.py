"""The arm outside J(t) that challenges most, found by the reach of the arms.

The arms of largest gap index for each companion, and with them its m-th gap and its challenger.
"""

from __future__ import annotations

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many.state import COMPANIONS, SCALE, Screen
from shortlist.engine.many.upper_bounds import (
    count_attaining,
    gap_index,
    is_among,
    look_up,
    shorten,
)
from shortlist.engine.round import ROUNDING, Round
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before, insert
from shortlist.numerics.records import Integers, Reals
from shortlist.posterior.lagging import drift, mean_of
from shortlist.posterior.passes import SCANNED
from shortlist.posterior.state import FLOOR, OBSERVED, State
from shortlist.rules.indices import paired_index, square_of


@compiled()
def note(i: int, j: int, gap: float, challengers: Integers, gaps: Reals, key: np.uint64) -> None:
    """Arm i challenges j with this gap index, if none before did with a larger."""
    best = challengers[j]
    if best == NO_ARM or gap > gaps[j]:
        challengers[j] = i
        gaps[j] = gap
    elif i != best and comes_before(gap, i, gaps[j], best, key):
        challengers[j] = i


@compiled(inline=False)
def confront(
    state: State,
    screen: Screen,
    candidates: Integers,
    m: int,
    i: int,
    scale: float,
    best: float,
    challengers: Integers,
    gaps: Reals,
    key: np.uint64,
) -> float:
    """All B_ij of arm i, looked up, and with its products in ``block``; the largest found so far."""
    mean = mean_of(state, i)
    largest = -np.inf
    for k in range(m):
        j = candidates[k]
        place = screen.places[j]
        both = state.variances[i] + screen.variances[place]
        square = square_of(both, screen.block[place], state.scalars[FLOOR])
        gap = paired_index(mean, screen.means[place], square, scale)
        largest = max(largest, gap)
        if gap >= best:
            best = gap
            note(i, j, gap, challengers, gaps, key)
    insert(screen.rival_gaps, screen.rivals, largest, i, key)
    return best


@compiled(inline=False)
def challenge(
    state: State,
    screen: Screen,
    candidates: Integers,
    m: int,
    inside: np.ndarray,
    scale: float,
    challengers: Integers,
    gaps: Reals,
    key: np.uint64,
) -> None:
    """The largest B_ij over j ∈ J and i ∉ J.

    ``gaps`` and ``challengers`` are right for the candidates that attain it; those of another may be
    too small.
    """
    means, deviations, reach, figures = (
        state.means,
        state.lagging.deviations,
        screen.reach,
        screen.figures,
    )
    arms, now = means.shape[0], state.clock[OBSERVED]
    ratio, moved = scale / figures[SCALE], drift(state)
    ahead, size = -np.inf, 0.0
    for k in range(m):
        place = screen.places[candidates[k]]
        challengers[candidates[k]] = NO_ARM
        gaps[candidates[k]] = -np.inf
        ahead = max(ahead, ratio * screen.anchors[place] - screen.means[place])
        size = max(size, abs(screen.means[place]))
    best = -np.inf
    # The rivals of the last round first: with them, few others may attain the largest.
    rivals = screen.rivals.shape[0]
    for k in range(rivals):
        screen.past_rivals[k] = screen.rivals[k]
        screen.rivals[k] = NO_ARM
        screen.rival_gaps[k] = -np.inf
    for k in range(rivals):
        i = screen.past_rivals[k]
        if i != NO_ARM and not inside[i]:
            look_up(state, screen, i)
            shorten(state, screen, i)
            best = confront(
                state, screen, candidates, m, i, scale, best, challengers, gaps, key
            )  # fmt: skip
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        least = best - ahead - ROUNDING * (abs(best) + size)
        if not count_attaining(means, deviations, reach, moved, ratio, least, first, end):
            continue
        for i in range(first, end):
            if inside[i] or means[i] + moved * deviations[i] + ratio * reach[i] < least:
                continue
            if state.lagging.exact_at[i] == now and is_among(screen.past_rivals, i):
                continue
            mean = mean_of(state, i)
            if mean + ratio * reach[i] < least:
                continue
            # With its own variance its reach becomes so small that it is not looked at again soon.
            look_up(state, screen, i)
            if mean + ratio * shorten(state, screen, i) < least:
                continue
            best = confront(
                state, screen, candidates, m, i, scale, best, challengers, gaps, key
            )  # fmt: skip
            least = best - ahead - ROUNDING * (abs(best) + size)
    if best == -np.inf:  # no gap index is a number
        c = 0
        while inside[c]:
            c += 1
        note(c, candidates[0], best, challengers, gaps, key)


@compiled(inline=False)
def enlist(screen: Screen, place: int, i: int, gap: float, key: np.uint64) -> None:
    """Arm i into the list of the companion in this place, if its gap index is large enough."""
    arms, gaps = screen.tops[place], screen.gaps[place]
    if gap >= gaps[gaps.shape[0] - 1] and not is_among(arms, i):
        insert(gaps, arms, gap, i, key)


@compiled(inline=False)
def enlist_again(state: State, screen: Screen, place: int, scale: float, key: np.uint64) -> None:
    """The arms of its last list, or of another companion's if it has none, with their gap indices now."""
    arms, past = screen.tops[place], screen.past_tops
    other = place
    if arms[0] == NO_ARM:
        for p in range(int(screen.figures[COMPANIONS])):
            if screen.tops[p, 0] != NO_ARM:
                other = p
    for k in range(arms.shape[0]):
        past[k] = screen.tops[other, k]
    for k in range(arms.shape[0]):
        arms[k] = NO_ARM
        screen.gaps[place, k] = -np.inf
    for k in range(arms.shape[0]):
        if past[k] != NO_ARM and past[k] != screen.companions[place]:
            enlist(screen, place, past[k], gap_index(state, screen, past[k], place, scale), key)


@compiled()
def wanted_by(screen: Screen, place: int, m: int, ratio: float) -> float:
    """What an arm's mean and reach must add up to, to be among the m arms in this place's list."""
    least = screen.gaps[place, m - 1]
    mean = screen.means[place]
    return least - ROUNDING * (abs(least) + abs(mean)) + mean - ratio * screen.anchors[place]


@compiled(inline=False)
def rank_gaps(
    state: State, screen: Screen, first: int, end: int, m: int, scale: float, key: np.uint64
) -> None:
    """The lists of the companions from ``first`` to ``end``: their m arms of largest gap index are right."""
    means, deviations, reach = state.means, state.lagging.deviations, screen.reach
    arms, ratio, moved = means.shape[0], scale / screen.figures[SCALE], drift(state)
    for place in range(first, end):
        enlist_again(state, screen, place, scale, key)
    for start in range(0, arms, SCANNED):
        stop = min(start + SCANNED, arms)
        least = np.inf
        for place in range(first, end):
            least = min(least, wanted_by(screen, place, m, ratio))
        if not count_attaining(means, deviations, reach, moved, ratio, least, start, stop):
            continue
        for i in range(start, stop):
            if means[i] + moved * deviations[i] + ratio * reach[i] < least:
                continue
            mean = mean_of(state, i)
            if mean + ratio * reach[i] < least:
                continue
            look_up(state, screen, i)
            if mean + ratio * shorten(state, screen, i) < least:
                continue
            for place in range(first, end):
                if screen.companions[place] != i:
                    both = state.variances[i] + screen.variances[place]
                    square = square_of(both, screen.block[place], state.scalars[FLOOR])
                    gap = paired_index(mean, screen.means[place], square, scale)
                    enlist(screen, place, i, gap, key)


@compiled(inline=False)
def list_challengers(now: Round, m: int) -> None:
    """Of every candidate, from the list of its companion: m-th gap, challenger and its gap index."""
    screen = now.screen
    for k in range(m):
        j = now.arm_heap[k]
        place = screen.places[j]
        now.mth_gaps[j] = screen.gaps[place, m - 1]
        rank = 0  # of m arms not more than m − 1 are candidates
        while now.inside[screen.tops[place, rank]]:
            rank += 1
        now.challengers[j] = screen.tops[place, rank]
        now.outside_gaps[j] = screen.gaps[place, rank]
