"""The table of the arms."""

from __future__ import annotations

from shortlist.report.analysis import Analysis
from shortlist.report.tables import ROWS_SHOWN, HtmlTable, decimals, number
from shortlist.study.answer import best_first


def arms(analysis: Analysis) -> HtmlTable:
    """The arms, the best estimated mean first; of very many those around the boundary."""
    everyone, first, order = analysis.study.model.table(), 0, ""
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
            str(arm["name"]),
            f"{arm['pulls']:,}",
            *(number(arm[column], places) for column in ("mean", "lower", "upper")),
            "yes" if arm["in_shortlist"] else "control" if arm.get("control") else "",
        ]
        for arm in shown.to_dict(orient="records")
    ]
    columns = {"Name": "name", **dict.fromkeys(("Evaluations", "Mean", "Lower", "Upper"), "number")}
    columns["On the list"] = "words"
    return HtmlTable(f"{caption}.", columns, rows, shown["in_shortlist"].tolist())
