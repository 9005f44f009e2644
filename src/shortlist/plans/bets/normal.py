"""Normal noise, each arm with a σ of its own that nobody knows: bets on the arms' own results.

A bet on an arm is a prediction of its results: m_a is the density of the results since a set was named,
if the mean and the variance had the distribution that earlier results leave of them (normal and inverse
gamma). The largest density that any σ gives them, if the mean is x, is

    L_a(x) = (2πe(u_a + (ȳ_a − x)²))^(−n_a/2),   u_a = Σ (y − ȳ_a)²/n_a.

m_a over the density by the true mean and σ is a supermartingale, whatever they are, and L_a(μ_a) is no
smaller than that density. So under μ_b ≤ μ_c − ε the least value of m_b m_c/(L_b(x_b) L_c(x_c)) over all
x_b ≤ x_c − ε ever reaches 1/share with a probability of at most the share (universal inference:
Wasserman, Ramdas and Balakrishnan 2020). With p_a = ln L_a(ȳ_a) − ln m_a it is

    ln E = min over t of n_b/2 ln(1 + t²/u_b) + n_c/2 ln(1 + (d − t)²/u_c), less p_b + p_c,

where d = ȳ_b − ȳ_c + ε > 0. No σ is bounded, and no share of δ is paid for that. docs/proofs.md has the
proof. Variances as they were seen decide what is evaluated next, and no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shortlist.arrays import Mask
from shortlist.noise.estimated import rounding_of
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals
from shortlist.plans.arm_bounds import ROUNDING
from shortlist.plans.bets.pooled import ByOwnResults
from shortlist.plans.evidence import (
    Bounds,
    FittedPlan,
    OpenPairs,
    placed_rows,
)
from shortlist.plans.means import Fit, OwnFit, OwnMeans
from shortlist.plans.results import PlanResults, placed
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.thresholds import ArmInterval

FIRST_PRICE = 4.0  # p_b + p_c of a pair, before there are results since the naming
LEAST_MISSING = 0.5  # ln E: a pair that is nearly there is not forgotten
SINCE = 3  # results of an arm since the naming, at least: with one E is 0, with two it varies much
STEPS = 60  # of Newton and of bisections
SMALLEST = (
    1e-12  # of the largest mean: what results of an arm differ by at least, as they are rounded
)
Four = tuple[Reals, Reals, Reals, Reals]
INTERVAL_OF_LIKELIHOODS = ArmInterval(
    "ȳ ± √(u((e^p/δ)^(2/n) − 1))",
    "ȳ ± √(u((e^p/δ)^(2/n) − 1)), with ȳ the average of the n results of the arm after its first ones, u "
    "their mean squared distance from it, and p the price of not having known the mean and σ",
    "ȳ ± √(u((e^p/δ)^(2/n) − 1))",
)


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers, averages and sums of squares about them, of the results of every arm.

    Examples
    --------
    >>> one = Moments.none(2).after(PlanResults.of(2, np.array([0, 1, 0]), np.array([1.0, 5.0, 3.0])))
    >>> one.pulls.tolist(), one.means.tolist(), one.squares.tolist()
    ([2.0, 1.0], [2.0, 5.0], [2.0, 0.0])
    """

    pulls: Reals
    means: Reals
    squares: Reals

    @classmethod
    def none(cls, arms: int) -> Moments:
        """Before any result."""
        return cls(*np.zeros((3, arms)))

    def after(self, results: PlanResults) -> Moments:
        """With more results, of which every single value is kept."""
        arms, _, values = results.singles
        count = len(self.pulls)
        pulls = np.bincount(arms, minlength=count).astype(np.float64)
        means = np.bincount(arms, values, count) / np.maximum(pulls, 1.0)
        away = (values - means[arms]) ** 2
        squares = np.bincount(arms, away, count).astype(np.float64, copy=False)
        return self + Moments(pulls, means, squares)

    def __add__(self, other: Moments) -> Moments:
        pulls = self.pulls + other.pulls
        some, apart = np.maximum(pulls, 1.0), other.means - self.means
        means = np.where(self.pulls > 0.0, self.means + apart * (other.pulls / some), other.means)
        between = apart**2 * (self.pulls * other.pulls / some)
        return Moments(pulls, means, self.squares + other.squares + between)

    @property
    def spread_squares(self) -> Reals:
        """The sums of squares, or what rounding alone may make of them where that is more.

        Results that are all equal are no normal noise, which the estimate of σ says; so an answer
        that rests on them is heuristic. With sums of 0 there would be none.
        """
        return np.maximum(self.squares, self.pulls * rounding_of(self.means) ** 2)

    def placed(self, places: Integers) -> Moments:
        """The same where ``places`` says which of these arms each is."""
        return Moments(*(placed(each, places, 0.0) for each in vars(self).values()))


