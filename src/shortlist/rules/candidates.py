"""J(t): the m arms held to be the best (Table 1, compute_Jt)."""

from __future__ import annotations

import numpy as np

from shortlist.core.order import mark_best
from shortlist.core.rule import rule


@rule("candidates", needs=())
def top_means(
    m: int,
    means: np.ndarray,
    mth_gaps: np.ndarray,
    key: np.uint64,
    scratch: np.ndarray,
    inside: np.ndarray,
) -> None:
    """The m arms of largest empirical mean (LUCB, LinGapE, m-LinGapE)."""
    mark_best(means, 1.0, m, key, scratch, inside)


@rule("candidates", needs=("mth_gaps",))
def smallest_gap(
    m: int,
    means: np.ndarray,
    mth_gaps: np.ndarray,
    key: np.uint64,
    scratch: np.ndarray,
    inside: np.ndarray,
) -> None:
    """The m arms of smallest m-th largest B_ij over i ≠ j (UGapE, LinGIFA)."""
    mark_best(mth_gaps, -1.0, m, key, scratch, inside)
