"""What commands print: text folded at the width of the terminal, notes on stderr, or JSON."""

from __future__ import annotations

import json
import shutil
import textwrap
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from shortlist.errors import number_hint
from shortlist.printable import on_one_line, plain, printable
from shortlist.study.insight.summary import study_report, study_words

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

LABEL = 12  # columns
UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def say(words: object = "", *, err: bool = False) -> None:
    """Print text, with control characters that a terminal would obey shown as escapes."""
    typer.echo(printable(words), err=err)


def note(words: str) -> None:
    """Print a line on stderr that is not a failure."""
    say("note: " + " ".join(words.split()), err=True)


@contextmanager
def noting_warnings() -> Iterator[None]:
    """Print Python's warnings as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        note(str(warning.message))


def decimal(text: str) -> float:
    """The number that an option was given, with a word about decimal commas.

    Examples
    --------
    >>> decimal("0.5")
    0.5
    """
    try:
        return float(text)
    except ValueError:
        hint = number_hint(text).partition(":")[0]
        raise typer.BadParameter(
            f"{text!r} is not a number." + (f"{hint}, with a decimal point." if hint else "")
        ) from None


def say_entry(label: str, words: str) -> None:
    """Print a label and its text, folded to the right of it.

    Examples
    --------
    >>> say_entry("noise", "σ = 0.5")
    noise       σ = 0.5
    """
    say(fold(words, first=f"{label:{LABEL - 1}} ", rest=" " * LABEL))


def fold(words: str, first: str = "", rest: str = "") -> str:
    """The text as lines that fit the terminal, at most 100 columns wide."""
    return textwrap.fill(
        words,
        width=max(min(shutil.get_terminal_size().columns, 100), 40),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def duration(seconds: float) -> str:
    """A duration in its largest unit.

    Examples
    --------
    >>> duration(7200.0), duration(100000.0), duration(0.2)
    ('2 h', '1.2 days', '0 s')
    """
    size, unit = next((pair for pair in UNITS if abs(seconds) >= pair[0]), UNITS[-1])
    figure = seconds / size
    return f"{figure:.1f} {unit}".replace(".0 ", " ") if size > 1 else f"{figure:.0f} {unit}"


def say_json(report: Mapping[str, Any]) -> None:
    """Print one JSON object, in ASCII: a stdout in another encoding would lose characters."""
    typer.echo(json.dumps(plain(report), indent=2, ensure_ascii=True, allow_nan=False))


def say_state(study: Study, as_json: bool, done: str = "", **report: Any) -> None:
    """Print what a command has done, and the state that it leaves the study in."""
    if as_json:
        say_json({**report, **study_report(study)})
        return
    if done:
        say(done)
    words = study_words(study)
    if study.audit.rejection is not None:
        from shortlist.study.insight.linearity_words import remedy

        words = f"{words} {remedy(study)}"
    say(fold(words))


def trial_rows(trials: Sequence[Trial]) -> str:
    """A table of open trials: when each was asked for, and when it is due.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> now = time.time()
    >>> trial = SimpleNamespace(number=7, name="C01", block=None, asked_at=now, expires_at=now + 7300)
    >>> print(trial_rows([trial]))
    trial  arm  asked    due
        7  C01  0 s ago  in 2 h
    """
    now = time.time()
    due_heading = "due" if any(t.expires_at is not None for t in trials) else ""
    of_block = any(t.block is not None for t in trials)
    rows = [("trial", "arm", *["block"] * of_block, "asked", due_heading)]
    for trial in trials:
        asked = "" if trial.asked_at is None else f"{duration(now - trial.asked_at)} ago"
        due = ""
        if trial.expires_at is not None:
            left = trial.expires_at - now
            due = f"in {duration(left)}" if left > 0 else f"{duration(-left)} over"
        block = [on_one_line(str(trial.block))] * of_block
        rows.append((f"{trial.number:5}", on_one_line(trial.name), *block, asked, due))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
