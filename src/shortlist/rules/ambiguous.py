"""b_t: the candidate whose place is least certain (Table 1, compute_bt).

Its challenger c_t is the arm outside J(t) of largest B_{i,b}, the same for every algorithm.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist.arrays import Mask, Reals
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import largest_among
from shortlist.rules.rule import rule


@rule("ambiguous", needs=("outside_gaps",), number=0)
def largest_gap(inside: Mask, mth_gaps: Reals, outside_gaps: Reals, key: np.uint64) -> int:
    """argmax_{j∈J} max_{i∉J} B_ij (LUCB, UGapE, LinGapE, m-LinGapE)."""
    return largest_among(outside_gaps, inside, True, key)


@rule("ambiguous", needs=("mth_gaps",), number=1)
def mth_gap(inside: Mask, mth_gaps: Reals, outside_gaps: Reals, key: np.uint64) -> int:
    """argmax_{j∈J} of the m-th largest B_ij over i ≠ j (LinGIFA)."""
    return largest_among(mth_gaps, inside, True, key)


@compiled()
def most_ambiguous(
    number: int,
    own: Callable[..., int],
    inside: Mask,
    mth_gaps: Reals,
    outside_gaps: Reals,
    key: np.uint64,
) -> int:
    """b_t by the rule of this number, or by the user's own."""
    if number == 0:
        return largest_gap(inside, mth_gaps, outside_gaps, key)
    if number == 1:
        return mth_gap(inside, mth_gaps, outside_gaps, key)
    return own(inside, mth_gaps, outside_gaps, key)