def off_by(pulls: Reals) -> Reals:
    """By how much a computed ln E may be too large through rounding."""
    return np.asarray(1e-6 + 1e-11 * pulls)


def price(prior: Moments, since: Moments) -> Reals:
    """p_a = ln L_a(ȳ_a) − ln m_a; infinite where an arm has no two results.

    Examples
    --------
    >>> prior = Moments(np.full(2, 10.0), np.zeros(2), np.full(2, 9.0))
    >>> since = Moments(np.array([20.0, 1.0]), np.array([0.1, 0.0]), np.array([20.0, 0.0]))
    >>> price(prior, since).round(2).tolist()
    [1.18, inf]
    """
    from scipy.special import gammaln  # loads late

    n, before = since.pulls, prior.pulls
    known = (n >= 2.0) & (before >= 2.0)
    n, before = np.where(known, n, 2.0), np.where(known, before, 2.0)
    squares, own = (np.where(known, e.spread_squares, 1.0) for e in (since, prior))
    between = (since.means - prior.means) ** 2 * (n * before / (n + before))
    degrees = before - 1.0
    predicted = (
        gammaln(0.5 * (degrees + n))
        - gammaln(0.5 * degrees)
        + 0.5 * degrees * np.log(own)
        - 0.5 * (degrees + n) * np.log(own + squares + between)
        + 0.5 * np.log(before / (before + n))
        - 0.5 * n * math.log(math.pi)
    )
    largest = -0.5 * n * np.log(2.0 * math.pi * math.e * squares / n)
    return np.where(known, largest - predicted, np.inf)


@compiled(typed=True)
def root(start: float, d: float, n_b: float, n_c: float, u_b: float, u_c: float) -> float:
    """Where the derivative of the distance is 0, by Newton's steps from 0 or from d; see below."""
    cubic, square = n_b + n_c, -d * (2.0 * n_b + n_c)
    linear, constant = n_b * (u_c + d * d) + n_c * u_b, -n_c * d * u_b
    t = start
    for _ in range(STEPS):
        value = ((cubic * t + square) * t + linear) * t + constant
        slope = (3.0 * cubic * t + 2.0 * square) * t + linear
        # Where it is flat: on to the other end, from which steps do not pass over a root.
        moved = 0.0 if value > 0.0 else d
        if slope > 0.0:
            moved = min(max(t - value / slope, 0.0), d)
        if abs(moved - t) <= 1e-15 * d:
            return moved
        t = moved
    return t


@compiled(typed=True)
def least_distance(d: float, n_b: float, n_c: float, u_b: float, u_c: float) -> float:
    """The least of n_b/2 ln(1 + t²/u_b) + n_c/2 ln(1 + (d − t)²/u_c) over t; 0 for d below 0.

    The derivative is 0 where a cubic polynomial is. That is negative at 0 and positive at d, and the
    sum has a minimum at its least root and at its largest: one root or three. Newton's steps from
    0 end at the least, those from d at the largest, or both at the only one.

    Examples
    --------
    >>> round(least_distance(1.0, 8.0, 8.0, 1.0, 1.0), 4)
    1.7851
    """
    if d <= 0.0:
        return 0.0
    # At the ends t is exact. A root near an end is not, and its rounding may be large beside u.
    least = min(0.5 * n_b * math.log1p(d * d / u_b), 0.5 * n_c * math.log1p(d * d / u_c))
    for side in range(2):
        t = root(side * d, d, n_b, n_c, u_b, u_c)
        rest = d - t
        at = 0.5 * n_b * math.log1p(t * t / u_b) + 0.5 * n_c * math.log1p(rest * rest / u_c)
        least = min(least, at)
    return least


