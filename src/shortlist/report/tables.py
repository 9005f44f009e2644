"""Tables of the page, and the numbers in them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from shortlist.plot.figure import number as plain_number

ROWS_SHOWN = 1000
LARGEST = 1e7  # beyond, and where more decimals are wanted than these, powers of ten are shorter
MOST_DECIMALS = 6


class HtmlTable(NamedTuple):
    """A table with a caption; the template ``macros.html`` lays it out."""

    caption: str
    # From a heading to a kind: "name", "number", "time", "words", "quoted" for words from outside, or
    # "folded" for such words that are seen after a click; the first column then names the row.
    columns: dict[str, str]
    rows: list[list[str]]
    marked: list[bool] | None = None  # which rows stand out


def number(value: float, decimals: int | None = None) -> str:
    """A number with ``decimals`` decimals, else with four digits; a dash where nothing is known.

    Examples
    --------
    >>> number(-0.123456), number(0.5, 3), number(123456.0), number(float("nan"))
    ('−0.1235', '0.500', '1.235e+05', '–')
    """
    rough = decimals is None or abs(value) >= LARGEST
    return plain_number(value, ".4g" if rough else f".{decimals}f")


def decimals(table: pd.DataFrame) -> int | None:
    """How many decimals the means of a table deserve: two digits of the narrowest interval.

    Examples
    --------
    >>> decimals(pd.DataFrame({"lower": [0.0, 1.0], "upper": [0.03, 4.0]}))
    3
    """
    widths = (table["upper"] - table["lower"]).to_numpy()
    widths = widths[np.isfinite(widths) & (widths > 0.0)]
    if not len(widths):
        return None
    wanted = 1 - math.floor(math.log10(widths.min()))
    return max(wanted, 0) if wanted <= MOST_DECIMALS else None
