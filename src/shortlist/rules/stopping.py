"""The statistic that stops the search once it is at most ε (Section 3.1 of the paper).

The comparison with ε is in ``engine/round.py``. With many arms ``engine/many_arms/round.py`` computes the
same statistics from the arms that matter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist.arrays import Mask, Reals
from shortlist.numerics.jit import compiled
from shortlist.rules.rule import rule


@rule("stopping", needs=(), number=0)
def lucb(gap: float, inside: Mask, mth_gaps: Reals) -> float:
    """τ_LUCB: B_{c,b} of the ambiguous pair."""
    return gap


@rule("stopping", needs=("mth_gaps",), number=1)
def ugape(gap: float, inside: Mask, mth_gaps: Reals) -> float:
    """τ_UGapE: max_{j∈J} of the m-th largest B_ij over i ≠ j."""
    largest = -np.inf
    for j in range(inside.shape[0]):
        if inside[j] and mth_gaps[j] > largest:
            largest = mth_gaps[j]
    return largest


@rule("stopping", needs=(), traits=("lagged", "heuristic"), number=2)
def lucb_lagged(gap: float, inside: Mask, mth_gaps: Reals) -> float:
    """τ_LUCB of the pair chosen before the last pull: as published, but not valid.

    The authors' loop tests its stop before it chooses the next pair, and recommends the J(t) of
    that older pair. It exists to reproduce the published figures.
    """
    return gap


@compiled()
def stopping_statistic(
    number: int, own: Callable[..., float], gap: float, inside: Mask, mth_gaps: Reals
) -> float:
    """The statistic by the rule of this number, or by the user's own."""
    if number == 0:
        return lucb(gap, inside, mth_gaps)
    if number == 1:
        return ugape(gap, inside, mth_gaps)
    if number == 2:
        return lucb_lagged(gap, inside, mth_gaps)
    return own(gap, inside, mth_gaps)