@compiled(typed=True)
def least_distances(
    gaps: Reals, n_b: Reals, n_c: Reals, u_b: Reals, u_c: Reals, found: Reals
) -> None:
    """Write the least distance of every pair."""
    for p in range(gaps.shape[0]):
        found[p] = least_distance(gaps[p], n_b[p], n_c[p], u_b[p], u_c[p])


@compiled(typed=True)
def gaps_at(wanted: Reals, n_b: Reals, n_c: Reals, u_b: Reals, u_c: Reals, found: Reals) -> None:
    """Write the d at which the least distance of every pair is what is wanted, from above."""
    for p in range(wanted.shape[0]):
        low, high = 0.0, math.sqrt(u_b[p] + u_c[p])
        for _ in range(STEPS):
            if least_distance(high, n_b[p], n_c[p], u_b[p], u_c[p]) >= wanted[p]:
                break
            low, high = high, 4.0 * high
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            if least_distance(middle, n_b[p], n_c[p], u_b[p], u_c[p]) >= wanted[p]:
                high = middle
            else:
                low = middle
        found[p] = high


@dataclass(frozen=True, eq=False)
class LikelihoodEvidence:
    """Evidence for pairs by all results since sets were named, whatever σ is.

    Attributes
    ----------
    rows : array of int
        The arms b.
    prior, since : Moments
        The results until the naming, and those since.
    epsilon, sigma : float
        ε and the unit σ.
    noise : array, K
        (σ_a/σ)² as it is known now.
    largest : array, rows × K
        The largest ln E so far.
    """

    rows: Integers
    prior: Moments
    since: Moments
    epsilon: float
    sigma: float
    noise: Reals
    largest: Reals

    @property
    def pulls(self) -> Reals:
        """The results that count."""
        return self.since.pulls

    def after(self, told: FittedPlan, problem: ReducedProblem) -> LikelihoodEvidence:
        """With the results of one more plan; E is computed for the sets that are asked about."""
        since = self.since.after(told.results)
        return replace(self, since=since, noise=problem.noise_of_arms)

    def with_rows(self, arms: Integers) -> LikelihoodEvidence:
        """With rows for these arms too."""
        more = np.full((len(arms), len(self.noise)), -np.inf)
        largest = np.vstack([self.largest, more])
        return replace(self, rows=np.append(self.rows, arms), largest=largest)

    def placed(self, places: Integers, problem: ReducedProblem) -> LikelihoodEvidence:
        """The same for other arms, with rows for those that are left."""
        rows, stay = placed_rows(self.rows, places)
        return replace(
            self,
            rows=rows,
            prior=self.prior.placed(places),
            since=self.since.placed(places),
            noise=problem.noise_of_arms,
            largest=placed(self.largest[stay], places, -np.inf),
        )

    @cached_property
    def price(self) -> Reals:
        """p_a of every arm."""
        return price(self.prior, self.since)

    @cached_property
    def information(self) -> Reals:
        """σ² over the variance of each gap, as far as it is known; 0 where E is."""
        counted = np.where(np.isfinite(self.price), self.pulls / self.noise, 0.0)
        both = counted[self.rows, None] + counted
        return np.asarray(counted[self.rows, None] * counted / np.where(both > 0.0, both, 1.0))

    def _of_pairs(self, rows: Integers, arms: Integers) -> tuple[Reals, Four, Reals]:
        """ȳ_b − ȳ_c, n and u of both arms, and p_b + p_c, of pairs on which there is information."""
        b, since = self.rows[rows], self.since
        spread = since.spread_squares / np.maximum(since.pulls, 1.0)
        off = ROUNDING * float(np.abs(since.means).max())
        apart = since.means[b] - since.means[arms] - off
        given = since.pulls[b], since.pulls[arms], spread[b], spread[arms]
        paid = np.maximum(self.price[b] + self.price[arms], 0.0)
        return apart, given, paid + off_by(since.pulls[b] + since.pulls[arms])

    def tested(self, rows: Integers, arms: Integers, level: float) -> LikelihoodEvidence:
        """With ln E of the pairs that have not passed."""
        here = np.ix_(rows, arms)
        row, column = np.nonzero((self.largest[here] < level) & (self.information[here] > 0.0))
        row, c = rows[row], arms[column]
        apart, given, paid = self._of_pairs(row, c)
        evidence = np.empty(len(c))
        least_distances(apart + self.epsilon, *given, evidence)
        evidence -= paid
        largest = self.largest.copy()
        largest[row, c] = np.maximum(largest[row, c], evidence)
        return replace(self, largest=largest)

    def _passing(self, rows: Integers, arms: Integers, level: float) -> tuple[Reals, Reals]:
        """ȳ_b − ȳ_c, and the d at which ln E of these pairs is ``level``, from above."""
        apart, given, paid = self._of_pairs(rows, arms)
        width = np.empty(len(rows))
        gaps_at(level + paid, *given, width)
        return apart, width

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """Averages since the naming, with the bounds at which E reaches e^level."""
        apart, width = self._passing(rows, arms, level)
        errors = problem.sigma / np.sqrt(self.information[rows, arms])
        return Bounds(apart, apart - width, apart + width, width / errors)

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """The ε with which E is e^level."""
        rows, arms = np.broadcast_arrays(*here)
        least = np.full(rows.shape, np.inf)
        known = (self.information[here] > 0.0) & math.isfinite(level)
        apart, width = self._passing(rows[known], arms[known], level)
        least[known] = width - apart
        return least

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> LikelihoodEvidence:
        """The same results with another ε; what E has reached before counts if that is larger."""
        nothing = np.full_like(self.largest, -np.inf)
        before = self.largest if epsilon >= self.epsilon else nothing
        return replace(self, epsilon=epsilon, largest=before)

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """Nothing, and C² for what is still missing, as far as ln E grows by a large gap."""
        here = pairs.rows, pairs.c
        known = self.information[here] > 0.0
        apart, given, paid = self._of_pairs(pairs.rows[known], pairs.c[known])
        now = np.empty(len(apart))
        least_distances(apart + self.epsilon, *given, now)
        missing = np.full(len(known), level + FIRST_PRICE)
        missing[known] = level - now + paid
        both = self.sigma**2 * (self.noise[pairs.b] + self.noise[pairs.c])
        size = np.maximum(pairs.gaps, 0.0) ** 2 / both
        slower = np.where(size > 0.0, size / np.log1p(np.where(size > 0.0, size, 1.0)), 1.0)
        return np.zeros(len(known)), 2.0 * np.maximum(missing, LEAST_MISSING) * slower

    def in_all(self, pairs: OpenPairs, lacking: Reals, least: Reals) -> tuple[Reals, Reals]:
        """What is missing, beside what is there."""
        have = self.information[pairs.rows, pairs.c]
        return self.pulls, have + np.maximum(lacking, least)


