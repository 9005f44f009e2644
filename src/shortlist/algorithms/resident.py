"""How many rows of G are kept: all of few arms; of many, those that a round looks at again."""

from __future__ import annotations

from shortlist.algorithms import kernel
from shortlist.core.posterior import keeps_all_rows

GRAM_LIMIT = 2048  # above, a whole G costs more memory than rows made again cost time
REACH_FROM = 4096  # arms: a bound for every arm is cheaper than a row for every candidate
SPARE = 6  # rows for challengers that come back


def resident_rows(arms: int, rank: int, m: int, flags: int) -> int:
    """How many, by measurement (see docs/performance.md)."""
    screened, scans = flags & kernel.SCREENED, flags & kernel.MTH_GAPS
    if keeps_all_rows(arms, rank) or (scans and not screened and arms <= GRAM_LIMIT):
        return arms
    if screened and not scans and m > 1 and arms >= REACH_FROM:
        return 2
    # Where m-th gaps are looked at, m witnesses are kept beside the m candidates.
    return min(arms, (2 * m if scans else m) + SPARE)
