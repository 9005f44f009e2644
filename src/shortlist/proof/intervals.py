"""Bounds on the mean of every arm by itself, at all times, by its own results."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shortlist.arrays import Reals
from shortlist.proof.evidence import Evidence, Pairs
from shortlist.proof.increments import log_sum
from shortlist.proof.naming import least_slack
from shortlist.proof.plan import Plan
from shortlist.proof.pooled import TILTS, tilted

SURE = 200  # results of 0 of an arm whose mean is known to be 0
WIDE = 60  # steps of a bisection


class Compared:
    """Each arm is compared with one whose mean is known to be 0, by evidence for pairs.

    Where means are linear in features, that is one of features 0.

    Parameters
    ----------
    kind : callable
        What makes the evidence of pairs and sizes.
    sizes : array, K
        Differences for which bets are made.
    most : float, optional
        A bound on the variance of a result of any arm, in place of that which it seems to have.
    """

    def __init__(
        self, kind: Callable[[Pairs, Reals], Evidence], sizes: Reals, most: float | None = None
    ) -> None:
        self.K, self.sizes, self.most = len(sizes), sizes, most
        pairs = Pairs(np.array([self.K]), self.K + 1)
        wide = np.append(sizes, 1.0)
        self.above, self.below = kind(pairs, wide), kind(pairs, wide)

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        old = plan.arms < self.K  # arms may have been added since
        noise = plan.noise[: self.K] if self.most is None else np.full(self.K, self.most)
        noise, means = np.append(noise, 1e-9 * noise.min()), np.zeros(self.K + 1)
        x, sure = plan.features, SURE
        if x is not None:
            x, sure = np.vstack([x[: self.K], np.zeros(x.shape[1])]), 0
        arms = np.append(plan.arms[old], np.full(sure, self.K))
        for sign, evidence in ((1.0, self.above), (-1.0, self.below)):
            values = np.append(sign * plan.values[old], np.zeros(sure))
            evidence.after(Plan(arms, values, noise, means, x))

    def bounds(self, delta: float) -> tuple[Reals, Reals]:
        """Where each side errs with a probability of δ/2."""
        level, arms = math.log(2.0 / delta), np.arange(self.K)
        sure = np.full(self.K, self.K)
        upper = least_slack(self.above, sure, arms, level, self.sizes.min())
        return -least_slack(self.below, sure, arms, level, self.sizes.min()), upper


class InRange:
    """Results in [0, 1]: bets Π (1 + α y)/(1 + α x) that the mean is above x, and likewise below."""

    def __init__(self, arms: int) -> None:
        self.pulls, self.averages = np.zeros(arms), np.zeros(arms)
        self.above, self.below = np.zeros((2, arms, len(TILTS)))

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        size = len(self.pulls)
        above, below = tilted(plan, size)
        self.above, self.below = self.above + above, self.below + below
        pulls = self.pulls + plan.pulls[:size]
        sums = self.averages * self.pulls + plan.sums[:size]
        self.pulls, self.averages = pulls, sums / np.maximum(pulls, 1.0)

    def bounds(self, delta: float) -> tuple[Reals, Reals]:
        """Where each side errs with a probability of δ/2."""
        level = math.log(2.0 * len(TILTS) / delta)
        lower = self._lowest(self.above, self.averages, level)
        return lower, 1.0 - self._lowest(self.below, 1.0 - self.averages, level)

    def _lowest(self, told: Reals, averages: Reals, level: float) -> Reals:
        """The largest x at which the sum of all bets on more than x has reached e^level."""
        low, high = np.zeros(len(averages)), averages
        for _ in range(WIDE):
            x = 0.5 * (low + high)
            e = told - self.pulls[:, None] * np.log1p(np.multiply.outer(x, TILTS))
            enough = log_sum(e) >= level
            low, high = np.where(enough, x, low), np.where(enough, high, x)
        return low


Intervals = Compared | InRange
