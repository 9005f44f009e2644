"""How a command speaks: words folded at the width of the terminal, or one JSON object."""

from __future__ import annotations

import json
import math
import os
import shutil
import textwrap
from collections.abc import Mapping
from typing import Any

import typer

from shortlist.printable import on_one_line, printable

LABEL = 12


def say(words: object = "", *, err: bool = False) -> None:
    """Print words; what would make a terminal do something else is shown as an escape."""
    typer.echo(printable(words), err=err)


def entry(label: str, words: str) -> str:
    """A label and what it stands for, folded to the right of it.

    Examples
    --------
    >>> print(entry("noise", "σ = 0.5"))
    noise       σ = 0.5
    """
    return fold(words, first=f"{label:{LABEL - 1}} ", rest=" " * LABEL)


def fold(words: str, first: str = "", rest: str = "") -> str:
    """Words as lines that fit the terminal, at most 100 columns wide."""
    width = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(
        words,
        width=max(width, 40),
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


def few(names: Any, most: int = 5) -> str:
    """The first of many names, and dots for the rest."""
    names = list(names)
    return ", ".join(map(on_one_line, names[:most])) + (" …" if len(names) > most else "")


def say_json(report: Mapping[str, Any]) -> None:
    """One JSON object on stdout; what is not finite becomes null.

    It is ASCII alone: a stdout in another encoding would lose signs.
    """
    typer.echo(json.dumps(plain(report), indent=2, ensure_ascii=True, allow_nan=False))


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dicts, as JSON has them.

    Examples
    --------
    >>> plain({"statistic": float("nan"), "names": ("a", "b")})
    {'statistic': None, 'names': ['a', 'b']}
    """
    if hasattr(value, "item"):  # NumPy's own numbers
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def from_here(storage: str | None) -> str | None:
    """A storage as it is named from the current folder, if it is in it.

    Examples
    --------
    >>> from_here(os.path.abspath("screen.db")), from_here("postgresql://db/screens")
    ('screen.db', 'postgresql://db/screens')
    """
    if storage is None or "://" in storage:
        return storage
    near = os.path.relpath(storage)
    return storage if near.startswith(os.pardir) else near
