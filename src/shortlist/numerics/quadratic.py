"""The nearest means that are linear in the features up to c: small quadratic programs, compiled.

Minimise ½ Σ_a w_a (target_a − λ_a)² over λ = Xθ + η with |η_a| ≤ c and θ free and, where a pair is
given, λ_i − λ_j = gap. By a primal-dual interior-point method with Mehrotra's corrector. η and the
multipliers of its bounds are eliminated arm by arm, so that a step solves one system as large as
the rank of X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from shortlist.arrays import NO_ARM
from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import dot, solve_factor
from shortlist.numerics.records import (
    Reals,
    Record,
    Table,
)

MOST_STEPS = 60  # ten are usual
EXACT, EXACT_SPREAD = 1e-13, 1e-22  # duality gap, over the value and over Σ w·spread²
FARTHEST = 0.999  # of the way to a bound
NEGLIGIBLE = 1e-12  # c, over the spread to be explained: below, the multipliers overflow
FAINT = 1e-12  # of the largest weight: some weight must bind θ
PIVOT = 1e-15  # of the diagonal: a direction of θ that makes no difference

Pair = tuple[int, int, float]
NO_PAIR: Pair = (NO_ARM, NO_ARM, 0.0)


@dataclass(frozen=True, eq=False)
class Workspace(Record):
    """X, the target and its weights; the answer; and scratch.

    The answer is ``means``, λ, and ``price[0]``, the multiplier of the gap. ``weights`` are those given,
    over the largest, but not below ``FAINT``.
    """

    features: Table
    target: Reals
    given_weights: Reals
    means: Reals
    price: Reals
    weights: Reals
    eta: Reals
    room_above: Reals
    room_below: Reals
    above: Reals
    below: Reals
    bend: Reals
    pull: Reals
    d_eta: Reals
    d_above: Reals
    d_below: Reals
    theta: Reals
    d_theta: Reals
    across: Reals
    solved: Reals
    factor: Table


def workspace(features: Table) -> Workspace:
    """Scratch for these features, which are shared."""
    arms, rank = features.shape
    sizes = {"price": 1, **dict.fromkeys(("theta", "d_theta", "across", "solved"), rank)}
    shapes = {field.name: sizes.get(field.name, arms) for field in fields(Workspace)}
    return Workspace.zeros(**{**shapes, "factor": (rank, rank), "features": features})


@compiled(typed=True)
def factorize_weighted(features: Table, weights: Reals, factor: Table) -> None:
    """The Cholesky factor of Σ_a w_a x_a x_aᵀ; where that is singular, of something near it."""
    arms, rank = features.shape
    for i in range(rank):
        for j in range(i + 1):
            factor[i, j] = 0.0
    for a in range(arms):
        for i in range(rank):
            scaled = weights[a] * features[a, i]
            for j in range(i + 1):
                factor[i, j] += scaled * features[a, j]
    for i in range(rank):
        least = max(PIVOT * factor[i, i], 1e-300)
        for j in range(i + 1):
            total = factor[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = math.sqrt(max(total, least)) if i == j else total / factor[j, j]


@compiled(typed=True)
def fit(work: Workspace) -> None:
    """Least squares: θ, and Xθ into ``work.means``."""
    features, target, theta = work.features, work.target, work.theta
    factorize_weighted(features, work.weights, work.factor)
    for k in range(theta.shape[0]):
        theta[k] = 0.0
        for a in range(features.shape[0]):
            theta[k] += work.weights[a] * features[a, k] * target[a]
    solve_factor(work.factor, theta)
    for a in range(features.shape[0]):
        work.means[a] = dot(features, a, theta)


@compiled(typed=True)
def nearest_linear(i: int, j: int, gap: float, work: Workspace) -> None:
    """λ for c = 0: least squares, moved along V⁻¹(x_i − x_j) until the gap is right."""
    fit(work)
    if i == NO_ARM:
        return
    features, move = work.features, work.d_theta
    for k in range(move.shape[0]):
        move[k] = features[i, k] - features[j, k]
    solve_factor(work.factor, move)
    square = dot(features, i, move) - dot(features, j, move)
    work.price[0] = (work.means[i] - work.means[j] - gap) / square
    for a in range(features.shape[0]):
        work.means[a] -= work.price[0] * dot(features, a, move)


@compiled(typed=True)
def nearest_of_all(c: float, i: int, j: int, gap: float, work: Workspace) -> bool:
    """λ as if there were no features, if |η| ≤ c allows it by the fit in ``work.means``."""
    target = work.target
    move_i = move_j = price = 0.0
    if i != NO_ARM:
        price = (target[i] - target[j] - gap) / (1.0 / work.weights[i] + 1.0 / work.weights[j])
        move_i, move_j = -price / work.weights[i], price / work.weights[j]
    for a in range(target.shape[0]):
        moved = move_i if a == i else (move_j if a == j else 0.0)
        if abs(target[a] + moved - work.means[a]) > c:
            return False
    for a in range(target.shape[0]):
        work.means[a] = target[a]
    if i != NO_ARM:
        work.means[i] += move_i
        work.means[j] += move_j
    work.price[0] = price
    return True


@compiled(typed=True)
def begin(c: float, i: int, j: int, gap: float, work: Workspace) -> float:
    """From the fit, a point strictly inside the bounds; returns the spread to be explained."""
    target, spread = work.target, c
    for a in range(target.shape[0]):
        work.eta[a] = min(max(target[a] - work.means[a], -0.5 * c), 0.5 * c)
        work.means[a] += work.eta[a]
        spread = max(spread, abs(target[a] - work.means[a]))
    if i != NO_ARM:
        spread = max(spread, abs(work.means[i] - work.means[j] - gap))
    for a in range(target.shape[0]):
        work.room_above[a], work.room_below[a] = c - work.eta[a], c + work.eta[a]
        work.above[a] = work.below[a] = spread
        work.d_eta[a] = work.d_above[a] = work.d_below[a] = 0.0
    work.price[0] = 0.0
    return spread


@compiled(typed=True)
def curvature(i: int, j: int, work: Workspace) -> float:
    """Factorize the step's system; returns how much the gap gives way to its price."""
    features, w, bend, across = work.features, work.weights, work.bend, work.across
    for a in range(w.shape[0]):
        bend[a] = work.above[a] / work.room_above[a] + work.below[a] / work.room_below[a]
        work.pull[a] = w[a] * bend[a] / (w[a] + bend[a])
    factorize_weighted(features, work.pull, work.factor)
    if i == NO_ARM:
        return 1.0
    share_i, share_j = bend[i] / (w[i] + bend[i]), bend[j] / (w[j] + bend[j])
    for k in range(across.shape[0]):
        across[k] = share_i * features[i, k] - share_j * features[j, k]
        work.solved[k] = across[k]
    solve_factor(work.factor, work.solved)
    give = 1.0 / (w[i] + bend[i]) + 1.0 / (w[j] + bend[j])
    for k in range(across.shape[0]):
        give += across[k] * work.solved[k]
    return give


