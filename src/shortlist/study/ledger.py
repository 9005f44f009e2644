"""The book of trials: who was asked, who has answered."""

from __future__ import annotations

import numbers

import numpy as np

from shortlist.core.random import run_seed
from shortlist.errors import InvalidInput, TrialClosed, UnknownTrial
from shortlist.study.trial import Reason, State, Trial


class Ledger:
    """All trials of a study, the open ones apart."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        self._names, self._seed = names, seed
        self.trials: list[Trial] = []
        self._pending: dict[int, Trial] = {}
        self._reasons: list[Reason] = []

    @property
    def pending(self) -> list[Trial]:
        """The open trials, oldest first."""
        return list(self._pending.values())

    def open(self, arm: int, reason: Reason) -> Trial:
        """A new pending trial."""
        number = len(self.trials)
        with np.errstate(over="ignore"):
            seed = int(run_seed(np.uint64(self._seed), number))
        trial = Trial(number, arm, self._names[arm], seed)
        self.trials.append(trial)
        self._reasons.append(reason)
        self._pending[number] = trial
        return trial

    def close(self, trial: Trial, state: State) -> None:
        """End a pending trial."""
        if trial.state != "pending":
            remedy = " Pass if_told='ignore' to import twice." if trial.state == "told" else ""
            raise TrialClosed(
                f"trial {trial.number} ({trial.name!r}) is {trial.state}, not pending.{remedy}"
            )
        trial.state = state
        del self._pending[trial.number]

    def find(self, trial: Trial | int | None) -> Trial:
        """The trial meant by itself or by its number."""
        number = trial.number if isinstance(trial, Trial) else trial
        if isinstance(number, bool) or not isinstance(number, numbers.Integral):
            raise UnknownTrial(f"a trial is named by itself or by its number, got {trial!r}.")
        if not 0 <= int(number) < len(self.trials):
            raise UnknownTrial(
                f"trial {number} is unknown: this study has asked for {len(self.trials)} so far. "
                "Use tell(arm=…, value=…) for data that nobody asked for."
            )
        own = self.trials[int(number)]
        if isinstance(trial, Trial) and trial is not own:
            raise UnknownTrial(f"trial {number} belongs to another study.")
        return own

    def reason(self, trial: Trial | int) -> Reason:
        """Why it was opened."""
        return self._reasons[self.find(trial).number]


def checked_value(value: object) -> float:
    """A result that can be told.

    Examples
    --------
    >>> checked_value(float("nan"))
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: a result must be finite, got nan: nothing was told. Use fail(trial, reason) for an evaluation that came to nothing.
    """
    if not isinstance(value, (numbers.Real, np.bool_)):
        raise InvalidInput(
            f"a result must be a number, got {value!r} ({type(value).__name__}): nothing was told."
        )
    number = float(value)
    if not np.isfinite(number):
        raise InvalidInput(
            f"a result must be finite, got {number}: nothing was told. Use fail(trial, reason) for "
            "an evaluation that came to nothing."
        )
    return number
