"""How many rows of G are kept: all of few arms; of many, those that a round looks at again, or none."""

from __future__ import annotations

from shortlist.algorithms import signals
from shortlist.core.posterior import keeps_all_rows

GRAM_LIMIT = 2048  # above, a whole G costs more memory than rows made again cost time
SPARE = 16  # rows beside the candidates'
MANY, MANY_BY_GAPS = 512, 128  # arms, from which most are left aside


def many(arms: int, rank: int, *, by_gaps: bool) -> bool:
    """Whether leaving most arms aside is faster than keeping rows of G (see docs/performance.md)."""
    return arms >= (MANY_BY_GAPS if by_gaps else MANY) and not keeps_all_rows(arms, rank)


def resident_rows(arms: int, rank: int, m: int, flags: int) -> int:
    """How many, by measurement (see docs/performance.md)."""
    if flags & signals.SCREENED:
        return 0
    if keeps_all_rows(arms, rank) or (flags & signals.MTH_GAPS and arms <= GRAM_LIMIT):
        return arms
    return min(arms, m + SPARE)
