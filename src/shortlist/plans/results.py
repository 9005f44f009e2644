"""The results of a plan, as strategies are given them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM, NO_BLOCK
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals, Record
from shortlist.posterior.state import OneInteger


def _no_integers() -> Integers:
    return np.zeros(0, np.int64)


def placed(values: NDArray[Any], places: Integers, other: Any) -> NDArray[Any]:
    """Values of arms, in the last dimension, where ``places`` says which of them each arm is.

    ``NO_ARM`` is an arm that was not among them, and has ``other``.

    Examples
    --------
    >>> placed(np.array([3.0, 5.0, 7.0]), np.array([0, 2, NO_ARM]), 0.0).tolist()
    [3.0, 7.0, 0.0]
    """
    return np.where(places == NO_ARM, other, values[..., places]).astype(values.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class PlanResults(Record):
    """What is kept of the results of a plan, or of several.

    No strategy sees more of them than this, and ``add_result`` is the one place where a result enters.
    A strategy that says ``keeps_values`` is given every single result of its plan; of several plans
    together only numbers and sums are kept.

    Attributes
    ----------
    pulls : array of int, K
        How many there are of each arm.
    sums : array, K
        Their sums.
    arms, blocks : array of int
        The arm and the block of every single result, in the order in which they came; ``NO_BLOCK``
        where there are no blocks. There may be room for more than ``count``.
    values : array
        Their values.
    count : array of one int
        How many single results are kept.

    Examples
    --------
    >>> one = PlanResults.at(np.array([2, 0, 1]), np.array([0.5, 0.1, 3.0]))
    >>> (one + one).sums.tolist()
    [2.0, 0.0, 6.0]
    """

    pulls: Integers
    sums: Reals
    arms: Integers = field(default_factory=_no_integers)
    blocks: Integers = field(default_factory=_no_integers)
    values: Reals = field(default_factory=lambda: np.zeros(0))
    count: OneInteger = field(default_factory=lambda: np.zeros(1, np.int64))

    @classmethod
    def none(cls, arms: int, room: int = 0) -> PlanResults:
        """No result yet, and room for so many single ones."""
        return cls(
            np.zeros(arms, np.int64),
            np.zeros(arms),
            np.zeros(room, np.int64),
            np.full(room, NO_BLOCK),
            np.zeros(room),
        )

    @classmethod
    def of(
        cls, number: int, arms: Integers, values: Reals, blocks: Integers | None = None
    ) -> PlanResults:
        """Single results of ``number`` arms.

        Examples
        --------
        >>> PlanResults.of(3, np.array([2, 0, 2]), np.array([1.0, 0.5, 2.0])).sums.tolist()
        [0.5, 0.0, 3.0]
        """
        return cls(
            np.bincount(arms, minlength=number),
            np.bincount(arms, values, minlength=number).astype(np.float64, copy=False),
            arms,
            np.full(len(arms), NO_BLOCK) if blocks is None else blocks,
            values,
            np.array([len(arms)]),
        )

    @classmethod
    def at(cls, pulls: Integers, means: Reals) -> PlanResults:
        """Results that all came out at their means."""
        return cls(pulls, pulls * means)

    def __add__(self, other: PlanResults) -> PlanResults:
        return PlanResults(self.pulls + other.pulls, self.sums + other.sums)

    def __sub__(self, other: PlanResults) -> PlanResults:
        return PlanResults(self.pulls - other.pulls, self.sums - other.sums)

    def with_room(self, more: int) -> PlanResults:
        """The same results, with room for so many more single ones."""
        count = int(self.count[0])
        if len(self.values) >= count + more:
            return self
        room = PlanResults.none(len(self.pulls), 2 * (count + more))
        for old, new in zip(self.singles, (room.arms, room.blocks, room.values), strict=True):
            new[:count] = old
        return replace(room, pulls=self.pulls, sums=self.sums, count=self.count)

    @property
    def singles(self) -> tuple[Integers, Integers, Reals]:
        """The arms, blocks and values of the single results that are kept."""
        rows = slice(int(self.count[0]))
        return self.arms[rows], self.blocks[rows], self.values[rows]

    def placed(self, places: Integers) -> PlanResults:
        """The same where ``places`` says which of these arms each arm is; others are left out."""
        there = self.arms[: self.count[0], None] == places
        stay = there.any(axis=1)
        single = np.flatnonzero(stay), np.flatnonzero(~stay)
        order = np.concatenate([*single, np.arange(self.count[0], len(self.arms))])
        arms = self.arms[order]
        arms[: len(single[0])] = np.argmax(there[stay], axis=1)
        return PlanResults(
            placed(self.pulls, places, 0),
            placed(self.sums, places, 0.0),
            arms,
            self.blocks[order],
            self.values[order],
            np.array([len(single[0])]),
        )

    def copy(self) -> PlanResults:
        """An independent copy."""
        return self.mapped(np.copy)


@compiled(typed=True)
def add_result(results: PlanResults, arm: int, value: float, block: int) -> None:
    """Add a result of an arm, in a block or in ``NO_BLOCK``."""
    results.pulls[arm] += 1
    results.sums[arm] += value
    place = results.count[0]
    if place < results.values.shape[0]:
        results.arms[place] = arm
        results.blocks[place] = block
        results.values[place] = value
        results.count[0] = place + 1