@compiled()
def sign(arm: int, i: int, j: int) -> float:
    """The arm's entry of e_i − e_j."""
    return 1.0 if arm == i else (-1.0 if arm == j else 0.0)


@compiled(typed=True)
def direct(
    i: int, j: int, gap: float, give: float, aim: float, again: float, work: Workspace
) -> float:
    """The Newton step towards complementarity ``aim``; returns the change of the price.

    With ``again`` = 1 the last step's second-order terms are corrected for.
    """
    w, bend, d_theta, d_eta = work.weights, work.bend, work.d_theta, work.d_eta
    features, target = work.features, work.target
    arms, rank = features.shape
    price, lack = work.price[0], 0.0
    for k in range(rank):
        d_theta[k] = 0.0
    for a in range(arms):
        force = w[a] * (work.means[a] - target[a]) + price * sign(a, i, j)
        over = (aim + again * work.d_above[a] * d_eta[a]) / work.room_above[a]
        under = (aim - again * work.d_below[a] * d_eta[a]) / work.room_below[a]
        work.d_above[a], work.d_below[a] = over, under
        work.pull[a] = (force + over - under) / (w[a] + bend[a])
        rest = w[a] * work.pull[a] - force
        for k in range(rank):
            d_theta[k] += features[a, k] * rest
        lack += sign(a, i, j) * work.pull[a]
    solve_factor(work.factor, d_theta)
    d_price = 0.0
    if i != NO_ARM:
        lack += gap - (work.means[i] - work.means[j])
        for k in range(rank):
            d_price += work.across[k] * d_theta[k]
        d_price = (d_price - lack) / give
        for k in range(rank):
            d_theta[k] -= work.solved[k] * d_price
    for a in range(arms):
        moved = w[a] * dot(features, a, d_theta) + sign(a, i, j) * d_price
        d_eta[a] = -work.pull[a] - moved / (w[a] + bend[a])
        work.d_above[a] += work.above[a] * (d_eta[a] / work.room_above[a] - 1.0)
        work.d_below[a] -= work.below[a] * (d_eta[a] / work.room_below[a] + 1.0)
    return d_price


