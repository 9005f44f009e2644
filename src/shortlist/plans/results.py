"""The results of a plan, as strategies are given them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals, Record


@dataclass(frozen=True, eq=False)
class PlanResults(Record):
    """What is kept of the results of a plan, or of several.

    No strategy sees more of them than this, and ``add_result`` is the one place where a result enters.
    Evidence that needs more than sums, such as squares or sums by block, adds a field here.

    Attributes
    ----------
    pulls : array of int, K
        How many there are of each arm.
    sums : array, K
        Their sums.

    Examples
    --------
    >>> one = PlanResults.at(np.array([2, 0, 1]), np.array([0.5, 0.1, 3.0]))
    >>> (one + one).sums.tolist()
    [2.0, 0.0, 6.0]
    """

    pulls: Integers
    sums: Reals

    @classmethod
    def none(cls, arms: int) -> PlanResults:
        """No result yet."""
        return cls(np.zeros(arms, np.int64), np.zeros(arms))

    @classmethod
    def at(cls, pulls: Integers, means: Reals) -> PlanResults:
        """Results that all came out at their means."""
        return cls(pulls, pulls * means)

    def __add__(self, other: PlanResults) -> PlanResults:
        return PlanResults(self.pulls + other.pulls, self.sums + other.sums)

    def __sub__(self, other: PlanResults) -> PlanResults:
        return PlanResults(self.pulls - other.pulls, self.sums - other.sums)

    def copy(self) -> PlanResults:
        """An independent copy."""
        return self.mapped(np.copy)


@compiled(typed=True)
def add_result(results: PlanResults, arm: int, value: float) -> None:
    """Add a result of an arm."""
    results.pulls[arm] += 1
    results.sums[arm] += value
