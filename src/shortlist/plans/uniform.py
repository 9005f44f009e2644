"""Uniform sampling: every arm as often as any other, until the differences are certain."""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Reals
from shortlist.plans.algorithm import Planned
from shortlist.plans.contrasts import CONTRAST_MIXTURE, Contrasts, contrast_threshold
from shortlist.plans.strategy import ReducedProblem, Strategy

GROWTH = 1.05  # of all pulls from one look to the next; looks are free, and late ones cost pulls


class Uniform(Strategy):
    """Every arm once more, and again; looks when a twentieth more results are in."""

    def __init__(self, task: ReducedProblem) -> None:
        arms, rank = task.features.shape
        self._contrasts = Contrasts.of(task)
        self.plan = np.ones(arms, np.int64)
        self.inside = np.zeros(arms, np.bool_)
        self.b = self.c = -1
        self.threshold = self.statistic = np.inf
        self.cost = 1e5 + 20.0 * arms * arms + arms * arms * rank

    def decide(self, sums: Reals, seed: int) -> None:
        """Look, and pull every arm a twentieth more often."""
        contrasts = self._contrasts.after(self.plan, sums)
        inside = contrasts.inside(contrasts.means())
        b, c, statistic = contrasts.boundary(inside)
        threshold = contrasts.threshold(c, b)
        more = int((GROWTH - 1.0) * contrasts.pulls[0])
        plan = np.full(len(sums), max(1, more), np.int64)
        self._contrasts, self.plan = contrasts, plan
        self.inside, self.b, self.c = inside, b, c
        self.statistic, self.threshold = statistic, threshold

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Of every arm i, μ_i − μ_j as it is estimated, with its bounds."""
        return self._contrasts.differences(j)

    def threshold_at(self, time: float) -> float:
        """C when the information has grown as the results have."""
        return float(contrast_threshold(self._contrasts.level, time / len(self.plan)))


ALGORITHMS = {
    "Uniform": Planned(
        strategy=Uniform,
        threshold=CONTRAST_MIXTURE,
        name="Uniform",
        summary="Uniform sampling, a baseline; stops when all differences that matter are certain",
    )
}
