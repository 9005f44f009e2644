"""Trials in words, in rows and by number."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shortlist.cli.moments import iso, span
from shortlist.cli.opening import open_study
from shortlist.errors import InvalidSetting, UnknownTrial
from shortlist.printable import on_one_line

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial


def trial_report(trial: Trial) -> dict[str, Any]:
    """A trial as JSON and exported tables have it."""
    return {
        "trial": trial.number,
        "arm": trial.name,
        "state": trial.state,
        "value": trial.value,
        "reason": trial.reason,
        "asked": iso(trial.asked_at),
        "closed": iso(trial.closed_at),
        "due": iso(trial.expires_at),
        "worker": trial.worker,
        "seed": trial.seed,
        "origin": trial.cause.origin,
    }


def in_rows(trials: Sequence[Trial]) -> str:
    """Open trials, a line each: since when, and until when.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> now = time.time()
    >>> print(in_rows([SimpleNamespace(number=7, name="C01", asked_at=now, expires_at=now + 7300)]))
    trial  arm  asked    due
        7  C01  0 s ago  in 2 h
    """
    now = time.time()
    rows = [("trial", "arm", "asked", "due")]
    for trial in trials:
        asked = "" if trial.asked_at is None else f"{span(now - trial.asked_at)} ago"
        rows.append(
            (f"{trial.number:5}", on_one_line(trial.name), asked, _due(trial.expires_at, now))
        )
    if not any(due for *_, due in rows[1:]):
        rows[0] = (*rows[0][:3], "")
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def _due(expires: float | None, now: float) -> str:
    if expires is None:
        return ""
    return f"in {span(expires - now)}" if expires > now else f"{span(now - expires)} over"


def by_number(trials: Sequence[Trial]) -> str:
    """Numbers of trials, runs of them drawn together.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> by_number([SimpleNamespace(number=k) for k in (3, 4, 5, 8)])
    '3–5, 8'
    """
    runs: list[list[int]] = []
    for trial in trials:
        if runs and trial.number == runs[-1][-1] + 1:
            runs[-1].append(trial.number)
        else:
            runs.append([trial.number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def find_trials(place: str | None, words: list[str], name: str | None) -> tuple[Study, list[Trial]]:
    """The study, and its trials by number; a number where the study should be is a trial too."""
    if place is not None and _is_number(place):
        words, place = [place, *words], None
    study = open_study(place, name)
    if not words:
        raise InvalidSetting("name a trial by its number: `shortlist status` lists the open ones.")
    for word in words:
        if not _is_number(word) or int(word) >= len(study.trials):
            raise UnknownTrial(
                f"there is no trial {word[:40]!r}: the study has asked for {len(study.trials)} so far, "
                "numbered from 0. `shortlist status` lists the open ones."
            )
    return study, [study.trials[number] for number in dict.fromkeys(map(int, words))]


def _is_number(word: str) -> bool:
    return bool(re.fullmatch("[0-9]{1,18}", word))
