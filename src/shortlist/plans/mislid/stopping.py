"""When MisLid stops: bounds on differences of means that are linear in the features up to c.

With V = Σ N_a x_a x_aᵀ and s_a = N_a x_aᵀV⁻¹(x_i − x_j), least squares estimates μ_i − μ_j by sᵀμ̂.
If μ = Xθ + η with |η_a| ≤ c, then μ_i − μ_j = sᵀμ − (s − e_i + e_j)ᵀη. So the estimate is off by
the noise sᵀ(μ̂ − μ) and by c‖s − e_i + e_j‖₁ at most. Averages of an arm are off by noise alone.

``PairBounds`` uses both as bounds on every pair, each kind with its share of δ:

    linear    noise in rank X dimensions, for all pairs at once: C² = 2β, β a mixture
    two arms  noise of the two arms, for the m(K − m) pairs of one of the m best with one that is not

Both are dual points of the likelihood ratio, and their thresholds do not depend on the other arms.

``LikelihoodRatio`` is the stop as it was published, by the closest alternative. In the norm
‖v‖² = Σ_a N_a v_a², the estimate μ̃ is the projection of the averages μ̂ onto the means linear up
to c. As θ is free, the parts of μ̃ and of μ̂ in the span of X are the same. So, with P the
projection onto that span,

    ‖μ̃ − μ‖ ≤ ‖μ̂ − μ‖   and   ‖μ̃ − μ‖² ≤ ‖P(μ̂ − μ)‖² + 4c²t.

The noise on the left has K dimensions, that on the right as many as X; each is bounded at all times
by a mixture, and the smaller bound counts. With ‖μ̃ − μ‖ ≤ σC the truth is not an alternative at a
distance above C²/2. docs/proofs.md has the proofs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.certified import Certified
from shortlist.numerics.jit import compiled
from shortlist.numerics.quadratic import nearest_to, workspace
from shortlist.numerics.records import (
    Mask,
    Real,
    Reals,
    Record,
    Table,
)
from shortlist.plans.mislid.alternative import alternatives, closest, fit_weighted, model_weight
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, best_of
from shortlist.posterior.posterior import width_floor
from shortlist.rules.indices import square_of

# What the mixtures' prior is worth, over the first pulls. A larger share makes the bounds wider at
# first, a smaller one makes them grow for longer.
PRIOR_SHARE = 0.3
MOST_ALTERNATIVES = 100  # that are looked at for the least slack; a few, as a rule
TRIES = 4  # alternatives that a bound on a difference is sought with; it hardly moves after two


def noise_bound(log_risk: float, ratios: Any) -> float:
    """An upper bound on half the square of the noise, in as many dimensions as there are ratios.

    The ratios are the information in every dimension over that of the first pulls. In one
    dimension it is C²/2 of ``contrast_threshold``, with another prior.

    Examples
    --------
    >>> [round(noise_bound(3.0, np.full(5, ratio)), 1) for ratio in (1.0, 10.0, 100.0)]
    [8.7, 12.2, 17.6]
    """
    grown = np.asarray(ratios) / PRIOR_SHARE
    return float((1.0 + 1.0 / grown.min()) * (log_risk + 0.5 * np.log1p(grown).sum()))


@dataclass(frozen=True, eq=False)
class Known(Record):
    """The results so far: N and μ̂, G = X V⁻¹ Xᵀ, and Xθ̂ by least squares."""

    pulls: Reals
    averages: Reals
    gram: Table
    fitted: Reals


@dataclass(frozen=True, eq=False)
class Widths(Record):
    """How wide the bounds are; infinite where they are not to be used.

    ``linear`` is σC of the linear one, ``two_arms`` ln(n/δ) of that by two arms, ``prior`` its ρ.
    ``floor`` is the least ‖x_i − x_j‖² that exceeds rounding errors (see ``LEAST_SHARE``).
    """

    misspecification: Real
    sigma: Real
    linear: Real
    two_arms: Real
    prior: Real
    floor: Real


@compiled(typed=True)
def two_arm_level(known: Known, widths: Widths, i: int, j: int) -> float:
    """ln(n/δ) + ½ ln(1 + N_i/ρ) + ½ ln(1 + N_j/ρ), of the mixture for two arms."""
    rho = widths.prior
    own = math.log1p(known.pulls[i] / rho) + math.log1p(known.pulls[j] / rho)
    return widths.two_arms + 0.5 * own


@compiled(typed=True)
def linear_bound(known: Known, widths: Widths, i: int, j: int) -> float:
    """An upper bound on μ_i − μ_j, by least squares."""
    if math.isinf(widths.linear):
        return np.inf
    gram = known.gram
    square = max(square_of(gram[i, i] + gram[j, j], gram[i, j], widths.floor), 0.0)
    bias = widths.misspecification * model_weight(known.pulls, known.gram, i, j)
    return known.fitted[i] - known.fitted[j] + bias + widths.linear * math.sqrt(square)


@compiled(typed=True)
def two_arm_bound(known: Known, widths: Widths, i: int, j: int) -> float:
    """An upper bound on μ_i − μ_j, by the two arms' own averages."""
    if math.isinf(widths.two_arms):
        return np.inf
    rho, n_i, n_j = widths.prior, known.pulls[i], known.pulls[j]
    square = (1.0 + rho / n_i) / n_i + (1.0 + rho / n_j) / n_j
    width = widths.sigma * math.sqrt(2.0 * two_arm_level(known, widths, i, j) * square)
    return known.averages[i] - known.averages[j] + width


