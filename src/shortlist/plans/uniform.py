"""Uniform sampling: every arm as often as any other, until the differences are certain."""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL
from shortlist.plans.difference_bounds import CONTRAST_MIXTURE, DifferenceBounds, DifferenceStrategy

GROWTH = (
    0.05  # of all pulls from one decision to the next; decisions are free, late ones cost pulls
)


class Uniform(DifferenceStrategy):
    """Pulls every arm once, then a twentieth more often, and so on."""

    def first_plan(self, basis: Reals) -> Integers:
        """Every arm once."""
        return np.ones(len(basis), np.int64)

    def next_plan(
        self, differences: DifferenceBounds, means: Reals, inside: Mask, stops: bool
    ) -> Integers:
        """Every arm a twentieth more often."""
        return np.full(len(means), max(1, int(GROWTH * differences.results.pulls[0])), np.int64)


ALGORITHMS = {
    "Uniform": Planned(
        strategy=Uniform,
        threshold=CONTRAST_MIXTURE,
        name="Uniform",
        works=("robbins",),
        summary="Uniform sampling, a baseline; stops when all differences that matter are certain",
        interval=INTERVAL,
    )
}
