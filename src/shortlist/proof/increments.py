"""Evidence that multiplies a factor a plan: noise of known σ, results in a range, unknown σ."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.proof.contrasts import TABLE, TINY, Paired
from shortlist.proof.evidence import Pairs
from shortlist.proof.plan import Plan

#: Of the half-normal prior of a bet, over the gap as it seemed.
SCALE = 0.82
#: Bets, over that scale, and the share of the prior next to each.
GRID = np.array([0.12, 0.25, 0.42, 0.6, 0.8, 1.0, 1.25, 1.55, 1.9, 2.4, 3.0])
_EDGES = [0.0, *(math.erf(t / math.sqrt(8.0)) for t in GRID[1:] + GRID[:-1]), 1.0]
PRIOR = np.diff(_EDGES)


class SubGaussian:
    """Noise that is σ_a-sub-Gaussian, σ_a² the ``noise`` of the plans.

    With M = Σ d/v and I = Σ 1/v over plans, exp(λ(M + g I) − λ²I/2) is a supermartingale for every
    λ if g = μ_c − μ_b, as d is sub-Gaussian with variance v given the plans before. E is its mixture
    over a half-normal λ of a variance 1/ρ that was fixed at the naming. All λ are positive, hence
    ln E grows with the slack.
    """

    def __init__(self, pairs: Pairs, sizes: Reals) -> None:
        self.pairs = pairs
        self.rho = (SCALE * sizes) ** -2.0
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
        return np.where(known > 0.0, found, -np.inf)


class _PlanWise:
    """E = Σ_g π_g exp(λ_g · A(slack) − C_g) for bets λ_g on the gap, A and C sums over plans.

    A grows with the slack, and C does not depend on it.
    """

    def __init__(self, pairs: Pairs, sizes: Reals) -> None:
        self.pairs, self.sizes = pairs, sizes
        self.cost = np.broadcast_to(-np.log(PRIOR), (len(pairs), len(GRID)))
        self.information, self.gains = np.zeros((2, len(pairs)))

    def bets(self, at: Integers | slice) -> Reals:
        """λ of some pairs, pairs × bets."""
        return np.asarray((SCALE * self.sizes[at])[:, None] * GRID)

    def log_e(self, b: Integers, c: Integers, slack: float | Reals) -> Reals:
        """That of the mixture over bets."""
        at = self.pairs.place(b, c)
        found = np.full(len(at), -np.inf)
        known = np.flatnonzero(self.information[at] > 0.0)
        at, slack = at[known], np.broadcast_to(slack, len(at))[known]
        found[known] = log_sum(self.bets(at) * self.gain(at, slack)[:, None] - self.cost[at])
        return found

    def gain(self, at: Integers, slack: Reals) -> Reals:
        """A of some pairs."""
        return np.asarray(self.gains[at] + slack * self.information[at])


class PlanBets(_PlanWise):
    """Results in [0, 1], whatever their distribution: Π (1 + κ(y − x)) e^(κx) over results, κ = λk/v.

    As 1 + u ≤ e^u, the mean of a factor is at most e^(κμ); that of a plan's is at most
    e^(λ(μ_b − μ_c)/v) wherever Σ kμ = μ_b − μ_c, that is, wherever k is unbiased. Times e^(λ · slack/v)
    it is at most 1 at slack = μ_c − μ_b. The centres x and v decide only how fast E grows: x is an
    estimate from before the plan, moved to where every factor is positive.
    """

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        cells = plan.contrasts.cells
        told, seen, means = cells.split(plan.values), cells.arms, plan.expected
        cost, information, gains = self.cost.copy(), self.information.copy(), self.gains.copy()
        b, c = self.pairs.b, self.pairs.c
        step = max(1, TABLE // max(len(GRID), len(seen), 1))
        for begin in range(0, len(b), step):
            some = slice(begin, begin + step)
            _, known = plan.contrasts.estimates(b[some], c[some])
            k = plan.contrasts.weights(b[some], c[some])
            reach = 0.1 * self.sizes[some] * np.abs(k).max(axis=1, initial=0.0)
            known = known / (1.0 + reach * known)  # a bet is limited by the range too
            bets = self.bets(some)
            for i, a in enumerate(seen):
                kappa = bets * (k[:, i] * known)[:, None]
                cost[some] += cost_of(told[i], kappa, means[a], plan.noise[a])
            information[some] += known
            gains[some] -= known * plan.contrasts.rounding(b[some], c[some])
        self.cost, self.information, self.gains = cost, information, gains


def cost_of(told: Reals, kappa: Reals, expected: float, noise: float) -> Reals:
    """−ln Π (1 + κ(y − x)) e^(κx) for bets κ of either sign."""
    size = np.maximum(np.abs(kappa), 1e-9)
    away = (np.sqrt(1.0 + 4.0 * size**2 * noise) - 1.0) / (2.0 * size)
    up = np.clip(np.minimum(expected - away, 0.97 / size), 0.0, 1.0)
    down = np.clip(np.maximum(expected + away, 1.0 - 0.97 / size), 0.0, 1.0)
    x = np.where(kappa > 0.0, up, down)
    base = 1.0 - kappa * x
    cost = -len(told) * kappa * x
    for some in np.array_split(told, -(-len(told) // 64)):
        product = np.ones_like(x)  # of at most 64 factors of .03 and more: nothing underflows
        for y in some:
            product *= base + kappa * y
        cost -= np.log(product)
    return cost


class BlockBets(_PlanWise):
    """Results in [0, 1] that share blocks: a bet on what each block makes of a pair.

    That is Σ k_a y_a with weights that add up to 0, of mean μ_b − μ_c, and never below −Σ|k|/2. So
    `PlanBets`'s factor of it has a mean of at most e^(κ(μ_b − μ_c)), however its results depend on
    each other.
    """

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        contrasts = plan.contrasts
        assert isinstance(contrasts, Paired)
        cost, information, gains = self.cost.copy(), self.information.copy(), self.gains.copy()
        b, c = self.pairs.b, self.pairs.c
        for some in contrasts.chunks(len(b)):
            told, has = contrasts.differences(b[some], c[some])
            total, variance = contrasts.sizes(b[some], c[some])
            reach = 0.5 * total
            v = np.maximum(variance + 0.1 * self.sizes[some] * reach, TINY)
            kappa = self.bets(some) * (has.any(axis=1) / v)[:, None]
            away = (np.sqrt(1.0 + 4.0 * kappa**2 * v[:, None]) - 1.0) / np.maximum(
                2.0 * kappa, 1e-9
            )
            centre = contrasts.expected(b[some], c[some], plan.expected)[:, None] - away
            x = np.minimum(centre, 0.97 / np.maximum(kappa, 1e-9) - reach[:, None])
            for y, here in zip(told.T, has.T, strict=True):
                cost[some] -= np.where(
                    here[:, None], np.log1p(kappa * (y[:, None] - x)) + kappa * x, 0.0
                )
            known = has.sum(axis=1) / v
            information[some] += known
            gains[some] -= known * contrasts.rounding(b[some], c[some])
        self.cost, self.information, self.gains = cost, information, gains


MOST_DEGREES, LARGEST_BET = 100, 40.0
KAPPAS = np.linspace(0.0, LARGEST_BET, 1001)


@cache
def log_means(degrees: int) -> Reals:
    """The logarithm of E exp(κ T₊/√(1 + T²/ν)) at KAPPAS for Student's T with ν degrees of freedom.

    It is convex in κ, so that values in between are bounded from above by interpolation.
    """
    nodes, weights = np.polynomial.legendre.leggauss(300)
    angles = 0.25 * math.pi * (nodes + 1.0)  # T/√(1 + T²/ν) = √ν sin
    density = np.log(0.25 * math.pi * weights) + (degrees - 1.0) * np.log(np.cos(angles))
    exponents = math.sqrt(degrees) * KAPPAS[:, None] * np.sin(angles) + density
    beta = math.lgamma(0.5) + math.lgamma(0.5 * degrees) - math.lgamma(0.5 * (degrees + 1.0))
    return np.asarray(np.logaddexp(log_sum(exponents - beta), math.log(0.5)))


class Student(_PlanWise):
    """Normal noise of unknown σ_a: Π exp(κ T₊/√(1 + T²/ν))/M_ν(κ), T = (d + slack)/s by one plan.

    At slack = μ_c − μ_b, d + slack is normal with mean 0, and independent of s², which is an average of
    independent estimates with at least ν degrees of freedom each: T²/(T² + ν)'s factor is convex in s²,
    hence largest in the mean if one estimate has all the weight, and then T is Student's. M_ν is the mean
    there. s² is by the replicates of every arm within the plan, by the blocks' differences, or (``alike``:
    σ_a² is the noise up to one factor) by all residuals of the plan.
    """

    def __init__(self, pairs: Pairs, sizes: Reals, alike: bool = False) -> None:
        super().__init__(pairs, sizes)
        self.alike = alike
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
        largest = SCALE * self.sizes * GRID[-1]
        scale = np.minimum(np.sqrt(information), LARGEST_BET / largest) * known
        cost = self.cost.copy()
        for each in np.unique(degrees[known]):
            here = np.flatnonzero(known & (degrees == each))
            kappas = self.bets(here) * scale[here, None]
            cost[here] += np.interp(kappas, KAPPAS, log_means(int(each)))
        self.plans = [*self.plans, (d - errors, seen + errors**2, scale, degrees)]
        self.cost, self.information = cost, self.information + information * known

    def gain(self, at: Integers, slack: Reals) -> Reals:
        """Σ scale · T₊/√(1 + T²/ν)."""
        total = np.zeros(len(at))
        for d, seen, scale, degrees in self.plans:
            away = np.maximum(d[at] + slack, 0.0)
            total += scale[at] * away / np.sqrt(np.maximum(seen[at] + away**2 / degrees[at], TINY))
        return total


def log_sum(x: Reals) -> Reals:
    """The logarithm of the sum over the last axis of exponentials."""
    top = x.max(axis=-1)
    return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))