@compiled(typed=True)
def fill_bounds(known: Known, widths: Widths, over: Mask, under: Mask, bounds: Table) -> None:
    """B_ij, the smaller bound, of every i marked in ``over`` and every other j of ``under``."""
    for i in range(over.shape[0]):
        if over[i]:
            for j in range(under.shape[0]):
                if under[j] and j != i:
                    linear = linear_bound(known, widths, i, j)
                    bounds[i, j] = min(linear, two_arm_bound(known, widths, i, j))


class Boundary(NamedTuple):
    """The pair b inside and c outside, how much better c may be, and the threshold C of that."""

    b: int
    c: int
    statistic: float
    threshold: float


@dataclass(frozen=True, eq=False)
class StoppingBounds(ABC):
    """The estimate, and the bounds around it."""

    problem: ReducedProblem  # what the strategy is given
    c: float  # how far the means may be from linear
    first: int  # how often every arm is pulled before anything is decided
    white: Reals  # K × rank, features with Σ_a x_a x_aᵀ = I
    known: Known  # pulls and averages, and least squares on them
    means: Reals  # μ̃: the nearest means to the averages that are linear up to c
    floor: float  # the least ‖x_i − x_j‖² that exceeds rounding errors, in units of ‖x_i‖² + ‖x_j‖²

    @classmethod
    def before(cls, problem: ReducedProblem, c: float, first: int) -> dict[str, Any]:
        """The attributes before the first result."""
        none = np.zeros(len(problem.features))
        return {
            "problem": problem,
            "c": c,
            "first": first,
            "white": np.linalg.qr(problem.features)[0],
            "known": Known(none, none, np.zeros((len(none), len(none))), none),
            "means": none,
            "floor": width_floor(problem.features),
        }

    def after(self, results: PlanResults) -> Self:
        """The same with these results, which are all there are."""
        features, counts = self.problem.features, results.pulls.astype(np.float64)
        averages = results.sums / counts
        scratch = alternatives(features)
        nearest_to(averages, counts, self.c, scratch.work)
        fit_weighted(features, counts, averages, scratch.fit)
        known = Known(counts, averages, scratch.fit.gram, scratch.fit.fitted)
        return replace(self, known=known, means=scratch.work.means)

    def inside(self) -> Mask:
        """The m arms of largest estimate."""
        return best_of(self.means, self.problem.m)

    def information(self, pulls: Reals) -> Reals:
        """The information of these pulls over that of the first, in rank X dimensions."""
        known = np.linalg.eigvalsh((self.white.T * (pulls / self.first)) @ self.white)
        return np.asarray(known, np.float64)

    def model_widths(self, linear: float) -> Reals:
        """How far each mean may be from its estimate, by least squares with width ``linear``."""
        known = self.known
        given, arms = (known.pulls, known.gram), range(len(self.means))
        bias = np.array([model_weight(*given, a, NO_ARM) for a in arms])
        off = np.abs(known.fitted - self.means)
        noise = linear * np.sqrt(np.maximum(np.diagonal(known.gram), 0.0))
        with np.errstate(over="ignore"):
            return np.asarray(noise + self.c * bias + off)

    @abstractmethod
    def boundary(self, inside: Mask) -> Boundary:
        """The pair that is least certain."""

    @abstractmethod
    def differences(self, j: int, at: Boundary) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with their lower and upper bounds."""

    @abstractmethod
    def certified(self, inside: Mask, epsilon: float) -> Certified:
        """What is certain of these arms."""

    def with_slack(self, epsilon: float) -> Self:
        """The same with another ε."""
        return replace(self, problem=self.problem._replace(epsilon=epsilon))

    @abstractmethod
    def half_widths(self) -> Reals:
        """How far each mean may be from its estimate."""

    @abstractmethod
    def threshold_at(self, pulls: Reals) -> float:
        """About what C is after these pulls."""


@dataclass(frozen=True, eq=False)
class PairBounds(StoppingBounds):
    """Bounds B_ij on μ_i − μ_j, by the linear model or by the two arms."""

    # ln(1/δ) of the linear bounds, ln(m(K − m)/δ) of those by two arms; infinite without a share.
    linear: float
    two_arms: float

    @classmethod
    def of(cls, problem: ReducedProblem, c: float, first: int) -> PairBounds:
        """Give each kind half of δ, or one of them all of it, without looking at a reward."""
        arms, rank = problem.features.shape
        whole = math.log(1.0 / problem.delta)
        pairs = whole + math.log(problem.m * (arms - problem.m))
        start = cls.before(problem, c, first)
        if rank == arms:  # then every mean is linear, and the features say nothing
            return cls(**start, linear=math.inf, two_arms=pairs)
        if c == 0.0:
            return cls(**start, linear=whole, two_arms=math.inf)
        # What rests on the model is off by about 2c. If two arms are known as well by now already,
        # the model is of no use.
        square = 2.0 * (1.0 + PRIOR_SHARE) / first
        known = problem.sigma * math.sqrt(2.0 * (pairs + math.log1p(1.0 / PRIOR_SHARE)) * square)
        if known <= 2.0 * c:
            return cls(**start, linear=math.inf, two_arms=pairs)
        half = math.log(2.0)
        return cls(**start, linear=whole + half, two_arms=pairs + half)

    def _linear_threshold(self, pulls: Reals) -> float:
        if math.isinf(self.linear):
            return math.inf
        return math.sqrt(2.0 * noise_bound(self.linear, self.information(pulls)))

    def _widths(self) -> Widths:
        sigma, prior = self.problem.sigma, PRIOR_SHARE * self.first
        linear = sigma * self._linear_threshold(self.known.pulls)
        return Widths(self.c, sigma, linear, self.two_arms, prior, self.floor)

    def _bounds(self, widths: Widths, inside: Mask) -> Reals:
        """B_cb of b inside and c outside, among −∞."""
        bounds = np.full(self.known.gram.shape, -np.inf)
        fill_bounds(self.known, widths, ~inside, inside, bounds)
        return bounds

    def certified(self, inside: Mask, epsilon: float) -> Certified:
        """What all B_cb say."""
        bounds = self._bounds(self._widths(), inside)[np.ix_(~inside, inside)].T
        return Certified.by_bounds(inside, bounds, epsilon, math.inf)

    def boundary(self, inside: Mask) -> Boundary:
        """The pair b inside and c outside of largest B_cb."""
        widths, known = self._widths(), self.known
        bounds = self._bounds(widths, inside)
        c, b = (int(arm) for arm in np.unravel_index(np.argmax(bounds), bounds.shape))
        threshold = math.sqrt(2.0 * two_arm_level(known, widths, c, b))
        if linear_bound(known, widths, c, b) < two_arm_bound(known, widths, c, b):
            threshold = widths.linear / widths.sigma
        return Boundary(b, c, float(bounds[c, b]), threshold)

    def differences(self, j: int, at: Boundary) -> tuple[Reals, Reals, Reals]:
        """μ̃_i − μ̃_j, moved into its bounds −B_ji and B_ij."""
        arms = len(self.means)
        everyone, only = np.ones(arms, np.bool_), np.arange(arms) == j
        bounds, widths = np.zeros((arms, arms)), self._widths()
        fill_bounds(self.known, widths, everyone, only, bounds)
        fill_bounds(self.known, widths, only, everyone, bounds)
        lower, upper = -bounds[j], bounds[:, j].copy()
        gap = np.maximum(np.minimum(self.means - self.means[j], upper), lower)
        return gap, lower, upper

    def half_widths(self) -> Reals:
        """By the model, or by the arm's own pulls beside the arm of most pulls."""
        widths, pulls = self._widths(), self.known.pulls
        half_widths = np.full(len(pulls), np.inf)
        if math.isfinite(self.linear):
            half_widths = self.model_widths(widths.linear)
        if math.isfinite(self.two_arms):
            most, arms = int(np.argmax(pulls)), range(len(pulls))
            levels = np.array([two_arm_level(self.known, widths, a, most) for a in arms])
            own = widths.sigma * np.sqrt(2.0 * levels * (1.0 + widths.prior / pulls) / pulls)
            half_widths = np.minimum(half_widths, own + np.abs(self.known.averages - self.means))
        return half_widths

    def threshold_at(self, pulls: Reals) -> float:
        """The smaller C."""
        own = math.log1p(float(pulls.mean()) / (PRIOR_SHARE * self.first))
        return min(self._linear_threshold(pulls), math.sqrt(2.0 * (self.two_arms + own)))


