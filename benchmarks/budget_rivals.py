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

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shortlist.engine.rewards import Rewards
from shortlist.engine.seeds import generator_of, run_seeds
from shortlist.linalg import span
from shortlist.simulation.instances import Instance

Reals, Mask = NDArray[np.float64], NDArray[np.bool_]
REDRAWS = 100  # then the pair that is least certain: late in a run another set is rarely drawn
FIRST, AT_ONCE = 5, 10  # results of OCBA-m: of an arm at first, and at a time after that
COIN = "top-two Thompson sampling, coin"
RIVALS = (
    "OCBA-m",
    "OCBA-m, c half way",
    "OCBA-m, c half way, σ given",
    COIN,
)


def best_of(values: Reals, m: int) -> Mask:
    """Which are the m largest of every row."""
    inside = np.zeros(values.shape, np.bool_)
    np.put_along_axis(inside, np.argpartition(-values, m - 1, axis=1)[:, :m], True, axis=1)
    return inside


class Results:
    """The results of runs: the t-th of each is for its t-th pull."""

    def __init__(self, rewards: Rewards, budget: int, runs: int, first: int) -> None:
        generators = map(generator_of, run_seeds(0, runs, first).tolist())
        self._draws = np.stack([rewards.draws(each, budget) for each in generators])
        self._rewards, self.runs, self.every = rewards, runs, np.arange(runs)

    def of(self, arms: NDArray[np.int64], t: int) -> Reals:
        """That of one arm for each run."""
        return self._rewards.values(arms, self._draws[:, t])


def ocba(
    results: Results, arms: int, m: int, sigma: float, budget: int, *, half_way: bool
) -> Reals:
    """The averages that OCBA-m ends with, runs × arms; variances are estimated where σ is 0."""
    pulls, sums, squares, shares = np.zeros((4, results.runs, arms))
    first = max(1, min(max(FIRST, budget // (5 * arms)), budget // (2 * arms)))
    for t in range(budget):
        pulled = np.full(results.runs, t % arms)
        if t >= first * arms:
            if (t - first * arms) % AT_ONCE == 0:
                average = sums / pulls
                spread = np.full(average.shape, sigma or 1.0)
                if sigma == 0.0 and first > 1:
                    spread = np.sqrt(np.maximum(squares - sums * average, 0.0) / (pulls - 1.0))
                    spread = np.maximum(spread, 1e-3 * spread.max(axis=1, keepdims=True) + 1e-12)
                ranked = np.argsort(-average, axis=1)[:, m - 1 : m + 1]
                means, errors = (
                    np.take_along_axis(each, ranked, axis=1)
                    for each in (average, np.ones_like(pulls) if half_way else spread / pulls**0.5)
                )
                c = (means * errors[:, ::-1]).sum(axis=1) / errors.sum(axis=1)
                shares = (spread / np.maximum(np.abs(average - c[:, None]), 1e-9)) ** 2
                shares /= shares.sum(axis=1, keepdims=True)
            pulled = np.argmax(shares * (t + 1) - pulls, axis=1)
        values, place = results.of(pulled, t), (results.every, pulled)
        pulls[place] += 1.0
        sums[place] += values
        squares[place] += values**2
    return sums / pulls


def top_two(
    results: Results, features: Reals, first: NDArray[np.int64], m: int, sigma: float, budget: int,
    generator: np.random.Generator,
) -> Reals:  # fmt: skip
    """The means that top-two Thompson sampling ends with; the first pulls span the features."""
    runs, every, (arms, rank) = results.runs, results.every, features.shape
    inverse = np.linalg.inv(features[first].T @ features[first])
    started = np.stack([results.of(np.full(runs, arm), t) for t, arm in enumerate(first)], axis=1)
    estimates = started @ features[first] @ inverse @ features.T
    white = np.tile(features @ np.linalg.cholesky(inverse), (runs, 1, 1))

    def drawn(some: NDArray[np.int64]) -> Mask:
        """The m best arms of draws of the means."""
        normal = generator.standard_normal((len(some), rank, 1))
        return best_of(estimates[some] + sigma * (white[some] @ normal)[:, :, 0], m)

    for t in range(len(first), budget):
        leading = drawn(every)
        other, equal = leading.copy(), every
        for _ in range(REDRAWS):
            other[equal] = drawn(equal)
            equal = equal[(other[equal] == leading[equal]).all(axis=1)]
            if not len(equal):
                break
        pulled = np.argmax(generator.random((runs, arms)) * (leading != other), axis=1)
        if len(equal):  # the pair that is least certain
            gram = white[equal] @ white[equal].transpose(0, 2, 1)
            sizes = np.diagonal(gram, axis1=1, axis2=2)
            squares = sizes[:, :, None] + sizes[:, None, :] - 2.0 * gram
            gaps = estimates[equal][:, :, None] - estimates[equal][:, None, :]
            scores = gaps / np.sqrt(np.maximum(squares, 1e-24))
            scores[~(leading[equal][:, :, None] & ~leading[equal][:, None, :])] = np.inf
            pair = np.divmod(scores.reshape(len(equal), -1).argmin(axis=1), arms)
            pulled[equal] = np.where(generator.random(len(equal)) < 0.5, *pair)
        own, values = white[every, pulled], results.of(pulled, t)
        size, image = (own**2).sum(axis=1), (white @ own[:, :, None])[:, :, 0]
        estimates += image * ((values - estimates[every, pulled]) / (1.0 + size))[:, None]
        # V⁻¹ = SSᵀ, white = XS, brought up to date by one result (Potter 1963).
        own /= (1.0 + size + np.sqrt(1.0 + size))[:, None]
        white -= image[:, :, None] * own[:, None, :]
    return estimates


def errors_of(name: str, instance: Instance, budget: int, runs: int, first: int = 0) -> int:
    """In how many runs the answer is wrong; their seeds count from ``first``."""
    problem, means, m = instance.problem(0.05, 0.0), instance.means, instance.m
    results = Results(instance.rewards, budget, runs, first)
    if name.startswith("OCBA-m"):
        sigma, half_way = problem.sigma if "σ given" in name else 0.0, "half way" in name
        found = ocba(results, len(means), m, sigma, budget, half_way=half_way)
    else:
        features = np.ascontiguousarray(np.linalg.qr(problem.reduced)[0])
        generator = np.random.default_rng([1, first])
        found = top_two(results, features, span(features), m, problem.sigma, budget, generator)
    worst = np.where(best_of(found, m), means, np.inf).min(axis=1)
    return int((worst < np.sort(means)[-m]).sum())
