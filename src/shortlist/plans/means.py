"""Means by the results of plans, with features or without, and plans that tell two of them apart.

``LinearMeans`` estimates by weighted least squares: every arm tells of every other. ``OwnMeans``
uses the results of the two arms alone, and nothing is assumed of the means; a plan may then leave
out arms. ``nearly_linear`` is between the two: linear means with departures. All give, for some arms b and all arms c, an estimate of μ_b − μ_c and its variance in
units of σ², where a result of arm a has the variance ``noise[a]``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.designs.pairs import (
    contrast_design,
    fitted,
    own_design,
    spread_design,
    spreads,
    whitened,
)
from shortlist.numerics.order import first_largest, largest_first
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.initialization import span

FIRST = 4.0  # pulls per dimension in the first plan
QUARTER = 0.25  # of the pulls that still seem to be needed: the length of a plan
SHORTEST = 0.05  # of the pulls so far: overshoots by half of that, and keeps the plans few
PAIRS = 400  # how many of the hardest a design is made for
NEGLIGIBLE = 1e-3  # of an equal share of the pulls
GRID = 1e-6  # weights are rounded to it, so that another machine's rounding gives the same counts
# The least variance of a difference, over the arms' own: the whitened arms are subtracted before they
# are squared, so that a difference of 1e-8 still has half of its digits. It must not depend on rewards.
SMALLEST_SHARE = 1e-16
GROWTH = 0.1  # of the results so far: the length of a plan that verifies
DEPARTURES = (0.0, *(0.01 * 4.0**power for power in range(10)))  # variances, in units of σ²


def counts(features: Reals, weights: Reals, length: float) -> Integers:
    """Whole pulls near to the weights, about ``length`` of them, that span the features.

    Examples
    --------
    >>> counts(np.eye(3), np.array([0.5, 0.5, 0.0]), 10.0).tolist()
    [5, 5, 1]
    """
    heavy = np.where(weights > NEGLIGIBLE / len(weights), weights, 0.0)
    heavy = np.round(heavy / heavy.sum() / GRID) * GRID
    pulls = np.floor(heavy * np.ceil(length) + 0.5).astype(np.int64)
    spanning = span(np.sqrt(np.maximum(heavy, GRID))[:, None] * features)
    pulls[spanning] = np.maximum(pulls[spanning], 1)
    return pulls


class Fit(ABC):
    """What some results say of the means.

    Attributes
    ----------
    means : array, K
        Estimates; 0 for an arm of which nothing is known.
    departure : float
        The variance of departures from means that are linear in the features, in units of σ², before
        any result; infinite where nothing is supposed of them.
    """

    means: Reals
    departure: float = math.inf

    @abstractmethod
    def variances(self, rows: Integers) -> Reals:
        """Variances of μ̂_b − μ̂_c for b in ``rows`` and all c, in units of σ²; infinite if unknown."""

    @property
    @abstractmethod
    def own_variances(self) -> Reals:
        """The variance of every μ̂_a, in units of σ²."""

    @property
    def compares_all(self) -> bool:
        """Whether something is known of the difference of any two arms."""
        return bool(np.isfinite(self.own_variances).all())

    def departures(self, b: Integers, c: Integers) -> Reals:
        """What departures contribute to the variances of μ̂_b − μ̂_c, in units of σ²."""
        return np.full(len(b), self.departure)

    @abstractmethod
    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Errors of the means of these arms, drawn ``count`` times, in units of σ: count × arms."""


