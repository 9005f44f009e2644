"""The greedy pull among very many arms: for each ambiguous pair, the arms that may be the best pull.

With y = V⁻¹(x_b − x_c), the pull of most gain has the largest (x_aᵀy)²/(n_a + G_aa). A pass over X at time s
lists the arms where this is largest. As long as the pair comes back and

    |x_aᵀy| ≤ α|x_aᵀy_s| + ‖x_a‖_{V_s⁻¹} ‖y − αy_s‖_{V_s}

shows that no other arm can be, only the arms in the list are examined.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.state import (
    LARGEST,
    LOOKED_UP,
    NEXT_PAIR,
    PAIR_SQUARE,
    PAIRS,
    SHORT,
    Memory,
)
from shortlist.engine.many_arms.upper_bounds import renew_if_old
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before, insert
from shortlist.numerics.records import Reals
from shortlist.posterior.lagging import bilinear, metric_norm, shrinkage
from shortlist.posterior.least_squares import apply
from shortlist.posterior.passes import SCANNED, inner
from shortlist.posterior.state import State

Y, REST = PAIRS, PAIRS + 1  # in ``directions``
GUARD = 1e-9
TINY = 1e-300


@compiled(inline=False)
def largest_variance_at_refresh(state: State, memory: Memory) -> None:
    """Note the largest variance in units of the arm's noise, at the last refresh."""
    largest = 0.0
    for a in range(state.lagging.deviations.shape[0]):
        deviation = state.lagging.deviations[a]
        largest = max(largest, deviation * deviation / state.noise[a])
    memory.figures[LARGEST] = largest


@compiled(inline=False, fast=True)
def count_gaining(
    products: np.ndarray, noise: np.ndarray, deviations: np.ndarray, least: float
) -> int:
    """How many arms gain more than ``least``, with the variances of the last refresh."""
    gaining = 0
    for a in range(noise.shape[0]):
        square = products[a] * products[a]
        gaining += square > least * (noise[a] + deviations[a] * deviations[a])
    return gaining


@compiled(inline=False)
def list_gaining(
    state: State, memory: Memory, place: int, products: Reals, first: int, end: int, key: np.uint64
) -> None:
    """Add the arms from ``first`` to ``end``, with these x_aᵀy, to the pair's list if they gain enough."""
    gains, listed = memory.shortlist_gains, memory.shortlists[place]
    noise, deviations = state.noise[first:end], state.lagging.deviations[first:end]
    if count_gaining(products, noise, deviations, gains[SHORT - 1]):
        for a in range(end - first):
            gain = products[a] * products[a] / (noise[a] + deviations[a] * deviations[a])
            insert(gains, listed, gain, first + a, key)


@compiled(inline=False, fast=True)
def products_and_means_of_quarters(
    x: np.ndarray,
    quarter: int,
    first: int,
    size: int,
    y: Reals,
    theta: Reals,
    products: np.ndarray,
    means: Reals,
) -> None:
    """x_aᵀy and x_aᵀθ̂ of some arms of each quarter (see ``products_of_quarters``)."""
    a, b = x[first:], x[quarter + first :]
    c, d = x[2 * quarter + first :], x[3 * quarter + first :]
    mean_a, mean_b = means[first:], means[quarter + first :]
    mean_c, mean_d = means[2 * quarter + first :], means[3 * quarter + first :]
    for i in range(size):
        to_a, to_b, to_c, to_d = 0.0, 0.0, 0.0, 0.0
        of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
        for k in range(y.shape[0]):
            value, weight = y[k], theta[k]
            to_a += a[i, k] * value
            of_a += a[i, k] * weight
            to_b += b[i, k] * value
            of_b += b[i, k] * weight
            to_c += c[i, k] * value
            of_c += c[i, k] * weight
            to_d += d[i, k] * value
            of_d += d[i, k] * weight
        products[0, i], products[1, i], products[2, i], products[3, i] = to_a, to_b, to_c, to_d
        mean_a[i], mean_b[i], mean_c[i], mean_d[i] = of_a, of_b, of_c, of_d


@compiled(inline=False)
def list_gains(state: State, memory: Memory, place: int, key: np.uint64) -> None:
    """List the arms of largest gain for the pair in this place; the same pass renews all means."""
    x, y, theta, means = state.features, memory.directions[place], state.lagging.theta, state.means
    products = memory.products
    quarter = x.shape[0] // 4
    for k in range(SHORT):
        memory.shortlists[place, k] = NO_ARM
        memory.shortlist_gains[k] = -1.0
    for first in range(0, quarter, SCANNED):
        size = min(SCANNED, quarter - first)
        products_and_means_of_quarters(x, quarter, first, size, y, theta, products, means)
        for part in range(4):
            begin = part * quarter + first
            list_gaining(state, memory, place, products[part], begin, begin + size, key)
    for a in range(4 * quarter, x.shape[0]):
        products[0, 0] = inner(x, a, y)
        means[a] = inner(x, a, theta)
        list_gaining(state, memory, place, products[0], a, a + 1, key)
    memory.levels[place] = math.sqrt(max(memory.shortlist_gains[SHORT - 1], 0.0))
    for k in range(theta.shape[0]):
        state.lagging.anchor[k] = theta[k]
    memory.figures[LOOKED_UP] = 0.0


