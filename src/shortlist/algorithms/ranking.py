"""The arms of largest gap index for each companion, and with them its m-th gap and its challenger."""

from __future__ import annotations

import numpy as np

from shortlist.algorithms.reach import (
    count_attaining,
    gap_index,
    is_among,
    look_up,
    shorten,
)
from shortlist.algorithms.round import ROUNDING, Round
from shortlist.algorithms.screen import COMPANIONS, SCALE, Screen
from shortlist.arrays import NO_ARM
from shortlist.core.jit import compiled
from shortlist.core.lagging import drift, mean_of
from shortlist.core.order import insert
from shortlist.core.passes import SCANNED
from shortlist.core.state import FLOOR, State
from shortlist.rules.indices import paired_index, square_of


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