@dataclass(frozen=True, eq=False)
class LinearFit(Fit):
    """Least squares: μ̂ = Wᵀ(W s), with the columns of W the whitened arms."""

    means: Reals
    white: Reals

    def variances(self, rows: Integers) -> Reals:
        """‖x_b − x_c‖² in the norm of V⁻¹."""
        return spreads(self.white, SMALLEST_SHARE, rows)

    @property
    def own_variances(self) -> Reals:
        """‖x_a‖² in the norm of V⁻¹."""
        return np.einsum("ka,ka->a", self.white, self.white)

    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Errors with the covariance Xᵀ V⁻¹ X."""
        return rng.standard_normal((count, len(self.white))) @ self.white[:, arms]


@dataclass(frozen=True, eq=False)
class OwnFit(Fit):
    """The arms' averages; ``own`` are their variances, infinite without a result."""

    means: Reals
    own: Reals

    def variances(self, rows: Integers) -> Reals:
        """The sum of the two arms' own."""
        both = self.own[rows, None] + self.own
        both[np.arange(len(rows)), rows] = np.inf
        return both

    @property
    def own_variances(self) -> Reals:
        """The noise over the pulls."""
        return self.own

    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Independent errors."""
        return rng.standard_normal((count, len(arms))) * np.sqrt(self.own[arms])


class Means(ABC):
    """How results become means, and plans that tell two of them apart.

    Attributes
    ----------
    noise : array, K
        The variance of a result of every arm, in units of σ².
    costs : array, K
        What a pull of every arm costs. Where that differs, designs share out the cost: with
        u_a = cost_a n_a, a result of arm a tells as much as one of variance noise_a cost_a would, if
        n_a were u_a.
    shortest : float
        The least length of a plan, as a share of what was spent so far.
    of_needed : float
        The length of a plan, as a share of what still seems to be needed.
    by_averages : bool
        Whether they are the arms' own averages.
    """

    noise: Reals
    costs: Reals
    shortest: float
    of_needed: float = QUARTER
    by_averages: bool = False

    def spent(self, pulls: Integers | Reals) -> float:
        """What these pulls cost."""
        return float(pulls @ self.costs)

    def in_pulls(self, weights: Reals, length: float) -> tuple[Reals, float]:
        """Shares of a cost, and that cost, as shares of the pulls and their number.

        Examples
        --------
        >>> means = OwnMeans(ReducedProblem(np.eye(2), 1, 1.0, 0.1, 0.0, costs=np.array([1.0, 3.0])))
        >>> means.in_pulls(np.array([0.5, 0.5]), 12.0)
        (array([0.75, 0.25]), 8.0)
        """
        shares = weights / self.costs
        rate = float(shares.sum() / weights.sum())
        return shares / rate, length * rate

    @abstractmethod
    def first(self) -> tuple[Integers, Reals]:
        """The first plan, and its weights."""

    def summary(self, results: PlanResults) -> Any:
        """What is kept of the results of a plan: it has ``pulls``, and those of plans add up."""
        return results

    @abstractmethod
    def fit(self, results: Any) -> Fit:
        """What a summary of results says of the means."""

    @abstractmethod
    def before_fit(self, results: PlanResults) -> Integers:
        """The plan that is needed before these results say anything of every mean; zeros if none."""

    @abstractmethod
    def design(
        self, b: Integers, c: Integers, needs: Reals, urgency: Reals, start: Reals
    ) -> tuple[Reals, float]:
        """Shares of the cost for some pairs, and the cost that gives each what it needs."""

    @abstractmethod
    def plan(self, weights: Reals, length: float, rng: np.random.Generator) -> Integers:
        """Pulls that cost about ``length``, which is shared out by these weights."""

    def lacking(
        self,
        b: Integers,
        c: Integers,
        wanted: Reals,
        counted: Integers | Reals,
        spent: float,
        rng: np.random.Generator,
    ) -> Integers:
        """Some of the pulls of the pairs' arms that are wanted and not ``counted`` yet."""
        lacking = np.maximum(wanted - counted, 0.0)
        needed = float((lacking * self.costs).sum())
        length = max(self.shortest * spent, min(GROWTH * spent, QUARTER * needed))
        share = min(1.0, length / max(needed, 1e-9))
        # What is left of a pull accumulates from plan to plan, since ``lacking`` does.
        plan = np.floor(share * lacking + 0.5).astype(np.int64)
        compared = np.zeros(len(plan), np.bool_)
        compared[b] = compared[c] = True
        plan[compared & (counted == 0) & (plan == 0)] = 1
        if not plan.any():
            plan[first_largest(lacking)] = 1
        return plan


