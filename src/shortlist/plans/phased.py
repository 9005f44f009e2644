"""Phased elimination for the m best arms of a linear model, after RAGE (Fiez et al. 2019).

A phase is a plan of fixed design, made to tell the arms thought to be best from the others. After
it, the arms whose place is certain leave, and the next phase is designed for the pairs that are
left, with what is known about their gaps. RAGE bounds each phase by its own results, with a share
of δ for each, and forgets the phases before. Here the results of all phases are combined
(``difference_bounds``) at one price for any number of them, so phases can be short. The bounds on
differences alone prove the answer: no design, no length of a phase and no gap estimated on the way
can make it wrong.
"""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.designs.pairs import contrast_design, spread_design
from shortlist.numerics.order import largest_first
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL
from shortlist.plans.difference_bounds import CONTRAST_MIXTURE, DifferenceBounds, DifferenceStrategy
from shortlist.rules.initialization import span

FIRST = 4.0  # pulls per dimension in the first phase
QUARTER = 0.25  # of the pulls that still seem to be needed: the length of a phase
SHORTEST = 0.05  # of the pulls so far: overshoots by half of that, and keeps the phases few
PAIRS = 400  # how many of the hardest a design is made for
NARROWED = 0.5  # times its width: a gap that is not known to be larger is taken for that
NEGLIGIBLE = 1e-3  # of an equal share of the pulls
GRID = 1e-6  # weights are rounded to it, so that another machine's rounding gives the same counts


class Phased(DifferenceStrategy):
    """Phases of designs for the pairs that are not settled."""

    def first_plan(self, basis: Reals) -> Integers:
        """The design of least largest variance."""
        self._weights = spread_design(basis)
        return counts(basis, self._weights, FIRST * basis.shape[1])

    def next_plan(
        self, differences: DifferenceBounds, means: Reals, inside: Mask, stops: bool
    ) -> Integers:
        """A design for the hardest of the open pairs, about a quarter as long as they need."""
        if stops:
            return self.plan
        problem, made = self._problem, float(differences.results.pulls.sum())
        candidates, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        c, b = np.nonzero(differences.bounds()[np.ix_(others, candidates)] > problem.epsilon)
        b, c = candidates[b], others[c]
        information = differences.information[c, b]
        spans = differences.threshold(c, b) * problem.sigma
        gaps = np.maximum(means[b] - means[c], 0.0) + problem.epsilon
        gaps = np.maximum(gaps, NARROWED * spans / np.sqrt(information))
        needs = (spans / gaps) ** 2 - information
        # A pair that seems to need nothing more is still open: it must not be forgotten.
        needs = np.maximum(needs, SHORTEST * information)
        hardest = largest_first(needs / information)[:PAIRS]
        weights, pulls = contrast_design(
            differences.basis, b[hardest], c[hardest], needs[hardest], self._weights
        )
        length = max(SHORTEST * made, min(made, QUARTER * pulls))
        plan = counts(differences.basis, weights, length)
        self._weights = weights
        return plan


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
        works=("fiez",),
        adapted=True,
        summary="Fiez et al. 2019 (RAGE), for any m; phases of designs for the pairs still open",
        interval=INTERVAL,
    )
}
