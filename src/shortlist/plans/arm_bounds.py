"""Bounds on the mean of each arm by itself, whatever the plans to come.

Within a plan s the counts are fixed before its results are seen. So, given all that came before,
the plan's own results estimate μ_a by d_s without bias, and the error is σ√v_s-sub-Gaussian with a
v_s that is known before: by least squares ‖x_a‖² in the norm of the plan's V⁻¹, by the arm's own n_s
results 1/n_s. Let I = Σ_s 1/v_s and M = Σ_s d_s/v_s. Then exp(λ(M − Iμ_a) − λ²σ²I/2) is a
supermartingale for each λ, and so is its mixture over a normal λ of variance 1/(σ²ρ). It ever
exceeds 1/δ with a probability of δ at most (Ville), which is to say (Robbins 1970): after all plans

    |μ_a − M/I| ≤ σC/√I,   C² = (1 + ρ/I)(2 ln(1/δ) + ln(1 + I/ρ)),

with a probability of at least 1 − δ, for each arm by itself. ρ is the information of the first plan
that tells of the arm. By an arm's own results the same holds one result at a time, whatever decides
which arm comes next, if ρ is a constant: where results were there before the plans, it is that of one
result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.plans.results import placed
from shortlist.rules.thresholds import RISK, ArmInterval, mixture_threshold

# Rounding error of a difference of two fitted means, over the largest mean. It does not shrink with
# more results, so it is added to widths that are not far above it.
ROUNDING = 64.0 * float(np.finfo(float).eps)
LEAST_VARIANCE = 1e-12  # of an estimate, in units of σ²: one may follow from the features alone
FORMULA = "M/I ± σ√((1 + ρ/I)(2 ln(1/δ) + ln(1 + I/ρ))/I)"
INTERVAL = ArmInterval(
    FORMULA,
    f"{FORMULA}, with M/I the average of what each plan's own results say of the arm, I its "
    "information (one over its variance, in units of σ²), ρ that of the first plan or, with the "
    f"features as a guide, of one result, and {RISK}",
    FORMULA,
)


def mixture_bounds(
    scores: Reals, information: Reals, prior: Any, sigma: float, delta: float
) -> tuple[Reals, Reals]:
    """The lower and upper bounds for M, I and ρ of every arm; infinite where I is 0.

    Examples
    --------
    >>> low, high = mixture_bounds(np.array([0.0, 5.0]), np.array([0.0, 10.0]), 1.0, 1.0, 0.05)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-inf, -0.46], [inf, 1.46])
    """
    known = information > 0.0
    centre = np.divide(scores, information, out=np.zeros(len(scores)), where=known)
    growth = np.divide(information, prior, out=np.ones(len(scores)), where=known)
    half = np.full(len(scores), np.inf)
    C = mixture_threshold(math.log(1.0 / delta), growth[known])
    half[known] = sigma * C / np.sqrt(information[known]) + ROUNDING * np.abs(centre).max()
    return centre - half, centre + half


@dataclass(frozen=True, eq=False)
class ArmEvidence:
    """What all plans so far say of every arm.

    Attributes
    ----------
    information, scores : array, K
        I and M.
    prior : array, K
        ρ; 0 before the first plan that tells of the arm.
    """

    information: Reals
    scores: Reals
    prior: Reals

    @classmethod
    def none(cls, arms: int) -> ArmEvidence:
        """Before any result."""
        return cls(np.zeros(arms), np.zeros(arms), np.zeros(arms))

    def after(self, means: Reals, variances: Reals) -> ArmEvidence:
        """With the means that one more plan estimates, and their variances in units of σ².

        A variance is infinite where the plan says nothing of the arm.
        """
        information = 1.0 / np.maximum(variances, LEAST_VARIANCE)
        prior = np.where(self.prior > 0.0, self.prior, information)
        return ArmEvidence(self.information + information, self.scores + means * information, prior)

    def placed(self, places: Integers, fresh: ArmEvidence) -> ArmEvidence:
        """The same where ``places`` says which of these arms each is; new ones are as in ``fresh``."""
        both = zip(vars(self).values(), vars(fresh).values(), strict=True)
        return ArmEvidence(*(placed(old, places, new) for old, new in both))

    def bounds(self, sigma: float, delta: float) -> tuple[Reals, Reals]:
        """The lower and upper bounds of every arm; each contains its mean at level 1 − δ.

        Examples
        --------
        >>> seen = ArmEvidence.none(2).after(np.array([1.0, 2.0]), np.array([0.25, np.inf]))
        >>> [ends.round(2).tolist() for ends in seen.bounds(1.0, 0.05)]
        [[-0.83, -inf], [2.83, inf]]
        """
        return mixture_bounds(self.scores, self.information, self.prior, sigma, delta)