@dataclass(frozen=True, eq=False)
class StudentFit(OwnFit):
    """The arms' averages, with errors that are wider the less is known of σ: ``degrees`` of freedom."""

    degrees: Reals

    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Independent errors of Student's distributions."""
        errors = rng.standard_t(self.degrees[arms], (count, len(arms)))
        return np.asarray(errors * np.sqrt(self.own[arms]))


class MeasuredMeans(OwnMeans):
    """The arms' own averages, with the variances that results have shown.

    Parameters
    ----------
    problem : ReducedProblem
        With a unit for σ.
    seen : Moments
        The results so far.
    """

    def __init__(self, problem: ReducedProblem, seen: Moments) -> None:
        super().__init__(problem)
        self._problem, self._degrees = problem, np.maximum(seen.pulls - 1.0, 1.0)
        if seen.pulls.min() >= 2.0:
            least = (SMALLEST * max(float(np.abs(seen.means).max()), 1e-150)) ** 2
            self.noise = np.maximum(seen.squares / self._degrees, least) / problem.sigma**2

    def after(self, seen: Moments) -> MeasuredMeans:
        """The same with more results."""
        return MeasuredMeans(self._problem, seen)

    def fit(self, results: PlanResults) -> StudentFit:
        """The averages of the arms."""
        of = super().fit(results)
        return StudentFit(of.means, of.own, self._degrees)

    def lacking(
        self,
        b: Integers,
        c: Integers,
        wanted: Reals,
        counted: Integers | Reals,
        spent: float,
        rng: np.random.Generator,
    ) -> Integers:
        """Some of the pulls that are lacking; the first few of an arm at once."""
        plan = super().lacking(b, c, wanted, counted, spent, rng)
        compared = np.zeros(len(plan), np.bool_)
        compared[b] = compared[c] = True
        first = np.where(compared, np.maximum(SINCE - counted, 0), 0).astype(np.int64)
        return np.maximum(plan, first)


