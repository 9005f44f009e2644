"""Upper bounds on the gap indices of very many arms: one number per arm, kept from round to round.

``width_bounds[i]`` = E_i bounds κ‖x_i − x_j‖_{V⁻¹} − a_j over all references j, with the κ = Cσ of an
earlier round and numbers a_j (the anchors: the means of the references then). Widths only shrink. So
later, with κ' = rκ,

    B_ij ≤ μ̂_i + r E_i + r a_j − μ̂_j,

which costs two numbers per arm. The few arms whose bound reaches the largest gap index found so far are
computed in full, and their E_i is then made as small as possible. A new candidate is added to all E_i
by one pass over X. All E_i are computed from scratch once the arms computed in full have cost as
much as that.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.state import REFERENCES, SCALE, SPENT, Memory
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals
from shortlist.posterior.lagging import mean_of, renew_variance
from shortlist.posterior.least_squares import apply
from shortlist.posterior.passes import SCANNED, inner, products_of_quarters
from shortlist.posterior.state import FLOOR, OBSERVED, RECENT, State
from shortlist.rules.indices import paired_index, square_of

GUARD = 1e-9  # of ‖x_i‖² + ‖x_j‖²: far above what rounding does to ‖x_i − x_j‖²


@compiled()
def renew_if_old(state: State, i: int) -> None:
    """Make the variance of arm i exact if it is not."""
    if state.lagging.exact_at[i] != state.clock[OBSERVED]:
        renew_variance(state, i)


@compiled(inline=False)
def gap_index(state: State, memory: Memory, i: int, place: int, scale: float) -> float:
    """B_ij for the reference j in this place."""
    renew_if_old(state, i)
    both = state.variances[i] + memory.variances[place]
    product = inner(state.features, i, memory.images[place])
    square = square_of(both, product, state.scalars[FLOOR])
    return paired_index(mean_of(state, i), memory.means[place], square, scale)


@compiled()
def guard_of(state: State) -> float:
    """What share of ‖x_i‖² + ‖x_j‖² is added to ‖x_i − x_j‖²: the guard, or the floor if that is higher."""
    return max(GUARD, state.scalars[FLOOR])


@compiled(inline=False, fast=True)
def raise_bounds(
    width_bounds: Reals,
    variances: Reals,
    products: Reals,
    anchor: float,
    variance: float,
    scale: float,
    guard: float,
) -> None:
    """Raise the width bounds of a block of arms so that they cover one more reference."""
    for i in range(width_bounds.shape[0]):
        both = variances[i] + variance
        square = max(both - 2.0 * products[i], 0.0) + guard * both
        width_bounds[i] = max(width_bounds[i], scale * math.sqrt(square) - anchor)


@compiled(inline=False, fast=True)
def add_to_bounds(state: State, memory: Memory, first: int, end: int, reset: bool) -> None:
    """Raise the width bounds of all arms to cover the references from ``first`` to ``end``."""
    variances, width_bounds, products = state.variances, memory.width_bounds, memory.products
    arms, scale, guard = width_bounds.shape[0], memory.figures[SCALE], guard_of(state)
    quarter = arms // 4
    if reset:
        for i in range(arms):
            width_bounds[i] = -np.inf
    for start in range(0, quarter, SCANNED):
        size = min(SCANNED, quarter - start)
        for k in range(first, end):
            products_of_quarters(
                *(state.features, quarter, start, memory.images[k], products[0, :size]),
                *(products[1, :size], products[2, :size], products[3, :size]),
            )
            for part in range(4):
                begin = part * quarter + start
                raise_bounds(
                    *(
                        width_bounds[begin : begin + size],
                        variances[begin : begin + size],
                        products[part],
                    ),
                    *(memory.anchors[k], memory.variances[k], scale, guard),
                )
    for i in range(4 * quarter, arms):
        for k in range(first, end):
            products[0, 0] = inner(state.features, i, memory.images[k])
            raise_bounds(
                *(width_bounds[i : i + 1], variances[i : i + 1], products[0]),
                *(memory.anchors[k], memory.variances[k], scale, guard),
            )


@compiled(inline=False)
def renew_image(state: State, arm: int, since: int, image: Reals) -> int:
    """Update V⁻¹x of an arm from its value after ``since`` pulls (−1: unknown); returns the pulls by now."""
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
def measure_reference(state: State, memory: Memory, place: int) -> None:
    """Update the image V⁻¹x, the mean and the variance of the reference in this place."""
    j, since = memory.references[place], memory.measured_at[place]
    memory.measured_at[place] = renew_image(state, j, since, memory.images[place])
    memory.means[place] = mean_of(state, j)
    memory.variances[place] = inner(state.features, j, memory.images[place])
    state.variances[j] = memory.variances[place]
    state.lagging.exact_at[j] = state.clock[OBSERVED]


@compiled(inline=False)
def add_reference(state: State, memory: Memory, j: int) -> None:
    """Add arm j to the references."""
    place = int(memory.figures[REFERENCES])
    memory.references[place] = j
    memory.places[j] = place
    memory.measured_at[place] = NO_ARM
    measure_reference(state, memory, place)
    memory.anchors[place] = memory.means[place]
    memory.top_arms[place, 0] = NO_ARM
    memory.gaps[place, :] = -np.inf
    memory.figures[REFERENCES] += 1.0


@compiled(inline=False)
def clear_references(memory: Memory) -> None:
    """Remove all references."""
    for place in range(int(memory.figures[REFERENCES])):
        memory.places[memory.references[place]] = NO_ARM
    memory.figures[REFERENCES] = 0.0


@compiled(inline=False)
def remove_reference(memory: Memory, place: int) -> None:
    """Remove the reference in this place; the last one takes its place."""
    j, last = memory.references[place], int(memory.figures[REFERENCES]) - 1
    other = memory.references[last]
    memory.places[other] = place
    memory.places[j] = NO_ARM
    memory.references[place] = other
    memory.anchors[place] = memory.anchors[last]
    memory.means[place] = memory.means[last]
    memory.variances[place] = memory.variances[last]
    memory.measured_at[place] = memory.measured_at[last]
    for k in range(memory.images.shape[1]):
        memory.images[place, k] = memory.images[last, k]
    for rank in range(memory.top_arms.shape[1]):
        memory.top_arms[place, rank] = memory.top_arms[last, rank]
        memory.gaps[place, rank] = memory.gaps[last, rank]
    memory.figures[REFERENCES] -= 1.0


@compiled(inline=False)
def update_references(
    state: State, memory: Memory, candidates: Integers, m: int, inside: np.ndarray, scale: float
) -> None:
    """Make all candidates references, and bring every reference up to date."""
    figures = memory.figures
    added = 0
    for k in range(m):
        added += memory.places[candidates[k]] == NO_ARM
    costly = figures[SPENT] > m * memory.width_bounds.shape[0] or 2 * added > m
    if costly or figures[REFERENCES] + added > memory.references.shape[0]:
        for place in range(int(figures[REFERENCES]) - 1, -1, -1):
            if not inside[memory.references[place]]:
                remove_reference(memory, place)
    count = int(figures[REFERENCES])
    for place in range(count):
        measure_reference(state, memory, place)
    for k in range(m):
        if memory.places[candidates[k]] == NO_ARM:
            add_reference(state, memory, candidates[k])
    if costly or count == 0:
        figures[SCALE], figures[SPENT] = scale, 0.0
        for place in range(m):
            memory.anchors[place] = memory.means[place]
        add_to_bounds(state, memory, 0, m, True)
    elif added:
        add_to_bounds(state, memory, count, count + added, False)


@compiled(inline=False, fast=True)
def count_attaining(
    means: np.ndarray,
    deviations: np.ndarray,
    width_bounds: np.ndarray,
    moved: float,
    ratio: float,
    least: float,
    first: int,
    end: int,
) -> int:
    """How many arms of a block may have a gap index of ``least``."""
    attaining = 0
    means, deviations, width_bounds = (
        means[first:end],
        deviations[first:end],
        width_bounds[first:end],
    )
    for i in range(end - first):
        attaining += means[i] + moved * deviations[i] + ratio * width_bounds[i] >= least
    return attaining


@compiled(inline=False)
def tighten(state: State, memory: Memory, i: int) -> float:
    """Make the width bound of arm i as small as possible; its products with the images go to ``block``."""
    most = -np.inf
    figures, guard = memory.figures, guard_of(state)
    for place in range(int(figures[REFERENCES])):
        product = inner(state.features, i, memory.images[place])
        memory.block[place] = product
        both = state.variances[i] + memory.variances[place]
        square = max(both - 2.0 * product, 0.0) + guard * both
        most = max(most, figures[SCALE] * math.sqrt(square) - memory.anchors[place])
    figures[SPENT] += figures[REFERENCES]
    memory.width_bounds[i] = most
    return most


@compiled(inline=False)
def is_among(arms: Integers, i: int) -> bool:
    """Whether arm i is among these."""
    found = False
    for k in range(arms.shape[0]):
        found |= arms[k] == i
    return found
