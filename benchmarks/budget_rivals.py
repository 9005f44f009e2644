"""What simulation people use on a fixed budget: OCBA-m, and top-two Thompson sampling for the m best.

OCBA-m (Chen, He, Fu and Lee 2008) knows no features. A fifth of the budget is shared out evenly, five
results an arm at least where that is not more than half. Then N_a is to be proportional to
(s_a/(μ̂_a − c))², ten results at a time, with c between the arms of rank m and m + 1. As published, c
is where both are equally many standard errors away; an arm that has few results then gets few more,
so c half way between them is tried too. s_a is estimated, or it is σ. The formulas were derived anew and
compared with two public programs, not with the article: docs/measurements.md.

Top-two Thompson sampling (Russo 2016) draws the means from their posterior, which is normal around
least squares on the features; the m best of a draw are the leaders. It draws again until the m best
are others, and pulls a leader that is missing from them or an arm that took its place, by a coin.
"""

# ruff: noqa: NPY002  # in compiled code Numba has these generators
from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shortlist.linalg import span
from shortlist.rewards import Coins, Normal, Recorded, Rewards
from shortlist.simulation.instances import Instance

Reals = NDArray[np.float64]
REDRAWS = 100  # then the pair that is least certain: late in a run another set is rarely drawn
FIRST, AT_ONCE = 5, 10  # results of OCBA-m: of an arm at first, and at a time after that
NORMAL, COINS, RECORDS = 0, 1, 2


@njit(cache=True)
def drawn(kind: int, parameters: Reals, arm: int) -> float:
    """A reward."""
    if kind == COINS:
        return 1.0 if np.random.random() < parameters[0, arm] else 0.0
    if kind == RECORDS:
        return parameters[int(np.random.random() * parameters.shape[0]), arm]
    return parameters[0, arm] + parameters[1, arm] * np.random.standard_normal()


@njit(cache=True)
def is_wrong(estimates: Reals, means: Reals, m: int) -> bool:
    """Whether an arm of the m largest estimates is below the m-th best."""
    least = np.sort(means)[-m]
    return bool(means[np.argsort(-estimates)[:m]].min() < least)


@njit(cache=True)
def ocba(
    kind: int, parameters: Reals, means: Reals, m: int, sigma: float, budget: int, seed: int,
    half_way: bool,
) -> bool:  # fmt: skip
    """One run of OCBA-m; variances are estimated where σ is 0."""
    np.random.seed(seed)
    arms = len(means)
    pulls, sums, squares = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    first = max(1, min(max(FIRST, budget // (5 * arms)), budget // (2 * arms)))
    shares = np.ones(arms)
    for t in range(budget):
        arm = t % arms
        if t >= first * arms:
            if (t - first * arms) % AT_ONCE == 0:
                average = sums / pulls
                spread = np.full(arms, sigma if sigma > 0.0 else 1.0)
                if sigma == 0.0 and first > 1:
                    spread = np.sqrt(np.maximum(squares - sums * average, 0.0) / (pulls - 1.0))
                    spread = np.maximum(spread, 1e-3 * spread.max() + 1e-12)
                order = np.argsort(-average)
                last, after = order[m - 1], order[m]
                own, other = spread[last] / pulls[last] ** 0.5, spread[after] / pulls[after] ** 0.5
                if half_way:
                    own = other = 1.0
                c = (other * average[last] + own * average[after]) / (own + other)
                shares = (spread / np.maximum(np.abs(average - c), 1e-9)) ** 2
                shares /= shares.sum()
            arm = int(np.argmax(shares * (t + 1) - pulls))
        value = drawn(kind, parameters, arm)
        pulls[arm] += 1.0
        sums[arm] += value
        squares[arm] += value * value
    return is_wrong(sums / pulls, means, m)


@njit(cache=True)
def draw_best(estimates: Reals, white: Reals, sigma: float, m: int, best: Reals) -> None:
    """Mark the m best arms of a draw of the means from their posterior."""
    arms, rank = white.shape
    draw = estimates + sigma * (white @ np.random.standard_normal(rank))
    best[:] = False
    for _ in range(m):
        largest, arm = -np.inf, 0
        for a in range(arms):
            if not best[a] and draw[a] > largest:
                largest, arm = draw[a], a
        best[arm] = True


@njit(cache=True)
def top_two(
    kind: int, parameters: Reals, means: Reals, m: int, sigma: float, budget: int, seed: int,
    features: Reals, first: NDArray[np.int64],
) -> bool:  # fmt: skip
    """One run of top-two Thompson sampling; the first pulls span the features."""
    np.random.seed(seed)
    arms, rank = features.shape
    start, weighted = np.zeros((rank, rank)), np.zeros(rank)
    for arm in first:
        start += np.outer(features[arm], features[arm])
        weighted += features[arm] * drawn(kind, parameters, arm)
    inverse = np.linalg.inv(start)
    white = features @ np.linalg.cholesky(inverse)
    estimates = features @ (inverse @ weighted)
    leading, other = np.zeros(arms, np.bool_), np.zeros(arms, np.bool_)
    for _ in range(budget - len(first)):
        draw_best(estimates, white, sigma, m, leading)
        for _again in range(REDRAWS):
            draw_best(estimates, white, sigma, m, other)
            if (leading != other).any():
                break
        apart = np.flatnonzero(leading != other)
        if len(apart) > 0:
            arm = apart[np.random.randint(len(apart))]
        else:
            pair, least = (0, 0), np.inf
            for i in np.flatnonzero(leading):
                for j in np.flatnonzero(~leading):
                    error = math.sqrt(np.sum((white[i] - white[j]) ** 2))
                    score = (estimates[i] - estimates[j]) / max(error, 1e-12)
                    if score < least:
                        pair, least = (i, j), score
            arm = pair[0] if np.random.random() < 0.5 else pair[1]
        own = white[arm].copy()
        size = own @ own
        value = drawn(kind, parameters, arm)
        estimates += (white @ own) * ((value - estimates[arm]) / (1.0 + size))
        # V⁻¹ = SSᵀ, white = XS, brought up to date by one result (Potter 1963).
        white -= np.outer(white @ own, own) / (1.0 + size + math.sqrt(1.0 + size))
    return is_wrong(estimates, means, m)


COIN = "top-two Thompson sampling, coin"
RIVALS = (
    "OCBA-m",
    "OCBA-m, c half way",
    "OCBA-m, c half way, σ given",
    COIN,
)
KINDS = {Normal: NORMAL, Coins: COINS, Recorded: RECORDS}


def numbers_of(rewards: Rewards) -> np.ndarray:
    """Means and, of normal results, standard deviations; or all that were recorded."""
    if isinstance(rewards, Recorded):
        return rewards.table
    return np.vstack(list(vars(rewards).values()))


def errors_of(name: str, instance: Instance, budget: int, runs: int, first: int = 0) -> int:
    """In how many runs the answer is wrong; their seeds count from ``first``."""
    problem, seeds = instance.problem(0.05, 0.0), range(first, first + runs)
    kind = KINDS[type(instance.rewards)]
    given = kind, numbers_of(instance.rewards), instance.means, instance.m
    if name.startswith("OCBA-m"):
        sigma = problem.sigma if "σ given" in name else 0.0
        return sum(ocba(*given, sigma, budget, seed, "half way" in name) for seed in seeds)
    features = np.ascontiguousarray(np.linalg.qr(problem.reduced)[0])
    own = features, span(features)
    return sum(top_two(*given, problem.sigma, budget, seed, *own) for seed in seeds)
