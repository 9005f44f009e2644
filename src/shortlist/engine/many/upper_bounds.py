"""The largest gap indices of very many arms: one bound an arm, kept from round to round.

Arm i's reach E_i bounds κ‖x_i − x_j‖_{V⁻¹} − a_j over all companions j, with the κ = Cσ of an earlier
round and numbers a_j (the anchors: their means then). Widths only shrink. So later, with κ' = rκ,

    B_ij ≤ μ̂_i + r E_i + r a_j − μ̂_j,

which costs two numbers an arm. The few arms whose bound attains the largest gap index found are
computed in full, and their reach is then made as small as it may be. A new candidate is added to
the reach of all arms by one pass over X. All is anchored anew once as much has been spent on arms in
full as that costs.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many.state import COMPANIONS, EPOCH, SCALE, SPENT, Screen
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals
from shortlist.posterior.lagging import mean_of, renew_variance
from shortlist.posterior.least_squares import apply
from shortlist.posterior.passes import SCANNED, inner, products_of_quarters
from shortlist.posterior.state import FLOOR, OBSERVED, RECENT, REFRESHED, State
from shortlist.rules.indices import paired_index, square_of

GUARD = 1e-9  # of ‖x_i‖² + ‖x_j‖²: far above what rounding does to ‖x_i − x_j‖²


@compiled()
def look_up(state: State, screen: Screen, i: int) -> None:
    """Make the arm's variance exact."""
    if state.lagging.exact_at[i] != state.clock[OBSERVED]:
        renew_variance(state, i)


@compiled(inline=False)
def gap_index(state: State, screen: Screen, i: int, place: int, scale: float) -> float:
    """B_ij against the companion j in this place."""
    look_up(state, screen, i)
    both = state.variances[i] + screen.variances[place]
    product = inner(state.features, i, screen.images[place])
    square = square_of(both, product, state.scalars[FLOOR])
    return paired_index(mean_of(state, i), screen.means[place], square, scale)


@compiled()
def guard_of(state: State) -> float:
    """What is added to ‖x_i − x_j‖², of ‖x_i‖² + ‖x_j‖²: a floor may be higher than the usual guard."""
    return max(GUARD, state.scalars[FLOOR])


@compiled(inline=False, fast=True)
def reach_out(
    reach: Reals,
    variances: Reals,
    products: Reals,
    anchor: float,
    variance: float,
    scale: float,
    guard: float,
) -> None:
    """Add a companion of this variance to the reach of as many arms."""
    for i in range(reach.shape[0]):
        both = variances[i] + variance
        square = max(both - 2.0 * products[i], 0.0) + guard * both
        reach[i] = max(reach[i], scale * math.sqrt(square) - anchor)


@compiled(inline=False, fast=True)
def extend(state: State, screen: Screen, first: int, end: int, anew: bool) -> None:
    """Add the companions from ``first`` to ``end`` to the reach of all arms."""
    variances, reach, products = state.variances, screen.reach, screen.products
    arms, scale, guard = reach.shape[0], screen.figures[SCALE], guard_of(state)
    quarter = arms // 4
    if anew:
        for i in range(arms):
            reach[i] = -np.inf
    for start in range(0, quarter, SCANNED):
        size = min(SCANNED, quarter - start)
        for k in range(first, end):
            products_of_quarters(
                *(state.features, quarter, start, screen.images[k], products[0, :size]),
                *(products[1, :size], products[2, :size], products[3, :size]),
            )
            for part in range(4):
                begin = part * quarter + start
                reach_out(
                    *(reach[begin : begin + size], variances[begin : begin + size], products[part]),
                    *(screen.anchors[k], screen.variances[k], scale, guard),
                )
    for i in range(4 * quarter, arms):
        for k in range(first, end):
            products[0, 0] = inner(state.features, i, screen.images[k])
            reach_out(
                *(reach[i : i + 1], variances[i : i + 1], products[0]),
                *(screen.anchors[k], screen.variances[k], scale, guard),
            )


@compiled(inline=False)
def renew_image(state: State, arm: int, since: int, image: Reals) -> int:
    """V⁻¹x of the arm now, from what it was after ``since`` pulls (−1: unknown); returns pulls by now."""
    observed = state.clock[OBSERVED]
    if since < 0 or observed - since > RECENT:
        apply(state, arm, state.kept.inverse, image)
    else:
        for n in range(since + 1, observed + 1):
            recent = state.lagging.recent[n % RECENT]
            share = inner(state.features, arm, recent) / state.lagging.growths[n % RECENT]
            for k in range(image.shape[0]):
                image[k] -= share * recent[k]
    return observed


