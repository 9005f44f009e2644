"""The search for an arm by its name: a field, and the arms that the table does not list."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
import pandas as pd

from shortlist.report.markup import Markup, element, joined, printable
from shortlist.report.numbers import count, number

FEW = 20  # arms: so many are found without a search
MOST = 5_000_000  # bytes: of arms whose names and numbers take more, the first are written
NUMBERS = 26  # bytes that the numbers of an arm take, about


def search(arms: pd.DataFrame, listed: int, places: int | None, order: str) -> Markup:
    """A field that finds arms by a part of their names; nothing where there are few.

    It works on the rows of the table if these are all arms. Else the page holds every arm beside
    the table, as words that the script makes rows of: a row of HTML is ten times as long.

    Parameters
    ----------
    arms : DataFrame
        ``Study.table``, in the order of the table of the page.
    listed : int
        How many of them the table lists.
    places : int or None
        The decimals of the table.
    order : str
        What the first of them are called: ``"best"`` or ``"first"``.
    """
    K = len(arms)
    if K <= FEW:
        return Markup()
    there = K if listed == K else _fitting(arms["name"])
    whose = f"{count(K)} arms" if there == K else f"the {count(there)} {order} of {count(K)} arms"
    words = f"Search {'all ' if there == K else ''}{whose} by name"
    field = element(
        *("p", element("label", words, for_="arm-search"), " "),
        element(
            "input",
            type="search",
            id="arm-search",
            autocomplete="off",
            spellcheck="false",
            data_among=whose,
        ),
        class_="search",
        hidden=True,  # it does nothing without scripts
    )
    if listed == K:
        return field
    without = element("noscript", element("p", "To search them here, scripts are needed."))
    data = element("script", _data(arms[:there], places), type="application/json", id="every-arm")
    return joined([field, without, data])


def _fitting(names: Iterable[str]) -> int:
    """How many arms, from the first, are not too much for a page."""
    sizes = np.cumsum([len(name.encode()) + NUMBERS for name in names])
    return int(np.searchsorted(sizes, MOST, side="right"))


def _data(arms: pd.DataFrame, places: int | None) -> Markup:
    """Columns as JSON; the numbers as the table has them, with spaces between."""
    columns = {
        "name": [printable(name) for name in arms["name"].tolist()],
        "pulls": " ".join(map(count, arms["pulls"].tolist())),
        "mean": _numbers(arms["mean"], places),
        "lower": _numbers(arms["lower"], places),
        "upper": _numbers(arms["upper"], places),
        "inside": np.flatnonzero(arms["in_shortlist"]).tolist(),
    }
    words = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return Markup(words.replace("<", "\\u003c"))  # a name may hold "</script>"


def _numbers(values: pd.Series[float], places: int | None) -> str:
    # The minus of print takes three bytes; the script puts it back.
    return " ".join(number(value, places) for value in values.tolist()).replace("−", "-")