@compiled(typed=True)
def reach(work: Workspace) -> float:
    """How much of the step can be taken before a bound is met."""
    step = 1.0 / FARTHEST
    for a in range(work.eta.shape[0]):
        if work.d_eta[a] > 0.0:
            step = min(step, work.room_above[a] / work.d_eta[a])
        elif work.d_eta[a] < 0.0:
            step = min(step, -work.room_below[a] / work.d_eta[a])
        if work.d_above[a] < 0.0:
            step = min(step, -work.above[a] / work.d_above[a])
        if work.d_below[a] < 0.0:
            step = min(step, -work.below[a] / work.d_below[a])
    return step * FARTHEST


@compiled(typed=True)
def complementarity(step: float, work: Workspace) -> float:
    """Σ multiplier · room, after this share of the step."""
    total = 0.0
    for a in range(work.eta.shape[0]):
        moved = step * work.d_eta[a]
        total += (work.above[a] + step * work.d_above[a]) * (work.room_above[a] - moved)
        total += (work.below[a] + step * work.d_below[a]) * (work.room_below[a] + moved)
    return total


@compiled(typed=True)
def move(step: float, d_price: float, work: Workspace) -> None:
    """Take this share of the step."""
    work.price[0] += step * d_price
    for k in range(work.theta.shape[0]):
        work.theta[k] += step * work.d_theta[k]
    for a in range(work.eta.shape[0]):
        moved = step * work.d_eta[a]
        work.eta[a] += moved
        work.room_above[a] -= moved  # kept apart from η: close to a bound it has more digits
        work.room_below[a] += moved
        work.above[a] += step * work.d_above[a]
        work.below[a] += step * work.d_below[a]
        work.means[a] = dot(work.features, a, work.theta) + work.eta[a]


@compiled(typed=True)
def distance(work: Workspace) -> float:
    """½ Σ_a w_a (target_a − λ_a)²."""
    total = 0.0
    for a in range(work.target.shape[0]):
        off = work.target[a] - work.means[a]
        total += 0.5 * work.weights[a] * (off * off)
    return total


@compiled(typed=True)
def nearest(c: float, i: int, j: int, gap: float, work: Workspace) -> float:
    """The nearest λ into ``work.means``; returns its distance ½ Σ_a w_a (target_a − λ_a)².

    ``i`` = ``NO_ARM`` asks for no gap. Weights may be zero, but not all of them.
    """
    arms, largest = work.target.shape[0], 0.0
    for a in range(arms):
        largest = max(largest, work.given_weights[a])
    for a in range(arms):
        work.weights[a] = max(work.given_weights[a] / largest, FAINT)
    spread, found = 0.0, False
    if c > 0.0:
        fit(work)
        found = nearest_of_all(c, i, j, gap, work)
        if not found:
            spread = begin(c, i, j, gap, work)
    if not found and c <= NEGLIGIBLE * spread:
        nearest_linear(i, j, gap, work)
        found = True
    for _ in range(0 if found else MOST_STEPS):
        before = complementarity(0.0, work)
        give = curvature(i, j, work)
        direct(i, j, gap, give, 0.0, 0.0, work)
        after = complementarity(reach(work), work)
        ratio = after / before
        aim = before / (2 * arms) * (ratio * (ratio * ratio))  # Mehrotra's
        d_price = direct(i, j, gap, give, aim, 1.0, work)
        step = reach(work)
        move(step, d_price, work)
        exact = EXACT * distance(work) + EXACT_SPREAD * arms * spread * spread
        if step > 0.99 and complementarity(0.0, work) <= exact:
            break
    work.price[0] *= largest
    return largest * distance(work)


def nearest_to(
    target: Reals, weights: Reals, c: float, work: Workspace, pair: Pair = NO_PAIR
) -> float:
    """Have ``nearest`` write λ for this target to ``work.means``; returns its distance.

    ``pair`` is (i, j, λ_i − λ_j), if a gap is given.
    """
    work.target[:], work.given_weights[:] = target, weights
    i, j, gap = pair
    return float(nearest(c, i, j, gap, work))
