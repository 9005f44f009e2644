"""The algorithms of Table 1 as the authors ran them: their settings, slips of the code included."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import shortlist
from shortlist.arrays import Reals
from shortlist.catalog.gifa import LINGAME as LINGAME
from shortlist.catalog.gifa import TABLE_1, TableOneRow, as_table_1, words
from shortlist.gifa.thresholds import THRESHOLDS, Known, published_regularization


def unscaled(t: int, log_det: Reals, known: Known) -> float:
    """The heuristic threshold over σ: the statistic without its 1/σ² is as good as that."""
    return math.sqrt(2.0 * math.log((1.0 + math.log(t)) / known.delta)) / known.sigma


def as_published(row: TableOneRow, selection_rule: str) -> shortlist.GIFA:
    """The algorithm of a row with the settings of the authors' logged runs."""
    plain = as_table_1(row, selection_rule)
    starts_by_each = row.candidates == "top_means" or row.classical
    frequentist = replace(THRESHOLDS["frequentist"], own_regularization=published_regularization)
    ridge: float | Callable[[float], float] = 1.0 if starts_by_each else published_regularization
    return replace(
        plain,
        stopping="lucb_lagged" if row.stopping == "lucb" else row.stopping,
        threshold="lucb1" if row.classical else frequentist,
        regularization=0.0 if row.classical else ridge,
        initialization="each" if starts_by_each else None,
        name=f"{row.algorithm} {words(selection_rule)} (as published)",
    )


PUBLISHED: dict[str, shortlist.GIFA] = {
    algorithm.name: algorithm
    for row in TABLE_1
    for algorithm in (as_published(row, name) for name in row.selections)
}
PUBLISHED["LinGame (as published)"] = replace(
    LINGAME,
    allocation="game_as_published",
    threshold=replace(THRESHOLDS["heuristic"], rule=shortlist.rule("threshold")(unscaled)),
    regularization=published_regularization,
    initialization="each",
    only_m=1,
    name="LinGame (as published)",
)
