"""What commands print: text folded at the width of the terminal, notes on stderr, or JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import typer

from shortlist.printable import on_one_line, printable

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


def count(number: int, what: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> count(1, "result"), count(1200, "trial")
    ('1 result', '1,200 trials')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def few(names: Iterable[str], most: int = 5) -> str:
    """The first of many names, and an ellipsis for the rest."""
    names = list(names)
    return ", ".join(map(on_one_line, names[:most])) + (" …" if len(names) > most else "")


def iso(seconds: float | None) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC.

    Examples
    --------
    >>> iso(1e9)
    '2001-09-09T01:46:40+00:00'
    """
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


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


def plain(value: Any) -> Any:
    """The value as JSON has it; numbers that are not finite become null.

    Examples
    --------
    >>> plain({"statistic": float("nan"), "names": ("a", "b")})
    {'statistic': None, 'names': ['a', 'b']}
    """
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def from_here(storage: str | None) -> str | None:
    """The path of a storage from the current folder, if it is in it; else as given.

    Examples
    --------
    >>> from_here(os.path.abspath("screen.db")), from_here("postgresql://db/screens")
    ('screen.db', 'postgresql://db/screens')
    """
    if storage is None or "://" in storage:
        return storage
    near = os.path.relpath(storage)
    return storage if near.startswith(os.pardir) else near