@compiled(inline=False)
def measure_companion(state: State, screen: Screen, place: int) -> None:
    """Its image, mean and variance now."""
    j, since = screen.companions[place], screen.measured_at[place]
    screen.measured_at[place] = renew_image(state, j, since, screen.images[place])
    screen.means[place] = mean_of(state, j)
    screen.variances[place] = inner(state.features, j, screen.images[place])
    state.variances[j] = screen.variances[place]
    state.lagging.exact_at[j] = state.clock[OBSERVED]


@compiled(inline=False)
def accompany(state: State, screen: Screen, j: int) -> None:
    """Make arm j a companion."""
    place = int(screen.figures[COMPANIONS])
    screen.companions[place] = j
    screen.places[j] = place
    screen.measured_at[place] = NO_ARM
    measure_companion(state, screen, place)
    screen.anchors[place] = screen.means[place]
    screen.tops[place, 0] = NO_ARM
    screen.gaps[place, :] = -np.inf
    screen.figures[COMPANIONS] += 1.0


@compiled(inline=False)
def forget_companions(state: State, screen: Screen) -> None:
    """Nobody is a companion."""
    for place in range(int(screen.figures[COMPANIONS])):
        screen.places[screen.companions[place]] = NO_ARM
    screen.figures[COMPANIONS] = 0.0


@compiled(inline=False)
def dismiss(state: State, screen: Screen, place: int) -> None:
    """The companion in this place is none any more; the last one takes its place."""
    j, last = screen.companions[place], int(screen.figures[COMPANIONS]) - 1
    other = screen.companions[last]
    screen.places[other] = place
    screen.places[j] = NO_ARM
    screen.companions[place] = other
    screen.anchors[place] = screen.anchors[last]
    screen.means[place] = screen.means[last]
    screen.variances[place] = screen.variances[last]
    screen.measured_at[place] = screen.measured_at[last]
    for k in range(screen.images.shape[1]):
        screen.images[place, k] = screen.images[last, k]
    for rank in range(screen.tops.shape[1]):
        screen.tops[place, rank] = screen.tops[last, rank]
        screen.gaps[place, rank] = screen.gaps[last, rank]
    screen.figures[COMPANIONS] -= 1.0


@compiled(inline=False)
def keep_company(
    state: State, screen: Screen, candidates: Integers, m: int, inside: np.ndarray, scale: float
) -> None:
    """Make all candidates companions, and measure every companion."""
    figures = screen.figures
    added = 0
    for k in range(m):
        added += screen.places[candidates[k]] == NO_ARM
    dear = figures[SPENT] > m * screen.reach.shape[0] or 2 * added > m
    if dear or figures[COMPANIONS] + added > screen.companions.shape[0]:
        for place in range(int(figures[COMPANIONS]) - 1, -1, -1):
            if not inside[screen.companions[place]]:
                dismiss(state, screen, place)
    count = int(figures[COMPANIONS])
    for place in range(count):
        measure_companion(state, screen, place)
    for k in range(m):
        if screen.places[candidates[k]] == NO_ARM:
            accompany(state, screen, candidates[k])
    if dear or count == 0:
        figures[SCALE], figures[SPENT] = scale, 0.0
        for place in range(m):
            screen.anchors[place] = screen.means[place]
        extend(state, screen, 0, m, True)
    elif added:
        extend(state, screen, count, count + added, False)


@compiled(inline=False, fast=True)
def count_attaining(
    means: np.ndarray,
    deviations: np.ndarray,
    reach: np.ndarray,
    moved: float,
    ratio: float,
    least: float,
    first: int,
    end: int,
) -> int:
    """How many arms of a block may attain ``least``."""
    attaining = 0
    means, deviations, reach = means[first:end], deviations[first:end], reach[first:end]
    for i in range(end - first):
        attaining += means[i] + moved * deviations[i] + ratio * reach[i] >= least
    return attaining


@compiled(inline=False)
def shorten(state: State, screen: Screen, i: int) -> float:
    """Make the arm's reach as small as its variance allows; its products with the images, in ``block``."""
    most = -np.inf
    figures, guard = screen.figures, guard_of(state)
    for place in range(int(figures[COMPANIONS])):
        product = inner(state.features, i, screen.images[place])
        screen.block[place] = product
        both = state.variances[i] + screen.variances[place]
        square = max(both - 2.0 * product, 0.0) + guard * both
        most = max(most, figures[SCALE] * math.sqrt(square) - screen.anchors[place])
    figures[SPENT] += figures[COMPANIONS]
    screen.reach[i] = most
    return most


@compiled(inline=False)
def is_current(state: State, screen: Screen) -> bool:
    """Whether the bounds are of this run, and of V since the last refresh."""
    return screen.figures[EPOCH] == state.clock[REFRESHED]


@compiled(inline=False)
def is_among(arms: Integers, i: int) -> bool:
    """Whether the arm is one of these."""
    found = False
    for k in range(arms.shape[0]):
        found |= arms[k] == i
    return found
