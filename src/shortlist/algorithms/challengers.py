"""The arm outside J(t) that challenges most, found by the reach of the arms."""

from __future__ import annotations

import numpy as np

from shortlist.algorithms.reach import count_attaining, is_among, look_up, shorten
from shortlist.algorithms.round import ROUNDING
from shortlist.algorithms.screen import SCALE, Screen
from shortlist.arrays import NO_ARM
from shortlist.core.jit import compiled
from shortlist.core.lagging import drift, mean_of
from shortlist.core.order import comes_before, insert
from shortlist.core.passes import SCANNED
from shortlist.core.records import Integers, Reals
from shortlist.core.state import FLOOR, OBSERVED, State
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
