"""Bets with features: on what each plan's results say of a difference, at the variance that they have.

A plan after the naming has n_a results of arm a, fixed before any of them. Weighted least squares on the
plan alone estimates μ_b − μ_c by Σ_i k_{a_i} y_i with Σ_a n_a k_a μ_a = μ_b − μ_c whenever the means are
linear, whatever the weights are. For a bet λ > 0, a v > 0 and centres c_a in the range, all fixed before
the plan, with κ_a = λk_a/v, κ_a (c_a − low) < 1 and −κ_a (high − c_a) < 1, the wealth is multiplied by

    F = Π_i (1 + κ_{a_i} (y_i − c_{a_i})) e^{κ_{a_i} c_{a_i}} · e^{λε/v}.

A factor of arm a has a mean of at most e^{κ_a μ_a}, as 1 + u ≤ e^u. So F has a mean of at most
e^{λ(μ_b − μ_c + ε)/v} ≤ 1 if μ_b ≤ μ_c − ε, and the average of the wealths over a prior of λ ever reaches 1/r
with a probability of at most r. The centres, v and the weights decide how fast it grows: with the
variances as they are, as fast as least squares that know them. docs/proofs.md has the proof.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from shortlist.arrays import Mask
from shortlist.designs.pairs import contrast_design
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals, Table
from shortlist.plans.arm_bounds import ROUNDING
from shortlist.plans.bets.pooled import (
    HALVINGS,
    INTERVAL_OF_BETS,
    LEAST_VARIANCE,
    NOTHING,
    SLACK,
    SLACK_OF_EACH,
    ByBets,
    NoEvidence,
)
from shortlist.plans.evidence import (
    HALF_WIDTH,
    OVERSHOOT,
    Bounds,
    FittedPlan,
    OpenPairs,
    Verifier,
    boundary_needs,
    squared_threshold,
)
from shortlist.plans.means import Fit, LinearFit, LinearMeans
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.thresholds import ArmInterval

SCALE = 0.82  # of the half-normal prior of λ, over the gap as it seems
GRID = np.array([0.12, 0.25, 0.42, 0.6, 0.8, 1.0, 1.25, 1.55, 1.9, 2.4, 3.0])  # over the scale
OF_AN_ARM = 0.0025 * 1.8 ** np.arange(11)  # bets on an arm by itself, over the range
SAFE = 0.97  # of the largest κ that the range allows
REACH = 0.1  # of the gap: a bet is limited by the range too
UNIT = float(np.finfo(np.float64).eps)
SHARED = 20.0  # results: as much is the variance of an arm known by that of the others
OF_NEEDED = 0.12  # of the results that still seem to be needed: the length of a plan
# Of δ, for each time that sets are named. The first decides nearly always: see ``evidence.SHARES``.
SHARES = (0.9, 0.06, 0.02, 0.01, *(0.005 * 0.5**k for k in range(12)))

OF_LEAST_SQUARES = "x with Σ e^(−λIx) Π (1 + κ(y − c)) e^(κc) below 2G/δ, of λ > 0 and of λ < 0"
INTERVAL_OF_LINEAR_BETS = ArmInterval(
    "by bets on least squares or on own results",
    f"{OF_LEAST_SQUARES}, with products over the results y of all plans, and sums over a grid of G bets λ; "
    "κ is λ/v times the weight of y in what least squares on its plan says of the arm, v a variance of that "
    "and c a centre, both fixed before the plan, and I the sum of 1/v over the plans; where every arm is a "
    f"direction of its own, {INTERVAL_OF_BETS.meaning}",
    "what bets on least squares, or on the arm's own results, do not refute",
)


@compiled(typed=True)
def multiply(
    bets: Table,
    coefficients: Table,
    variances: Reals,
    support: Integers,
    starts: Integers,
    values: Reals,
    centres: Reals,
    spread: Reals,
    unit: float,
    wealths: Table,
) -> None:
    """Add what the results of a plan add to the logarithms of wealths, for every contrast and bet.

    The results of the arm ``support[s]`` are ``values[starts[s] : starts[s + 1]]``, scaled to [0, 1], and
    ``unit`` is the range: κ is per unit of the range here. What a centre adds beyond the start of the range
    is the caller's. The sums are compensated, as those of ``add_wealths``: of many equal results the
    rounding errors would all go the same way.
    """
    for p in range(bets.shape[0]):
        for g in range(bets.shape[1]):
            total, lost = 0.0, 0.0
            for s in range(support.shape[0]):
                kappa = unit * bets[p, g] * coefficients[p, s] / variances[p]
                # A result adds no more than that, and SLACK_OF_EACH is taken off.
                if abs(kappa) < 1e-12:
                    continue
                mean, variance, size = centres[s], spread[s], abs(kappa)
                # The best centre if results are mean ± deviation.
                away = (math.sqrt(1.0 + 4.0 * size * size * variance) - 1.0) / (2.0 * size)
                if kappa > 0.0:
                    centre = min(max(min(mean - away, SAFE / size), 0.0), 1.0)
                else:
                    centre = min(max(max(mean + away, 1.0 - SAFE / size), 0.0), 1.0)
                for i in range(starts[s], starts[s + 1]):
                    term = math.log1p(kappa * (values[i] - centre)) + kappa * centre - lost
                    before = total
                    total = before + term
                    lost = (total - before) - term
            wealths[p, g] += total


@dataclass(frozen=True, eq=False)
class WeighedFit(LinearFit):
    """Least squares on a plan, by variances that were known before it.

    Attributes
    ----------
    noise : array, K
        The variances by which results were weighted, in units of σ².
    basis : array, K × rank
        The features, in orthonormal columns.
    """

    noise: Reals
    basis: Reals


@dataclass(frozen=True, eq=False)
class SeenLinearFit(WeighedFit):
    """The same with the means as they seemed to be before the plan, scaled to [0, 1]: ``expected``."""

    expected: Reals


class SeenLinearMeans(LinearMeans):
    """Means linear in the features, with the variances that results in a range have shown.

    Parameters
    ----------
    problem : ReducedProblem
        With the limits of the results.
    """

    of_needed = OF_NEEDED

    def __init__(self, problem: ReducedProblem) -> None:
        super().__init__(problem)
        self._low, self.span = problem.limits[0], problem.limits[1] - problem.limits[0]
        self._unit = self.span / problem.sigma
        self._expected = np.full(len(self.noise), 0.5)
        self._weigh(np.ones(len(self.noise)))

    @property
    def variances(self) -> Reals:
        """Of a result of every arm, scaled to [0, 1]."""
        return self.noise / self._unit**2

    def fit(self, results: PlanResults) -> SeenLinearFit:
        """Weighted least squares."""
        of = super().fit(results)
        return SeenLinearFit(of.means, of.white, self.noise, self.basis, self._expected)

    def after(self, pulls: Reals, totals: Reals, squares: Reals) -> SeenLinearMeans:
        """With variances from residuals, each a share of the largest that the mean allows.

        ``totals`` and ``squares`` are sums of all results so far, scaled to [0, 1], and of their squares.
        """
        other = copy.copy(self)
        for _ in range(2):
            sums = self._low * pulls + self.span * totals
            results = PlanResults(pulls.astype(np.int64), sums)
            means = (LinearMeans.fit(other, results).means - self._low) / self.span
            near = np.clip(means, 0.02, 0.98)
            most = near * (1.0 - near)
            left = np.maximum(squares - 2.0 * means * totals + pulls * means**2, 0.0)
            free = pulls * max(0.2, 1.0 - self.basis.shape[1] / pulls.sum())
            usual = (left.sum() + most.mean()) / ((free * most).sum() + most.mean())
            share = (left + SHARED * min(1.0, usual) * most) / (free * most + SHARED * most)
            variances = np.clip(np.minimum(share, 1.0) * most, LEAST_VARIANCE, 0.25)
            other._weigh(variances * self._unit**2)
            other._expected = np.clip(means, 0.005, 0.995)
        return other


class Told(NamedTuple):
    """The results of a plan, in the order of their arms, and how they were to be weighted."""

    fit: SeenLinearFit
    pulls: Integers
    support: Integers
    starts: Integers
    values: Reals
    limits: tuple[float, float]
    sigma: float

    @classmethod
    def of(cls, told: FittedPlan, problem: ReducedProblem) -> Told:
        """Those of a plan that was fitted."""
        results, (low, high) = told.results, problem.limits
        count = int(results.count[0])
        order = np.argsort(results.arms[:count], kind="stable")
        values = np.clip((results.values[:count][order] - low) / (high - low), 0.0, 1.0)
        support = np.flatnonzero(results.pulls)
        starts = np.concatenate([[0], np.cumsum(results.pulls[support])])
        fit = cast(SeenLinearFit, told.fit)  # as ``SeenLinearMeans`` fits
        of = fit, results.pulls, support, starts.astype(np.int64), values
        return cls(*of, problem.limits, problem.sigma)

    def wealths(
        self, arms: Integers, less: int | None, bets: Reals, sizes: Reals
    ) -> tuple[Reals, Reals]:
        """What the plan adds to the logarithms of wealths of bets on arms, and σ²/v.

        With ``less`` they are on the mean of that arm less those of the others. ``bets`` has a row of λ for
        each, ``sizes`` are the gaps as they seem.
        """
        low, high = self.limits
        span, support, noise = high - low, self.support, self.fit.noise
        wanted, contrasts = self.fit.basis[arms], self.fit.white[:, arms]
        if less is not None:
            wanted = self.fit.basis[less] - wanted
            contrasts = self.fit.white[:, [less]] - contrasts
        coefficients = contrasts.T @ self.fit.white[:, support] / noise[support]
        largest = np.abs(coefficients).max(axis=1)
        v = (contrasts**2).sum(axis=0) + REACH * sizes * span * largest / self.sigma**2
        variances = self.sigma**2 * np.maximum(v, np.finfo(np.float64).tiny)
        added = np.zeros(bets.shape)
        multiply(
            np.ascontiguousarray(bets),
            np.ascontiguousarray(coefficients),
            variances,
            support,
            self.starts,
            self.values,
            np.ascontiguousarray(self.fit.expected[support]),
            np.ascontiguousarray(noise[support] * (self.sigma / span) ** 2),
            span,
            added,
        )
        # The centres' own start of the range, and what rounding may have added: in the sums, and since
        # the results that make up a contrast miss it in the last digits.
        pulls = self.pulls[support]
        start = low * (coefficients @ pulls)
        misses = (coefficients * pulls) @ self.fit.basis[support] - wanted
        off = ROUNDING * np.maximum(np.abs(coefficients) @ pulls, 1.0)
        off += np.sqrt(len(self.fit.basis) * (misses**2).sum(axis=1))
        off *= max(abs(low), abs(high))
        added += bets / variances[:, None] * start[:, None]
        added -= np.abs(bets) / variances[:, None] * off[:, None]
        return added, self.sigma**2 / variances


def log_sum(wealths: Reals) -> Reals:
    """The logarithm of the sum over the last axis of exponentials."""
    top = wealths.max(axis=-1)
    return np.asarray(top + np.log(np.exp(wealths - top[..., None]).sum(axis=-1)))


def less_rounding(wealths: Reals) -> Reals:
    """Logarithms of wealths after an addition, less what rounding may have added in it."""
    return wealths - UNIT * np.abs(wealths)


def least_passing(
    wealths: Reals, slopes: Reals, level: float, ends: tuple[float, float], count: int
) -> Reals:
    """The least s found within the ends at which Σ exp(wealths + s slopes) reaches e^level; else the upper.

    ``count`` is how many results there are in the wealths.
    """
    slack = SLACK + SLACK_OF_EACH * count + 4.0 * UNIT * np.abs(wealths).max(axis=1)
    short, enough = np.full(len(wealths), ends[0]), np.full(len(wealths), ends[1])
    for _ in range(HALVINGS):
        s = 0.5 * (short + enough)
        passes = log_sum(wealths + s[:, None] * slopes) - slack >= level
        short, enough = np.where(passes, short, s), np.where(passes, s, enough)
    return enough


def half_normal() -> Reals:
    """The logarithm of the prior of the bets of ``GRID``.

    Examples
    --------
    >>> round(float(np.exp(half_normal()).sum()), 9)
    1.0
    """
    from scipy.special import ndtr

    middle = np.concatenate([[0.0], 0.5 * (GRID[1:] + GRID[:-1]), [np.inf]])
    return np.asarray(np.log(2.0 * np.diff(ndtr(middle))))


def bets_on(sizes: Reals) -> Reals:
    """The bets λ on gaps that seem to be of these sizes."""
    return SCALE * sizes[..., None] * GRID


def squared_threshold_of_bets(have: Reals, sizes: Reals, level: float, growth: float) -> Reals:
    """About the C² at which bets on gaps of these sizes, in σ, pass with so much information."""
    return np.asarray(squared_threshold(level, np.maximum(have * (SCALE * sizes) ** 2, growth)))


@dataclass(frozen=True, eq=False)
class LinearBets:
    """Evidence for pairs by bets on what each plan says of them.

    Attributes
    ----------
    rows : array of int
        The arms b.
    sizes : array, rows × K
        The gaps as they seemed to be.
    epsilon, sigma, span : float
        ε, σ and the range.
    wealths : array, rows × K × bets
        The logarithms of the wealths, times the prior.
    information, scores : array, rows × K
        Σ σ²/v, and the sum of the estimated differences times that.
    largest : array, rows × K
        The largest ln E so far.
    count : int
        How many results there are since the naming.
    """

    rows: Integers
    sizes: Reals
    epsilon: float
    sigma: float
    span: float
    wealths: Reals
    information: Reals
    scores: Reals
    largest: Reals
    count: int = 0

    @classmethod
    def none(cls, rows: Integers, sizes: Reals, problem: ReducedProblem) -> LinearBets:
        """Before any result since the naming, with a half-normal prior of λ."""
        low, high = problem.limits
        return cls(
            rows,
            sizes,
            problem.epsilon,
            problem.sigma,
            high - low,
            np.broadcast_to(half_normal(), (*sizes.shape, len(GRID))),
            np.zeros(sizes.shape),
            np.zeros(sizes.shape),
            np.full(sizes.shape, -np.inf),
        )

    def after(self, told: FittedPlan, problem: ReducedProblem) -> LinearBets:
        """With the results of one more plan."""
        plan = Told.of(told, problem)
        wealths, information = self.wealths.copy(), self.information.copy()
        scores, means = self.scores.copy(), told.fit.means
        every = np.arange(self.sizes.shape[1])
        for row, b in enumerate(self.rows):
            others = every[every != b]
            sizes = self.sizes[row, others]
            bets = bets_on(sizes)
            added, learnt = plan.wealths(others, int(b), bets, sizes)
            slack = bets * (self.epsilon / self.sigma**2) * learnt[:, None]
            wealths[row, others] = less_rounding(wealths[row, others] + added + slack)
            information[row, others] += learnt
            scores[row, others] += learnt * (means[b] - means[others])
        count = self.count + len(plan.values)
        largest = np.maximum(self.largest, log_sum(wealths) - SLACK - SLACK_OF_EACH * count)
        return replace(
            self,
            wealths=wealths,
            information=information,
            scores=scores,
            largest=largest,
            count=count,
        )

    def with_rows(self, arms: Integers) -> LinearBets:
        """With rows for these arms, which are in no named set."""
        shape = len(arms), self.sizes.shape[1]
        none = np.full((*shape, len(GRID)), NOTHING)
        return replace(
            self,
            rows=np.append(self.rows, arms),
            sizes=np.vstack([self.sizes, np.ones(shape)]),
            wealths=np.concatenate([self.wealths, none]),
            information=np.vstack([self.information, np.zeros(shape)]),
            scores=np.vstack([self.scores, np.zeros(shape)]),
            largest=np.vstack([self.largest, np.full(shape, -np.inf)]),
        )

    def placed(self, places: Integers, problem: ReducedProblem) -> LinearBets:
        """Not offered; see ``Verifier.goes_on``."""
        raise NotImplementedError

    def tested(self, rows: Integers, arms: Integers, level: float) -> LinearBets:
        """It is up to date after every plan."""
        return self

    def _lower(self, rows: Integers, arms: Integers, level: float) -> Reals:
        """Lower bounds on μ_b − μ_c: −ε′ for the least ε′ found at which E reaches e^level."""
        here = rows, arms
        slopes = bets_on(self.sizes[here]) * self.information[here][:, None] / self.sigma**2
        bare = self.wealths[here] - self.epsilon * slopes
        return -least_passing(bare, slopes, level, (-self.span, self.span), self.count)

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """The lower bounds of bets; on the other side there are none."""
        lower, information = self._lower(rows, arms, level), self.information[rows, arms]
        gaps = self.scores[rows, arms] / information
        threshold = (gaps - lower) * np.sqrt(information) / self.sigma
        return Bounds(gaps, lower, np.full(len(lower), np.inf), threshold)

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """What bets do not refute of μ_c − μ_b."""
        rows, arms = np.broadcast_arrays(*here)
        known = self.information[here] > 0.0
        least = np.full(rows.shape, np.inf)
        least[known] = -self._lower(rows[known], arms[known], level)
        return least

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> LinearBets:
        """The same bets against another ε; what E has reached before counts if that is larger."""
        more = (epsilon - self.epsilon) / self.sigma**2
        added = more * bets_on(self.sizes) * self.information[..., None]
        wealths = less_rounding(self.wealths + added)
        before = self.largest if more >= 0.0 else np.full_like(self.largest, -np.inf)
        now = log_sum(wealths) - SLACK - SLACK_OF_EACH * self.count
        largest = np.maximum(before, np.where(self.information > 0.0, now, -np.inf))
        return replace(self, epsilon=epsilon, wealths=wealths, largest=largest)

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """The information so far, and about the C² at which a gap of that size passes."""
        here = pairs.rows, pairs.c
        have = self.information[here]
        return have, squared_threshold_of_bets(have, self.sizes[here] / self.sigma, level, growth)

    def in_all(self, pairs: OpenPairs, lacking: Reals, least: Reals) -> None:
        """Each plan counts by itself."""


@dataclass(frozen=True, eq=False)
class LinearArmBets:
    """Bets on the mean of every arm by itself, by what each plan says of it.

    Attributes
    ----------
    above, below : array, K × bets
        The logarithms of the wealths of bets in either direction, but for the mean itself.
    information : array, K
        Σ σ²/v.
    count : int
        How many results there are.
    """

    above: Reals
    below: Reals
    information: Reals
    count: int = 0

    def after(self, told: FittedPlan, problem: ReducedProblem) -> LinearArmBets:
        """With the results of one more plan."""
        plan, span = Told.of(told, problem), problem.limits[1] - problem.limits[0]
        bets = np.broadcast_to(span * OF_AN_ARM, self.above.shape)
        every, sizes = np.arange(len(bets)), np.zeros(len(bets))
        above, learnt = plan.wealths(every, None, bets, sizes)
        below, _ = plan.wealths(every, None, -bets, sizes)
        return LinearArmBets(
            less_rounding(self.above + above),
            less_rounding(self.below + below),
            self.information + learnt,
            self.count + len(plan.values),
        )

    def bounds(self, problem: ReducedProblem) -> tuple[Reals, Reals]:
        """The ends of every arm's interval, within the range."""
        low, high = problem.limits
        slopes = (high - low) * OF_AN_ARM * self.information[:, None] / problem.sigma**2
        level = math.log(2.0 * len(OF_AN_ARM) / problem.delta)
        lower = -least_passing(self.above, slopes, level, (-high, -low), self.count)
        upper = least_passing(self.below, slopes, level, (low, high), self.count)
        return lower, upper


