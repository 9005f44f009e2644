"""Numbers as people and spreadsheets write them: a decimal comma is read where it can mean nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from shortlist.errors import InvalidInput

Cell = tuple[str, str]  # where it stands, for errors, and what stands there

POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COMMA = re.compile(r"[+-]?(\d+,\d+|,\d+)([eE][+-]?\d+)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


def read_results(cells: Sequence[Cell]) -> list[float]:
    """The results of one file, in the order of its lines; blank cells are left out before.

    Examples
    --------
    >>> read_results([("line 2", "0,5"), ("line 3", "1,234")])
    [0.5, 1.234]
    >>> read_results([("line 2", "1,234")])
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: line 2: '1,234' may be 1.234 or 1234. Write one of these.
    """
    texts = [(where, cell.replace("−", "-")) for where, cell in cells]
    for where, text in texts:
        if not (POINT.fullmatch(text) or COMMA.fullmatch(text)):
            raise InvalidInput(f"{where}: {_no_number(text)}")
    commas = [(where, text) for where, text in texts if "," in text]
    points = [(where, text) for where, text in texts if "." in text]
    unsure = [(where, text) for where, text in commas if THOUSANDS.fullmatch(text)]
    if commas and points:
        (where, text), (other, pointed) = commas[0], points[0]
        raise InvalidInput(
            f"{where}: {text!r} has a comma, and {pointed!r} ({other}) a decimal point. Use one of "
            "them throughout."
        )
    # One number such as 0,5 or 12,75 settles that commas are decimal in this file.
    if unsure and len(unsure) == len(commas):
        where, text = unsure[0]
        readings = f"{text.replace(',', '.')} or {text.replace(',', '')}"
        raise InvalidInput(f"{where}: {text!r} may be {readings}. Write one of these.")
    values = [float(text.replace(",", ".")) for _, text in texts]
    for (where, text), value in zip(texts, values, strict=True):
        if not math.isfinite(value):
            raise InvalidInput(f"{where}: {text!r} is too large for a number.")
    return values


def _no_number(text: str) -> str:
    what = "is not finite" if text.lstrip("+-").lower() in ("nan", "inf") else "is not a number"
    return (
        f"the value {text!r} {what}. Leave it blank while the result is out; if there will be "
        "none, leave it blank too and run `shortlist fail`."
    )
