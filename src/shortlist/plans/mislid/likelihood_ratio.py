"""The stop of MisLid as it was published: the likelihood ratio of the closest alternative.

In the norm ‖v‖² = Σ_a N_a v_a², the estimate μ̃ is the projection of the averages μ̂ onto the means
that are linear up to c. As θ is free, the parts of μ̃ and of μ̂ in the span of X are the same. So,
with P the projection onto that span,

    ‖μ̃ − μ‖ ≤ ‖μ̂ − μ‖   and   ‖μ̃ − μ‖² ≤ ‖P(μ̂ − μ)‖² + 4c²t.

The noise on the left has K dimensions, that on the right as many as X; each is bounded at all times
by a mixture, and the smaller bound counts. With ‖μ̃ − μ‖ ≤ σC the truth is no alternative at a
distance above C²/2. docs/misspecification.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.arrays import Mask, Reals
from shortlist.numerics.quadratic import nearest, workspace
from shortlist.plans.mislid.alternative import alternatives, closest
from shortlist.plans.mislid.evidence import Boundary, Evidence, mixture
from shortlist.plans.strategy import Task

TRIES = 4  # alternatives a bound on a difference is sought with; it hardly moves after two


@dataclass(frozen=True, eq=False)
class LikelihoodRatio(Evidence):
    """The ellipsoid about μ̃ that holds the truth.

    Attributes
    ----------
    linear, unstructured : float
        ln(1/δ) of either bound; infinite where it has no share of δ.
    """

    linear: float
    unstructured: float

    @classmethod
    def of(cls, task: Task, c: float, first: int) -> LikelihoodRatio:
        """Each bound has half of δ, unless one of them is of no use; no reward is looked at."""
        whole = math.log(1.0 / task.delta)
        start = cls.before(task, c, first)
        if c == 0.0:
            return cls(**start, linear=whole, unstructured=math.inf)
        alone = cls(**start, linear=math.inf, unstructured=whole)
        # What c adds to the linear bound grows with every pull, the other as a logarithm.
        pulls = np.full(len(task.features), float(first))
        if alone._misfit(pulls) >= alone._squares(pulls)[1]:
            return alone
        half = whole + math.log(2.0)
        return cls(**start, linear=half, unstructured=half)

    def _misfit(self, pulls: Reals) -> float:
        off = self.c / self.task.sigma
        return 2.0 * off * off * float(pulls.sum())  # off**2 would raise where it is infinite

    def _squares(self, pulls: Reals) -> tuple[float, float]:
        """C²/2 by either bound."""
        linear = unstructured = math.inf
        if math.isfinite(self.linear):
            linear = mixture(self.linear, self.dimensions(pulls)) + self._misfit(pulls)
        if math.isfinite(self.unstructured):
            unstructured = mixture(self.unstructured, pulls / self.first)
        return linear, unstructured

    def threshold_at(self, pulls: Reals) -> float:
        """C."""
        return math.sqrt(2.0 * min(self._squares(pulls)))

    def boundary(self, inside: Mask) -> Boundary:
        """The pair of the closest alternative; at most ε if that is further away than C²/2."""
        task, pulls = self.task, self.known.pulls
        found = alternatives(*task.features.shape)
        closest(task.features, self.c, pulls, self.means, inside, task.epsilon, found)
        b, c, threshold = int(found.pair[0]), int(found.pair[1]), self.threshold_at(pulls)
        statistic = self._bound(c, b, found.means, float(found.pair[2]), threshold)
        return Boundary(b, c, statistic, threshold)

    def _bound(self, i: int, j: int, alternative: Reals, price: float, threshold: float) -> float:
        """An upper bound on μ_i − μ_j, by an s that the alternative's multipliers make.

        It holds for any s with Xᵀs = x_j − x_i: μ_j − μ_i = sᵀμ − (s − e_j + e_i)ᵀη, where sᵀμ̃ is
        off by σC·sqrt(Σ s_a²/N_a) at most. What rounding has left of Xᵀs is taken away first. The
        s of the two arms alone is tried too: what rounding adds to the other counts c times.
        """
        features, pulls = self.task.features, self.known.pulls
        s = pulls * (self.means - alternative) / price if price > 0.0 else np.zeros(len(pulls))
        own = np.zeros(len(pulls))
        own[j], own[i] = 1.0, -1.0
        root = np.sqrt(pulls)
        basis = np.linalg.qr(root[:, None] * features)[0]
        over = (s - own) / root
        rest = root * (over - basis @ (basis.T @ over))
        scale = self.task.sigma * threshold

        def bound(s: Reals, bias: float) -> float:
            return scale * math.sqrt(float((s * s / pulls).sum())) + bias - float(s @ self.means)

        return min(bound(own + rest, self.c * float(np.abs(rest).sum())), bound(own, 0.0))

    def differences(self, j: int, at: Boundary) -> tuple[Reals, Reals, Reals]:
        """μ̃_i − μ̃_j, and the farthest that the ellipsoid reaches on either side."""
        arms = range(len(self.means))
        lower = [0.0 if i == j else -self._above(j, i, at) for i in arms]
        upper = [0.0 if i == j else self._above(i, j, at) for i in arms]
        return self.means - self.means[j], np.array(lower), np.array(upper)

    def _above(self, i: int, j: int, at: Boundary) -> float:
        """An upper bound on μ_i − μ_j: by alternatives ever further away, while that helps."""
        if (i, j) == (at.c, at.b):
            return at.statistic
        task, work = self.task, workspace(*self.task.features.shape)
        best, slack = math.inf, max(task.epsilon, float(self.means[i] - self.means[j]))
        for _ in range(TRIES):
            nearest(task.features, self.c, self.known.pulls, self.means, j, i, -slack, work)
            slack = self._bound(i, j, work.means, float(work.price[0]), at.threshold)
            if not slack < best:
                break
            best = slack
        return best

    def half_widths(self) -> Reals:
        """By the arm's own pulls, or by the model."""
        width = self.task.sigma * self.threshold_at(self.known.pulls)
        return np.minimum(width / np.sqrt(self.known.pulls), self.model_widths(width))