@dataclass(frozen=True, eq=False)
class ByLikelihoods(ByOwnResults):
    """Evidence by likelihoods of the arms' own results, for normal noise of unknown σ.

    Attributes
    ----------
    means : MeasuredMeans
        With the variances that results have shown.
    first, later : Moments
        The results of the first plan, and all others.
    """

    means: MeasuredMeans
    first: Moments
    later: Moments

    @classmethod
    def own(cls, problem: ReducedProblem, spanned: Reals | None = None) -> ByLikelihoods:
        """By the arms' own results."""
        nothing = Moments.none(len(problem.features))
        return cls(problem, MeasuredMeans(problem, nothing), nothing, nothing)

    @property
    def seen(self) -> Moments:
        """All results."""
        return self.first + self.later

    def with_results(self, results: PlanResults) -> ByLikelihoods:
        """With more results: those of the first plan, or all others."""
        if not self.first.pulls.any():
            now = replace(self, first=self.first.after(results))
        else:
            now = replace(self, later=self.later.after(results))
        return replace(now, means=self.means.after(now.seen))

    def taking_over(self, before: ByLikelihoods, places: Integers) -> ByLikelihoods:
        """With the results of arms that are left."""
        first, later = before.first.placed(places), before.later.placed(places)
        means = self.means.after(first + later)
        return replace(self, first=first, later=later, means=means, begun=before.begun)

    def evidence(
        self, rows: Integers, guess: Fit, inside: Mask, risk: float, largest_risk: float
    ) -> LikelihoodEvidence:
        """With predictions by all results until now."""
        arms = len(inside)
        return LikelihoodEvidence(
            rows,
            self.seen,
            Moments.none(arms),
            self.problem.epsilon,
            self.problem.sigma,
            self.means.noise,
            np.full((len(rows), arms), -np.inf),
        )

    def intervals(self) -> tuple[Reals, Reals]:
        """By the same likelihoods of every arm by itself, with predictions by the first plan."""
        n, spread = self.later.pulls, self.later.squares
        paid = price(self.first, self.later)
        known = np.isfinite(paid)
        grown = (np.where(known, paid, 0.0) - math.log(self.problem.delta)) / np.maximum(n, 1.0)
        width = np.sqrt(spread / np.maximum(n, 1.0) * np.expm1(2.0 * np.maximum(grown, 0.0)))
        width = np.where(known, width, np.inf)
        return self.later.means - width, self.later.means + width

    def squared_threshold(self, level: float) -> float:
        """With the price of two arms whose mean and σ are predicted."""
        return 2.0 * (level + FIRST_PRICE)
