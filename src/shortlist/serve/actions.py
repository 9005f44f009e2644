"""What a client may do to a study: ask, tell and fail, each of which can be repeated at will.

A client whose reply was lost sends the same again: a request for trials is known by its key, a
result by its trial or its key, a failure by its trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shortlist.errors import InvalidInput, TrialClosed, UnknownTrial
from shortlist.problem import whole_number
from shortlist.study.insight.summary import trial_report
from shortlist.study.running.objective import checked_value

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

MOST_TRIALS = 1536  # of one request: the wells of the largest plate that is made
TRIES = 5  # to tell what others tell at the same time


@dataclass(frozen=True)
class Done:
    """What was done now, and what had been done before: numbers of trials."""

    now: list[int]
    before: list[int]


def state(study: Study) -> dict[str, Any]:
    """Where a study stands, as far as it is known without long computations."""
    return {
        "study": study.name,
        "done": study.done,
        "stage": study.stage,
        "evaluations": study.evaluations,
        "pending": len(study.pending),
        "statistic": study.statistic,
        "epsilon": study.problem.epsilon,
    }


def ask(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """The trials of a request, ``{"key": …, "n": …}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> [trial["arm"] for trial in ask(study, {"key": "plate 1", "n": 2})["trials"]]
    ['ash', 'elm']
    """
    check_names(given, needed=["key"], others=["n"])
    trials = ask_for(study, given.get("n", 1), given["key"])
    rows = [{**trial_report(trial), "why": study.why(trial).words} for trial in trials]
    return {"trials": rows, **state(study)}


def ask_for(study: Study, n: object, key: object) -> list[Trial]:
    """The trials of a request."""
    count = whole_number("n", n, 1)
    if count > MOST_TRIALS:
        raise InvalidInput(f"n must be at most {MOST_TRIALS:,}, got {count:,}: ask several times.")
    if not isinstance(key, str):
        raise InvalidInput(f"key must be a text, got {key!r}: nothing was asked.")
    return study.ask(count, key=key)


def tell(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Take in results: all or none.

    ``{"trial": 3, "value": 0.5}``, ``{"results": [{"trial": 3, "value": 0.5}, …]}``, or, of a trial
    that nobody asked for, ``{"arm": "C07", "value": 0.5, "key": …}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> _ = study.ask()
    >>> tell(study, {"trial": 0, "value": 0.5})["taken"], tell(study, {"trial": 0, "value": 0.5})["known"]
    ([0], [0])
    """
    if "arm" in given:
        check_names(given, needed=["arm", "value", "key"])
        done = _tell_unasked(study, given["arm"], given["value"], given["key"])
    else:
        rows = [given]
        if "results" in given:
            check_names(given, needed=["results"])
            rows = given["results"]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InvalidInput('results must be a list of {"trial": …, "value": …}.')
        for row in rows:
            check_names(row, needed=["trial", "value"])
        done = tell_results(study, [(row["trial"], row["value"]) for row in rows])
    return {"taken": done.now, "known": done.before, **state(study)}


def _tell_unasked(study: Study, arm: object, value: object, key: object) -> Done:
    if not isinstance(arm, str) or not isinstance(key, str):
        raise InvalidInput("arm and key must be texts: nothing was told.")
    before = len(study.trials)
    number = study.tell(arm=arm, value=checked_value(value), key=key).number
    return Done([number], []) if number >= before else Done([], [number])


def tell_results(study: Study, results: Sequence[tuple[object, object]]) -> Done:
    """Tell results of trials, by number; those told before with the same value are left alone."""
    values = {_number(study, trial): checked_value(value) for trial, value in results}
    if len(values) < len(results):
        raise InvalidInput("a trial stands there twice: nothing was told.")
    for last in [False] * (TRIES - 1) + [True]:
        study.refresh()
        known = [
            number
            for number, value in values.items()
            if (trial := study.trials[number]).state == "told" and trial.value == value
        ]
        fresh = {number: value for number, value in values.items() if number not in known}
        _check_open(study, list(fresh), "told")
        try:
            study.tell_many(fresh.items())
            break
        except TrialClosed:  # somebody told one of these just now: look again
            if last:
                raise
    return Done(list(fresh), known)


def fail(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Say that trials came to nothing: ``{"trials": [3], "reason": …}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> _ = study.ask()
    >>> fail(study, {"trials": [0], "reason": "the well was empty"})["closed"]
    [0]
    """
    check_names(given, needed=["trials"], others=["reason"])
    trials, reason = given["trials"], given.get("reason", "")
    if not isinstance(trials, list) or not isinstance(reason, str):
        raise InvalidInput("trials must be a list of numbers, and reason a text.")
    done = fail_trials(study, trials, reason)
    return {"closed": done.now, "known": done.before, **state(study)}


def fail_trials(study: Study, trials: Sequence[object], reason: str) -> Done:
    """Mark trials as failed; those that have failed before are left alone."""
    study.refresh()
    numbers = list(dict.fromkeys(_number(study, trial) for trial in trials))
    known = [number for number in numbers if study.trials[number].state == "failed"]
    fresh = [number for number in numbers if number not in known]
    _check_open(study, fresh, "failed")
    for number in fresh:
        study.fail(number, reason)
    return Done(fresh, known)


def _number(study: Study, trial: object) -> int:
    """The number of a trial that was asked for."""
    number = whole_number("trial", trial, 0)
    if number >= len(study.trials):
        study.refresh()
    if number >= len(study.trials):
        raise UnknownTrial(
            f"there is no trial {number}: the study has asked for {len(study.trials)} so far, "
            "numbered from 0."
        )
    return number


def _check_open(study: Study, numbers: Sequence[int], wanted: str) -> None:
    for number in numbers:
        trial = study.trials[number]
        if trial.state != "pending":
            stored, remedy = "", ""
            if trial.value is not None:
                stored = f" ({trial.value!r} is stored)"
                remedy = " `shortlist correct` puts a wrong result right."
            raise TrialClosed(
                f"trial {number} ({trial.name!r}) is {trial.state}{stored} and cannot be {wanted} "
                f"any more: nothing was changed.{remedy}"
            )


def check_names(given: object, needed: Sequence[str], others: Sequence[str] = ()) -> None:
    """Refuse what is no object of these names.

    Examples
    --------
    >>> check_names({"n": 3}, needed=["key"], others=["n"])
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: 'key' is missing: expected an object with key, and n if need be.
    """
    optional = f", and {', '.join(others)} if need be" if others else ""
    expected = f"expected an object with {', '.join(needed)}{optional}."
    if not isinstance(given, dict):
        raise InvalidInput(f"got {str(given)[:40]!r}: {expected}")
    for name in needed:
        if name not in given:
            raise InvalidInput(f"{name!r} is missing: {expected}")
    for name in given:
        if name not in (*needed, *others):
            raise InvalidInput(f"{str(name)[:40]!r} is not known here: {expected}")
