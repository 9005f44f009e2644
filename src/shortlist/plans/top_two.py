"""Top-two sampling for the m best: all of a fixed budget, where the posterior is in doubt.

Given the results, normal noise and no opinion beforehand, the means are normal around their
least-squares estimates. They are drawn, and the m best of the draw are the leaders. They are drawn
again until the m best are others. One that only the first draw has, and one that only the second
has, are the pair. The pull goes to the arm, of all K, whose result makes the variance of the pair's
difference smallest: without features the one of the two that has fewer results, with features often
neither of them.

For a single best arm without features this is top-two Thompson sampling (Russo 2016), but that the
arm is chosen by what it tells and not by a coin. For more arms, and for features, it is an extension
without a theorem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import dot
from shortlist.numerics.order import mth_largest
from shortlist.numerics.random import round_key, seed_stream, standard_normal, uniform
from shortlist.numerics.records import (
    Integers,
    Keys,
    Mask,
    Reals,
    Table,
)
from shortlist.plans.budget import NEAR, Budgeted, BudgetStrategy, SmallPlans

REDRAWS = 100  # then the least certain pair: late in a study other m best are rarely drawn
EQUAL = 1e-18  # of the arms' own squares: what rounding may leave of a difference of equal features


class TopTwoStrategy(SmallPlans):
    """Plans of few pulls, each for a pair on which two draws of the means disagree."""

    def _next_plan(self) -> Integers:
        """A pull for each pair on which two draws disagree."""
        problem, order = self._problem, np.argsort(-self.means, kind="stable")
        first = max(0, problem.m - NEAR)
        near = order[first : problem.m + NEAR]
        wanted, stream = problem.m - first, np.zeros(4, np.uint64)
        with np.errstate(over="ignore"):
            seed_stream(round_key(np.uint64(self.seed), self.told, 0), stream)
        plan = np.zeros(len(order), np.int64)
        white = np.ascontiguousarray(self._white.T)
        scratch = np.zeros((5, max(len(near), white.shape[1])))
        masks = np.zeros(len(near), np.bool_), np.zeros(len(near), np.bool_)
        given = self.means, white, near, wanted, problem.sigma, problem.epsilon
        choose_pulls(*given, self.next_size, stream, scratch, *masks, plan)
        return plan


@compiled()
def draw_best(
    means: Reals,
    white: Table,
    near: Integers,
    m: int,
    sigma: float,
    stream: Keys,
    noise: Reals,
    draw: Reals,
    kept: Reals,
    best: Mask,
) -> None:
    """Draw the means of the arms ``near``, and mark the m best of them."""
    rank, count = white.shape[1], near.shape[0]
    for k in range(rank):
        noise[k] = standard_normal(stream)
    for n in range(draw.shape[0]):
        draw[n] = -np.inf
    for n in range(count):
        draw[n] = means[near[n]] + sigma * dot(white, near[n], noise)
    least = mth_largest(draw, -1, m, kept)
    left = m
    for n in range(count):
        best[n] = draw[n] > least
        left -= 1 if best[n] else 0
    for n in range(count):  # equal draws, of arms with equal features
        if left > 0 and draw[n] == least:
            best[n] = True
            left -= 1


@compiled()
def one_of(one: Mask, other: Mask, stream: Keys) -> int:
    """A random place that is marked in one mask and not in the other; −1 if there is none."""
    count = 0
    for n in range(one.shape[0]):
        count += 1 if one[n] and not other[n] else 0
    left = int(uniform(stream) * count)
    for n in range(one.shape[0]):
        if one[n] and not other[n]:
            if left == 0:
                return n
            left -= 1
    return -1


@compiled()
def disagree(draw: Reals, leading: Mask, other: Mask, epsilon: float) -> bool:
    """Whether a challenger of the second draw is better in it, by more than ε, than a leader."""
    low, high = np.inf, -np.inf
    for n in range(leading.shape[0]):
        if leading[n] and not other[n]:
            low = min(low, draw[n])
        elif other[n] and not leading[n]:
            high = max(high, draw[n])
    return high - low > epsilon


@compiled()
def square_between(white: Table, i: int, j: int) -> float:
    """‖x_i − x_j‖² in V⁻¹; 0 where it cannot be told from rounding."""
    total, own = 0.0, 0.0
    for k in range(white.shape[1]):
        away = white[i, k] - white[j, k]
        total += away * away
        own += white[i, k] * white[i, k] + white[j, k] * white[j, k]
    return total if total > EQUAL * own else 0.0


@compiled()
def least_certain(
    means: Reals, white: Table, near: Integers, leading: Mask, epsilon: float, pair: Reals
) -> None:
    """Write the pair of a leader and another whose order is least certain; −1 if all are equal."""
    least = np.inf
    pair[0] = pair[1] = -1.0
    for n in range(near.shape[0]):
        for o in range(near.shape[0]):
            if leading[n] and not leading[o]:
                square = square_between(white, near[n], near[o])
                if square > 0.0:
                    score = (means[near[n]] - means[near[o]] + epsilon) / math.sqrt(square)
                    if score < least:
                        least, pair[0], pair[1] = score, float(n), float(o)


@compiled()
def most_telling(white: Table, b: int, c: int) -> int:
    """The arm whose result minimizes the variance of μ̂_b − μ̂_c; that of μ̂_a, without a pair."""
    most, arm = -1.0, 0
    for a in range(white.shape[0]):
        along, own = 0.0, 0.0
        for k in range(white.shape[1]):
            own += white[a, k] * white[a, k]
            if b >= 0:
                along += white[a, k] * (white[b, k] - white[c, k])
        gain = (own * own if b < 0 else along * along) / (1.0 + own)
        if gain > most:
            most, arm = gain, a
    return arm


@compiled()
def suppose_result(white: Table, arm: int, own: Reals) -> None:
    """One more result of the arm: the variances after it (the square root of Potter 1963)."""
    size = 0.0
    for k in range(white.shape[1]):
        own[k] = white[arm, k]
        size += own[k] * own[k]
    scale = 1.0 / (1.0 + size + math.sqrt(1.0 + size))
    for a in range(white.shape[0]):
        along = dot(white, a, own)
        for k in range(white.shape[1]):
            white[a, k] -= scale * along * own[k]


@compiled(typed=True)
def choose_pulls(
    means: Reals,
    white: Table,
    near: Integers,
    m: int,
    sigma: float,
    epsilon: float,
    pulls: int,
    stream: Keys,
    scratch: Table,
    leading: Mask,
    other: Mask,
    plan: Integers,
) -> None:
    """Add ``pulls`` pulls to the plan; ``white`` becomes that of the results after it."""
    noise, draw, kept, pair, own = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for _ in range(pulls):
        draw_best(means, white, near, m, sigma, stream, noise, draw, kept, leading)
        b, c = -1, -1
        for _again in range(REDRAWS):
            draw_best(means, white, near, m, sigma, stream, noise, draw, kept, other)
            if disagree(draw, leading, other, epsilon):
                b, c = one_of(leading, other, stream), one_of(other, leading, stream)
                break
        if b < 0:
            least_certain(means, white, near, leading, epsilon, pair)
            b, c = int(pair[0]), int(pair[1])
        if b >= 0:
            b, c = near[b], near[c]
            if square_between(white, b, c) == 0.0:
                b = -1
        arm = most_telling(white, b, c)
        suppose_result(white, arm, own)
        plan[arm] += 1


@dataclass(frozen=True, kw_only=True)
class TopTwo(Budgeted):
    """The m best arms, as well as a fixed number of evaluations can tell.

    ``Study(…, budget=T)`` used it before ``PairsInDoubt``, and studies stored then still do;
    ``algorithm="top-two"`` asks for it.

    Examples
    --------
    >>> import shortlist
    >>> instance = shortlist.instances.classic(K=4, m=2, omega=0.5)
    >>> results = shortlist.compare(TopTwo(budget=60), instance, runs=10, progress=False)
    >>> results.frame["samples"].tolist() == [60] * 10
    True
    """

    name: str = "top-two"

    spending: ClassVar[type[BudgetStrategy]] = TopTwoStrategy
    summary: ClassVar[str] = (
        "a fixed budget, spent where two draws of the means disagree on the m best; an extension without "
        "a theorem (nearest: Russo 2016)"
    )
    extension: ClassVar[str] = (
        "Top-two sampling for the m best is an extension without a theorem (nearest: top-two "
        "Thompson sampling, Russo 2016)."
    )
