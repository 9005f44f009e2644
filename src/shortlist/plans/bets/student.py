"""Student's statistics with features: what each plan's results say, whatever the σ of every arm is.

A plan has n_a results of arm a, fixed before any of them. Weighted least squares on the plan alone
estimates a contrast of the means, such as μ_b − μ_c, by d = Σ_i k_{a_i} y_i, if the means are linear and
whatever the weights are. Its standard error is estimated from the plan alone too, by

    s² = Σ_a n_a k_a² s_a²,   s_a² the sample variance of the n_a results of arm a.

Let T = (d − x)/s, where x is what the contrast is or more, and ν the least n_a − 1. For a bet κ ≥ 0 that is
fixed before the plan,

    F = exp(κ T₊/√(1 + T²/ν))/M_ν(κ)

has a mean of at most 1 for normal noise, where M_ν(κ) is the mean of the numerator if T has Student's
distribution with ν degrees of freedom. For F is convex in s², the average of independent s_a² that each
have at least ν degrees of freedom. So products of F over plans are evidence, and no σ is bounded.

The same statistic of a contrast that is 0 wherever the means are linear tests that they are. docs/proofs.md
has the proofs.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from shortlist.arrays import Mask
from shortlist.noise.estimated import SMALLEST
from shortlist.numerics.order import largest_first
from shortlist.numerics.records import Integers, Reals
from shortlist.plans.arm_bounds import ROUNDING
from shortlist.plans.bets.linear import (
    GRID,
    ByPlans,
    WeighedFit,
    bets_on,
    half_normal,
    log_sum,
    squared_threshold_of_bets,
)
from shortlist.plans.bets.normal import INTERVAL_OF_LIKELIHOODS, ByLikelihoods, Moments
from shortlist.plans.bets.pooled import NOTHING, SLACK
from shortlist.plans.evidence import (
    Bounds,
    FittedPlan,
    OpenPairs,
    placed_rows,
)
from shortlist.plans.means import Fit, LinearMeans
from shortlist.plans.results import PlanResults, placed
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.thresholds import ArmInterval

MOST_DEGREES = 100  # ν: with more, Student's distribution is nearly normal
LARGEST_BET = 40.0  # κ
LARGEST = 1e300  # of a statistic
KAPPAS = np.linspace(0.0, LARGEST_BET, 4001)  # where ln M is computed
NODES = 300  # of the integral that M is
OF_AN_ARM = 0.3 * 1.6 ** np.arange(
    11
)  # bets on an arm by itself, in standard errors of its first plan
FEWEST = 10  # results of an arm in a plan: with fewer, ν is too small
DEPARTING = 2  # arms of each plan because they seem to depart most from linear means
SHARED = 4.0  # results: as much is the variance of an arm known by that of the others
OF_NEEDED = 0.25  # of the results that still seem to be needed: the length of a plan
HALVINGS = 50  # of an interval in which a bound is looked for
DOUBLINGS = 40  # of its length, before

OF_STUDENT = "x with Σ Π F of x from below, or from above, below 2G/δ"
INTERVAL_OF_STUDENT = ArmInterval(
    "by bets on Student's statistics or on own results",
    f"{OF_STUDENT}, with products over the plans and sums over a grid of G bets κ; "
    "F = exp(κ T₊/√(1 + T²/ν))/M, T the distance of x from what least squares on the plan says of the arm, "
    "over its standard error by that plan, ν the least degrees of freedom of an arm in the plan, and M the "
    "mean of the numerator for Student's distribution; where every arm is a direction of its own, "
    f"{INTERVAL_OF_LIKELIHOODS.meaning}",
    "what bets on Student's statistics, or likelihoods of the arm's own results, do not refute",
)


@cache
def log_means(degrees: int) -> Reals:
    """Ln M_ν(κ) at ``KAPPAS``: it is convex, so that straight lines between them are above it.

    With T Student's, T/√(ν + T²) is the sine of an angle whose density is in proportion to cos^(ν−1).

    Examples
    --------
    >>> log_means(4)[[100, 200]].round(4).tolist()
    [0.5294, 1.4291]
    """
    from scipy.special import betaln

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    angles = 0.25 * math.pi * (nodes + 1.0)
    with np.errstate(divide="ignore"):
        density = np.log(0.25 * math.pi * weights) + (degrees - 1.0) * np.log(np.cos(angles))
    density -= betaln(0.5, 0.5 * degrees)
    exponents = math.sqrt(degrees) * KAPPAS[:, None] * np.sin(angles) + density
    return np.logaddexp(log_sum(exponents), math.log(0.5))


def log_factor(statistics: Reals, bets: Reals, degrees: int) -> Reals:
    """Ln F; a bet that is above the largest is taken for that.

    Examples
    --------
    >>> log_factor(np.array([-3.0, 3.0]), np.array([2.0, 2.0]), 9).round(3).tolist()
    [-1.661, 2.582]
    """
    bets, size = np.minimum(bets, LARGEST_BET), np.clip(statistics, 0.0, LARGEST)
    grown = size / np.hypot(1.0, size / math.sqrt(degrees))
    return np.asarray(bets * grown - np.interp(bets, KAPPAS, log_means(degrees)))


class PlanSays(NamedTuple):
    """What a plan says of contrasts.

    Attributes
    ----------
    estimates : array
        Their estimates.
    seen : array
        Standard errors by the plan's own results.
    expected : array
        What these were expected to be before the plan.
    degrees : int
        ν.
    """

    estimates: Reals
    seen: Reals
    expected: Reals
    degrees: int

    def log_factors(self, here: Any, more: Reals, bets: Reals) -> Reals:
        """Ln F for what some estimates are above −``more``, with bets on contrasts of these sizes."""
        apart = self.estimates[here] + more
        with np.errstate(invalid="ignore"):
            statistics = np.where(np.isfinite(self.seen[here]), apart / self.seen[here], 0.0)
        kappas = bets / self.expected[here][..., None]
        return log_factor(statistics[..., None], kappas, self.degrees)

    def mapped(self, change: Callable[[Reals, float], Reals]) -> PlanSays:
        """The same with other tables; the function is given what one has where nothing is said."""
        return PlanSays(
            change(self.estimates, 0.0),
            change(self.seen, np.inf),
            change(self.expected, np.inf),
            self.degrees,
        )

    def placed(self, places: Integers) -> PlanSays:
        """The same where ``places`` says which of these arms each is."""
        return self.mapped(lambda table, other: placed(table, places, other))


class Told(NamedTuple):
    """The results of a plan, as far as Student's statistics need them.

    Attributes
    ----------
    fit : WeighedFit
        Least squares on the plan.
    results : Moments
        The plan's results.
    """

    fit: WeighedFit
    results: Moments

    @classmethod
    def of(cls, told: FittedPlan) -> Told:
        """Those of a plan that ``StudentMeans`` fitted."""
        fit = cast(WeighedFit, told.fit)
        return cls(fit, Moments.none(len(fit.means)).after(told.results))

    @property
    def degrees(self) -> int:
        """ν; 0 where an arm has a single result, so that nothing is known of its noise."""
        pulls = self.results.pulls
        return int(min(pulls[pulls > 0.0].min() - 1.0, MOST_DEGREES))

    def says(self, arms: Integers, less: Integers | None, sign: float, sigma: float) -> PlanSays:
        """What it says of the means of arms, less those of others if these are given."""
        white, means, basis = self.fit.white[:, arms], self.fit.means[arms], self.fit.basis[arms]
        if less is not None:
            white = white - self.fit.white[:, less]
            means, basis = means - self.fit.means[less], basis - self.fit.basis[less]
        support = np.flatnonzero(self.results.pulls)
        weights = white.T @ self.fit.white[:, support] / self.fit.noise[support]
        return self.by_weights(weights, sign * means, basis, sigma)

    def by_weights(self, weights: Reals, estimates: Reals, wanted: Reals, sigma: float) -> PlanSays:
        """The same for the weights k of the results of every arm that has any, a row for each contrast.

        ``wanted`` are the contrasts of the features, which the weights miss in the last digits.
        """
        support = np.flatnonzero(self.results.pulls)
        pulls = self.results.pulls[support]
        variances = self.results.spread_squares[support] / np.maximum(pulls - 1.0, 1.0)
        squares = weights**2 * pulls
        tiny = np.finfo(np.float64).tiny
        seen = np.sqrt(np.maximum(squares @ variances, tiny))
        expected = sigma * np.sqrt(np.maximum(squares @ self.fit.noise[support], tiny))
        misses = (weights * pulls) @ self.fit.basis[support] - wanted
        off = ROUNDING * np.maximum(np.abs(weights) @ pulls, 1.0)
        off += np.sqrt(len(self.fit.basis) * (misses**2).sum(axis=1))
        off *= float(np.abs(self.results.means).max())
        return PlanSays(estimates - off, seen, expected, self.degrees)

    def against(self, b: int, sigma: float) -> PlanSays:
        """What it says of μ_b − μ_c for every arm c."""
        every = np.arange(len(self.fit.means))
        of = self.says(np.full(len(every), b), every, 1.0, sigma)
        of.seen[b] = of.expected[b] = np.inf  # an arm and itself are no pair
        return of


@dataclass(frozen=True, eq=False)
class StudentEvidence:
    """Evidence for pairs by Student's statistics of what each plan says of them.

    Attributes
    ----------
    rows : array of int
        The arms b.
    sizes : array, rows × K
        The gaps as they seemed to be.
    epsilon, sigma : float
        ε and the unit of noise.
    plans : tuple of PlanSays
        What every plan since the naming says of μ_b − μ_c, in tables of rows × K.
    wealths : array, rows × K × bets
        The logarithms of the wealths, times the prior.
    largest : array, rows × K
        The largest ln E so far.
    """

    rows: Integers
    sizes: Reals
    epsilon: float
    sigma: float
    wealths: Reals
    largest: Reals
    plans: tuple[PlanSays, ...] = ()

    @classmethod
    def none(cls, rows: Integers, sizes: Reals, problem: ReducedProblem) -> StudentEvidence:
        """Before any result since the naming, with a half-normal prior of the bets."""
        wealths = np.broadcast_to(half_normal(), (*sizes.shape, len(GRID)))
        nothing = np.full(sizes.shape, -np.inf)
        return cls(rows, sizes, problem.epsilon, problem.sigma, wealths, nothing)

    @cached_property
    def information(self) -> Reals:
        """σ² over the variances that were expected, added up."""
        nothing = np.zeros(self.sizes.shape)
        return sum(((self.sigma / each.expected) ** 2 for each in self.plans), nothing)

    def after(self, told: FittedPlan, problem: ReducedProblem) -> StudentEvidence:
        """With the results of one more plan; one without replicates says nothing."""
        plan = Told.of(told)
        if plan.degrees < 1:
            return self
        rows = [plan.against(int(b), self.sigma) for b in self.rows]
        estimates, seen, expected = (np.array([each[k] for each in rows]) for k in range(3))
        says = PlanSays(estimates, seen, expected, plan.degrees)
        added = says.log_factors(..., np.full(self.sizes.shape, self.epsilon), bets_on(self.sizes))
        wealths, plans = self.wealths + added, (*self.plans, says)
        return replace(self, plans=plans, wealths=wealths, largest=self._largest(wealths))

    def _largest(self, wealths: Reals) -> Reals:
        return np.maximum(self.largest, log_sum(wealths) - SLACK)

    def with_rows(self, arms: Integers) -> StudentEvidence:
        """With rows for these arms, which are in no named set."""
        shape = len(arms), self.sizes.shape[1]

        def more(table: Reals, value: float) -> Reals:
            return np.concatenate([table, np.full((*shape, *table.shape[2:]), value)])

        plans = tuple(each.mapped(more) for each in self.plans)
        return replace(
            self,
            rows=np.append(self.rows, arms),
            sizes=more(self.sizes, 1.0),
            wealths=more(self.wealths, NOTHING),
            largest=more(self.largest, -np.inf),
            plans=plans,
        )

    def placed(self, places: Integers, problem: ReducedProblem) -> StudentEvidence:
        """The same for other arms, with rows for those that are left."""
        rows, stay = placed_rows(self.rows, places)
        wealths = placed(self.wealths[stay].swapaxes(1, 2), places, NOTHING).swapaxes(1, 2)
        kept = (each.mapped(lambda table, _: table[stay]) for each in self.plans)
        return replace(
            self,
            rows=rows,
            sizes=placed(self.sizes[stay], places, 1.0),
            wealths=wealths,
            largest=placed(self.largest[stay], places, -np.inf),
            plans=tuple(each.placed(places) for each in kept),
        )

    def tested(self, rows: Integers, arms: Integers, level: float) -> StudentEvidence:
        """It is up to date after every plan."""
        return self

    def _with(self, here: Any, more: Reals) -> Reals:
        """Ln E of some pairs with another ε for each."""
        bets, wealths = bets_on(self.sizes[here]), half_normal()
        for each in self.plans:
            wealths = wealths + each.log_factors(here, more, bets)
        return log_sum(wealths) - SLACK

    def _lower(self, rows: Integers, arms: Integers, level: float) -> Reals:
        """Lower bounds on μ_b − μ_c: −ε′ for the least ε′ found at which E reaches e^level."""
        here = rows, arms
        start = -self.gaps(here)
        return -least_passing(lambda more: self._with(here, more), start, self._width(here), level)

    def _width(self, here: Any) -> Reals:
        return np.asarray(self.sigma / np.sqrt(self.information[here]))

    def gaps(self, here: Any) -> Reals:
        """Estimates of μ_b − μ_c by the plans since the naming."""
        information = self.information[here]
        total = np.zeros(information.shape)
        for each in self.plans:
            total += each.estimates[here] * (self.sigma / each.expected[here]) ** 2
        return np.asarray(total / information)

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """The lower bounds of bets; on the other side there are none."""
        here = rows, arms
        lower, gaps = self._lower(rows, arms, level), self.gaps(here)
        return Bounds(gaps, lower, np.full(len(lower), np.inf), (gaps - lower) / self._width(here))

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """What bets do not refute of μ_c − μ_b."""
        rows, arms = np.broadcast_arrays(*here)
        known = self.information[here] > 0.0
        least = np.full(rows.shape, np.inf)
        least[known] = -self._lower(rows[known], arms[known], level)
        return least

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> StudentEvidence:
        """The same bets against another ε; what E has reached before counts if that is larger."""
        nothing = np.full_like(self.largest, -np.inf)
        before = self.largest if epsilon >= self.epsilon else nothing
        other = replace(self, epsilon=epsilon, largest=before)
        if not self.plans:
            return other
        known = self.information > 0.0
        wealths = np.full_like(self.wealths, NOTHING)
        bets, more = bets_on(self.sizes[known]), np.full(int(known.sum()), epsilon)
        total = np.broadcast_to(half_normal(), bets.shape)
        for each in self.plans:
            total = total + each.log_factors(known, more, bets)
        wealths[known] = total
        return replace(other, wealths=wealths, largest=other._largest(wealths))

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """The information so far, and about the C² at which a gap of that size passes."""
        here = pairs.rows, pairs.c
        have = self.information[here]
        return have, squared_threshold_of_bets(have, self.sizes[here] / self.sigma, level, growth)

    def in_all(self, pairs: OpenPairs, lacking: Reals, least: Reals) -> None:
        """Each plan counts by itself."""


def least_passing(log_evidence: Any, start: Reals, width: Reals, level: float) -> Reals:
    """The least s found, for each, at which a function that grows with s reaches ``level``; else ∞.

    Examples
    --------
    >>> least_passing(lambda s: s, np.zeros(1), np.ones(1), 3.0).round(6).tolist()
    [3.0]
    >>> least_passing(lambda s: np.tanh(s), np.zeros(1), np.ones(1), 3.0).tolist()
    [inf]
    """
    short, step = start, width
    enough = start + step
    found = log_evidence(enough) >= level
    for _ in range(DOUBLINGS):
        if found.all():
            break
        step = 2.0 * step
        short, enough = np.where(found, short, enough), np.where(found, enough, start + step)
        found = log_evidence(enough) >= level
    down = width  # the start may pass already
    for _ in range(DOUBLINGS):
        below = log_evidence(short) >= level
        if not below.any():
            break
        down = 2.0 * down
        enough, short = np.where(below, short, enough), np.where(below, short - down, short)
    for _ in range(HALVINGS):
        middle = 0.5 * (short + enough)
        passes = log_evidence(middle) >= level
        short, enough = np.where(passes, short, middle), np.where(passes, middle, enough)
    return np.where(found, enough, np.inf)


@dataclass(frozen=True, eq=False)
class StudentArms:
    """What all plans say of every arm by itself.

    Attributes
    ----------
    unit : array, K
        The standard error of every arm by its first plan, which bets are in.
    above, below : tuple of PlanSays
        What the plans say of μ_a, and of −μ_a.
    """

    unit: Reals
    above: tuple[PlanSays, ...] = ()
    below: tuple[PlanSays, ...] = ()

    @classmethod
    def none(cls, arms: int) -> StudentArms:
        """Before any result."""
        return cls(np.full(arms, np.nan))

    def after(self, told: Told, sigma: float) -> StudentArms:
        """With the results of one more plan; one without replicates says nothing."""
        if told.degrees < 1:
            return self
        every = np.arange(len(self.unit))
        above, below = (told.says(every, None, sign, sigma) for sign in (1.0, -1.0))
        first = np.isnan(self.unit)
        unit = np.where(first, above.seen, self.unit)
        # Of its first plan an arm has nothing to expect: bets are in units of what that plan shows.
        above, below = (
            each._replace(expected=np.where(first, each.seen, each.expected))
            for each in (above, below)
        )
        return StudentArms(unit, (*self.above, above), (*self.below, below))

    def placed(self, places: Integers) -> StudentArms:
        """The same where ``places`` says which of these arms each is."""
        plans = (tuple(each.placed(places) for each in side) for side in (self.above, self.below))
        return StudentArms(placed(self.unit, places, np.nan), *plans)

    def bounds(self, delta: float) -> tuple[Reals, Reals]:
        """The ends of every arm's interval; infinite where the plans refute nothing."""
        known = np.flatnonzero(np.isfinite(self.unit))
        level = math.log(2.0 * len(OF_AN_ARM) / delta)
        ends = []
        for plans in (self.above, self.below):
            end = np.full(len(self.unit), np.inf)
            if len(known):
                end[known] = self._end(plans, known, level)
            ends.append(end)
        return -ends[0], ends[1]

    def _end(self, plans: tuple[PlanSays, ...], known: Integers, level: float) -> Reals:
        bets = self.unit[known][:, None] * OF_AN_ARM

        def log_evidence(more: Reals) -> Reals:
            factors = (each.log_factors(known, more, bets) for each in plans)
            return log_sum(sum(factors, np.zeros(bets.shape))) - SLACK

        start = -plans[-1].estimates[known]
        return least_passing(log_evidence, start, self.unit[known], level)