@compiled()
def gain_of(state: State, a: int, y: Reals) -> float:
    """By how much a pull of arm a shrinks the square width of the pair."""
    renew_if_old(state, a)
    product = inner(state.features, a, y)
    return product * product / (state.noise[a] + state.variances[a])


@compiled()
def may_gain(state: State, memory: Memory, a: int, least: float, product: float) -> bool:
    """Whether arm a, with this x_aᵀy, may gain ``least``, by what is known without its exact variance.

    By Cauchy and Schwarz (x_aᵀy)² ≤ G_aa ‖y‖²_V, where ‖y‖²_V is the square width of the pair.
    """
    deviation = state.lagging.deviations[a]
    known = deviation * deviation / (1.0 + shrinkage(state))
    square = product * product
    variance = max(known, square / memory.figures[PAIR_SQUARE])
    return square >= least * (state.noise[a] + variance) * (1.0 - GUARD)


@compiled(inline=False)
def best_listed(state: State, memory: Memory, place: int, key: np.uint64) -> int:
    """The arm of most gain in the pair's list."""
    y = memory.directions[Y]
    best, largest = NO_ARM, -1.0
    for k in range(SHORT):
        a = memory.shortlists[place, k]
        if a == NO_ARM:
            break
        if not may_gain(state, memory, a, largest, inner(state.features, a, y)):
            continue
        gain = gain_of(state, a, y)
        if comes_before(gain, a, largest, best, key):
            best, largest = a, gain
    return best


@compiled(inline=False)
def most_unlisted(state: State, memory: Memory, place: int) -> float:
    """An upper bound on the gain of every arm that is not in the pair's list."""
    y, past, rest = memory.directions[Y], memory.directions[place], memory.directions[REST]
    rank = y.shape[0]
    if memory.shortlists[place, SHORT - 1] == NO_ARM:
        return -1.0
    square = bilinear(state.lagging.metric, past, past)
    along = bilinear(state.lagging.metric, past, y)
    alpha = along / square if square > 0.0 else 0.0
    for k in range(rank):
        rest[k] = y[k] - alpha * past[k]
    largest, shrunk = memory.figures[LARGEST], memory.figures[LARGEST] / (1.0 + shrinkage(state))
    root = abs(alpha) * memory.levels[place]
    root += math.sqrt(largest / (1.0 + largest)) * metric_norm(state, rest)
    return root * root * (1.0 + largest) / (1.0 + shrunk)


@compiled(inline=False)
def best_of_all(state: State, memory: Memory, best: int, key: np.uint64) -> int:
    """The arm of most gain among all arms, starting from ``best``."""
    y = memory.directions[Y]
    largest = gain_of(state, best, y)
    for a in range(state.features.shape[0]):
        if a != best and may_gain(state, memory, a, largest, inner(state.features, a, y)):
            gain = gain_of(state, a, y)
            if comes_before(gain, a, largest, best, key):
                best, largest = a, gain
    return best


@compiled(inline=False)
def greedy_arm(state: State, memory: Memory, b: int, c: int, key: np.uint64) -> int:
    """The arm that the selection rule ``greedy`` pulls."""
    y, pairs = memory.directions[Y], memory.pairs
    image = memory.images[memory.places[b]]
    apply(state, c, state.kept.inverse, memory.directions[REST])
    for k in range(y.shape[0]):
        y[k] = image[k] - memory.directions[REST, k]
    square = inner(state.features, b, y) - inner(state.features, c, y)
    memory.figures[PAIR_SQUARE] = max(square, TINY)
    place = NO_ARM
    for k in range(PAIRS):
        if (pairs[k, 0] == b and pairs[k, 1] == c) or (pairs[k, 0] == c and pairs[k, 1] == b):
            place = k
    if place != NO_ARM:
        best = best_listed(state, memory, place, key)
        if most_unlisted(state, memory, place) < gain_of(state, best, y) * (1.0 - GUARD):
            return best
    else:
        place = int(memory.figures[NEXT_PAIR])
        memory.figures[NEXT_PAIR] = (place + 1) % PAIRS
        pairs[place, 0], pairs[place, 1] = b, c
    for k in range(y.shape[0]):
        memory.directions[place, k] = y[k]
    list_gains(state, memory, place, key)
    best = best_listed(state, memory, place, key)
    if most_unlisted(state, memory, place) < gain_of(state, best, y) * (1.0 - GUARD):
        return best
    return best_of_all(state, memory, best, key)