@dataclass(frozen=True, eq=False)
class ByPlans(Verifier):
    """Evidence by what the single results of each plan say, for means that are linear in the features.

    Attributes
    ----------
    means : LinearMeans
        With the variances that results have shown.
    """

    keeps_values: ClassVar[bool] = True
    shares: ClassVar[tuple[float, ...]] = SHARES
    most_rows: ClassVar[int] = 0  # every row costs time, and there is no evidence before a naming

    means: LinearMeans

    def nothing(self, rows: Integers) -> NoEvidence:
        """Before sets are named there are no bets."""
        return NoEvidence(rows, len(self.problem.features))

    def sizes(self, rows: Integers, guess: Fit) -> Reals:
        """The gaps of pairs as they seem to be, for bets on them."""
        problem = self.problem
        gaps = np.abs(guess.means[rows, None] - guess.means) + problem.epsilon
        errors = problem.sigma * np.sqrt(guess.variances(rows))
        errors[np.arange(len(rows)), rows] = 0.0  # an arm and itself are no pair
        sizes = np.maximum(gaps, HALF_WIDTH * errors)
        return np.asarray(np.maximum(sizes, np.finfo(np.float64).tiny))

    def verification(self, means: Reals, inside: Mask) -> float:
        """As the variances are that were seen."""
        problem = self.problem
        given = problem.sigma, problem.epsilon, problem.delta
        b, c, needs = boundary_needs(means, inside, *given)
        costs = self.means.costs
        dear = self.means.noise * costs
        weights, total = contrast_design(self.means.basis, b, c, needs, noise=dear)
        return OVERSHOOT * float((weights * total / costs).sum())


