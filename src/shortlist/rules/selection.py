"""a_t: the arm to evaluate in order to tell b_t from c_t (Section 3.2 of the paper)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.order import comes_before
from shortlist.numerics.random import priority
from shortlist.rules.pair import Arms, Pair
from shortlist.rules.rule import rule


@rule("selection", needs=(), number=0)
def largest_variance(pair: Pair, arms: Arms, key: np.uint64) -> int:
    """Argmax of W_t over b_t and c_t: the less certain of the two."""
    b, c = pair.b, pair.c
    if arms.variances[b] == arms.variances[c]:
        return b if priority(key, b) > priority(key, c) else c
    return b if arms.variances[b] > arms.variances[c] else c


@compiled()
def reduction(a: int, pair: Pair, arms: Arms) -> float:
    """By how much an evaluation of arm a shrinks the square norm of x_b − x_c (Sherman–Morrison)."""
    product = pair.row_b[a] - pair.row_c[a]
    return (product * product) / (arms.noise[a] + arms.variances[a])


@compiled()
def greedy_by_priority(pair: Pair, arms: Arms, key: np.uint64) -> int:
    """The arm of largest reduction; ties by priority."""
    best = 0
    largest = -1.0
    for a in range(arms.variances.shape[0]):
        gain = reduction(a, pair, arms)
        if comes_before(gain, a, largest, best, key):
            best, largest = a, gain
    return best


@rule("selection", needs=(), number=1)
def greedy(pair: Pair, arms: Arms, key: np.uint64) -> int:
    """argmin_a ‖x_b − x_c‖_{(V + x_a x_aᵀ)⁻¹}: the evaluation that most shrinks the pair."""
    best = 0
    largest = -1.0
    for a in range(arms.variances.shape[0]):
        gain = reduction(a, pair, arms)
        if gain > largest:
            best, largest = a, gain
        elif gain == largest:  # seldom, and only then is the key scattered
            return greedy_by_priority(pair, arms, key)
    return best


@rule("selection", needs=("design",), number=2)
def optimized(pair: Pair, arms: Arms, key: np.uint64) -> int:
    """Argmin over w*_a(b, c) ≠ 0 of N_a ‖w*‖₁ / |w*_a|: the arm furthest behind the design."""
    # Equation (1) of the paper prints argmax; argmin is meant (Xu et al. 2018). ‖w*‖₁ is common.
    best = pair.b  # for two arms that are alike up to rounding, whose design is empty
    smallest = np.inf
    for a in range(arms.pulls.shape[0]):
        weight = abs(pair.design[a])
        if weight == 0.0:
            continue
        ratio = arms.pulls[a] / weight
        if ratio < smallest:
            best, smallest = a, ratio
        elif ratio == smallest and priority(key, a) > priority(key, best):
            best = a
    return best


@rule("selection", needs=(), traits=("pulls_both",), number=3)
def both_arms(pair: Pair, arms: Arms, key: np.uint64) -> int:
    """b_t, and then c_t in the same round (the original LUCB)."""
    return pair.b


@rule("selection", needs=("target",), number=4)
def tracking(pair: Pair, arms: Arms, key: np.uint64) -> int:
    """Argmin of N_a minus the pulls that the allocation wants of arm a (LinGame)."""
    best = 0
    smallest = np.inf
    for a in range(arms.pulls.shape[0]):
        ahead = arms.pulls[a] - arms.wanted[a]
        if ahead < smallest:
            best, smallest = a, ahead
        elif ahead == smallest and priority(key, a) > priority(key, best):
            best = a
    return best


@compiled()
def select(number: int, own: Callable[..., int], pair: Pair, arms: Arms, key: np.uint64) -> int:
    """a_t by the rule of this number, or by the user's own."""
    if number == 0:
        return largest_variance(pair, arms, key)
    if number == 1:
        return greedy(pair, arms, key)
    if number == 2:
        return optimized(pair, arms, key)
    if number == 3:
        return both_arms(pair, arms, key)
    if number == 4:
        return tracking(pair, arms, key)
    return own(pair, arms, key)
