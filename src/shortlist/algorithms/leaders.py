"""J(t) by the largest means where the means of very many arms lag behind."""

from __future__ import annotations

import numpy as np

from shortlist.algorithms.round import ROUNDING
from shortlist.algorithms.screen import LOOKED_UP, Screen
from shortlist.core.jit import compiled
from shortlist.core.lagging import drift, mean_of, renew_means
from shortlist.core.order import comes_before, mark_anew
from shortlist.core.passes import SCANNED
from shortlist.core.records import Integers
from shortlist.core.state import State


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
