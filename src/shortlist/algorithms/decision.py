"""What was decided, read out of a round."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from shortlist.algorithms.round import ARM, GAP, QUEUED, STATISTIC, THRESHOLD, B, C
from shortlist.arrays import NO_ARM


class Decision(NamedTuple):
    """One round, read out: why an arm is pulled, or why the search stops."""

    stop: bool
    arm: int
    queued: int | None
    b: int
    c: int
    threshold: float
    gap: float
    statistic: float


class Decided(Protocol):
    """A round, or what else has its pair and its figures."""

    @property
    def pair(self) -> Any:
        """Arms, by ``B`` and so on."""

    @property
    def figures(self) -> Any:
        """Numbers, by ``GAP`` and so on."""


def decision_of(now: Decided, *, stop: bool) -> Decision:
    """What the round decided."""
    pair, figures = now.pair, now.figures
    if isinstance(pair, np.ndarray):  # a list is read in a third of the time
        pair, figures = pair.tolist(), figures.tolist()
    arm, queued = pair[ARM], pair[QUEUED]
    queued = None if queued == NO_ARM else queued
    read = figures[THRESHOLD], figures[GAP], figures[STATISTIC]
    return Decision(stop, arm, queued, pair[B], pair[C], *read)
