"""What the stopping rule reads: means, intervals, and the gap indices at the boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.engine import Decision, Engine
from shortlist.algorithms.round import NOBODY, Mask, Round
from shortlist.core.least_squares import Reals
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


def look_at(bound: Bound, posterior: Posterior, now: Round, decision: Decision) -> Look:
    """Means and intervals as the posterior has them, with the pair of a decision."""
    engine, inside = bound.engine, now.inside
    C = engine.threshold(posterior)
    boundary, c = decision.b, decision.c
    if "mth_gaps" in engine.rules["stopping"].needs:
        boundary, c = int(np.argmax(np.where(inside, now.mth_gaps, -np.inf))), NOBODY
    table = arm_table(bound.problem, posterior, C, inside)
    gaps = _gaps(engine, posterior, C * engine.sigma, inside, boundary, c)
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


def _gaps(
    engine: Engine, posterior: Posterior, scale: float, inside: Mask, b: int, c: int
) -> tuple[Reals, Reals, Reals]:
    """Of each arm: its gap, and the gap indices below and above it (see ``Look``)."""
    posterior = posterior.copy()  # reading a row may push out another
    indices, means = engine.rules["indices"], posterior.means

    def column(j: int) -> Reals:
        """B_ij over i."""
        filled = np.empty(len(means))
        indices(j, means, posterior.variances, posterior.row(j), scale, filled)
        return filled

    gap, upper = means - means[b], column(b)
    if c == NOBODY:
        turned, gap[b], upper[b] = np.empty(0, np.int64), np.nan, np.nan
    else:
        turned = np.flatnonzero(inside)
        gap[turned] = means[c] - means[turned]
        upper[turned] = [column(j)[c] for j in turned.tolist()]
    if "symmetric" in indices.traits:
        return gap, 2.0 * gap - upper, upper
    lower = np.array([-column(i)[b] for i in range(len(means))])
    if c == NOBODY:
        lower[b] = np.nan
    else:
        lower[turned] = -column(c)[turned]
    return gap, lower, upper
