"""Numbers as people and spreadsheets write them: a decimal comma is read where it can mean nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from shortlist.errors import InvalidInput

Cell = tuple[str, str]  # where it stands, for errors, and what stands there

POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COMMA = re.compile(r"[+-]?(\d+,\d+|,\d+)([eE][+-]?\d+)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
MINUS = "−"  # as word processors write it


def read_results(cells: Sequence[Cell]) -> list[float]:
    """The results of one file, in the order of its lines; blank cells are left out before.

    Examples
    --------
    >>> read_results([("line 2", "0,5"), ("line 3", "1,234")])
    [0.5, 1.234]
    """
    return read_numbers([text for _, text in cells], lambda k: cells[k][0], _no_result)


def read_numbers(
    cells: Sequence[str], where: Callable[[int], str], no_number: Callable[[str], str]
) -> list[float]:
    """The numbers of one file; all of them together tell what a comma means in it.

    Parameters
    ----------
    cells : sequence of str
        What stands there.
    where : callable
        Where the k-th of them stands, for errors.
    no_number : callable
        What to say of a cell that holds something else.

    Examples
    --------
    >>> read_numbers(["1,234"], lambda k: f"line {k + 2}", repr)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: line 2: '1,234' may be 1.234 or 1234. Write one of these.
    """
    texts = [cell.replace(MINUS, "-") for cell in cells]
    for k, text in enumerate(texts):
        if not (POINT.fullmatch(text) or COMMA.fullmatch(text)):
            raise InvalidInput(f"{where(k)}: {no_number(text)}")
    commas = [k for k, text in enumerate(texts) if "," in text]
    point = next((k for k, text in enumerate(texts) if "." in text), None)
    if commas and point is not None:
        raise InvalidInput(
            f"{where(commas[0])}: {texts[commas[0]]!r} has a comma, and {texts[point]!r} "
            f"({where(point)}) a decimal point. Use one of them throughout."
        )
    # One number such as 0,5 or 12,75 settles that commas are decimal in this file.
    if commas and all(THOUSANDS.fullmatch(texts[k]) for k in commas):
        text = texts[commas[0]]
        readings = f"{text.replace(',', '.')} or {text.replace(',', '')}"
        raise InvalidInput(f"{where(commas[0])}: {text!r} may be {readings}. Write one of these.")
    values = [float(text.replace(",", ".")) for text in texts]
    for k, value in enumerate(values):
        if not math.isfinite(value):
            raise InvalidInput(f"{where(k)}: {texts[k]!r} is too large for a number.")
    return values


def _no_result(text: str) -> str:
    what = "is not finite" if text.lstrip("+-").lower() in ("nan", "inf") else "is not a number"
    return (
        f"the value {text!r} {what}. Leave it blank while the result is out; if there will be "
        "none, leave it blank too and run `shortlist fail`."
    )


def resembles_number(cell: str) -> bool:
    """Whether a cell is meant for a number, be it one that is refused later.

    Examples
    --------
    >>> [resembles_number(cell) for cell in ("0,5", "1.234,5", "nan", "24h", "")]
    [True, True, True, False, False]
    """
    text = cell.replace(MINUS, "-")
    if COMMA.fullmatch(text) or re.fullmatch(r"[+-]?[\d.,]*\d[\d.,]*", text, re.ASCII):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
