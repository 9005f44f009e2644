"""Phased elimination for the m best arms of a linear model, after RAGE (Fiez et al. 2019).

A phase is a plan of fixed design, made to tell the arms held to be best from the others. After it,
the arms whose place is certain leave, and the next phase is designed for the pairs that are left,
with what is known of their gaps. RAGE bounds each phase by its own results, with a share of δ for
each, and forgets the phases before. Here the results of all phases are combined (``contrasts``) at
one price for any number of them, so phases can be short. The bounds on differences alone prove the
answer: no design, no length of a phase and no gap estimated on the way can make it wrong.
"""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.designs.contrast import contrast_design, spread_design
from shortlist.plans.algorithm import Planned
from shortlist.plans.contrasts import CONTRAST_MIXTURE, Contrasts, contrast_threshold
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.rules.initialization import span

FIRST = 4.0  # pulls a dimension in the first phase
QUARTER = 0.25  # of the pulls that seem to be needed still: what a phase takes of them
SHORTEST = 0.05  # of the pulls so far: overshoots by half of that, and leaves the looks few
PAIRS = 400  # the hardest, that a design is made for
NARROWED = 0.5  # times its width: a gap that is not known to be larger is taken for that
NEGLIGIBLE = 1e-3  # of an equal share of the pulls
GRID = 1e-6  # weights are rounded to it: another machine's rounding shall give the same counts


class Phased(Strategy):
    """Phases of designs for the pairs that are not settled."""

    def __init__(self, task: ReducedProblem) -> None:
        arms, rank = task.features.shape
        self._task, self._contrasts = task, Contrasts.of(task)
        self._weights = spread_design(self._contrasts.basis)
        self.plan = counts(self._contrasts.basis, self._weights, FIRST * rank)
        self._first = float(self.plan.sum())
        self.inside = np.zeros(arms, np.bool_)
        self.b = self.c = -1
        self.threshold = self.statistic = np.inf
        step = arms * arms * rank + arms * rank * rank + rank**3 / 3 + arms * PAIRS
        self.cost = 3e5 + 20.0 * arms * arms + 20.0 * step

    def decide(self, sums: Reals, seed: int) -> None:
        """Look, and design the next phase."""
        contrasts = self._contrasts.after(self.plan, sums)
        means = contrasts.means()
        inside = contrasts.inside(means)
        b, c, statistic = contrasts.boundary(inside)
        threshold, weights, plan = contrasts.threshold(c, b), self._weights, self.plan
        if statistic > self._task.epsilon:
            weights, plan = self._designed(contrasts, means, inside)
        self._contrasts, self._weights, self.plan = contrasts, weights, plan
        self.inside, self.b, self.c = inside, b, c
        self.statistic, self.threshold = statistic, threshold

    def _designed(self, contrasts: Contrasts, means: Reals, inside: Mask) -> tuple[Reals, Integers]:
        """The weights of the next phase, and its counts."""
        task, made = self._task, float(contrasts.pulls.sum())
        b, c = open_pairs(contrasts, inside)
        information = contrasts.information[c, b]
        spans = (
            contrast_threshold(contrasts.level, information / contrasts.first[c, b]) * task.sigma
        )
        gaps = np.maximum(means[b] - means[c], 0.0) + task.epsilon
        gaps = np.maximum(gaps, NARROWED * spans / np.sqrt(information))
        needs = (spans / gaps) ** 2 - information
        # A pair that seems to need nothing more is still open: it must not be forgotten.
        needs = np.maximum(needs, SHORTEST * information)
        hardest = np.argsort(-needs / information, kind="stable")[:PAIRS]
        weights, pulls = contrast_design(
            contrasts.basis, b[hardest], c[hardest], needs[hardest], self._weights
        )
        length = max(SHORTEST * made, min(made, QUARTER * pulls))
        return weights, counts(contrasts.basis, weights, length)

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Of every arm i, μ_i − μ_j as it is estimated, with its bounds."""
        return self._contrasts.differences(j)

    def threshold_at(self, time: float) -> float:
        """C when the information has grown as the results have."""
        return float(contrast_threshold(self._contrasts.level, time / self._first))


def open_pairs(contrasts: Contrasts, inside: Mask) -> tuple[Integers, Integers]:
    """The b inside and c outside of which it is not certain yet that c is better by ε at most."""
    candidates, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    gaps = contrasts.bounds()[np.ix_(others, candidates)]
    c, b = np.nonzero(gaps > contrasts.task.epsilon)
    return candidates[b], others[c]


def counts(features: Reals, weights: Reals, length: float) -> Integers:
    """Whole pulls near to the weights, about ``length`` of them, that span the features.

    Examples
    --------
    >>> counts(np.eye(3), np.array([0.5, 0.5, 0.0]), 10.0).tolist()
    [5, 5, 1]
    """
    heavy = np.where(weights > NEGLIGIBLE / len(weights), weights, 0.0)
    heavy = np.round(heavy / heavy.sum() / GRID) * GRID
    pulls = np.floor(heavy * np.ceil(length) + 0.5).astype(np.int64)
    spanning = span(np.sqrt(np.maximum(heavy, GRID))[:, None] * features)
    pulls[spanning] = np.maximum(pulls[spanning], 1)
    return pulls


ALGORITHMS = {
    "Phased": Planned(
        strategy=Phased,
        threshold=CONTRAST_MIXTURE,
        name="Phased",
        summary="Fiez et al. 2019 (RAGE), for any m; phases of designs for the pairs still open",
    )
}
