"""Evidence that multiplies a factor a plan: noise of known σ, results in a range, unknown σ."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.proof.contrasts import TINY, Paired, chunks
from shortlist.proof.evidence import Pairs
from shortlist.proof.plan import Plan

#: Of the half-normal prior of a bet, over the gap as it seemed.
SCALE = 0.82
#: Bets, over that scale, and the share of the prior next to each.
GRID = np.array([0.12, 0.25, 0.42, 0.6, 0.8, 1.0, 1.25, 1.55, 1.9, 2.4, 3.0])
_EDGES = [0.0, *(math.erf(t / math.sqrt(8.0)) for t in GRID[1:] + GRID[:-1]), 1.0]
PRIOR = np.diff(_EDGES)
#: Of a gap as it seemed: an arm has none with itself.
LEAST_SIZE = 1e-100
#: A factor is never below 1 less that.
CLIP = 0.97
#: Factors whose product is made before its logarithm: none underflows. A value that came so often has
#: a logarithm of its own.
TOGETHER, OFTEN = 64, 6
#: Numbers in a table that is gone through many times: it stays in the cache.
NEARBY = 8_000
#: Taken off ln E for rounding errors.
ROUNDING = 1e-6


class SubGaussian:
    """Noise that is σ_a-sub-Gaussian, σ_a² the ``noise`` of the plans.

    With M = Σ d/v and I = Σ 1/v over plans, exp(λ(M + g I) − λ²I/2) is a supermartingale for every
    λ if g = μ_c − μ_b, as d is sub-Gaussian with variance v given the plans before. E is its mixture
    over a half-normal λ of a variance 1/ρ that was fixed at the naming. All λ are positive, hence
    ln E grows with the slack.
    """

    def __init__(self, pairs: Pairs, sizes: Reals) -> None:
        self.pairs = pairs
        self.rho = (SCALE * np.maximum(sizes, LEAST_SIZE)) ** -2.0
        self.scores, self.information = np.zeros((2, len(pairs)))

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        b, c = self.pairs.b, self.pairs.c
        d, information = plan.contrasts.estimates(b, c)
        self.scores = self.scores + information * (d - plan.contrasts.rounding(b, c))
        self.information = self.information + information

    def log_e(self, b: Integers, c: Integers, slack: float | Reals) -> Reals:
        """That of 2 Φ(z) exp(z²/2) √(ρ/(I + ρ)), z = (M + slack · I)/√(I + ρ)."""
        from scipy.special import log_ndtr

        at = self.pairs.place(b, c)
        known, rho = self.information[at], self.rho[at]
        z = (self.scores[at] + slack * known) / np.sqrt(known + rho)
        found = math.log(2.0) + log_ndtr(z) - 0.5 * np.log1p(known / rho) + 0.5 * z * z
        return np.where(known > 0.0, found - ROUNDING, -np.inf)


class _Bets:
    """E = Σ_g π_g exp(slack · S_g − C_g) for bets g, S (``stakes``) and C (``cost``) sums over plans.

    If a bet's factor of a plan has a mean of at most exp(s(μ_b − μ_c)) given the plans before, with
    stakes s ≥ 0 that were fixed before it, then E is a supermartingale at slack = μ_c − μ_b. S is
    never negative, and C does not depend on the slack: hence ln E grows with it.
    """

    def __init__(self, pairs: Pairs, sizes: Reals) -> None:
        self.pairs, self.sizes = pairs, np.maximum(sizes, LEAST_SIZE)
        self.cost = np.broadcast_to(-np.log(PRIOR), (len(pairs), len(GRID)))
        self.stakes = np.zeros((len(pairs), len(GRID)))

    def _wanted(self, some: slice, v: Reals) -> Reals:
        """Bets of some pairs on an estimate of their gap of about this variance, pairs × bets."""
        return np.asarray((SCALE * self.sizes[some] / v)[:, None] * GRID)

    def log_e(self, b: Integers, c: Integers, slack: float | Reals) -> Reals:
        """That of the mixture over bets."""
        at = self.pairs.place(b, c)
        slack = np.broadcast_to(slack, len(at))[:, None]
        found = log_sum(slack * self.stakes[at] - self.cost[at]) - ROUNDING
        return np.where(self.stakes[at, 0] > 0.0, found, -np.inf)


class PlanBets(_Bets):
    """Results in [0, 1], whatever their distribution: Π (1 + κ(y − x)) e^(κx) over results, κ = sk.

    As 1 + u ≤ e^u, the mean of a factor is at most e^(κμ), and that of a plan's product at most
    e^(s(μ_b − μ_c)) wherever Σ kμ = μ_b − μ_c over its results, that is, where k is unbiased. The
    stakes s and the centres x decide only how fast E grows: x is the mean as it was expected, moved to
    where every factor is positive.
    """

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        contrasts = plan.contrasts
        told, seen = contrasts.cells.split(plan.values), contrasts.cells.arms
        cost, stakes = self.cost.copy(), self.stakes.copy()
        b, c = self.pairs.b, self.pairs.c
        for some in chunks(len(b), len(GRID), NEARBY):
            information = contrasts.estimates(b[some], c[some])[1]
            k = contrasts.weights(b[some], c[some])
            # A bet is limited by the range too.
            reach = 0.1 * self.sizes[some] * np.abs(k).max(axis=1, initial=0.0)
            v = 1.0 / np.maximum(information, TINY) + reach
            bets = self._wanted(some, v) * (information > 0.0)[:, None]
            for i, a in enumerate(seen):
                here = np.flatnonzero(k[:, i])
                kappa = bets[here] * k[here, i : i + 1]
                found = cost_of(told[i], kappa, plan.expected[a], plan.noise[a])
                cost[some.start + here] += found
            stakes[some] += bets
            cost[some] += bets * contrasts.rounding(b[some], c[some])[:, None]
        self.cost, self.stakes = cost, stakes


def cost_of(told: Reals, kappa: Reals, expected: float, noise: float) -> Reals:
    """−ln Π (1 + κ(y − x)) e^(κx), pairs × bets; the bets of a pair have one sign.

    A negative one is made on 1 − y.
    """
    up, size = kappa[:, :1] > 0.0, np.abs(kappa)
    away = 2.0 * size * noise / (1.0 + np.sqrt(1.0 + 4.0 * noise * size**2))
    x = np.where(up, expected, 1.0 - expected) - away
    x = size * np.maximum(np.minimum(x, CLIP / np.maximum(size, TINY)), 0.0)
    base, cost = 1.0 - x, len(told) * (np.where(up, 0.0, size) - x)
    values, times = np.unique(told, return_counts=True)
    often = times >= OFTEN
    for y, n in zip(values[often], times[often], strict=True):
        cost -= n * np.log(base + size * np.where(up, y, 1.0 - y))
    once = np.repeat(values[~often], times[~often])
    for begin in range(0, len(once), TOGETHER):
        product = np.ones_like(x)
        for y in once[begin : begin + TOGETHER]:
            product *= base + size * np.where(up, y, 1.0 - y)
        cost -= np.log(product)
    return np.asarray(cost)


class BlockBets(_Bets):
    """Results in [0, 1] that share blocks: a bet on what each block makes of a pair.

    That is u = Σ k_a y_a with weights that add up to 0, of mean μ_b − μ_c whatever the block shares,
    and never below −Σ|k|/2. So (1 + s(u − x)) e^(sx) has a mean of at most e^(s(μ_b − μ_c)), however
    the results of a block depend on each other. Above 2/Σ|k| a stake gains nothing more: all larger
    bets are made at that one, so that gaps of the order of the range have nearly all of the prior.
    """

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        contrasts = plan.contrasts
        assert isinstance(contrasts, Paired)
        cost, stakes = self.cost.copy(), self.stakes.copy()
        b, c = self.pairs.b, self.pairs.c
        for some in chunks(len(b), len(GRID), NEARBY):
            told, has = contrasts.differences(b[some], c[some])
            total, variance = contrasts.sizes(b[some], c[some])
            count, reach = has.sum(axis=1)[:, None], np.maximum(0.5 * total, TINY)[:, None]
            v = np.maximum(variance, TINY)
            bets = self._wanted(some, v)
            bets = np.where(count > 0, np.minimum(bets, CLIP / reach), 0.0)
            positive = np.maximum(bets, 1e-9)
            away = (np.sqrt(1.0 + 4.0 * bets**2 * v[:, None]) - 1.0) / (2.0 * positive)
            centre = contrasts.expected(b[some], c[some], plan.expected)[:, None]
            x = np.minimum(centre - away, CLIP / positive - reach)
            base, told = 1.0 - bets * x, told[:, :, None]
            for begin in range(0, told.shape[1], TOGETHER):
                product = np.ones_like(x)
                for j in range(begin, min(begin + TOGETHER, told.shape[1])):
                    product *= np.where(has[:, j : j + 1], base + bets * told[:, j], 1.0)
                cost[some] -= np.log(product)
            errors = contrasts.rounding(b[some], c[some])[:, None]
            cost[some] += count * bets * (errors - x)
            stakes[some] += count * bets
        self.cost, self.stakes = cost, stakes


MOST_DEGREES, LARGEST_BET = 100, 40.0
KAPPAS, NODES = np.linspace(0.0, LARGEST_BET, 1001), 120


@cache
def log_means(degrees: int) -> Reals:
    """The logarithm of E exp(κ T₊/√(1 + T²/ν)) at KAPPAS for Student's T with ν degrees of freedom.

    It is convex in κ, so that values in between are bounded from above by interpolation.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    angles = 0.25 * math.pi * (nodes + 1.0)  # T/√(1 + T²/ν) = √ν sin
    density = np.log(0.25 * math.pi * weights) + (degrees - 1.0) * np.log(np.cos(angles))
    exponents = math.sqrt(degrees) * KAPPAS[:, None] * np.sin(angles) + density
    beta = math.lgamma(0.5) + math.lgamma(0.5 * degrees) - math.lgamma(0.5 * (degrees + 1.0))
    return np.asarray(np.logaddexp(log_sum(exponents - beta), math.log(0.5)))


