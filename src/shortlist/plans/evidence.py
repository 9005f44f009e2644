"""Evidence that an arm b of a named set is not below an arm c outside by more than ε.

``PairEvidence`` combines the gaps that one plan after the other estimates: the test of
``guess_and_verify``. ``PredictedEvidence`` rests on how well results were predicted: where the
predictions are good it needs fewer of them. ``plans.bets`` has evidence for results in a range. All may ever
reach 1/share with a probability of at most the share if b is that far below c, whatever the plans. The
proofs are in docs/proofs.md.

A ``Verifier`` says which evidence suits the noise, and what results have shown of it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.designs.pairs import own_design
from shortlist.plans.arm_bounds import ROUNDING, ArmEvidence
from shortlist.plans.means import Fit, LinearMeans, Means, OwnMeans
from shortlist.plans.results import PlanResults, placed
from shortlist.plans.strategy import ReducedProblem

ALL_ROWS = 512  # arms: with more, only those that were ever thought to be among the best have rows
LARGEST = 600.0  # of a level: e^−level must not underflow
FIRST_PRICE = 0.7  # p_b + p_c expected of a pair without results
OVERSHOOT = 1.6  # by which verifying takes longer than the mean growth of ln E says: measured
LEAST_MISSING = 0.1  # of ln E: a pair that is nearly there is not forgotten
PRIOR = 1.0 / 6.0  # ρ over the information that the pair seems to need
HALF_WIDTH = 0.7  # standard errors: a gap that is not known to be larger is taken for that
# Shares of δ, one for each time that sets are named; what is left is for the pairs without a named
# set. The best shares are in proportion to how often each time decides:
# `benchmarks/guess_and_verify.py namings`.
SHARES = (0.8, 0.12, 0.04)
ROUNDED = 1e-9  # of a width: with the least slack a pair passes in spite of rounding errors


def one_sided_level(risk: float) -> float:
    """ln(1/(2·risk·Φ)), with Φ the least share that the positive λ have of a whole mixture.

    Examples
    --------
    >>> 0.0 < one_sided_level(0.05 / 275) - math.log(275 / 0.1) < 1e-3
    True
    >>> math.isclose(one_sided_level(0.9), math.log(1.0 / 0.9))
    True
    """
    least = math.sqrt(2.0 * max(0.0, -math.log(2.0 * risk)))
    from scipy.special import ndtr  # loads late: a tenth of a second

    return -math.log(2.0 * risk * float(ndtr(least)))


def log_evidence(scores: Reals, information: Reals, prior: Reals, sigma: float) -> Reals:
    """The logarithm of E for M = ``scores``; −∞ where there is no information.

    Examples
    --------
    >>> log_evidence(np.array([0.0, 8.0]), np.array([0.0, 8.0]), np.ones(2), 1.0).round(3).tolist()
    [-inf, 3.146]
    """
    from scipy.special import log_ndtr  # loads late

    known = information > 0.0
    prior = np.where(known, prior, 1.0)
    z = scores / (sigma * np.sqrt(information + prior))
    found = math.log(2.0) + log_ndtr(z) - 0.5 * np.log1p(information / prior) + 0.5 * z * z
    return np.where(known, found, -np.inf)


def squared_threshold(level: float, growth: Any) -> Any:
    """An upper bound on the C² at which E reaches e^level, where I is ``growth`` times ρ.

    Φ(z) is replaced by its value where z is least, at I = 0; see ``one_sided_level``.

    Examples
    --------
    >>> round(float(squared_threshold(-np.log(0.03), 6.0)), 2)
    8.86
    """
    level = one_sided_level(math.exp(-min(level, LARGEST)))
    return (1.0 + 1.0 / growth) * (2.0 * level + np.log1p(growth))


def placed_rows(rows: Integers, places: Integers) -> tuple[Integers, Mask]:
    """The arms of rows as ``places`` has them, and which of the rows are of arms that are left.

    Examples
    --------
    >>> [each.tolist() for each in placed_rows(np.array([0, 1, 2]), np.array([0, 2, -1]))]
    [[0, 1], [True, False, True]]
    """
    there = rows[:, None] == places
    stay = there.any(axis=1)
    return np.argmax(there, axis=1)[stay], stay


class FittedPlan(NamedTuple):
    """The results of one plan and what they say.

    Attributes
    ----------
    results : PlanResults
        The results.
    fit : Fit
        What these results alone say of the means.
    expected : Fit or None
        What was expected of them: the guess before the plan. None before the first.
    """

    results: PlanResults
    fit: Fit
    expected: Fit | None


@dataclass(frozen=True, eq=False)
class OpenPairs:
    """Pairs of a guess that have not passed.

    Attributes
    ----------
    b, c : array of int
        The arms inside and outside.
    rows : array of int
        The rows of b in the tables.
    gaps : array
        Estimates of μ_b − μ_c + ε.
    variances : array
        The variances of the gaps, in units of σ².
    """

    b: Integers
    c: Integers
    rows: Integers
    gaps: Reals
    variances: Reals

    def only(self, some: Mask) -> OpenPairs:
        """Some of the pairs."""
        return OpenPairs(*(each[some] for each in vars(self).values()))


class Evidence(Protocol):
    """Evidence that b is not below c − ε, for the arms b that have a row and all arms c.

    Attributes
    ----------
    information : array
        The information on each gap: σ² over its variance.
    largest : array
        The largest ln E so far.
    """

    @property
    def information(self) -> Reals: ...  # noqa: D102
    @property
    def largest(self) -> Reals: ...  # noqa: D102

    def after(self, told: FittedPlan, problem: ReducedProblem) -> Evidence:
        """With the results of one more plan."""

    def with_rows(self, arms: Integers) -> Evidence:
        """With rows for these arms too."""

    def placed(self, places: Integers, problem: ReducedProblem) -> Evidence:
        """The same where ``places`` says which of these arms each arm of a problem is.

        About pairs with an arm that was not among them nothing is known.
        """

    def tested(self, rows: Integers, arms: Integers, level: float) -> Evidence:
        """With ``largest`` up to date for these rows and these arms, as far as it is below ``level``."""

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """Estimates of μ_b − μ_c, b by its row, with bounds at which E reaches e^level.

        There must be information on each.
        """

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """What counts already, and C² for a gap of one: C²(σ/gap)² less the first is needed."""

    def in_all(
        self, pairs: OpenPairs, lacking: Reals, least: Reals
    ) -> tuple[Integers | Reals, Reals] | None:
        """The results of every arm that count, and the information that pairs want, with what is there.

        ``lacking`` is what they seem to lack, ``least`` what a pair is given that seems to lack nothing.
        None if each plan counts by itself.
        """

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """The least ε with which E of some pairs is e^level now, or more than that, never less.

        It is the upper bound on μ_c − μ_b at that level; infinite where nothing is known.
        """

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> Evidence:
        """The same results judged with another ε than the problem's.

        E increases with ε: what it has reached before counts where the new ε is not smaller.
        """


class Bounds(NamedTuple):
    """Estimates of differences, with bounds each of which holds by itself.

    Attributes
    ----------
    gaps, lower, upper : array
        Estimates and bounds.
    threshold : array
        C: by how many standard errors the lower bound is below the estimate.
    """

    gaps: Reals
    lower: Reals
    upper: Reals
    threshold: Reals


def gap_bounds(scores: Reals, information: Reals, squared: Any, problem: ReducedProblem) -> Bounds:
    """Estimates of μ_b − μ_c from M and I, with bounds C standard errors to either side."""
    gaps = scores / information - problem.epsilon
    widths = problem.sigma * np.sqrt(squared / information)
    return Bounds(gaps, gaps - widths, gaps + widths, np.sqrt(squared))


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """Evidence from the estimates of one plan after the other.

    Attributes
    ----------
    rows : array of int
        The arms b.
    information, scores : array
        I and M.
    prior : array
        ρ; 0 where it is to be the information of the first plan that tells of the pair.
    largest : array
        The largest ln E so far.
    """

    rows: Integers
    information: Reals
    scores: Reals
    prior: Reals
    largest: Reals

    @classmethod
    def none(cls, rows: Integers, prior: Reals) -> PairEvidence:
        """Before any result."""
        zero = np.zeros_like(prior)
        return cls(rows, zero, zero, prior, np.full_like(prior, -np.inf))

    def after(self, told: FittedPlan, problem: ReducedProblem) -> PairEvidence:
        """With the gaps that one more plan estimates, each with its information."""
        means = told.fit.means
        off = ROUNDING * float(np.abs(means).max())
        gaps = means[self.rows, None] - means + (problem.epsilon - off)
        return self.add(gaps, 1.0 / told.fit.variances(self.rows), problem.sigma)

    def add(self, gaps: Reals, information: Reals, sigma: float) -> PairEvidence:
        """With one more estimate of every gap, each with its information."""
        total = self.information + information
        scores = self.scores + gaps * information
        prior = np.where(self.prior > 0.0, self.prior, information)
        now = log_evidence(scores, total, prior, sigma)
        return PairEvidence(self.rows, total, scores, prior, np.maximum(self.largest, now))

    def with_rows(self, arms: Integers) -> PairEvidence:
        """With rows for these arms, about which nothing is known."""
        none = PairEvidence.none(arms, np.zeros((len(arms), self.prior.shape[1])))
        both = zip(vars(self).values(), vars(none).values(), strict=True)
        rows, *tables = both
        return PairEvidence(np.append(*rows), *(np.vstack(each) for each in tables))

    def placed(self, places: Integers, problem: ReducedProblem) -> PairEvidence:
        """The same for other arms, with rows for those that are left."""
        rows, stay = placed_rows(self.rows, places)
        tables = zip(
            (self.information, self.scores, self.prior, self.largest),
            (0.0, 0.0, 0.0, -np.inf),
            strict=True,
        )
        return PairEvidence(rows, *(placed(each[stay], places, other) for each, other in tables))

    def squared_threshold(self, here: Any, level: float) -> Any:
        """C² of the mixture; meaningless where there is no information."""
        known = self.information[here] > 0.0
        growth = np.where(known, self.information[here], 1.0) / np.where(
            known, self.prior[here], 1.0
        )
        return squared_threshold(level, growth)

    def tested(self, rows: Integers, arms: Integers, level: float) -> Self:
        """It is up to date after every plan."""
        return self

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """C standard errors to either side of the estimates."""
        here = rows, arms
        squared = self.squared_threshold(here, level)
        return gap_bounds(self.scores[here], self.information[here], squared, problem)

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """The information so far, and C² where it has grown to ``growth`` times ρ at least."""
        here = pairs.rows, pairs.c
        have, prior = self.information[here], self.prior[here]
        grown = np.maximum(have / np.where(prior > 0.0, prior, 1.0), growth)
        return have, np.asarray(squared_threshold(level, grown))

    def in_all(self, pairs: OpenPairs, lacking: Reals, least: Reals) -> None:
        """Each plan counts by itself."""

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """C standard errors less the estimated μ_b − μ_c; see ``squared_threshold``."""
        return _least_slack(self, here, level, problem)

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> PairEvidence:
        """The gap of every pair is larger by what is added to ε."""
        more = epsilon - problem.epsilon
        scores = self.scores + more * self.information
        now = log_evidence(scores, self.information, self.prior, problem.sigma)
        before = self.largest if more >= 0.0 else -np.inf
        return replace(self, scores=scores, largest=np.maximum(now, before))


@dataclass(frozen=True, eq=False)
class PredictedEvidence:
    """Evidence by how well results were predicted, since sets were named.

    Before each plan every arm has a normal prediction π_a of its mean. Let m_a be the product, over
    the plans, of the density that the arm's results would have if the noise were normal and the mean
    drawn from π_a, and L_a(x) their density if it were x. At the true means m_b m_c/(L_b(μ_b) L_c(μ_c))
    is a supermartingale for any sub-Gaussian noise: given what came before, a result y multiplies it by
    exp(((ν − μ)(y − μ) − (ν − μ)²/2)/σ²), mixed over ν. So its least value over all means with
    μ_b ≤ μ_c − ε,

        ln E = (ȳ_b − ȳ_c + ε)₊²/(2(σ_b²/n_b + σ_c²/n_c)) − p_b − p_c,   p_a = ln L_a(ȳ_a) − ln m_a,

    ever reaches 1/share with a probability of at most the share, if such means are the true ones.
    n_a and ȳ_a are of all results in plans made since the naming, whichever plans they came from. p_a is
    the price of not having known the mean: small where the predictions were good. Where p_b + p_c is
    negative it is taken for 0, which lowers E: no pair passes without a gap.

    Attributes
    ----------
    rows : array of int
        The arms b.
    centre : array, K
        What the results are measured from.
    variance : array, K
        σ_a².
    epsilon, sigma : float
        ε and σ.
    pulls, sums : array, K
        n_a and the sums of y − centre.
    log_ratio : array, K
        ln(m_a/L_a(centre)).
    largest : array
        The largest ln E so far, of every row and arm.
    """

    rows: Integers
    centre: Reals
    variance: Reals
    epsilon: float
    sigma: float
    pulls: Integers
    sums: Reals
    log_ratio: Reals
    largest: Reals

    @classmethod
    def none(cls, rows: Integers, guess: Fit, problem: ReducedProblem) -> PredictedEvidence:
        """Before any result since the naming."""
        arms = len(guess.means)
        nothing = np.zeros(arms)
        return cls(
            rows,
            guess.means,
            problem.sigma**2 * problem.noise_of_arms,
            problem.epsilon,
            problem.sigma,
            np.zeros(arms, np.int64),
            nothing,
            nothing,
            np.full((len(rows), arms), -np.inf),
        )

    def after(self, told: FittedPlan, problem: ReducedProblem) -> PredictedEvidence:
        """With the results of one more plan, and what was predicted of them."""
        assert told.expected is not None
        pulls = told.results.pulls
        offset = told.results.sums - pulls * self.centre
        away = told.expected.means - self.centre
        spread = (
            self.sigma**2 * told.expected.own_variances / self.variance
        )  # over the noise of one
        grown = 1.0 + pulls * spread
        # ln of the normal mixture over that of the centre, from n results that sum up to ``offset``.
        fits = (offset * away - 0.5 * pulls * away**2 + 0.5 * spread * offset**2) / self.variance
        gained = fits / grown - 0.5 * np.log(grown)
        now = replace(
            self,
            pulls=self.pulls + pulls,
            sums=self.sums + offset,
            log_ratio=self.log_ratio + np.where(pulls > 0, gained, 0.0),
        )
        return replace(now, largest=np.maximum(self.largest, now.log_evidence))

    def with_rows(self, arms: Integers) -> PredictedEvidence:
        """With rows for these arms too."""
        more = np.full((len(arms), len(self.centre)), -np.inf)
        return replace(
            self, rows=np.append(self.rows, arms), largest=np.vstack([self.largest, more])
        )

    def placed(self, places: Integers, problem: ReducedProblem) -> PredictedEvidence:
        """The same for other arms, with rows for those that are left."""
        rows, stay = placed_rows(self.rows, places)
        return replace(
            self,
            rows=rows,
            # Of a new arm any centre will do that is known before its results.
            centre=placed(self.centre, places, float(self.centre.mean())),
            variance=problem.sigma**2 * problem.noise_of_arms,
            pulls=placed(self.pulls, places, 0),
            sums=placed(self.sums, places, 0.0),
            log_ratio=placed(self.log_ratio, places, 0.0),
            largest=placed(self.largest[stay], places, -np.inf),
        )

    @cached_property
    def information(self) -> Reals:
        """σ² over the variance of each gap; 0 where an arm has no result."""
        counted = self.pulls / self.variance
        both = counted[self.rows, None] + counted
        product = counted[self.rows, None] * counted
        return self.sigma**2 * product / np.where(both > 0.0, both, 1.0)

    @cached_property
    def gaps(self) -> Reals:
        """Estimates of μ_b − μ_c + ε."""
        means = self.sums / np.maximum(self.pulls, 1) + self.centre
        off = ROUNDING * float(np.abs(means).max())
        return np.asarray(means[self.rows, None] - means + (self.epsilon - off))

    @property
    def scores(self) -> Reals:
        """The gaps, times the information on them."""
        return self.gaps * self.information

    @property
    def price(self) -> Reals:
        """p_b + p_c."""
        own = 0.5 * self.sums**2 / (np.maximum(self.pulls, 1) * self.variance) - self.log_ratio
        return np.maximum(own[self.rows, None] + own, 0.0)

    @cached_property
    def log_evidence(self) -> Reals:
        """The logarithm of E; −∞ where an arm has no result."""
        known = self.information > 0.0
        squared = np.maximum(self.gaps, 0.0) ** 2 * self.information / self.sigma**2
        return np.where(known, 0.5 * squared - self.price, -np.inf)

    def squared_threshold(self, here: Any, level: float) -> Any:
        """C²: a gap of C standard errors has ln E = level."""
        return 2.0 * np.maximum(level + self.price[here], 0.0)

    def tested(self, rows: Integers, arms: Integers, level: float) -> Self:
        """It is up to date after every plan."""
        return self

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """C standard errors to either side of the estimates."""
        here = rows, arms
        squared = self.squared_threshold(here, level)
        return gap_bounds(self.scores[here], self.information[here], squared, problem)

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """Nothing, and C² for what is still missing: ln E grows by half of the squared gap, over σ²."""
        now = self.log_evidence[pairs.rows, pairs.c]
        missing = np.where(np.isfinite(now), level - now, level + FIRST_PRICE)
        return np.zeros(len(now)), 2.0 * np.maximum(missing, LEAST_MISSING)

    def in_all(self, pairs: OpenPairs, lacking: Reals, least: Reals) -> tuple[Integers, Reals]:
        """What is missing, beside what is there."""
        have = self.information[pairs.rows, pairs.c]
        return self.pulls, have + np.maximum(lacking, least)

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """C standard errors less the estimated μ_b − μ_c."""
        return _least_slack(self, here, level, problem)

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> PredictedEvidence:
        """The same with another ε."""
        other = replace(self, epsilon=epsilon)
        before = self.largest if epsilon >= self.epsilon else -np.inf
        return replace(other, largest=np.maximum(other.log_evidence, before))


def _least_slack(
    evidence: PairEvidence | PredictedEvidence, here: Any, level: float, problem: ReducedProblem
) -> Reals:
    """Where E is e^level when a gap is C standard errors: the ε that makes it so large."""
    known = (evidence.information[here] > 0.0) & math.isfinite(level)
    information = np.where(known, evidence.information[here], 1.0)
    width = problem.sigma * np.sqrt(evidence.squared_threshold(here, level) / information)
    apart = evidence.scores[here] / information - problem.epsilon
    return np.where(known, (1.0 + ROUNDED) * width - apart, np.inf)


def expected_verification(
    means: Reals,
    inside: Mask,
    noise: Reals,
    sigma: float,
    epsilon: float,
    delta: float,
    costs: Reals | float = 1.0,
) -> float:
    """About how many evaluations verify these arms by results of their own, if these are the means.

    They are shared out so that they cost least. The pairs of the worst arm inside, and of the best one
    outside, decide that. A gap that seems to be 0 or less is taken for the smallest one that is not.

    Examples
    --------
    >>> inside = np.array([True, False, False])
    >>> round(expected_verification(np.array([1.0, 0.0, -9.0]), inside, np.ones(3), 0.5, 0.0, 0.05))
    14
    """
    pairs = boundary_needs(means, inside, sigma, epsilon, delta)
    weights, total = own_design(*pairs, noise * costs)
    return OVERSHOOT * float(np.maximum(weights * total / costs, 1.0).sum())


def boundary_needs(
    means: Reals, inside: Mask, sigma: float, epsilon: float, delta: float
) -> tuple[Integers, Integers, Reals]:
    """The pairs at the boundary, if these are the means: b, c, and about what verifying each needs."""
    candidates, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    worst, best = candidates[np.argmin(means[inside])], others[np.argmax(means[~inside])]
    b = np.concatenate([np.full(len(others), worst), candidates])
    c = np.concatenate([others, np.full(len(candidates), best)])
    gaps = means[b] - means[c] + epsilon
    gaps = np.maximum(gaps, np.min(gaps, initial=sigma, where=gaps > 0.0))
    squared = 2.0 * (FIRST_PRICE - math.log(SHARES[0] * delta))
    return b, c, squared * (sigma / gaps) ** 2


@dataclass(frozen=True, eq=False)
class Verifier(ABC):
    """Which evidence suits the noise, and what results have shown of it.

    It is replaced when there are more results, and never changed.

    Attributes
    ----------
    problem : ReducedProblem
        What the strategy is given.
    means : Means
        How results become means, with the variances as they are known now.
    keeps_values : bool
        Whether it needs every single result, not only their numbers and sums.
    goes_on : bool
        Whether its evidence can be taken over when arms are retired or added.
    keeps_named : bool
        Whether sets that were named before arms are added may still be verified after that.
    shares : tuple of float
        The shares of δ for each time that sets are named.
    most_rows : int
        The number of arms up to which all of them have rows in the tables from the start.
    tests_linearity : bool
        Whether it tests by itself that means are linear.
    """

    keeps_values: ClassVar[bool] = False
    goes_on: ClassVar[bool] = False
    keeps_named: ClassVar[bool] = True
    shares: ClassVar[tuple[float, ...]] = SHARES
    most_rows: ClassVar[int] = ALL_ROWS
    tests_linearity: ClassVar[bool] = False

    problem: ReducedProblem
    means: Means

    @classmethod
    @abstractmethod
    def own(cls, problem: ReducedProblem, spanned: Reals | None = None) -> Verifier:
        """For the arms' own results, with a first plan that spans some features."""

    @classmethod
    @abstractmethod
    def linear(cls, problem: ReducedProblem) -> Verifier:
        """For means that are linear in the features."""

    @abstractmethod
    def after(self, told: FittedPlan) -> Self:
        """With the results of one more plan."""

    @abstractmethod
    def before(self, past: PlanResults) -> Self:
        """With results that were there before the first plan."""

    def guided_by(self, results: PlanResults) -> Self:
        """With results of a plan that was not completed: they prove nothing."""
        return self

    def guiding(self) -> Self:
        """What it knows as far as it only guides, where a plan under way was dropped."""
        return self

    def taking_over(self, before: Self, places: Integers) -> Self:
        """With what one for other arms knows, of which ``places`` says which each is; if it goes on."""
        raise NotImplementedError

    @abstractmethod
    def nothing(self, rows: Integers) -> Evidence:
        """Nothing yet, for all pairs, before the first result."""

    @abstractmethod
    def evidence(
        self, rows: Integers, guess: Fit, inside: Mask, risk: float, largest_risk: float
    ) -> Evidence:
        """Nothing yet, for sets that are named now; it suits these arms, with this risk.

        ``largest_risk`` is that of all sets that are named.
        """

    def predicted(self, rows: Integers, guess: Fit) -> Evidence | None:
        """The same by how well a model predicts the results, where there is such evidence."""
        return None

    @abstractmethod
    def intervals(self) -> tuple[Reals, Reals]:
        """Bounds on the mean of every arm."""

    @property
    def against_linear(self) -> float:
        """The largest ln E so far against linear means, for ``tests_linearity``."""
        return -math.inf

    def squared_threshold(self, level: float) -> float:
        """About the C² at which a pair of a set that is named now is going to pass, at this level."""
        return float(squared_threshold(level, 1.0 / PRIOR))

    def with_slack(self, epsilon: float) -> Self:
        """The same with another ε."""
        return replace(self, problem=self.problem._replace(epsilon=epsilon))

    def verification(self, means: Reals, inside: Mask) -> float | None:
        """About how many results verify these arms, if these are the means; None where widths tell."""
        return None

    def supposed(self, plan: Integers, means: Reals) -> PlanResults | None:
        """Results of a plan as they may come out; None where it is repeated until they are in."""
        return None

    def looks(self, made: int, looked: int) -> bool:
        """Whether sets may be named after so many results; ``looked`` is when that was last asked."""
        return True


