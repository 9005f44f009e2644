"""J(t): the m candidates, the arms estimated to be best (Table 1, compute_Jt).

With many arms ``engine.many_arms.candidates`` finds the same set faster.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import mark_best
from shortlist.rules.rule import rule


@rule("candidates", needs=(), number=0)
def top_means(
    m: int, means: Reals, mth_gaps: Reals, key: np.uint64, scratch: Integers, inside: Mask
) -> None:
    """The m arms of largest empirical mean (LUCB, LinGapE, m-LinGapE)."""
    mark_best(means, 1.0, m, key, scratch, inside)


@rule("candidates", needs=("mth_gaps",), number=1)
def smallest_gap(
    m: int, means: Reals, mth_gaps: Reals, key: np.uint64, scratch: Integers, inside: Mask
) -> None:
    """The m arms of smallest m-th largest B_ij over i ≠ j (UGapE, LinGIFA)."""
    mark_best(mth_gaps, -1.0, m, key, scratch, inside)


@compiled()
def mark_candidates(
    number: int,
    own: Callable[..., None],
    m: int,
    means: Reals,
    mth_gaps: Reals,
    key: np.uint64,
    scratch: Integers,
    inside: Mask,
) -> None:
    """J(t) by the rule of this number, or by the user's own."""
    if number == 0:
        top_means(m, means, mth_gaps, key, scratch, inside)
    elif number == 1:
        smallest_gap(m, means, mth_gaps, key, scratch, inside)
    else:
        own(m, means, mth_gaps, key, scratch, inside)
