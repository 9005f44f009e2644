"""Evidence that an arm b of a named set is not below an arm c outside by more than ε.

``PairEvidence`` combines the gaps that one plan after the other estimates: the test of
``guess_and_verify``. ``PredictedEvidence`` rests on how well results were predicted: where the
predictions are good it needs fewer of them. Both may ever reach 1/share with a probability of at most
the share if b is that far below c, whatever the plans. The proofs are in docs/proofs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.plans.arm_bounds import ROUNDING
from shortlist.plans.difference_bounds import one_sided_level
from shortlist.plans.means import Fit
from shortlist.plans.results import PlanResults, placed
from shortlist.plans.strategy import ReducedProblem

LARGEST = 600.0  # of a level: e^−level must not underflow
FIRST_PRICE = 0.7  # p_b + p_c expected of a pair without results
LEAST_MISSING = 0.1  # of ln E: a pair that is nearly there is not forgotten


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
    >>> [each.tolist() for each in placed_rows(np.array([0, 1, 2]), np.array([0, 2, NO_ARM]))]
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
    information, scores : array
        The information on each gap, and the estimated gap times that.
    largest : array
        The largest ln E so far.
    pulls : array or None
        The results that count, of every arm; None if each plan counts by itself.
    """

    @property
    def information(self) -> Reals: ...  # noqa: D102
    @property
    def scores(self) -> Reals: ...  # noqa: D102
    @property
    def largest(self) -> Reals: ...  # noqa: D102
    @property
    def pulls(self) -> Integers | None: ...  # noqa: D102

    def after(self, told: FittedPlan, problem: ReducedProblem) -> Evidence:
        """With the results of one more plan."""

    def with_rows(self, arms: Integers) -> Evidence:
        """With rows for these arms too."""

    def placed(self, places: Integers, problem: ReducedProblem) -> Evidence:
        """The same where ``places`` says which of these arms each arm of a problem is.

        About pairs with an arm that was not among them nothing is known.
        """

    def squared_threshold(self, here: Any, level: float) -> Any:
        """C² of some pairs: E reaches e^level where a gap is C standard errors."""

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """What counts already, and C² for a gap of one: C²(σ/gap)² less the first is needed."""


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
    pulls: ClassVar[None] = None

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

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """The information so far, and C² where it has grown to ``growth`` times ρ at least."""
        here = pairs.rows, pairs.c
        have, prior = self.information[here], self.prior[here]
        grown = np.maximum(have / np.where(prior > 0.0, prior, 1.0), growth)
        return have, np.asarray(squared_threshold(level, grown))


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

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """Nothing, and C² for what is still missing: ln E grows by half of the squared gap, over σ²."""
        now = self.log_evidence[pairs.rows, pairs.c]
        missing = np.where(np.isfinite(now), level - now, level + FIRST_PRICE)
        return np.zeros(len(now)), 2.0 * np.maximum(missing, LEAST_MISSING)