@dataclass(frozen=True, eq=False)
class Departures:
    """Evidence that the means are not linear, by a contrast that is then 0, in every plan.

    How the means seem to depart from linear ones is taken from the results before the plan. Each time
    that it begins it has a share of the level.

    Attributes
    ----------
    wealths : array, bets
        The logarithms of the wealths, times the prior and the share.
    largest : float
        The largest ln E so far.
    begun : int
        How often it began.
    """

    wealths: Reals
    largest: float = -math.inf
    begun: int = 1

    @classmethod
    def begin(cls, begun: int = 1, largest: float = -math.inf) -> Departures:
        """Before any result; what came before the first time that it begins is of no use.

        Examples
        --------
        >>> [round(float(np.exp(Departures.begin(k).wealths).sum()), 4) for k in (1, 2)]
        [0.75, 0.1875]
        """
        return cls(half_normal() + math.log(3.0 / 4.0**begun), largest, begun)

    def anew(self) -> Departures:
        """Begun again, where a plan under way was dropped because of its results."""
        return Departures.begin(self.begun + 1, self.largest)

    def after(self, told: Told, misses: Reals, sigma: float) -> Departures:
        """With the results of one more plan; ``misses`` are the departures as they seemed before it."""
        support = np.flatnonzero(told.results.pulls)
        pulls, noise = told.results.pulls[support], told.fit.noise[support]
        root = np.sqrt(pulls / noise)
        rows, wanted = told.fit.basis[support] * root[:, None], misses[support] * root
        left = wanted - rows @ np.linalg.lstsq(rows, wanted, rcond=None)[0]
        size = float(left @ left)
        # Where a plan has no more arms than directions, rounding is all that is left.
        if told.degrees < 1 or size <= 1e-12 * float(wanted @ wanted):
            return self
        weights = left / (root * noise)
        estimate = np.array([weights @ (pulls * told.results.means[support])])
        nothing = np.zeros((1, rows.shape[1]))
        says = told.by_weights(weights[None], estimate, nothing, sigma)
        wealths = self.wealths + says.log_factors(..., np.zeros(1), bets_on(np.array([size])))[0]
        largest = max(self.largest, float(log_sum(wealths)) - SLACK)
        return replace(self, wealths=wealths, largest=largest)


