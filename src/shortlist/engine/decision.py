"""What was decided, read out of a round.

The differences of means that the stopping rule reads, with the gap indices around them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.round import ARM, GAP, QUEUED, STATISTIC, THRESHOLD, B, C, Round
from shortlist.numerics.records import Reals
from shortlist.posterior.posterior import Posterior
from shortlist.posterior.state import FLOOR
from shortlist.rules.indices import fill_by_pair, paired
from shortlist.rules.rule import Rule


class Decision(NamedTuple):
    """One round, read out: why an arm is pulled, or why the search stops."""

    stop: bool
    arm: int
    queued: int | None
    b: int
    c: int
    threshold: float
    gap: float
    statistic: float


def decision_of(pair: Any, figures: Any, *, stop: bool) -> Decision:
    """What was decided, from the arms (by ``B`` and so on) and numbers (by ``GAP``) of a round."""
    if isinstance(pair, np.ndarray):  # a list is read in a third of the time
        pair, figures = pair.tolist(), figures.tolist()
    arm, queued = pair[ARM], pair[QUEUED]
    queued = None if queued == NO_ARM else queued
    read = figures[THRESHOLD], figures[GAP], figures[STATISTIC]
    return Decision(stop, arm, queued, pair[B], pair[C], *read)


PAIRED = paired.number


def differences(
    indices: Rule,
    posterior: Posterior,
    scale: float,
    now: Round,
    b: int,
    c: int,
    by_pair: Reals | None = None,
) -> tuple[Reals, Reals, Reals]:
    """Of each arm: its gap, and the gap indices below and above it.

    The gap is that to b for an arm outside, and that from the arm to c for one inside; where c is
    nobody, it is that to b for all. ``scale`` is Cσ; where every pair has a C of its own it is σ,
    and ``by_pair`` are the threshold's constants.
    """
    posterior = posterior.copy()  # reading a row may push out another
    means, state = posterior.means, posterior.state

    def column(j: int) -> Reals:
        """B_ij over i."""
        filled, given = np.empty(len(means)), (means, posterior.variances, posterior.row(j))
        floor = state.scalars[FLOOR]
        if by_pair is not None:
            fill_by_pair(indices.number, j, *given, scale, by_pair, floor, filled)
        else:
            indices(j, *given, scale, filled)
        if indices.number == PAIRED and by_pair is None:
            both = posterior.variances + posterior.variances[j]
            filled = np.maximum(filled, means - means[j] + scale * np.sqrt(floor * both))
        return np.minimum(filled, now.least[j]) if len(now.least) else filled

    gap, upper = means - means[b], column(b)
    if c == NO_ARM:
        turned, gap[b], upper[b] = np.empty(0, np.int64), np.nan, np.nan
    else:
        turned = np.flatnonzero(now.inside)
        gap[turned] = means[c] - means[turned]
        upper[turned] = [column(j)[c] for j in turned.tolist()]
    if "symmetric" in indices.traits and not len(now.least):
        return gap, 2.0 * gap - upper, upper
    lower = np.array([-column(i)[b] for i in range(len(means))])
    if c == NO_ARM:
        lower[b] = np.nan
    else:
        lower[turned] = -column(c)[turned]
    return gap, lower, upper