class LinearMeans(Means):
    """Means that are linear in the features.

    Parameters
    ----------
    problem : ReducedProblem
        What the strategy is given.

    Attributes
    ----------
    shortest : float
        The least length of a plan, as a share of what was spent so far.
    """

    shortest = SHORTEST

    def __init__(self, problem: ReducedProblem) -> None:
        self.basis = np.ascontiguousarray(np.linalg.qr(problem.features)[0])
        self.costs = problem.cost_of_arms
        self._weigh(problem.noise_of_arms)

    def _weigh(self, noise: Reals) -> None:
        """Weigh results by these variances from now on."""
        self.noise = noise
        self._dear = noise * self.costs
        self._scaled = np.ascontiguousarray(self.basis / np.sqrt(self._dear)[:, None])

    def first(self) -> tuple[Integers, Reals]:
        """The first plan, of least largest variance, and its weights."""
        weights = spread_design(self._scaled)
        shares, _ = self.in_pulls(weights, 1.0)
        return counts(self._scaled, shares, FIRST * self.basis.shape[1]), weights

    def fit(self, results: PlanResults) -> LinearFit:
        """Weighted least squares."""
        pulls, sums = results.pulls, results.sums
        white = whitened(self.basis, pulls / self.noise)
        means = fitted(white, sums / self.noise)
        if (self.noise != 1.0).any():
            # Weights far apart cost digits; a second fit, to what the first left over, restores them.
            means = means + fitted(white, (sums - pulls * means) / self.noise)
        return LinearFit(means, white)

    def before_fit(self, results: PlanResults) -> Integers:
        """The plan that is needed before these results say anything of every mean; zeros if none."""
        return np.zeros_like(results.pulls) if self.spans(results.pulls) else self.first()[0]

    def spans(self, pulls: Integers | Reals) -> bool:
        """Whether results of these arms say something of every mean."""
        return int(np.linalg.matrix_rank(self.basis[pulls > 0])) == self.basis.shape[1]

    def design(
        self, b: Integers, c: Integers, needs: Reals, urgency: Reals, start: Reals
    ) -> tuple[Reals, float]:
        """Shares of the cost for the most urgent pairs, and the cost that gives each what it needs."""
        most = largest_first(urgency)[:PAIRS]
        return contrast_design(self.basis, b[most], c[most], needs[most], start, self._dear)

    def plan(self, weights: Reals, length: float, rng: np.random.Generator) -> Integers:
        """Pulls that cost about ``length``, by these weights, and span the features."""
        return counts(self._scaled, *self.in_pulls(weights, length))


class OwnMeans(Means):
    """Arms that tell nothing of each other.

    Parameters
    ----------
    problem : ReducedProblem
        Its features are not used.
    spanned : array, K × rank, optional
        Features in a basis, which the first plan has to span; None for one pull of each arm.

    Attributes
    ----------
    shortest : float
        The least length of a plan, as a share of what was spent so far. A short plan loses no
        information here, and the study stops sooner.
    """

    shortest = 0.02
    by_averages = True

    def __init__(self, problem: ReducedProblem, spanned: Reals | None = None) -> None:
        self.noise, self.costs = problem.noise_of_arms, problem.cost_of_arms
        self._spanned = spanned

    def first(self) -> tuple[Integers, Reals]:
        """One pull of each arm, or a plan that spans some features; and no weights yet."""
        arms, spanned = len(self.noise), self._spanned
        if spanned is None:
            return np.ones(arms, np.int64), np.zeros(arms)
        scaled = np.ascontiguousarray(spanned / np.sqrt(self.costs)[:, None])
        shares, _ = self.in_pulls(spread_design(scaled), 1.0)
        return counts(scaled, shares, FIRST * spanned.shape[1]), np.zeros(arms)

    def fit(self, results: PlanResults) -> OwnFit:
        """The averages of the arms."""
        pulls, sums = results.pulls, results.sums
        own = np.full(len(pulls), np.inf)
        pulled = pulls > 0
        own[pulled] = self.noise[pulled] / pulls[pulled]
        return OwnFit(np.where(pulled, sums / np.maximum(pulls, 1), 0.0), own)

    def before_fit(self, results: PlanResults) -> Integers:
        """One pull of each arm that has no result."""
        return (results.pulls == 0).astype(np.int64)

    def design(
        self, b: Integers, c: Integers, needs: Reals, urgency: Reals, start: Reals
    ) -> tuple[Reals, float]:
        """Shares of the cost for all pairs, and the cost that gives each what it needs."""
        return own_design(b, c, needs, self.noise * self.costs, start)

    def plan(self, weights: Reals, length: float, rng: np.random.Generator) -> Integers:
        """Pulls that cost about ``length``, and at least one of each arm that has weight."""
        shares, number = self.in_pulls(weights, length)
        pulls = np.floor(shares * number + 0.5).astype(np.int64)
        return np.where(weights > 0.0, np.maximum(pulls, 1), 0)


