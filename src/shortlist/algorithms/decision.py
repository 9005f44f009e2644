"""What was decided, read out of a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from shortlist.algorithms import round as rounds


@dataclass(frozen=True)
class Decision:
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
        """Arms, by ``rounds.B`` and so on."""

    @property
    def figures(self) -> Any:
        """Numbers, by ``rounds.GAP`` and so on."""


def decision_of(now: Decided, *, stop: bool) -> Decision:
    """What the round decided."""
    pair, figures = now.pair, now.figures
    queued = int(pair[rounds.QUEUED])
    return Decision(
        stop=stop,
        arm=int(pair[rounds.ARM]),
        queued=None if queued == rounds.NOBODY else queued,
        b=int(pair[rounds.B]),
        c=int(pair[rounds.C]),
        threshold=float(figures[rounds.THRESHOLD]),
        gap=float(figures[rounds.GAP]),
        statistic=float(figures[rounds.STATISTIC]),
    )
