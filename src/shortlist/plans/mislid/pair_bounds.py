"""A pair of arms is certain when a linear model that may be off by c, or its own averages, say so.

Two kinds of bounds on differences of means (``differences``), each with its share of δ:

    linear    noise in rank X dimensions, for all pairs at once: C² = 2β, β a mixture
    two arms  noise of the two arms, for the m(K − m) pairs of one of the m best with one that is not

Both are dual points of the likelihood ratio of ``likelihood_ratio``, and their thresholds know
nothing of the other arms; docs/misspecification.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.arrays import Mask
from shortlist.numerics.records import Reals
from shortlist.plans.mislid.differences import (
    Widths,
    fill_bounds,
    level,
    linear_bound,
    two_arm_bound,
)
from shortlist.plans.mislid.evidence import SHARE, Boundary, Evidence, mixture
from shortlist.plans.strategy import Task


@dataclass(frozen=True, eq=False)
class PairBounds(Evidence):
    """Bounds B_ij on μ_i − μ_j.

    Attributes
    ----------
    linear, alone : float
        ln(1/δ) of the linear bounds, ln(m(K − m)/δ) of those by two arms; infinite without a share.
    """

    linear: float
    alone: float

    @classmethod
    def of(cls, task: Task, c: float, first: int) -> PairBounds:
        """Each kind has half of δ, unless one of them is of no use; no reward is looked at."""
        arms, rank = task.features.shape
        whole = math.log(1.0 / task.delta)
        pairs = whole + math.log(task.m * (arms - task.m))
        start = cls.before(task, c, first)
        if rank == arms:  # then every mean is linear, and the features say nothing
            return cls(**start, linear=math.inf, alone=pairs)
        if c == 0.0:
            return cls(**start, linear=whole, alone=math.inf)
        # What rests on the model is off by about 2c. If two arms are known as well by now already,
        # the model is of no use.
        prior = SHARE * first
        square = 2.0 * (1.0 + prior / first) / first
        known = task.sigma * math.sqrt(2.0 * (pairs + math.log1p(1.0 / SHARE)) * square)
        if known <= 2.0 * c:
            return cls(**start, linear=math.inf, alone=pairs)
        half = math.log(2.0)
        return cls(**start, linear=whole + half, alone=pairs + half)

    def _linear_threshold(self, pulls: Reals) -> float:
        if math.isinf(self.linear):
            return math.inf
        return math.sqrt(2.0 * mixture(self.linear, self.dimensions(pulls)))

    def _widths(self) -> Widths:
        sigma = self.task.sigma
        linear = sigma * self._linear_threshold(self.known.pulls)
        return Widths(self.c, sigma, linear, self.alone, SHARE * self.first, self.floor)

    def boundary(self, inside: Mask) -> Boundary:
        """The pair b inside and c outside of largest B_cb."""
        widths, known = self._widths(), self.known
        bounds = np.full(known.gram.shape, -np.inf)
        fill_bounds(known, widths, ~inside, inside, bounds)
        c, b = (int(arm) for arm in np.unravel_index(np.argmax(bounds), bounds.shape))
        threshold = math.sqrt(2.0 * level(known, widths, c, b))
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
        found = np.full(len(pulls), np.inf)
        if math.isfinite(self.linear):
            found = self.model_widths(widths.linear)
        if math.isfinite(self.alone):
            most = int(np.argmax(pulls))
            levels = np.array([level(self.known, widths, a, most) for a in range(len(pulls))])
            own = widths.sigma * np.sqrt(2.0 * levels * (1.0 + widths.prior / pulls) / pulls)
            found = np.minimum(found, own + np.abs(self.known.averages - self.means))
        return found

    def threshold_at(self, pulls: Reals) -> float:
        """The smaller C."""
        own = math.log1p(float(pulls.mean()) / (SHARE * self.first))
        return min(self._linear_threshold(pulls), math.sqrt(2.0 * (self.alone + own)))
