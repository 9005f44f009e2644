"""One evaluation, from its asking to its end."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from shortlist import notebook
from shortlist.arrays import NO_ARM, NO_BLOCK, Label, Reals
from shortlist.blocks import Cell
from shortlist.engine.aim import Aim
from shortlist.engine.contract import ROUNDS, Pace

if TYPE_CHECKING:  # every worker that evaluates loads this file
    import pandas as pd

    from shortlist.engine.contract import Decision
    from shortlist.problem import Problem

State = Literal["pending", "told", "failed", "cancelled"]
# In this order: their places enter the fingerprints of stored studies.
Origin = Literal["initial", "round", "second of a round", "unasked", "audit", "carried", "control"]


FAILURES_IN_A_ROW = 3  # of an arm, after which it is set aside


class Cause(NamedTuple):
    """What a trial was opened for; arms by their rows, ``NO_ARM`` where there is none."""

    origin: Origin
    b: int = NO_ARM
    c: int = NO_ARM
    gap: float | None = None
    statistic: float | None = None
    second: int = NO_ARM  # the other arm that the same round wants, to be asked for next

    @classmethod
    def of(cls, decision: Decision) -> Cause:
        """The cause of a trial of the arm that a round decided on."""
        second = NO_ARM if decision.queued is None else decision.queued
        return cls("round", decision.b, decision.c, decision.gap, decision.statistic, second)


class FeatureRow:
    """The features of one arm, and what they are called if they have names.

    It is no tuple and no dataclass: the fields of a trial are compared, and arrays cannot be.
    """

    __slots__ = ("columns", "numbers")

    def __init__(self, numbers: Reals, columns: tuple[str, ...] | None) -> None:
        self.numbers, self.columns = numbers, columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureRow) and self.numbers.tolist() == other.numbers.tolist()

    def __hash__(self) -> int:
        return hash(self.columns)


class Correction(NamedTuple):
    """A told result that was corrected."""

    was: float
    value: float
    reason: str
    at: float  # seconds since 1970
    worker: str  # who corrected it


@dataclass(frozen=True, slots=True)
class Trial:
    """An evaluation that the study asked for, or an unrequested result, as it was at one moment.

    Later changes make other objects: ``study.trials`` has the trials as they are now, and ``tell``
    returns the told one.

    Attributes
    ----------
    number : int
        Counted from 0, in the order of asking.
    arm : int
        Which arm, by its row in the features.
    name : int or str
        Which arm, by its name, as it was given.
    block : int, str or None
        The block it is evaluated on, by its name or number; None in a study without blocks.
    seed : int
        For a stochastic simulator: different for every trial, or for every block where there are
        blocks.
    state : {"pending", "told", "failed", "cancelled"}
        Its state.
    value : float or None
        The result.
    reason : str or None
        Why it failed; of a told one, how an attempt before failed.
    asked_at, closed_at, expires_at : float or None
        Seconds since 1970: when it was asked for, when it was told (failed, cancelled), and
        when its lease expires.
    worker : str
        Who asked for it: user and machine, or ``key`` and the key it was asked for with.
    run : str or None
        The run that evaluates it, which says so as long as it does.
    in_turn : bool
        Whether its result waits for those asked for before it.
    key : str or None
        What ``tell(arm=…, value=…, key=…)`` was given to tell this result from others; of a copy,
        the trial of another study that it is a copy of.
    other_keys : tuple of str
        If it is a copy, the keys of that trial.
    corrections : tuple of Correction
        How ``value`` was corrected after it was told, the first one first: was, value, reason, at,
        worker.
    features : Series or None
        The features of the arm, as they were given, by the names of their columns.
    """

    number: int
    arm: int
    name: Label
    seed: int
    state: State = "pending"
    value: float | None = None
    reason: str | None = None
    asked_at: float = 0.0
    closed_at: float | None = None
    expires_at: float | None = None
    worker: str = ""
    run: str | None = None
    in_turn: bool = False
    cause: Cause = field(default=Cause("unasked"), repr=False)
    opened: int = field(default=0, repr=False)  # the change of the study that opened it
    closed: int | None = field(default=None, repr=False)  # and the one that closed it
    key: str | None = field(default=None, repr=False)
    other_keys: tuple[str, ...] = field(default=(), repr=False)
    corrections: tuple[Correction, ...] = field(default=(), repr=False)
    block: int | str | None = None
    block_index: int = field(default=NO_BLOCK, repr=False)  # which one, counted from 0
    feature_row: FeatureRow | None = field(default=None, repr=False, compare=False)

    def _repr_html_(self) -> str:
        shown = ["number", "arm", "name", "state", "value"]
        shown += [each for each in ("block", "reason", "key") if getattr(self, each) is not None]
        row = [getattr(self, each) for each in shown]
        if self.corrections:
            shown, row = [*shown, "first value"], [*row, self.first_value]
        return notebook.table(shown, [row])

    @property
    def features(self) -> pd.Series[float] | None:
        """The features of the arm, by the names of their columns; None where there are none.

        Examples
        --------
        >>> import pandas as pd
        >>> from shortlist import Study
        >>> table = pd.DataFrame({"dose": [1.0, 2.0, 4.0]}, index=["C07", "C08", "C09"])
        >>> Study(table, m=1, sigma=0.1, seed=0).ask().features["dose"]
        np.float64(1.0)
        """
        import pandas as pd

        if self.feature_row is None:
            return None
        row = self.feature_row
        return pd.Series(row.numbers, index=row.columns, name=self.name)

    @property
    def cell(self) -> Cell:
        """The arm and the block, by their numbers."""
        return Cell(self.arm, self.block_index)

    @property
    def keys(self) -> tuple[str, ...]:
        """All that tells this result from others."""
        return self.other_keys if self.key is None else (self.key, *self.other_keys)

    @property
    def carried_from(self) -> str | None:
        """The trial of another study that this is a copy of, such as "screen-93a1e6bc, trial 7"."""
        return self.key if self.cause.origin == "carried" else None

    @property
    def was_asked(self) -> bool:
        """Whether this study gave it out to be evaluated."""
        return self.cause.origin not in ("unasked", "carried")

    @property
    def first_value(self) -> float | None:
        """What was told, before any correction."""
        return self.corrections[0].was if self.corrections else self.value

    def was_told(self, value: float) -> bool:
        """Whether this is its value, or was before a correction."""
        return value == self.value or any(value == each.was for each in self.corrections)

    def is_like(self, other: Trial) -> bool:
        """Whether both were told the same value, at first or by a correction."""
        values = {other.value, *(each.was for each in other.corrections)}
        return any(value is not None and self.was_told(value) for value in values)

    @property
    def row(self) -> tuple[Any, ...]:
        """The trial as it is stored (``storage.base.ROW``)."""
        fields = (self.number, *self.cell, self.state, self.first_value, self.reason)
        rest = (
            self.asked_at,
            self.closed_at,
            self.expires_at,
            self.worker,
            self.run,
            int(self.in_turn),
        )
        keys = json.dumps(self.other_keys) if self.other_keys else None
        return (*fields, *rest, *self.cause, self.opened, self.closed, self.key, keys)


class Trials(Sequence[Trial]):
    """The trials of a study: a list that grows with it, and that only the study changes.

    Examples
    --------
    >>> trials = Trials([Trial(0, 2, "ash", seed=7), Trial(1, 0, "elm", seed=8)])
    >>> [trial.name for trial in trials], len(trials), trials[1].name
    (['ash', 'elm'], 2, 'elm')
    >>> [trial.number for trial in sorted(trials, key=lambda trial: trial.arm)]
    [1, 0]
    """

    __slots__ = ("_listed",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, listed: list[Trial]) -> None:
        self._listed = listed

    @overload
    def __getitem__(self, place: int) -> Trial: ...
    @overload
    def __getitem__(self, place: slice) -> list[Trial]: ...
    def __getitem__(self, place: int | slice) -> Trial | list[Trial]:
        return self._listed[place]

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._listed)

    def __eq__(self, other: object) -> bool:
        return self._listed == (other._listed if isinstance(other, Trials) else other)

    def __add__(self, other: Sequence[Trial]) -> list[Trial]:
        return [*self._listed, *other]

    def __repr__(self) -> str:
        return repr(self._listed)


def came_together(trials: Sequence[Trial]) -> tuple[str, list[str]]:
    """How told trials came together, and the group of each, by a text that is the group's own.

    Those that were told in one call came together; or, where most were told one by one, those that
    were asked for in one call. How is empty where most were asked for one by one too.

    Examples
    --------
    >>> came_together([Trial(k, 0, "ash", 7, closed_at=float(k // 2)) for k in range(4)])
    ('told', ['told 0.0', 'told 0.0', 'told 1.0', 'told 1.0'])
    """
    for how, times in (
        ("told", [trial.closed_at for trial in trials]),
        ("asked for", [trial.asked_at for trial in trials]),
    ):
        sizes = Counter(times)
        if 2 * sum(sizes[time] > 1 for time in times) > len(trials):
            return how, [f"{how} {time!r}" for time in times]
    return "", [f"trial {trial.number}" for trial in trials]


@dataclass(frozen=True)
class Reason:
    """Why an arm was asked for.

    Attributes
    ----------
    arm : int or str
        What was asked for.
    b, c : int, str or None
        b: the arm of the shortlist whose place was least certain. c: its strongest challenger.
        None for an initial pull or unrequested data.
    gap : float or None
        Their gap index B_{c,b}: how much better c may still be than b.
    statistic : float or None
        The study stops when this is at most ε; with a budget it decides nothing.
    words : str
        The reason as a sentence.
    """

    arm: Label
    b: Label | None
    c: Label | None
    gap: float | None
    statistic: float | None
    words: str

    @classmethod
    def of(
        cls,
        trial: Trial,
        problem: Problem,
        aim: Aim,
        pace: Pace = ROUNDS,
        *,
        beyond: bool = False,
    ) -> Reason:
        """The reason of a trial, in words; ``beyond`` the first plan it is one more pull."""
        cause, arm = trial.cause, trial.name
        if cause.b == NO_ARM:
            copied = "another study" if trial.key is None else trial.key
            first = pace.one_opening_pull
            if beyond:
                first = "one more pull, asked for before the results of the first plan were in"
            what = {
                "initial": first,
                "audit": "part of the audit: it tests whether the means are linear in the features",
                "carried": f"a result carried over from {copied}",
                "control": "a control: every block has it, and it is never listed",
            }.get(cause.origin, "unrequested data")
            return cls(arm, None, None, None, None, f"{arm!r} is {what}.")
        b, c = problem.names[cause.b], problem.names[cause.c]
        gap = math.nan if cause.gap is None else cause.gap  # a database has no NaN
        statistic = math.nan if cause.statistic is None else cause.statistic
        stop = aim.stop_words(statistic, problem.epsilon)
        words = (
            f"{arm!r} {pace.one_pull} b = {b!r}, the least certain of the {problem.m} that looked best, "
            f"with its challenger c = {c!r}, which may be better by {gap:.4g}; {stop}."
        )
        return cls(arm, b, c, gap, statistic, words)

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return notebook.paragraph(self.words)
