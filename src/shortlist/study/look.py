"""What the stopping rule reads: means, intervals, and the gap indices at the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.decision import Decision
from shortlist.algorithms.round import NOBODY
from shortlist.core.posterior import Posterior
from shortlist.study.answer import arm_table


@dataclass(frozen=True, eq=False)
class Look:
    """What the stopping rule read at one moment.

    Attributes
    ----------
    evaluation : int
        After how many evaluations.
    C, statistic : float
        The threshold, and what must fall to ε.
    b, c : int
        The ambiguous candidate and its challenger, by row of the features.
    boundary : int
        The candidate whose gaps stop the study: b, or with τ_UGapE the one of largest m-th gap.
    table : DataFrame
        One row an arm: name, pulls, mean, lower, upper, in_shortlist as in ``Study.table``; then
        gap, gap_lower and gap_upper, the interval of a difference of two means that the stopping
        rule reads. With τ_LUCB the difference is μ_i − μ_b for an arm i outside the shortlist and
        μ_c − μ_j for a candidate j: how much better the one outside may be. With τ_UGapE it is
        μ_i − μ_j for every other arm i, where j is the boundary.
    """

    evaluation: int
    C: float
    statistic: float
    b: int
    c: int
    boundary: int
    table: pd.DataFrame


def look_at(bound: Bound, posterior: Posterior, now: Any, decision: Decision) -> Look:
    """Means and intervals as the posterior has them, with the pair of a decision."""
    engine = bound.engine
    C = engine.threshold(posterior, now)
    own = engine.boundary(now)
    boundary, c = (decision.b, decision.c) if own is None else (own, NOBODY)
    table = arm_table(bound, posterior, C, now)
    gaps = engine.differences(posterior, now, boundary, c)
    table[["gap", "gap_lower", "gap_upper"]] = np.column_stack(gaps)
    return Look(
        evaluation=posterior.observed,
        C=C,
        statistic=decision.statistic,
        b=decision.b,
        c=decision.c,
        boundary=boundary,
        table=table,
    )
