"""What plans of fixed designs say about differences of two means, whatever the plans to come.

Within a plan s the counts N are fixed before its rewards are seen. So, given all that came before,
least squares on the plan's own results estimates μ_i − μ_j by d_s without bias, and its error is
σ√v_s-sub-Gaussian with v_s = ‖x_i − x_j‖² in the norm of (Σ_a N_a x_a x_aᵀ)⁻¹. Let I = Σ_s 1/v_s
and d = Σ_s (d_s/v_s)/I. As every v_s is known before its d_s, exp(λI(μ_i − μ_j − d) − λ²σ²I/2) is
a supermartingale for each λ, and so is its mixture over a half-normal λ of variance 1/(σ²ρ). It
ever exceeds n/δ with probability δ/n at most (Ville), which is to say (Robbins 1970): after all plans

    μ_i − μ_j ≤ B_ij = d + σC/√I,   C² = (1 + ρ/I)(2 ln(n/(2δΦ)) + ln(1 + I/ρ)),   Φ nearly 1.

The m best are fixed, if unknown. Only the n = m(K − m) differences from an arm of theirs to one
that is not need such a bound, each on one side. Then the B_ij are good indices (Theorem 1 of the
paper), and so is the least of each over all looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.designs.contrast import fitted, spreads, whitened
from shortlist.errors import InvalidSetting
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.rule import Rule
from shortlist.rules.thresholds import Threshold

# ρ over the information of the first plan. C² is within a sixth of its least while I/ρ is between 4
# and 1000, and a study ends after 2 to 1000 times its first plan.
PRIOR_SHARE = 1.0
MOST_ARMS = 4000  # arms; the tables then take a gigabyte
# v_s over the arms' own, at least: the whitened arms are subtracted before they are squared, so that a
# difference of 1e-8 still has half of its digits. It must not depend on rewards.
LEAST = 1e-16
# A difference of two fitted means is off by rounding, at most so much of the largest. That does not shrink
# with more results, and a width that is not far above it is too narrow without it.
ROUNDING = 64.0 * float(np.finfo(float).eps)
FAR = 1e6


def contrast_threshold(level: float, growth: Any) -> Any:
    """C where the information on a difference is ``growth`` times that of the first plan.

    Examples
    --------
    >>> [round(float(mixture(8.0, growth)), 2) for growth in (1.0, 10.0, 100.0)]
    [5.78, 4.5, 4.56]
    """
    ratio = growth / PRIOR_SHARE
    return np.sqrt((1.0 + 1.0 / ratio) * (2.0 * level + np.log1p(ratio)))


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


CONTRAST_MIXTURE = Threshold(
    Rule(
        "threshold",
        "contrast_mixture",
        "sqrt((1 + ρ/I)(2 ln(m(K−m)/(2δ)) + ln(1 + I/ρ))) for a difference known with information I.",
        contrast_threshold,
        contrast_threshold,
        frozenset(),
        frozenset(),
    ),
    lambda setting, ridge: [],
    proven=True,
    assumptions="the noise is σ-sub-Gaussian and the means are linear in the features",
    source="Robbins 1970",
)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences of means as the plans so far tell them; entry (i, j) is of μ_i − μ_j.

    Attributes
    ----------
    task : Task
        What is asked.
    basis : array, K × rank
        The features in an orthonormal basis: the differences are the same, rounding is kinder.
    level : float
        ln of how improbable an error of one difference must be.
    first, information : array, K × K
        Of the first plan, and of all plans.
    weighted : array, K × K
        Estimates times their information, summed over the plans.
    least : array, K × K
        The least B_ij of all looks.
    pulls, sums : array, K
        Of all plans.
    accepted, rejected : array of bool, K
        The arms that are among the m best, or are not, unless an error has happened.
    """

    task: ReducedProblem
    basis: Reals
    level: float
    first: Reals
    information: Reals
    weighted: Reals
    least: Reals
    pulls: Integers
    sums: Reals
    accepted: Mask
    rejected: Mask

    @classmethod
    def of(cls, task: ReducedProblem) -> Contrasts:
        """Nothing is known yet."""
        arms = len(task.features)
        if arms > MOST_ARMS:
            raise InvalidSetting(
                f"bounds on all differences take tables of K × K, and K = {arms:,} is beyond "
                f"{MOST_ARMS:,}: use m-LinGapE, or leave out arms that are known to be bad."
            )
        none = np.zeros((arms, arms))
        nobody = np.zeros(arms, np.bool_)
        level = one_sided_level(task.delta / (task.m * (arms - task.m)))
        beyond = np.full((arms, arms), np.inf)
        totals = np.zeros(arms, np.int64), np.zeros(arms)
        basis = np.ascontiguousarray(np.linalg.qr(task.features)[0])
        return cls(task, basis, level, none, none, none, beyond, *totals, nobody, nobody)

    def after(self, pulls: Integers, sums: Reals) -> Contrasts:
        """The same with the results of one more plan."""
        white = whitened(self.basis, pulls)
        means = fitted(white, sums)
        new = 1.0 / spreads(white, LEAST)
        information = self.information + new
        weighted = self.weighted + (means[:, None] - means) * new
        first = self.first if self.pulls.any() else new
        with np.errstate(invalid="ignore"):  # an arm and itself
            widths = contrast_threshold(self.level, information / first) / np.sqrt(information)
            widths = self.task.sigma * widths
            off = ROUNDING * float(np.abs(means).max())
            widths = np.where(widths < FAR * off, widths + off, widths)
            least = np.fmin(self.least, weighted / information + widths)
        now = replace(
            self,
            first=first,
            information=information,
            weighted=weighted,
            least=least,
            pulls=self.pulls + pulls,
            sums=self.sums + sums,
        )
        return now._settled()

    def _settled(self) -> Contrasts:
        """With all arms accepted and rejected that can be.

        Were an arm j of the m best below m others, one of them would not be of the m best, and the
        bound of their difference wrong. It is the same with one of the others above K − m.
        """
        arms, m = len(self.pulls), self.task.m
        accepted, rejected = self.accepted, self.rejected
        below = self.least < 0.0  # (j, i): j is below i
        while True:
            out = rejected | (~accepted & ((below | accepted).sum(axis=1) >= m))
            settled = accepted | (~out & ((below | out[:, None]).sum(axis=0) >= arms - m))
            if (out == rejected).all() and (settled == accepted).all():
                return replace(self, accepted=accepted, rejected=rejected)
            accepted, rejected = settled, out

    def means(self) -> Reals:
        """By least squares on the results of all plans."""
        return fitted(whitened(self.basis, self.pulls), self.sums)

    def inside(self, means: Reals) -> Mask:
        """The m arms that would be answered: the accepted, then those of largest mean."""
        standing = self.accepted.astype(np.int64) - self.rejected
        order = np.lexsort((-means, -standing))
        chosen = np.zeros(len(means), np.bool_)
        chosen[order[: self.task.m]] = True
        return chosen

    def bounds(self) -> Reals:
        """B_ij. No bound is needed where i is not of the m best, or j is: 0 is then as good."""
        settled = self.rejected[:, None] | self.accepted
        return np.where(settled, np.minimum(self.least, 0.0), self.least)

    def boundary(self, inside: Mask) -> tuple[int, int, float]:
        """The pair b inside and c outside of largest B_cb, and that."""
        candidates, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        gaps = self.bounds()[np.ix_(others, candidates)]
        c, b = np.unravel_index(np.argmax(gaps), gaps.shape)
        return int(candidates[b]), int(others[c]), float(gaps[c, b])

    def threshold(self, i: int, j: int) -> float:
        """C of the difference of two arms."""
        return float(contrast_threshold(self.level, self.information[i, j] / self.first[i, j]))

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Of every arm i, μ_i − μ_j as it is estimated, −B_ji and B_ij; 0 for j itself."""
        bounds = self.bounds()
        gap = np.zeros(len(bounds))
        others = np.arange(len(bounds)) != j
        gap[others] = self.weighted[others, j] / self.information[others, j]
        return gap, np.where(others, -bounds[j], 0.0), np.where(others, bounds[:, j], 0.0)
