"""What an evaluation of each arm costs: time, money, material.

Where costs are stated, allocations that know of them minimise the cost, and what was spent is counted
in it. They play no part in any guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.arrays import Reals
from shortlist.each_arm import each_arm
from shortlist.noise.noise import positive
from shortlist.printable import in_figures


@dataclass(frozen=True)
class Costs:
    """What one evaluation of each arm costs.

    Attributes
    ----------
    each : tuple of float
        In the order of the arms; empty where nothing is stated, and all cost the same.

    Examples
    --------
    >>> costs = Costs.of({"ash": 1.0, "elm": 10.0}, ["ash", "elm"])
    >>> costs.total([4, 2]), costs.words(24.0)
    (24.0, 'cost 24')
    >>> EQUAL.total([4, 2]), EQUAL.words(6.0)
    (6.0, '')
    """

    each: tuple[float, ...] = ()

    @staticmethod
    def of(costs: Any, names: Sequence[str]) -> Costs:
        """The costs that a user states: nothing, a number for every arm, or numbers by name."""
        if costs is None:
            return EQUAL
        if isinstance(costs, Costs):
            return costs
        values = each_arm("costs", costs, names)
        return Costs(
            tuple(positive(f"cost of arm {n!r}", v) for n, v in zip(names, values, strict=True))
        )

    @staticmethod
    def read(written: list[float] | None) -> Costs:
        """The costs that ``written`` gave."""
        return EQUAL if written is None else Costs(tuple(map(float, written)))

    @property
    def written(self) -> list[float] | None:
        """The costs as they are stored."""
        return list(self.each) or None

    @property
    def stated(self) -> bool:
        """Whether there are any."""
        return bool(self.each)

    def of_arms(self, arms: int) -> Reals:
        """The cost of every arm, 1 where nothing is stated."""
        return np.array(self.each) if self.each else np.ones(arms)

    def total(self, pulls: Any) -> float:
        """What so many evaluations of each arm cost."""
        return float(np.asarray(pulls, np.float64) @ self.of_arms(len(pulls)))

    def words(self, total: float) -> str:
        """A cost in words; empty where nothing is stated."""
        return f"cost {in_figures(total)}" if self.each else ""

    @property
    def announcement(self) -> str:
        """What was stated, in words."""
        if not self.each:
            return "the same of every arm"
        return f"{min(self.each):g} to {max(self.each):g} for an evaluation"


EQUAL = Costs()
