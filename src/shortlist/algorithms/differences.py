"""The differences of means that the stopping rule reads, with the gap indices around them."""

from __future__ import annotations

import numpy as np

from shortlist.algorithms.round import Round
from shortlist.arrays import NO_ARM
from shortlist.core.posterior import Posterior
from shortlist.core.records import Reals
from shortlist.core.rule import Rule
from shortlist.core.state import FLOOR
from shortlist.rules.indices import paired

PAIRED = paired.number


def differences(
    indices: Rule, posterior: Posterior, scale: float, now: Round, b: int, c: int
) -> tuple[Reals, Reals, Reals]:
    """Of each arm: its gap, and the gap indices below and above it.

    The gap is that to b for an arm outside, and that from the arm to c for one inside; where c is
    nobody, it is that to b for all.
    """
    posterior = posterior.copy()  # reading a row may push out another
    means, state = posterior.means, posterior.state

    def column(j: int) -> Reals:
        """B_ij over i."""
        filled = np.empty(len(means))
        indices(j, means, posterior.variances, posterior.row(j), scale, filled)
        if indices.number == PAIRED:
            both, floor = posterior.variances + posterior.variances[j], state.scalars[FLOOR]
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