@dataclass(frozen=True, eq=False)
class ByLinearBets(ByPlans):
    """Evidence by bets, for results in a range and means that are linear in the features.

    Attributes
    ----------
    means : SeenLinearMeans
        With the variances that results have shown.
    sums : array, 3 × K
        How many results of every arm there are, their sums scaled to [0, 1], and those of their squares.
    arms : LinearArmBets
        Bets on every arm by itself.
    """

    means: SeenLinearMeans
    sums: Reals
    arms: LinearArmBets

    @classmethod
    def own(cls, problem: ReducedProblem, spanned: Reals | None = None) -> ByBets:
        """By the arms' own results."""
        return ByBets.own(problem, spanned)

    @classmethod
    def linear(cls, problem: ReducedProblem) -> ByLinearBets:
        """By least squares on each plan."""
        arms = len(problem.features)
        nothing = np.zeros((arms, len(OF_AN_ARM)))
        bets = LinearArmBets(nothing, nothing, np.zeros(arms))
        return cls(problem, SeenLinearMeans(problem), np.zeros((3, arms)), bets)

    def after(self, told: FittedPlan) -> ByLinearBets:
        """With the results of one more plan."""
        arms = self.arms.after(told, self.problem)
        return replace(self.before(told.results), arms=arms)

    def before(self, past: PlanResults) -> ByLinearBets:
        """With earlier results, which only tell of the variances."""
        count, arms = int(past.count[0]), len(self.problem.features)
        told, (low, high) = past.arms[:count], self.problem.limits
        values = np.clip((past.values[:count] - low) / (high - low), 0.0, 1.0)
        more = [np.bincount(told, each, arms) for each in (np.ones(count), values, values**2)]
        sums = self.sums + np.array(more)
        return replace(self, sums=sums, means=self.means.after(*sums))

    def evidence(
        self, rows: Integers, guess: Fit, inside: Mask, risk: float, largest_risk: float
    ) -> LinearBets:
        """With bets on the gaps as they seem to be."""
        return LinearBets.none(rows, self.sizes(rows, guess), self.problem)

    def intervals(self) -> tuple[Reals, Reals]:
        """Bets on every arm by itself, in either direction."""
        return self.arms.bounds(self.problem)