@dataclass(frozen=True, eq=False)
class NearlyLinearFit(Fit):
    """Means that are linear in the features but for departures, each arm's its own.

    Attributes
    ----------
    means : array, K
        Estimates.
    white : array, rank × K
        Its columns' inner products are the covariances of the linear part, in units of σ².
    own : array, K
        The variance of every arm's departure, in units of σ².
    departure : float
        0 if the means seem to be linear.
    """

    means: Reals
    white: Reals
    own: Reals
    departure: float

    def variances(self, rows: Integers) -> Reals:
        """Of differences, both parts together."""
        both = spreads(self.white, SMALLEST_SHARE, rows) + self.own[rows, None] + self.own
        return np.asarray(both)

    def departures(self, b: Integers, c: Integers) -> Reals:
        """The sums of the two arms' own."""
        return np.asarray(self.own[b] + self.own[c])

    @property
    def own_variances(self) -> Reals:
        """Of every arm, both parts together."""
        return np.asarray(np.einsum("ka,ka->a", self.white, self.white) + self.own)

    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Errors of both parts."""
        linear = rng.standard_normal((count, len(self.white))) @ self.white[:, arms]
        return linear + rng.standard_normal((count, len(arms))) * np.sqrt(self.own[arms])


def nearly_linear(
    basis: Reals, results: PlanResults, noise: Reals, sigma: float
) -> NearlyLinearFit:
    """The fit of a linear model with departures, whose variance is the most likely one of a grid.

    θ has a flat prior and departures are normal. Half of the prior is for no departures at all, the
    other half for variances from a hundredth of σ² on.

    Parameters
    ----------
    basis : array, K × rank
        The features, in orthonormal columns.
    results : PlanResults
        The arms that have any must span the basis.
    noise : array, K
        (σ_a/σ)².
    sigma : float
        σ.

    Examples
    --------
    >>> basis = np.linalg.qr(np.column_stack([np.ones(20), np.arange(20.0)]))[0]
    >>> one, same = np.ones(20, np.int64), np.ones(20)
    >>> nearly_linear(basis, PlanResults(one, 0.5 * np.arange(20.0)), same, 1.0).departure
    0.0
    >>> nearly_linear(basis, PlanResults(one, np.arange(20.0) ** 2), same, 1.0).departure > 100.0
    True
    """
    pulls, sums = results.pulls, results.sums
    seen = pulls > 0
    x, averages, own = basis[seen], sums[seen] / pulls[seen], noise[seen] / pulls[seen]
    best: tuple[float, float, Reals, Reals] | None = None
    spare = len(x) - basis.shape[1]
    # Where any means fit, departures are as likely as not.
    for departure in DEPARTURES if spare > 0 else (float(own.mean()),):
        weights = 1.0 / (own + departure)
        white = whitened(basis, _spread_over(seen, weights))
        linear = fitted(white, _spread_over(seen, weights * averages))
        misses = averages - linear[seen]
        # The determinant of V is that of the whitened basis, inverted.
        likelihood = 0.5 * float(np.log(weights).sum() - weights @ misses**2 / sigma**2)
        likelihood += float(np.linalg.slogdet(white @ basis)[1])
        likelihood += math.log(0.5 if departure == 0.0 else 0.5 / (len(DEPARTURES) - 1))
        if best is None or likelihood > best[0]:
            best = likelihood, departure, white, linear
    assert best is not None
    _, departure, white, means = best
    share = np.zeros(len(pulls))  # of a miss that is taken for a departure
    share[seen] = departure / (own + departure)
    means[seen] += share[seen] * (averages - means[seen])
    return NearlyLinearFit(means, white * (1.0 - share), departure * (1.0 - share), departure)


def _spread_over(seen: Mask, values: Reals) -> Reals:
    """Values of some arms among zeros for the others."""
    among = np.zeros(len(seen))
    among[seen] = values
    return among
