"""One evaluation, from its asking to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shortlist.algorithms.engine import Decision
from shortlist.problem import Problem

State = Literal["pending", "told", "failed", "cancelled"]


@dataclass
class Trial:
    """An evaluation that the study asked for, or was told of.

    Attributes
    ----------
    number : int
        Counted from 0, in the order of asking.
    arm : int
        Which arm, by its row in the features.
    name : str
        Which arm, by its name.
    seed : int
        For a stochastic simulator: another one for every trial.
    state : {"pending", "told", "failed", "cancelled"}
        Where it stands.
    value : float or None
        What was told.
    reason : str or None
        Why it failed.
    """

    number: int
    arm: int
    name: str
    seed: int
    state: State = "pending"
    value: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Reason:
    """Why an arm was asked for.

    Attributes
    ----------
    arm : str
        What was asked for.
    b, c : str or None
        The ambiguous candidate and its challenger; None for an initial pull or data that nobody
        asked for.
    gap : float or None
        Their gap index B_{c,b}: how much better c may still be than b.
    statistic : float or None
        What must fall to ε for the study to stop.
    words : str
        All that in a sentence.
    """

    arm: str
    b: str | None
    c: str | None
    gap: float | None
    statistic: float | None
    words: str

    @classmethod
    def plain(cls, arm: str, what: str) -> Reason:
        """For a trial that no round decided on."""
        return cls(arm, None, None, None, None, f"{arm!r} is {what}.")

    @classmethod
    def of(cls, decision: Decision, arm: int, problem: Problem) -> Reason:
        """For a trial that a round decided on."""
        names = problem.names
        b, c = names[decision.b], names[decision.c]
        words = (
            f"{names[arm]!r} was asked for to tell {b!r} (held to be among the best "
            f"{problem.m}) from its challenger {c!r}, which may still be better by "
            f"{decision.gap:.4g}; the study stops when {decision.statistic:.4g} has fallen to "
            f"{problem.epsilon:g}."
        )
        return cls(names[arm], b, c, decision.gap, decision.statistic, words)

    def __str__(self) -> str:
        return self.words
