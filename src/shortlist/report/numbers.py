"""Numbers as a table shows them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

LARGEST = 1e7  # beyond, and where more decimals are wanted than these, powers of ten are shorter
MOST_DECIMALS = 6


def number(value: float | None, decimals: int | None = None) -> str:
    """A number with so many decimals, else with four digits; a dash where nothing is known.

    Examples
    --------
    >>> number(-0.123456), number(0.5, 3), number(123456.0), number(float("nan"))
    ('−0.1235', '0.500', '1.235e+05', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    rough = decimals is None or abs(value) >= LARGEST
    return f"{value:{'.4g' if rough else f'.{decimals}f'}}".replace("-", "−")


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


def count(value: int) -> str:
    """A whole number with its thousands apart.

    Examples
    --------
    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"
