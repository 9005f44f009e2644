"""Trials that end without a result, several at once: those that ended so before are left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from shortlist.errors import TrialClosed
from shortlist.study.insight.summary import trial_numbers

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

UNCHANGED = "nothing was changed"


def close_trials(
    study: Study, numbers: Sequence[int], state: Literal["failed", "cancelled"], reason: str = ""
) -> tuple[list[int], list[int]]:
    """End trials: the numbers of those that end now, and of those that ended so before.

    If one of them has ended in another way, nothing is changed.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> _ = study.ask(2)
    >>> close_trials(study, [1], "cancelled"), close_trials(study, [0, 1], "cancelled")
    (([1], []), ([0], [1]))
    """
    trials = [study.trials[number] for number in dict.fromkeys(numbers)]
    known = [trial.number for trial in trials if trial.state == state]
    pending = [trial for trial in trials if trial.state != state]
    for trial in pending:
        check_open(trial, state)
    for k, trial in enumerate(pending):
        try:
            if state == "failed":
                study.fail(trial, reason)
            else:
                study.cancel(trial)
        except TrialClosed:  # somebody closed it just now
            if study.trials[trial.number].state != state:
                before = f"only {trial_numbers(pending[:k])} could be {state} before"
                check_open(study.trials[trial.number], state, before if k else UNCHANGED)
    return [trial.number for trial in pending], known


def check_open(trial: Trial, wanted: str, outcome: str = UNCHANGED) -> None:
    """Refuse to end a trial that has ended, and say what came of the attempt."""
    if trial.state == "pending":
        return
    stored = ""
    if trial.value is not None:
        right = f"study.correct({trial.number}, value, reason=…)"
        stored = f" ({trial.value!r} is stored; {right} corrects a wrong one)"
    raise TrialClosed(
        f"trial {trial.number} ({trial.name!r}) is {trial.state} and cannot be {wanted}{stored}: "
        f"{outcome}."
    )
