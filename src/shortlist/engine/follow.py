"""Results that come from outside, as a study has them, and how far they have been processed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_BLOCK, Integers, Reals

# What a step does: take a result in; only decide; go on after a stop. The others are the model's to do and never reach an engine: go on by verifying; with a larger
# ε; without the arm; with more arms; with one that comes back; put right the result taken in as the n-th.
TAKE, DECIDE, REOPEN = 0, 1, 2
VERIFY, WIDEN, RETIRE, ADD, READMIT, CORRECT = 3, 4, 5, 6, 7, 8


@dataclass(frozen=True, eq=False)
class Steps:
    """Results from outside, in order: what each step does, its arm and block, its value, whether it is
    held, and whether nobody asked for the result.

    At a step that is held no new round or plan begins: an arm of the last round is still to be asked
    for, or results of a block are still to come that is not to be divided.
    """

    kinds: Integers
    arms: Integers
    blocks: Integers
    values: Reals
    held: Integers
    unasked: Integers

    @classmethod
    def empty(cls, count: int) -> Steps:
        """Uninitialized steps, ``count`` of them, without blocks."""
        kinds, arms, held, unasked = np.empty((4, count), np.int64)
        blocks, values = np.full(count, NO_BLOCK), np.empty(count)
        return cls(kinds, arms, blocks, values, held, unasked)

    def part(self, first: int, end: int) -> Steps:
        """The steps from ``first`` up to ``end``."""
        return Steps(*(array[first:end] for array in self.arrays()))

    def arrays(self) -> list[NDArray[Any]]:
        """The columns, in order."""
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def of(cls, kind: int, arms: Sequence[int] = (0,)) -> Steps:
        """Steps of one kind, for each of these arms, that hold nothing up."""
        steps = cls.empty(len(arms))
        steps.kinds[:], steps.arms[:], steps.values[:] = kind, arms, 0.0
        steps.held[:] = steps.unasked[:] = 0
        return steps


@dataclass(eq=False)
class Position:
    """How far the steps of a call have been taken, and what came of all so far."""

    next: int = 0  # the next step
    decided_at: int = -1  # after how many results the last decision was made; −1: never
    is_stopped: bool = False  # whether that was to stop
    is_initialized: bool = False  # whether the initial pulls are in
