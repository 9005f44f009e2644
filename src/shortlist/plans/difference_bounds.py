"""Bounds on differences of two means from plans of fixed designs, whatever the plans to come.

Within a plan s the counts N are fixed before its rewards are seen. So, given all that came before,
least squares on the plan's own results estimates μ_i − μ_j by d_s without bias, and its error is
σ√v_s-sub-Gaussian with v_s = ‖x_i − x_j‖² in the norm of (Σ_a N_a x_a x_aᵀ)⁻¹. Let I = Σ_s 1/v_s
and d = Σ_s (d_s/v_s)/I. As every v_s is known before its d_s, exp(λI(μ_i − μ_j − d) − λ²σ²I/2) is a
supermartingale for each λ, and so is its mixture over a half-normal λ of variance 1/(σ²ρ). It ever
exceeds n/δ with probability δ/n at most (Ville), which is to say (Robbins 1970): after all plans

    μ_i − μ_j ≤ B_ij = d + σC/√I,   C² = (1 + ρ/I)(2 ln(n/(2δΦ)) + ln(1 + I/ρ)),   Φ nearly 1.

The m best arms are fixed, though unknown. Only the n = m(K − m) differences between one of them and
one of the others need such a bound, each on one side. Then the B_ij are good indices (Theorem 1 of
the paper), and so is the least of each over all decisions.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.designs.pairs import fitted, spreads, whitened
from shortlist.engine.certified import Certified
from shortlist.errors import InvalidSetting
from shortlist.plans.arm_bounds import ROUNDING, ArmEvidence
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.rules.thresholds import EACH_ARM, StrategyThreshold, mixture_threshold

# ρ over the information of the first plan. C² is within a sixth of its least while I/ρ is between 4
# and 1000, and a study ends after 2 to 1000 times its first plan.
PRIOR_SHARE = 1.0
MOST_ARMS = 4000  # their tables of K × K take a gigabyte
# The least v_s, over the arms' own variances: the whitened arms are subtracted before they are
# squared, so that a difference of 1e-8 still has half of its digits. It must not depend on rewards.
SMALLEST_SHARE = 1e-16
FAR = 1e6  # times what rounding may add: widths beyond it are left as they are


def contrast_threshold(level: float, growth: Any) -> Any:
    """C where the information on a difference is ``growth`` times that of the first plan.

    Examples
    --------
    >>> [round(float(contrast_threshold(8.0, growth)), 2) for growth in (1.0, 10.0, 100.0)]
    [5.78, 4.5, 4.56]
    """
    return mixture_threshold(level, growth / PRIOR_SHARE)


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


CONTRAST_MIXTURE = StrategyThreshold(
    "contrast_mixture",
    "sqrt((1 + ρ/I)(2 ln(m(K−m)/(2δ)) + ln(1 + I/ρ))) for a difference known with information I.",
    "after Robbins 1970; proof: docs/proofs.md of shortlist",
    coverage=EACH_ARM,
)


@dataclass(frozen=True, eq=False)
class DifferenceBounds:
    """Bounds on differences of means after some plans; entry (i, j) is for μ_i − μ_j."""

    problem: ReducedProblem  # what the strategy is given
    # The features in an orthonormal basis, K × rank: the same differences, smaller rounding errors.
    basis: Reals
    level: float  # ln of how improbable an error of one difference must be
    # After the first plan, and after all plans; K × K, like the next two.
    first: Reals
    information: Reals
    weighted: Reals  # estimates times their information, summed over the plans
    least: Reals  # the least B_ij of all decisions
    arms: ArmEvidence  # on every arm by itself
    results: PlanResults  # of all plans
    # The arms that are among the m best, or are not, unless a bound was wrong.
    accepted: Mask
    rejected: Mask

    @classmethod
    def of(cls, problem: ReducedProblem) -> DifferenceBounds:
        """The bounds before the first plan, all infinite."""
        arms = len(problem.features)
        if arms > MOST_ARMS:
            raise InvalidSetting(
                f"bounds on all differences take tables of K × K, and K = {arms:,} is beyond "
                f"{MOST_ARMS:,}: use m-LinGapE, or leave out arms that are known to be bad."
            )
        level = one_sided_level(problem.delta / (problem.m * (arms - problem.m)))
        basis = np.ascontiguousarray(np.linalg.qr(problem.features)[0])
        none, nobody = np.zeros((arms, arms)), np.zeros(arms, np.bool_)
        known = none, none, none, np.full((arms, arms), np.inf)
        results = ArmEvidence.none(arms), PlanResults.none(arms)
        return cls(problem, basis, level, *known, *results, nobody, nobody)

    def after(self, results: PlanResults) -> DifferenceBounds:
        """The bounds with the results of one more plan."""
        white = whitened(self.basis, results.pulls)
        means = fitted(white, results.sums)
        new = 1.0 / spreads(white, SMALLEST_SHARE)
        information = self.information + new
        weighted = self.weighted + (means[:, None] - means) * new
        first = self.first if self.results.pulls.any() else new
        with np.errstate(invalid="ignore"):  # an arm and itself
            widths = contrast_threshold(self.level, information / first) / np.sqrt(information)
            widths = self.problem.sigma * widths
            off = ROUNDING * float(np.abs(means).max())
            widths = np.where(widths < FAR * off, widths + off, widths)
            least = np.fmin(self.least, weighted / information + widths)
        accepted, rejected = self._settled(least < 0.0)
        return replace(
            self,
            first=first,
            information=information,
            weighted=weighted,
            least=least,
            arms=self.arms.after(means, (white * white).sum(axis=0)),
            results=self.results + results,
            accepted=accepted,
            rejected=rejected,
        )

    def _settled(self, below: Mask) -> tuple[Mask, Mask]:
        """The arms accepted and rejected by now, where (j, i) of ``below`` says that j is below i.

        If an arm of the m best were below m others, one of these would not be of the m best, and
        the bound on their difference wrong. It is the same with another arm above K − m arms.
        """
        arms, m = len(below), self.problem.m
        accepted, rejected = self.accepted, self.rejected
        while True:
            out = rejected | (~accepted & ((below | accepted).sum(axis=1) >= m))
            settled = accepted | (~out & ((below | out[:, None]).sum(axis=0) >= arms - m))
            if (out == rejected).all() and (settled == accepted).all():
                return accepted, rejected
            accepted, rejected = settled, out

    def means(self) -> Reals:
        """Least-squares means on the results of all plans."""
        return fitted(whitened(self.basis, self.results.pulls), self.results.sums)

    def inside(self, means: Reals) -> Mask:
        """The m arms that would be answered: the accepted, then those of largest mean."""
        order = np.lexsort((-means, self.rejected.astype(np.int64) - self.accepted))
        return np.isin(np.arange(len(means)), order[: self.problem.m])

    def bounds(self) -> Reals:
        """B_ij, at most 0 where i is rejected or j accepted: no bound is needed for such a pair."""
        settled = self.rejected[:, None] | self.accepted
        return np.where(settled, np.minimum(self.least, 0.0), self.least)

    def boundary(self, inside: Mask) -> tuple[int, int, float]:
        """The pair b inside and c outside of largest B_cb, and that B_cb."""
        candidates, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        gaps = self.bounds()[np.ix_(others, candidates)]
        c, b = np.unravel_index(np.argmax(gaps), gaps.shape)
        return int(candidates[b]), int(others[c]), float(gaps[c, b])

    def threshold(self, i: Any, j: Any) -> Any:
        """C of the difference of two arms, or of the differences of several pairs."""
        return contrast_threshold(self.level, self.information[i, j] / self.first[i, j])

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with −B_ji and B_ij; 0 for j itself.

        They are what the stop reads: at most 0 for a rejected i, which bounds μ_i − μ_j if j is among
        the m best, and for an accepted j, if i is not.
        """
        bounds = self.bounds()
        gap = np.zeros(len(bounds))
        others = np.arange(len(bounds)) != j
        gap[others] = self.weighted[others, j] / self.information[others, j]
        return gap, np.where(others, -bounds[j], 0.0), np.where(others, bounds[:, j], 0.0)


