"""What the stopping rule reads: means, intervals, and the gap indices at the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.decision import Decision
from shortlist.algorithms.engine import Engine
from shortlist.arrays import NO_ARM
from shortlist.core.posterior import Posterior
from shortlist.core.records import Reals
from shortlist.study.answer import arm_table

GAPS = ("gap", "gap_lower", "gap_upper")


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

    @property
    def by_gap(self) -> NDArray[np.int64]:
        """The arms by row of the features, from the boundary on: the largest gap index first."""
        return np.argsort(-self.table["gap_upper"].fillna(np.inf).to_numpy(), kind="stable")


class Difference(NamedTuple):
    """The difference of two means that a stopping rule reads, and its interval."""

    gap: float
    gap_lower: float
    gap_upper: float


def look_at(bound: Bound, posterior: Posterior, now: Any, decision: Decision) -> Look:
    """Means and intervals as the posterior has them, with the pair of a decision."""
    C = bound.engine.threshold(posterior, now)
    boundary, c = _read(bound, now, decision)
    table = arm_table(bound, posterior, C, now)
    for column, gaps in zip(GAPS, _gaps(bound, posterior, now, boundary, c), strict=True):
        table[column] = gaps
    return Look(
        evaluation=posterior.observed,
        C=C,
        statistic=decision.statistic,
        b=decision.b,
        c=decision.c,
        boundary=boundary,
        table=table,
    )


def glance_at(
    bound: Bound, posterior: Posterior, now: Any, decision: Decision, arms: NDArray[np.int64]
) -> tuple[pd.DataFrame, Difference]:
    """Of a look the means and intervals of some arms, and the difference that is the statistic."""
    engine = bound.engine
    table = arm_table(bound, posterior, engine.threshold(posterior, now), now, arms)
    boundary, c = _read(bound, now, decision)
    # The candidates' own differences are not wanted, and to nobody they take no time.
    gaps = engine.differences(posterior, now, boundary, NO_ARM if isinstance(engine, Engine) else c)
    reader = decision.c
    if engine.stop == "ugape":
        upper = np.where(np.isnan(gaps[2]), -np.inf, gaps[2])
        reader = int(np.argsort(-upper, kind="stable")[bound.problem.m - 1])
    return table, Difference(*(float(values[reader]) for values in gaps))


def _read(bound: Bound, now: Any, decision: Decision) -> tuple[int, int]:
    """The boundary, and the arm that the candidates are compared with: c or nobody."""
    own = bound.engine.boundary(now)
    return (decision.b, decision.c) if own is None else (own, NO_ARM)


def _gaps(
    bound: Bound, posterior: Posterior, now: Any, boundary: int, c: int
) -> tuple[Reals, Reals, Reals]:
    engine = bound.engine
    if c == NO_ARM or not isinstance(engine, Engine) or not _symmetric(engine):
        return engine.differences(posterior, now, boundary, c)
    # B_cj − B_jc = 2(μ̂_c − μ̂_j), so c's own column has what would take one for every candidate j.
    gap, lower, upper = engine.differences(posterior, now, boundary, NO_ARM)
    to_c, below_c, above_c = engine.differences(posterior, now, c, NO_ARM)
    at_stop, inside = upper[c], now.inside
    gap[inside], lower[inside], upper[inside] = -to_c[inside], -above_c[inside], -below_c[inside]
    upper[boundary] = at_stop  # to the last bit what the stopping rule reads
    return gap, lower, upper


def _symmetric(engine: Engine) -> bool:
    return "symmetric" in engine.rules["indices"].traits and not engine.elimination