@dataclass(frozen=True, eq=False)
class ByEstimates(Verifier):
    """Evidence by what each plan estimates, for sub-Gaussian noise.

    Attributes
    ----------
    arms : ArmEvidence
        What all plans so far say of every arm.
    """

    goes_on: ClassVar[bool] = True

    arms: ArmEvidence

    @classmethod
    def own(cls, problem: ReducedProblem, spanned: Reals | None = None) -> ByEstimates:
        """By the arms' own averages."""
        return cls(problem, OwnMeans(problem, spanned), ArmEvidence.none(len(problem.features)))

    @classmethod
    def linear(cls, problem: ReducedProblem) -> ByEstimates:
        """By least squares."""
        return cls(problem, LinearMeans(problem), ArmEvidence.none(len(problem.features)))

    def after(self, told: FittedPlan) -> ByEstimates:
        """With what one more plan says of every arm."""
        return replace(self, arms=self.arms.after(told.fit.means, told.fit.own_variances))

    def before(self, past: PlanResults) -> ByEstimates:
        """With earlier results: ρ is that of one result, whatever came first."""
        noise = self.problem.noise_of_arms
        return replace(self, arms=ArmEvidence(past.pulls / noise, past.sums / noise, 1.0 / noise))

    def guiding(self) -> ByEstimates:
        """Without what the plans said of every arm: no results of theirs may be missing."""
        return replace(self, arms=ArmEvidence.none(len(self.problem.features)))

    def taking_over(self, before: ByEstimates, places: Integers) -> ByEstimates:
        """With what the plans before said of every arm."""
        return replace(self, arms=before.arms.placed(places, self.arms))

    def nothing(self, rows: Integers) -> PairEvidence:
        """With ρ from the first plan."""
        return PairEvidence.none(rows, np.zeros((len(rows), len(self.problem.features))))

    def evidence(
        self, rows: Integers, guess: Fit, inside: Mask, risk: float, largest_risk: float
    ) -> PairEvidence:
        """With a ρ that suits the gaps as they seem to be."""
        problem = self.problem
        gaps = np.abs(guess.means[rows, None] - guess.means) + problem.epsilon
        errors = problem.sigma * np.sqrt(guess.variances(rows))
        needed = squared_threshold(-math.log(risk), 1.0 / PRIOR) * problem.sigma**2
        prior = PRIOR * needed / np.maximum(gaps, HALF_WIDTH * errors) ** 2
        return PairEvidence.none(rows, prior)

    def predicted(self, rows: Integers, guess: Fit) -> PredictedEvidence:
        """By predictions of normal noise."""
        return PredictedEvidence.none(rows, guess, self.problem)

    def intervals(self) -> tuple[Reals, Reals]:
        """A mixture for every arm by itself."""
        return self.arms.bounds(self.problem.sigma, self.problem.delta)
