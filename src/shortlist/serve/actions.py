"""What a client may do to a study: ask, tell, fail, cancel, verify, widen, retire, add.

Each can safely be repeated. A client whose reply was lost sends the same again: a request for trials
is known by its key, a result by its trial or its key, a failure or a cancellation by its trial, and
arms are retired or added once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shortlist.advice import CommandLine
from shortlist.errors import InvalidInput
from shortlist.files.paths import from_here
from shortlist.problem import whole_number
from shortlist.study.insight.summary import trial_report
from shortlist.study.plate import match, read_plate

if TYPE_CHECKING:
    from shortlist.study.plate import PlateResults
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

MOST_TRIALS = 1536  # of one request: the wells of the largest plate that is made
Told = dict[str, list[int]]  # numbers of trials: those "taken" now, and those "known" before


def command_line(study: Study, *, is_json: bool = False) -> CommandLine:
    """Who reads about this study: pages are not read in Python."""
    return CommandLine(from_here(study.storage) or "STUDY", study.name, is_json)


def state(study: Study) -> dict[str, Any]:
    """Where a study stands, as far as it is known without long computations."""
    return {
        "study": study.name,
        "done": study.done,
        "stage": study.stage,
        "evaluations": study.evaluations,
        "pending": len(study.pending),
        "set_aside": [failures.last.name for failures in study.set_aside],
        "retired": [each.name for each in study.retired],
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
    reasons = study.reasons(trials)
    rows = [
        {**trial_report(trial), "why": reason.words}
        for trial, reason in zip(trials, reasons, strict=True)
    ]
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
    """Record results: all or none.

    ``{"trial": 3, "value": 0.5}``, or, for a result that nobody asked for, ``{"arm": "C07",
    "value": 0.5, "key": …}``, with ``"block": …`` in a study with blocks; a list of either kind, ``{"results": […]}``; or a file as the lab
    fills it in, ``{"file": "plate.csv", "text": …, "measured_again": false}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> _ = study.ask()
    >>> tell(study, {"trial": 0, "value": 0.5})["taken"], tell(study, {"trial": 0, "value": 0.5})["known"]
    ([0], [0])
    """
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f'expected an object such as {{"trial": 3, "value": 0.5}}, got {given!r}.'
        )
    if "file" in given:
        check_names(given, needed=["file", "text"], others=["measured_again"])
        return tell_file(study, given["file"], given["text"], given.get("measured_again", False))
    rows = [given]
    if "results" in given:
        check_names(given, needed=["results"])
        rows = given["results"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidInput('results must be a list of {"trial": …, "value": …}.')
    if rows and "arm" in rows[0]:
        for row in rows:
            check_names(row, needed=["arm", "value", "key"], others=["block"])
        unasked = [(row["arm"], row["value"], row["key"], row.get("block")) for row in rows]
        done = tell_unasked(study, unasked)
    else:
        for row in rows:
            check_names(row, needed=["trial", "value"])
        done = tell_results(study, [(row["trial"], row["value"]) for row in rows])
    return {**done, **state(study)}


def tell_unasked(study: Study, results: Sequence[Sequence[object]]) -> Told:
    """Tell results that nobody asked for: arm, value, key, and block where there are blocks.

    Those told before, by their keys, are left alone.
    """
    for arm, _, key, *_ in results:
        named = isinstance(arm, str) or (type(arm) is int and arm in study.problem.names)
        if not named or not isinstance(key, str):
            raise InvalidInput("arm must be a name, and key a text: nothing was told.")
    return _numbers(*study.tell_once(unasked=results))


def preview_file(study: Study, file: str, data: bytes, measured_again: bool) -> PlateResults:
    """What a file of results would tell."""
    study.refresh()
    path = Path(Path(file).name or "plate.csv")
    return match(path, read_plate(path, data), study, measured_again=measured_again)


def tell_file(study: Study, file: object, text: object, measured_again: object) -> dict[str, Any]:
    r"""Tell what a file holds, as ``shortlist tell`` does.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> rows = "arm,value\nash,0.5\nelm,0.75\n"
    >>> tell_file(study, "trees.csv", rows, False)["taken"]
    [0, 1]
    >>> tell_file(study, "trees.csv", rows, False)["known"]
    [0, 1]
    >>> tell_file(study, "trees.csv", rows, True)["taken"]
    [2, 3]
    """
    if not isinstance(file, str) or not isinstance(text, str):
        raise InvalidInput("file (a name) and text (what it holds) must be texts.")
    if not isinstance(measured_again, bool):
        raise InvalidInput(f"measured_again must be true or false, got {measured_again!r}.")
    data = text.encode("utf-8", "surrogatepass")
    told = preview_file(study, file, data, measured_again)
    done = _numbers(*study.tell_once(told.results, told.unasked))
    known = [*told.known, *done["known"]]
    report = {"taken": done["taken"], "known": known, "blank": told.blank, "left": told.left}
    return {**report, **state(study)}


def tell_results(study: Study, results: Sequence[tuple[object, object]]) -> Told:
    """Tell results of trials, by number; those told before with the same value are left alone."""
    rows = [(whole_number("trial", trial, 0), value) for trial, value in results]
    return _numbers(*study.tell_once(rows))


def _numbers(trials: Sequence[Trial], new: Sequence[Trial]) -> Told:
    taken = {trial.number: None for trial in new}
    known = dict.fromkeys(trial.number for trial in trials if trial.number not in taken)
    return {"taken": list(taken), "known": list(known)}


def fail(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Record that trials failed: ``{"trials": [3], "reason": …}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> _ = study.ask()
    >>> fail(study, {"trials": [0], "reason": "the well was empty"})["closed"]
    [0]
    """
    check_names(given, needed=["trials"], others=["reason"])
    return _close(study, given["trials"], "failed", given.get("reason", ""))


