"""Cells of CSV files that a spreadsheet shows as text and does not run as formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


# What a spreadsheet takes for a formula, perhaps with apostrophes before it.
FORMULA = re.compile(r"'*\s*[=+\-@\t\r＝＋－＠]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MARK = "'"


def escaped(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would take it for a formula.

    Examples
    --------
    >>> escaped("=cmd|' /C calc'!A0"), escaped("C07"), escaped("-1.5")
    ("'=cmd|' /C calc'!A0", 'C07', '-1.5')
    """
    return MARK + text if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def unescaped(cell: str) -> str:
    """The text from which ``escaped`` made this cell.

    Examples
    --------
    >>> unescaped("'=1+2"), unescaped("''=1+2"), unescaped("'C07")
    ('=1+2', "'=1+2", "'C07")
    """
    return cell[1:] if cell.startswith(MARK) and FORMULA.match(cell) else cell


def csv_line(cells: Iterable[object], separator: str = ",") -> str:
    r"""A line of CSV; its texts are escaped, and in quotes where one ends a line.

    Examples
    --------
    >>> csv_line(["=1+2", 7, "a\rb"])
    '\'=1+2,7,"a\rb"\n'
    """
    text = io.StringIO()
    # The writer puts both \r and \n in quotes only if its own line end has both.
    csv.writer(text, delimiter=separator, lineterminator="\r\n").writerow(map(_cell, cells))
    return text.getvalue().removesuffix("\r\n") + "\n"


def csv_of(frame: pd.DataFrame, **options: Any) -> bytes:
    """A table as CSV; its texts, names and titles are escaped."""
    safe = frame.copy(deep=False)
    for place, kind in enumerate(frame.dtypes):
        if not _is_plain(kind):
            column = frame.iloc[:, place].astype(object)
            safe.isetitem(place, column.map(_cell, na_action="ignore").to_numpy())
    if not _is_plain(frame.index.dtype):
        safe.index = frame.index.map(_cell)
    safe.columns = frame.columns.map(_cell)
    return safe.to_csv(**options).encode()


def _is_plain(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biufcmM"


def _cell(value: Any) -> Any:
    return escaped(value) if isinstance(value, str) else value