class StudentMeans(LinearMeans):
    """Means linear in the features, with the variances that results have shown.

    Parameters
    ----------
    problem : ReducedProblem
        With a unit for σ.
    """

    of_needed = OF_NEEDED

    def __init__(self, problem: ReducedProblem) -> None:
        super().__init__(problem)
        # What is known of σ comes from results of the first plan, which must not weigh them.
        self._weigh(np.ones(len(self.costs)))
        self.misses = np.zeros(len(self.costs))
        self._departing = np.zeros(0, np.int64)
        self._sigma = problem.sigma

    def fit(self, results: PlanResults) -> WeighedFit:
        """Weighted least squares."""
        of = super().fit(results)
        return WeighedFit(of.means, of.white, self.noise, self.basis)

    def after(self, seen: Moments) -> StudentMeans:
        """With variances, and departures from linear means, as all results so far show them."""
        other = copy.copy(self)
        other._weigh(shared_variances(seen) / self._sigma**2)
        other._see_departures(seen)
        return other

    def _see_departures(self, seen: Moments) -> None:
        if not self.spans(seen.pulls):
            return
        given = PlanResults(seen.pulls.astype(np.int64), seen.pulls * seen.means)
        fit = self.fit(given)
        evaluated = given.pulls > 0
        own = self.noise / np.maximum(seen.pulls, 1.0)
        self.misses = np.where(evaluated, seen.means - fit.means, 0.0)
        spare = np.maximum(1.0 - fit.own_variances / own, 1e-8)
        seem = np.where(evaluated, np.abs(self.misses) / np.sqrt(own * spare), 0.0)
        self._departing = largest_first(seem)[:DEPARTING]

    def plan(self, weights: Reals, length: float, rng: np.random.Generator) -> Integers:
        """Pulls by these weights, and of arms that seem to depart; enough of each to see its noise."""
        pulls = super().plan(weights, length, rng)
        pulls[self._departing] = np.maximum(pulls[self._departing], 1)
        return np.where(pulls > 0, np.maximum(pulls, FEWEST), 0)


