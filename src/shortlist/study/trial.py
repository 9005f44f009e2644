"""One evaluation, from its asking to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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

    def __str__(self) -> str:
        return self.words
