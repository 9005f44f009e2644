"""One evaluation, from its asking to its end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:  # every worker that evaluates loads this file
    from shortlist.algorithms.decision import Decision
    from shortlist.problem import Problem

State = Literal["pending", "told", "failed", "cancelled"]
Origin = Literal["initial", "round", "second of a round", "unasked", "audit", "carried"]
# In this order: their places enter the fingerprints of stored studies.
ORIGINS: tuple[Origin, ...] = (
    "initial",
    "round",
    "second of a round",
    "unasked",
    "audit",
    "carried",
)
NOBODY = -1


class Cause(NamedTuple):
    """What a trial was opened for; arms by their rows, ``NOBODY`` where there is none."""

    origin: Origin
    b: int = NOBODY
    c: int = NOBODY
    gap: float | None = None
    statistic: float | None = None
    second: int = NOBODY  # the other arm that the same round wants, to be asked for next

    @classmethod
    def of(cls, decision: Decision) -> Cause:
        """For the arm that a round decided on."""
        second = NOBODY if decision.queued is None else decision.queued
        return cls("round", decision.b, decision.c, decision.gap, decision.statistic, second)


@dataclass(slots=True)
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
    asked_at, closed_at, expires_at : float or None
        Seconds since 1970: when it was asked for, when it was told (failed, cancelled), and from
        when on it may be asked for again.
    worker : str
        Who asked for it.
    process : str or None
        The process that evaluates it, if its end would be the evaluation's end.
    in_turn : bool
        Whether its result waits for those asked for before it.
    """

    number: int
    arm: int
    name: str
    seed: int
    state: State = "pending"
    value: float | None = None
    reason: str | None = None
    asked_at: float = 0.0
    closed_at: float | None = None
    expires_at: float | None = None
    worker: str = ""
    process: str | None = None
    in_turn: bool = False
    cause: Cause = field(default=Cause("unasked"), repr=False)
    opened: int = field(default=0, repr=False)  # the change of the study that opened it
    closed: int | None = field(default=None, repr=False)  # and the one that closed it

    def become(self, other: Trial) -> None:
        """Take over all that another says of the same trial."""
        self.put_back(other.fields)

    @property
    def fields(self) -> tuple[Any, ...]:
        """All that it says now, for ``put_back``."""
        return tuple(_FIELDS(self))

    def put_back(self, fields: tuple[Any, ...]) -> None:
        """Say again what it said when these were its fields."""
        for name, value in zip(self.__slots__, fields, strict=True):
            setattr(self, name, value)

    @property
    def row(self) -> tuple[Any, ...]:
        """The trial as it is stored (``ledger.ROW``)."""
        fields = (self.number, self.arm, self.state, self.value, self.reason, self.asked_at)
        rest = (self.closed_at, self.expires_at, self.worker, self.process, int(self.in_turn))
        return (*fields, *rest, *self.cause, self.opened, self.closed)


_FIELDS = attrgetter(*Trial.__slots__)


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
        What must fall to ε for the study to stop; with a budget it decides nothing.
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
    def of(
        cls, trial: Trial, problem: Problem, budget: int | None = None, *, planned: bool = False
    ) -> Reason:
        """The reason of a trial, in words."""
        cause, arm = trial.cause, trial.name
        if cause.b == NOBODY:
            what = {
                "initial": "part of the first plan" if planned else "an initial pull",
                "audit": "part of the audit: it tests whether the means are linear in the features",
                "carried": "a result carried over from another study",
            }.get(cause.origin, "data that nobody asked for")
            return cls(arm, None, None, None, None, f"{arm!r} is {what}.")
        b, c = problem.names[cause.b], problem.names[cause.c]
        gap = math.nan if cause.gap is None else cause.gap  # a database has no NaN
        statistic = math.nan if cause.statistic is None else cause.statistic
        stop = f"the study stops when {statistic:.4g} has fallen to {problem.epsilon:g}"
        if budget is not None:
            stop = f"the study stops after {budget:,} evaluations"
        elif math.isnan(statistic):
            stop = "it was part of the pilot, in which the stop is not looked for"
        purpose = (
            "is part of a plan to tell arms apart, above all"
            if planned
            else "was asked for to tell"
        )
        words = (
            f"{arm!r} {purpose} {b!r} (held to be among the best "
            f"{problem.m}) from its challenger {c!r}, which may still be better by "
            f"{gap:.4g}; {stop}."
        )
        return cls(arm, b, c, gap, statistic, words)

    def __str__(self) -> str:
        return self.words