class Student:
    """Normal noise of unknown σ_a: Π exp(κ T₊/√(1 + T²/ν))/M_ν(κ), T = (d + slack)/s by one plan.

    At slack = μ_c − μ_b, d + slack is normal with mean 0, and independent of s², an average of
    independent estimates of variances with at least ν degrees of freedom each. With a = (d + slack)₊ the
    factor is exp(κa/√(s² + a²/ν)), convex in s²: its mean is largest if one estimate of ν degrees has all
    the weight, and then T is Student's, with M_ν the mean. κ was fixed before the plan. It grows with
    a, hence with the slack. s² is by the replicates of every arm within the plan, by the differences of
    blocks, or (``alike``: σ_a² is the noise up to one factor) by all residuals of the plan, which has as
    many degrees as are left. More degrees than MOST_DEGREES count as those: that is convex in s² too.
    """

    def __init__(self, pairs: Pairs, sizes: Reals, alike: bool = False) -> None:
        self.pairs, self.sizes = pairs, np.maximum(sizes, LEAST_SIZE)
        self.alike = alike
        self.cost = np.broadcast_to(-np.log(PRIOR), (len(pairs), len(GRID)))
        self.plans: list[tuple[Reals, Reals, Reals, Reals]] = []

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        b, c, contrasts = self.pairs.b, self.pairs.c, plan.contrasts
        d, information = contrasts.estimates(b, c)
        if self.alike:
            left, free = contrasts.left
            seen = left / np.maximum(information, TINY)
            degrees = np.full(len(b), free)
        else:
            seen, degrees = contrasts.spread(b, c)
        errors = contrasts.rounding(b, c)
        known = (information > 0.0) & (degrees >= 1.0)
        degrees = np.where(known, np.minimum(degrees, MOST_DEGREES), 1.0)
        # κ is the bet times that, LARGEST_BET at most.
        scale = np.minimum(np.sqrt(information), LARGEST_BET / (SCALE * self.sizes * GRID[-1]))
        cost = self.cost.copy()
        for each in np.unique(degrees[known]):
            here = np.flatnonzero(known & (degrees == each))
            kappas = (SCALE * self.sizes[here] * scale[here])[:, None] * GRID
            cost[here] += np.interp(kappas, KAPPAS, log_means(int(each)))
        self.plans = [*self.plans, (d - errors, seen + errors**2, scale * known, degrees)]
        self.cost = cost

    def log_e(self, b: Integers, c: Integers, slack: float | Reals) -> Reals:
        """That of the mixture over bets: Σ_g π_g exp(λ_g Σ scale · T₊/√(1 + T²/ν) − C_g)."""
        at = self.pairs.place(b, c)
        gain, known = np.zeros(len(at)), np.zeros(len(at), dtype=bool)
        for d, seen, scale, degrees in self.plans:
            away, by = np.maximum(d[at] + slack, 0.0), scale[at]
            gain += by * away / np.sqrt(np.maximum(seen[at] + away**2 / degrees[at], TINY))
            known |= by > 0.0
        found = log_sum((SCALE * self.sizes[at] * gain)[:, None] * GRID - self.cost[at])
        return np.where(known, found - ROUNDING, -np.inf)


def log_sum(x: Reals) -> Reals:
    """The logarithm of the sum over the last axis of exponentials."""
    top = x.max(axis=-1)
    return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))