class DifferenceStrategy(Strategy):
    """A strategy that stops by bounds on differences; subclasses make the plans."""

    def __init__(self, problem: ReducedProblem) -> None:
        self._problem, self._differences = problem, DifferenceBounds.of(problem)
        self.plan = self.first_plan(self._differences.basis)
        self._first = float(self.plan.sum())
        self.inside = np.zeros(len(self.plan), np.bool_)

    @abstractmethod
    def first_plan(self, basis: Reals) -> Integers:
        """The plan before the first result, for features in this basis."""

    @abstractmethod
    def next_plan(
        self, differences: DifferenceBounds, means: Reals, inside: Mask, stops: bool
    ) -> Integers:
        """The plan after these results; the last thing that may raise."""

    def decide(self, results: PlanResults, seed: int) -> None:
        """Bound all differences again, and make the next plan."""
        differences = self._differences.after(results)
        means = differences.means()
        inside = differences.inside(means)
        b, c, statistic = differences.boundary(inside)
        threshold = float(differences.threshold(c, b))
        stops = statistic <= self._problem.epsilon
        plan = self.next_plan(differences, means, inside, stops)
        self._differences, self.plan, self.inside = differences, plan, inside
        self.b, self.c, self.statistic, self.threshold = b, c, statistic, threshold

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with their bounds."""
        return self._differences.differences(j)

    def intervals(self) -> tuple[Reals, Reals]:
        """Bounds on every arm by itself."""
        return self._differences.arms.bounds(self._problem.sigma, self._problem.delta)

    def certified(self, epsilon: float) -> Certified:
        """What all bounds say, and the arms accepted and rejected."""
        bounds = self._differences.bounds()[np.ix_(~self.inside, self.inside)].T
        return Certified.by_bounds(self.inside, bounds, epsilon, math.inf)

    def widen(self, epsilon: float) -> None:
        """Make the plans to come for this ε; no bound depends on it."""
        self._problem = self._problem._replace(epsilon=epsilon)

    def threshold_at(self, time: float) -> float:
        """C when the information has grown as the results have."""
        return float(contrast_threshold(self._differences.level, time / self._first))
