"""The table of the arms, and the search for an arm by its name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from shortlist.report.analysis import Analysis
from shortlist.report.rendering import displayable
from shortlist.report.tables import ROWS_SHOWN, HtmlTable, decimals, number
from shortlist.study.answer import best_first

FEW = 20  # this many arms are found without a search
MOST = 5_000_000  # bytes of names and numbers: of more, those of the first arms are written
NUMBERS = 26  # bytes that the numbers of an arm take, about


def arms(analysis: Analysis) -> dict[str, Any]:
    """The arms, the best estimated mean first; of very many those around the boundary."""
    everyone, first, order = analysis.study.table(), 0, ""
    K, m = analysis.study.problem.arms, analysis.study.problem.m
    if analysis.study.statistic is not None:
        everyone = best_first(everyone, analysis.study.problem)
        first = max(0, min(m - ROWS_SHOWN // 2, K - ROWS_SHOWN))
        order = ", best estimated mean first"
    shown = everyone[first : first + ROWS_SHOWN]
    if len(shown) == K:
        caption = f"All {K:,} arms{order}"
    else:
        around = f": those around rank m = {m:,}" if order else ""
        caption = f"Arms {first + 1:,} to {first + len(shown):,} of {K:,}{order}{around}"
    if analysis.study.model.stopped and analysis.study.answered_at < analysis.study.evaluations:
        caption += ", as they were at the stop"
    places = decimals(shown)
    rows = [
        [
            arm["name"],
            f"{arm['pulls']:,}",
            *(number(arm[column], places) for column in ("mean", "lower", "upper")),
            "yes" if arm["in_shortlist"] else "",
        ]
        for arm in shown.to_dict(orient="records")
    ]
    columns = {"Name": "name", **dict.fromkeys(("Evaluations", "Mean", "Lower", "Upper"), "number")}
    columns["On the list"] = "words"
    return {
        "search": search(everyone, len(shown), places, "best" if order else "first"),
        "table": HtmlTable(f"{caption}.", columns, rows, shown["in_shortlist"].tolist()),
    }


def search(arms: pd.DataFrame, listed: int, places: int | None, order: str) -> dict[str, Any]:
    """What the field needs that finds arms by a part of their names; empty where there are few.

    The arms are in the order of the page's table, which lists ``listed`` of them with ``places``
    decimals; ``order`` is what the first of them are called, ``"best"`` or ``"first"``. The search
    works on the rows of the table if these are all arms. Otherwise the page has every arm as JSON
    too, from which the script makes rows: a row of HTML is ten times as long.
    """
    K = len(arms)
    if K <= FEW:
        return {}
    there = K
    if listed < K:
        sizes = np.cumsum([len(name.encode()) + NUMBERS for name in arms["name"]])
        there = int(np.searchsorted(sizes, MOST, side="right"))
    among = f"{K:,} arms" if there == K else f"the {there:,} {order} of {K:,} arms"
    return {
        "label": f"Search {'all ' if there == K else ''}{among} by name",
        "among": among,
        "data": None if listed == K else _json(arms[:there], places),
    }


def _json(arms: pd.DataFrame, places: int | None) -> Markup:
    """The columns as JSON; the numbers as the table has them, separated by spaces."""
    columns: dict[str, Any] = {"name": [displayable(name) for name in arms["name"]]}
    columns["pulls"] = " ".join(f"{pulls:,}" for pulls in arms["pulls"])
    for column in ("mean", "lower", "upper"):
        numbers = " ".join(number(value, places) for value in arms[column].tolist())
        columns[column] = numbers.replace("−", "-")  # one byte for three; the script puts it back
    columns["inside"] = np.flatnonzero(arms["in_shortlist"]).tolist()
    words = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return Markup(words.replace("<", "\\u003c"))  # noqa: S704  # a name may contain "</script>"