@dataclass(frozen=True, eq=False)
class LikelihoodRatio(StoppingBounds):
    """The ellipsoid about μ̃ that contains the truth."""

    # ln(1/δ) of either bound; infinite where it has no share of δ.
    linear: float
    unstructured: float

    @classmethod
    def of(cls, problem: ReducedProblem, c: float, first: int) -> LikelihoodRatio:
        """Give each bound half of δ, or one of them all of it, without looking at a reward."""
        whole = math.log(1.0 / problem.delta)
        start = cls.before(problem, c, first)
        if c == 0.0:
            return cls(**start, linear=whole, unstructured=math.inf)
        without_model = cls(**start, linear=math.inf, unstructured=whole)
        # What c adds to the linear bound grows with every pull, the other as a logarithm.
        pulls = np.full(len(problem.features), float(first))
        if without_model._misfit(pulls) >= without_model._squares(pulls)[1]:
            return without_model
        half = whole + math.log(2.0)
        return cls(**start, linear=half, unstructured=half)

    def _misfit(self, pulls: Reals) -> float:
        off = self.c / self.problem.sigma
        return 2.0 * off * off * float(pulls.sum())  # off**2 would raise where it is infinite

    def _squares(self, pulls: Reals) -> tuple[float, float]:
        """C²/2 by either bound."""
        linear = unstructured = math.inf
        if math.isfinite(self.linear):
            linear = noise_bound(self.linear, self.information(pulls)) + self._misfit(pulls)
        if math.isfinite(self.unstructured):
            unstructured = noise_bound(self.unstructured, pulls / self.first)
        return linear, unstructured

    def threshold_at(self, pulls: Reals) -> float:
        """C after these pulls."""
        return math.sqrt(2.0 * min(self._squares(pulls)))

    def boundary(self, inside: Mask) -> Boundary:
        """The pair of the closest alternative; at most ε if that is further away than C²/2."""
        problem, pulls = self.problem, self.known.pulls
        alternative = alternatives(problem.features)
        closest(self.c, pulls, self.means, inside, problem.epsilon, alternative)
        b, c = int(alternative.pair[0]), int(alternative.pair[1])
        threshold = self.threshold_at(pulls)
        statistic = self._bound(c, b, alternative.means, float(alternative.pair[2]), threshold)
        return Boundary(b, c, statistic, threshold)

    def certified(self, inside: Mask, epsilon: float) -> Certified:
        """The slack at which no alternative is near any more; nothing is said of single arms."""
        least = 0.0
        for _ in range(MOST_ALTERNATIVES):
            nearest = self.with_slack(least).boundary(inside).statistic
            if nearest <= least:
                return Certified.by_statistic(inside, epsilon, least)
            least = nearest
        return Certified.by_statistic(inside, epsilon, math.inf)

    def _bound(self, i: int, j: int, alternative: Reals, price: float, threshold: float) -> float:
        """An upper bound on μ_i − μ_j, by the s that the alternative's multipliers give.

        It holds for any s with Xᵀs = x_j − x_i: μ_j − μ_i = sᵀμ − (s − e_j + e_i)ᵀη, where sᵀμ̃ is
        off by σC·sqrt(Σ s_a²/N_a) at most. What rounding has left of Xᵀs is taken away first. The
        s of the two arms alone is tried too, since rounding errors of the other count c times.
        """
        features, pulls = self.problem.features, self.known.pulls
        s = pulls * (self.means - alternative) / price if price > 0.0 else np.zeros(len(pulls))
        own = np.zeros(len(pulls))
        own[j], own[i] = 1.0, -1.0
        root = np.sqrt(pulls)
        basis = np.linalg.qr(root[:, None] * features)[0]
        over = (s - own) / root
        rest = root * (over - basis @ (basis.T @ over))
        scale = self.problem.sigma * threshold

        def bound(s: Reals, bias: float) -> float:
            return scale * math.sqrt(float((s * s / pulls).sum())) + bias - float(s @ self.means)

        return min(bound(own + rest, self.c * float(np.abs(rest).sum())), bound(own, 0.0))

    def differences(self, j: int, at: Boundary) -> tuple[Reals, Reals, Reals]:
        """μ̃_i − μ̃_j, and the bounds of the ellipsoid on either side."""
        arms = range(len(self.means))
        lower = [0.0 if i == j else -self._above(j, i, at) for i in arms]
        upper = [0.0 if i == j else self._above(i, j, at) for i in arms]
        return self.means - self.means[j], np.array(lower), np.array(upper)

    def _above(self, i: int, j: int, at: Boundary) -> float:
        """An upper bound on μ_i − μ_j: by alternatives ever further away, while that helps."""
        if (i, j) == (at.c, at.b):
            return at.statistic
        work = workspace(self.problem.features)
        best, slack = math.inf, max(self.problem.epsilon, float(self.means[i] - self.means[j]))
        for _ in range(TRIES):
            nearest_to(self.means, self.known.pulls, self.c, work, (j, i, -slack))
            slack = self._bound(i, j, work.means, float(work.price[0]), at.threshold)
            if not slack < best:
                break
            best = slack
        return best

    def half_widths(self) -> Reals:
        """By the arm's own pulls, or by the model."""
        width = self.problem.sigma * self.threshold_at(self.known.pulls)
        return np.minimum(width / np.sqrt(self.known.pulls), self.model_widths(width))
