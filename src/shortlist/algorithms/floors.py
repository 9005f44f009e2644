"""J(t) by the smallest m-th gap among very many arms: a floor under each arm's, kept from round to round.

The m-th largest B_ij over any set of witnesses i is at most arm j's m-th gap. From one round to the next
B_ij falls by at most (D + κ − κ'/√(1 + ρ))(‖x_i‖ + ‖x_j‖): D is how far θ̂ moves, ρ how much V grows. So a
floor found once holds later, less what was lost since. An arm whose floor does not keep it out is
looked at with the witnesses in the pool; if these do not either, it becomes a companion, and its m-th
gap is known exactly from then on.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.algorithms.ranking import rank_gaps
from shortlist.algorithms.reach import (
    accompany,
    dismiss,
    extend,
    keep_company,
    look_up,
    renew_image,
)
from shortlist.algorithms.screen import (
    COMPANIONS,
    LAST_SCALE,
    LAST_TRACE,
    LOSS,
    NEXT_WITNESS,
    NOBODY,
    WIDEST,
    Screen,
)
from shortlist.core.lagging import mean_of, metric_norm, renew_variances
from shortlist.core.order import comes_before, keep, mark_anew
from shortlist.core.passes import SCANNED, inner
from shortlist.core.rule import (
    compiled,
)
from shortlist.core.state import BEHIND, OBSERVED, RECENT, TRACE, Integers, Reals, State
from shortlist.rules.indices import paired_index

ROUNDING = 1e-9
AT_ONCE = 4  # suspects that become companions in one pass over X


@compiled(inline=False)
def lose(state: State, screen: Screen, scale: float) -> None:
    """Add to the loss what this round's θ̂, V and κ may have taken from a gap index."""
    figures, rest = screen.figures, screen.directions[screen.directions.shape[0] - 1]
    for k in range(rest.shape[0]):
        rest[k] = state.theta[k] - screen.past[k]
        screen.past[k] = state.theta[k]
    grown = state.scalars[TRACE] - figures[LAST_TRACE]
    fallen = figures[LAST_SCALE] - scale / math.sqrt(1.0 + grown)
    figures[LOSS] += (metric_norm(state, rest) + max(fallen, 0.0)) * (1.0 + ROUNDING)
    figures[LAST_TRACE], figures[LAST_SCALE] = state.scalars[TRACE], scale


@compiled(inline=False)
def call(state: State, screen: Screen, i: int) -> None:
    """Make arm i a witness, in place of the one called longest ago."""
    if screen.pooled[i] != NOBODY:
        return
    k = int(screen.figures[NEXT_WITNESS]) % screen.pool.shape[0]
    if screen.pool[k] != NOBODY:
        screen.pooled[screen.pool[k]] = NOBODY
    screen.pool[k] = i
    screen.pooled[i] = k
    screen.pool_at[k] = NOBODY
    screen.figures[NEXT_WITNESS] += 1.0


@compiled(inline=False)
def guess(
    state: State,
    screen: Screen,
    candidates: Integers,
    m: int,
    inside: np.ndarray,
    scale: float,
    values: Reals,
    key: np.uint64,
    known: bool,
) -> None:
    """The arms of largest upper bound are witnesses; of largest lower bound J(t), if none is ``known``."""
    figures, arms = screen.figures, values.shape[0]
    figures[WIDEST] = 0.0
    for i in range(arms):
        screen.floors[i] = -np.inf
        screen.pooled[i] = NOBODY
        figures[WIDEST] = max(figures[WIDEST], state.deviations[i])
        values[i] = state.means[i] + scale * state.deviations[i]
    mark_anew(values, 1.0, screen.pool.shape[0], key, screen.pool, inside)
    for k in range(screen.pool.shape[0]):
        screen.pooled[screen.pool[k]] = k
        screen.pool_at[k] = NOBODY
        inside[screen.pool[k]] = False
    if known:
        for k in range(m):
            inside[candidates[k]] = True
    else:
        for i in range(arms):
            values[i] = state.means[i] - scale * state.deviations[i]
        mark_anew(values, 1.0, m, key, candidates, inside)
    for k in range(state.theta.shape[0]):
        screen.past[k] = state.theta[k]
    figures[LAST_SCALE], figures[LAST_TRACE] = scale, state.scalars[TRACE]


@compiled(inline=False, fast=True)
def count_suspects(
    floors: np.ndarray,
    deviations: np.ndarray,
    loss: float,
    widest: float,
    worst: float,
    first: int,
    end: int,
) -> int:
    """How many arms of a block their floors do not keep out."""
    suspects = 0
    floors, deviations = floors[first:end], deviations[first:end]
    for i in range(end - first):
        suspects += floors[i] - loss * (widest + deviations[i]) <= worst
    return suspects


@compiled(inline=False)
def floor_of(state: State, screen: Screen, j: int, m: int, scale: float, worst: float) -> float:
    """The m-th largest B_ij over witnesses in the pool, as many of them as it takes to exceed ``worst``."""
    kept, order = screen.kept, screen.order
    for k in range(m):
        kept[k] = -np.inf
    look_up(state, screen, j)
    mean, variance = mean_of(state, j), state.variances[j]
    for turn in range(screen.pool.shape[0]):
        k = order[turn]
        if screen.pool[k] in (NOBODY, j):
            continue
        square = variance + screen.pool_variances[k]
        square -= 2.0 * inner(state.features, j, screen.pool_images[k])
        gap = paired_index(screen.pool_means[k], mean, square, scale)
        if gap > kept[m - 1]:
            keep(kept, m, gap)
            if gap > worst and turn > 0:  # those who testify move up, and are called sooner
                order[turn], order[turn - 1] = order[turn - 1], k
            if kept[m - 1] > worst:
                break
    return kept[m - 1]