def cancel(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Record that trials will not be evaluated: ``{"trials": [3]}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> _ = study.ask()
    >>> cancel(study, {"trials": [0]})["closed"]
    [0]
    """
    check_names(given, needed=["trials"])
    return _close(study, given["trials"], "cancelled")


def verify(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Go on until each arm's own results prove the list: ``{}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], m=1, sigma=0.1, seed=0)
    >>> _ = study.run(lambda trial: trial.arm, progress=False)
    >>> verify(study, {})["done"]
    False
    """
    check_names(given, needed=[])
    study.verify()
    return state(study)


def widen(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Go on with a larger ε: ``{"epsilon": 0.1}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
    >>> widen(study, {"epsilon": 0.1})["epsilon"]
    0.1
    """
    check_names(given, needed=["epsilon"])
    study.widen(given["epsilon"])
    return state(study)


def retire(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Never ask for an arm again: ``{"arm": …, "reason": …}``.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, seed=0)
    >>> given = {"arm": "oak", "reason": "out of stock"}
    >>> retire(study, given)["retired"]
    ['oak']
    """
    check_names(given, needed=["arm", "reason"])
    arm = given["arm"]
    if not isinstance(arm, str):
        raise InvalidInput("arm must be the name of an arm, a text: nothing was changed.")
    study.retire(arm, reason=given["reason"])
    return state(study)


def add(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """Add arms: ``{"arms": [names], "features": [[…], …]}``; without features the names alone.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, seed=0)
    >>> add(study, {"arms": ["yew"]})["arms"]
    4
    """
    check_names(given, needed=["arms"], others=["features"])
    arms = given["arms"]
    if not isinstance(arms, list) or not all(isinstance(name, str) for name in arms):
        raise InvalidInput("arms must be a list of names: nothing was changed.")
    study.add(given.get("features"), arms=arms)
    return {"arms": study.problem.arms, **state(study)}


def _close(
    study: Study, trials: object, ending: Literal["failed", "cancelled"], reason: object = ""
) -> dict[str, Any]:
    if not isinstance(trials, list) or not isinstance(reason, str):
        raise InvalidInput("trials must be a list of numbers, and reason a text.")
    numbers = [whole_number("trial", trial, 0) for trial in trials]
    closed, known = study.end(numbers, ending, reason)
    return {
        "closed": [trial.number for trial in closed],
        "known": [trial.number for trial in known],
        **state(study),
    }


def check_names(given: object, needed: Sequence[str], others: Sequence[str] = ()) -> None:
    """Refuse what is not an object with these names.

    Examples
    --------
    >>> check_names({"n": 3}, needed=["key"], others=["n"])
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: 'key' is missing: expected an object with key, and optionally n.
    """
    optional = f", and optionally {', '.join(others)}" if others else ""
    expected = f"expected an object with {', '.join(needed)}{optional}."
    if not isinstance(given, dict):
        raise InvalidInput(f"got {str(given)[:40]!r}: {expected}")
    for name in needed:
        if name not in given:
            raise InvalidInput(f"{name!r} is missing: {expected}")
    for name in given:
        if name not in (*needed, *others):
            raise InvalidInput(f"{str(name)[:40]!r} is not known here: {expected}")
