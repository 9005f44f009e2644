"""XY-halving: all of a fixed budget, in phases that compare fewer and fewer challengers.

After every phase least squares on all results so far gives the m candidates, and the arms nearest
behind them are the challengers: all K − m others at first, then half as many, and so on down to
one. The pulls of a phase go where they best tell candidates from challengers, among all K arms:
often the arm that tells two survivors apart is neither of them. Every result counts, and the last
one of the budget is the stop.

It is an extension without a theorem. Nearest are OD-LinBAI (Yang and Tan 2022) and GSE (Azizi,
Kveton and Ghavamzadeh 2022), which halve the survivors on the way to a single best arm and pull
survivors only, and the fixed-budget form of Peace (Katz-Samuels et al. 2020), which pulls all arms,
by a design for the Gaussian width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.designs.xy import rounded, xy_design
from shortlist.numerics.order import largest_first
from shortlist.plans.budget import NEAR, Budgeted, BudgetStrategy, norms
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.initialization import span

# A contrast is weighted by one over its gap, which is taken as at least this many standard errors,
# since a small gap may be noise. On random instances 1 gave more errors, and 3 as many.
STANDARD_ERRORS = 2.0
EQUAL = 1e-9  # of the longest: what rounding may leave of a difference of equal features


class Phase(NamedTuple):
    """The number of results at its end, and how many challengers it compares."""

    end: int
    challengers: int


def phases(arms: int, m: int, rank: int, budget: int) -> list[Phase]:
    """Equal shares of the budget, half the challengers each time; the first must span the features.

    Examples
    --------
    >>> [tuple(phase) for phase in phases(arms=20, m=4, rank=5, budget=100)]
    [(20, 16), (40, 8), (60, 4), (80, 2), (100, 1)]
    >>> [tuple(phase) for phase in phases(arms=20, m=4, rank=70, budget=100)]
    [(70, 16), (80, 2), (100, 1)]
    """
    count = math.ceil(math.log2(max(m, arms - m))) + 1
    found: list[Phase] = []
    for k in range(count):
        end = max(rank, budget * (k + 1) // count)
        if not found or end > found[-1].end:
            found.append(Phase(end, math.ceil((arms - m) / 2**k)))
    return found


class XYHalvingStrategy(BudgetStrategy):
    """Phases of a budget."""

    def __init__(self, problem: ReducedProblem, budget: int) -> None:
        arms, rank = problem.features.shape
        self._phases = phases(arms, problem.m, rank, budget)
        super().__init__(problem, budget)

    @property
    def end(self) -> int:
        """The number of results at the end of the phase; the budget once that is spent."""
        return next((phase.end for phase in self._phases if phase.end > self.told), self.budget)

    def _first_plan(self) -> Integers:
        """A spanning plan for the differences of all arms, or of those farthest from the mean."""
        away = norms(self._basis - self._basis.mean(axis=0))
        far = largest_first(away)[:NEAR]
        i, j = np.triu_indices(len(far), 1)
        weights = self._design(far[i], far[j])
        once = np.zeros(len(weights), np.int64)
        once[span(np.sqrt(weights)[:, None] * self._basis)] = 1
        pulls = self._phases[0].end
        wanted = np.maximum(pulls * weights - once, 0.0)
        if not wanted.any():
            wanted = weights
        return once + rounded(wanted, pulls - int(once.sum()))

    def _next_plan(self) -> Integers:
        """A plan for candidates against challengers, the nearer pairs weighted more."""
        phase = next(phase for phase in self._phases if phase.end > self.told)
        order, m = np.argsort(-self.means, kind="stable"), self._problem.m
        near = order[max(0, m - NEAR) : m]
        others = order[m : m + min(phase.challengers, NEAR)]
        i, j = np.repeat(near, len(others)), np.tile(others, len(near))
        gaps = self.means[i] - self.means[j] + self._problem.epsilon
        errors = self._problem.sigma * norms((self._white[:, i] - self._white[:, j]).T)
        weights = self._design(i, j, np.maximum(gaps, STANDARD_ERRORS * errors))
        return rounded(weights, phase.end - self.told)

    def _design(self, i: Integers, j: Integers, gaps: Reals | None = None) -> Reals:
        """Weights of all arms for the contrasts (x_i − x_j)/gap of the pairs that differ at all."""
        contrasts = self._basis[i] - self._basis[j]
        lengths = norms(contrasts)
        differ = lengths > EQUAL * lengths.max(initial=0.0)
        if not differ.any():
            return np.full(len(self._basis), 1.0 / len(self._basis))
        scale = 1.0 if gaps is None else gaps[differ, None]
        return xy_design(self._basis, contrasts[differ] / scale)


@dataclass(frozen=True, kw_only=True)
class XYHalving(Budgeted):
    """The m best arms, as well as a fixed number of evaluations can tell.

    ``Study(…, budget=T)`` used it before there was ``TopTwo``, which errs less often.

    Examples
    --------
    >>> import shortlist
    >>> instance = shortlist.instances.classic(K=4, m=2, omega=0.5)
    >>> results = shortlist.compare(XYHalving(budget=60), instance, runs=10, progress=False)
    >>> results.frame["samples"].tolist() == [60] * 10
    True
    """

    name: str = "XY-halving"

    spending: ClassVar[type[BudgetStrategy]] = XYHalvingStrategy
    summary: ClassVar[str] = (
        "a fixed budget, in phases that halve the challengers; an extension without a theorem (nearest: "
        "Yang and Tan 2022, Azizi et al. 2022, Katz-Samuels et al. 2020)"
    )
    extension: ClassVar[str] = (
        "XY-halving is an extension without a theorem (nearest: OD-LinBAI, Yang and Tan 2022; GSE, "
        "Azizi et al. 2022; Peace, Katz-Samuels et al. 2020)."
    )