@compiled(inline=False)
def measure_pool(state: State, screen: Screen) -> None:
    """The witnesses' images, means and variances now."""
    for k in range(screen.pool.shape[0]):
        i = screen.pool[k]
        if i != NOBODY:
            screen.pool_at[k] = renew_image(state, i, screen.pool_at[k], screen.pool_images[k])
            screen.pool_means[k] = mean_of(state, i)
            screen.pool_variances[k] = inner(state.features, i, screen.pool_images[k])


@compiled(inline=False)
def suspect(state: State, screen: Screen, m: int, scale: float, worst: float) -> int:
    """Arms that neither their floor nor the pool keeps out of J(t), into ``suspects``; how many."""
    floors, deviations, figures = screen.floors, state.deviations, screen.figures
    arms, loss, widest = floors.shape[0], figures[LOSS], figures[WIDEST]
    found, now = 0, state.clock[OBSERVED]
    looked_at = 0
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        looked_at += count_suspects(floors, deviations, loss, widest, worst, first, end)
    behind = state.clock[BEHIND]
    # One pass a pull, or a product an arm for as many pulls as are kept.
    if behind <= RECENT and looked_at * RECENT > arms * behind:
        renew_variances(state)
    if looked_at > 0:
        measure_pool(state, screen)
    for first in range(0, arms, SCANNED):
        end = min(first + SCANNED, arms)
        if not count_suspects(floors, deviations, loss, widest, worst, first, end):
            continue
        for j in range(first, end):
            if screen.places[j] != NOBODY or screen.judged_at[j] == now:
                continue
            lost = loss * (widest + deviations[j])
            if floors[j] - lost > worst:
                continue
            floor = floor_of(state, screen, j, m, scale, worst)
            floors[j] = floor + lost
            if floor <= worst:
                screen.suspects[found] = j
                found += 1
    return found


@compiled(inline=False)
def choose(
    state: State,
    screen: Screen,
    candidates: Integers,
    m: int,
    inside: np.ndarray,
    mth_gaps: Reals,
    key: np.uint64,
) -> None:
    """The m companions of smallest m-th gap become J(t); the last of them is candidates[m − 1]."""
    for k in range(m):
        inside[candidates[k]] = False
    count = int(screen.figures[COMPANIONS])
    listed = 0
    for place in range(count):
        j = screen.companions[place]
        mth_gaps[j] = screen.gaps[place, m - 1]
        if listed == m:
            last = candidates[m - 1]
            if not comes_before(-mth_gaps[j], j, -mth_gaps[last], last, key):
                continue
            listed -= 1
        k = listed
        while k > 0 and comes_before(
            -mth_gaps[j], j, -mth_gaps[candidates[k - 1]], candidates[k - 1], key
        ):
            candidates[k] = candidates[k - 1]
            k -= 1
        candidates[k] = j
        listed += 1
    for k in range(m):
        inside[candidates[k]] = True


@compiled(inline=False)
def admit(
    state: State,
    screen: Screen,
    found: int,
    m: int,
    inside: np.ndarray,
    scale: float,
    key: np.uint64,
) -> None:
    """Make the suspects of lowest floor companions, a few at once, and their witnesses ours."""
    count = int(screen.figures[COMPANIONS])
    most = screen.companions.shape[0]
    # Room: those who are furthest from J(t) leave.
    while count > most - AT_ONCE:
        worst, place = -np.inf, NOBODY
        for p in range(count):
            j = screen.companions[p]
            if not inside[j] and screen.gaps[p, m - 1] > worst:
                worst, place = screen.gaps[p, m - 1], p
        screen.judged_at[screen.companions[place]] = state.clock[OBSERVED]
        dismiss(state, screen, place)
        count -= 1
    admitted = 0
    while admitted < min(AT_ONCE, found):
        lowest, which = np.inf, 0
        for k in range(found):
            j = screen.suspects[k]
            floor = screen.floors[j] - screen.figures[LOSS] * state.deviations[j]
            if screen.places[j] == NOBODY and floor <= lowest:
                lowest, which = floor, k
        accompany(state, screen, screen.suspects[which])
        admitted += 1
    extend(state, screen, count, count + admitted, False)
    rank_gaps(state, screen, count, count + admitted, m, scale, key)
    for place in range(count, count + admitted):
        for rank in range(m):
            if screen.tops[place, rank] != NOBODY:
                call(state, screen, screen.tops[place, rank])


@compiled(inline=False)
def find_smallest(
    state: State,
    screen: Screen,
    candidates: Integers,
    m: int,
    inside: np.ndarray,
    scale: float,
    mth_gaps: Reals,
    key: np.uint64,
    challenger_key: np.uint64,
) -> None:
    """J(t) of the rule ``smallest_gap``, from the last one."""
    keep_company(state, screen, candidates, m, inside, scale)
    lose(state, screen, scale)
    rank_gaps(state, screen, 0, int(screen.figures[COMPANIONS]), m, scale, challenger_key)
    while True:
        choose(state, screen, candidates, m, inside, mth_gaps, key)
        worst = mth_gaps[candidates[m - 1]]
        guarded = worst + ROUNDING * (abs(worst) + abs(mean_of(state, candidates[m - 1])))
        found = suspect(state, screen, m, scale, guarded)
        if found == 0:
            break
        admit(state, screen, found, m, inside, scale, challenger_key)
