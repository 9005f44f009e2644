"""How many rows of G are kept: all of few arms; of many, those that a round looks at again."""

from __future__ import annotations

from shortlist.algorithms import kernel
from shortlist.core.posterior import keeps_all_rows

GRAM_LIMIT = 2048  # above, a whole G costs more memory than rows made again cost time
SPARE = 6  # rows for challengers that come back
MANY = 1024  # arms
WITNESSES, FEW_WITNESSES = 36, 10  # rows beside the candidates', where m-th gaps are looked at


def resident_rows(arms: int, rank: int, m: int, flags: int) -> int:
    """How many, by measurement (see docs/performance.md)."""
    screened, scans = flags & kernel.SCREENED, flags & kernel.MTH_GAPS
    if keeps_all_rows(arms, rank) or (scans and not screened and arms <= GRAM_LIMIT):
        return arms
    if scans:
        return min(arms, m + (WITNESSES if arms >= MANY else FEW_WITNESSES))
    if screened and m > 1 and arms >= MANY:
        return 2  # a bound for every arm is cheaper than a row for every candidate
    return min(arms, m + SPARE)