def shared_variances(seen: Moments) -> Reals:
    """The variance of a result of every arm, as its own results and, a little, those of others show it.

    Examples
    --------
    >>> shared_variances(Moments(np.full(2, 9.0), np.zeros(2), np.array([8.0, 8.0]))).tolist()
    [1.0, 1.0]
    """
    degrees = np.maximum(seen.pulls - 1.0, 0.0)
    known = degrees > 0.0
    if not known.any():
        return np.ones(len(degrees))
    own = seen.spread_squares / np.maximum(degrees, 1.0)
    own = np.maximum(own, SMALLEST**2 * own.max())
    usual = math.exp(float(np.log(own[known]).mean()))
    return np.asarray((degrees * own + SHARED * usual) / (degrees + SHARED))


@dataclass(frozen=True, eq=False)
class ByStudents(ByPlans):
    """Evidence by Student's statistics, for normal noise of unknown σ and means linear in the features.

    Attributes
    ----------
    means : StudentMeans
        With the variances that results have shown.
    first, later : Moments
        The results of the first plan, and all others.
    arms : StudentArms
        What the plans say of every arm by itself.
    departures : Departures
        What they say against linear means.
    """

    goes_on: ClassVar[bool] = True
    tests_linearity: ClassVar[bool] = True
    begun: ClassVar[int] = 0  # results before the first plan

    means: StudentMeans
    first: Moments
    later: Moments
    arms: StudentArms
    departures: Departures

    @classmethod
    def own(cls, problem: ReducedProblem, spanned: Reals | None = None) -> ByLikelihoods:
        """By the arms' own results."""
        return ByLikelihoods.own(problem, spanned)

    @classmethod
    def linear(cls, problem: ReducedProblem) -> ByStudents:
        """By least squares on each plan."""
        nothing = Moments.none(len(problem.features))
        arms = StudentArms.none(len(problem.features))
        return cls(problem, StudentMeans(problem), nothing, nothing, arms, Departures.begin())

    @property
    def seen(self) -> Moments:
        """All results."""
        return self.first + self.later

    @property
    def against_linear(self) -> float:
        """The largest ln E so far against linear means."""
        return self.departures.largest

    def after(self, told: FittedPlan) -> ByStudents:
        """With the results of one more plan."""
        plan, sigma = Told.of(told), self.problem.sigma
        departures = self.departures.after(plan, self.means.misses, sigma)
        arms = self.arms.after(plan, sigma)
        return replace(self.before(told.results), arms=arms, departures=departures)

    def before(self, past: PlanResults) -> ByStudents:
        """With earlier results, which only guide; ``first`` are those of the first plan."""
        if self.first.pulls.any():
            now = replace(self, later=self.later.after(past))
        else:
            now = replace(self, first=self.first.after(past))
        return replace(now, means=self.means.after(now.seen))

    def guiding(self) -> ByStudents:
        """Without what the plans said of every arm, and with another test of linearity."""
        arms = StudentArms.none(len(self.problem.features))
        return replace(self, arms=arms, departures=self.departures.anew())

    def taking_over(self, before: ByStudents, places: Integers) -> ByStudents:
        """With what the plans before said of arms that are left."""
        first, later = before.first.placed(places), before.later.placed(places)
        return replace(
            self,
            first=first,
            later=later,
            means=self.means.after(first + later),
            arms=before.arms.placed(places),
            departures=before.departures,
        )

    def evidence(
        self, rows: Integers, guess: Fit, inside: Mask, risk: float, largest_risk: float
    ) -> StudentEvidence:
        """With bets on the gaps as they seem to be."""
        return StudentEvidence.none(rows, self.sizes(rows, guess), self.problem)

    def intervals(self) -> tuple[Reals, Reals]:
        """Bets on every arm by itself, in either direction."""
        return self.arms.bounds(self.problem.delta)
