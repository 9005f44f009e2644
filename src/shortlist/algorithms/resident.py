"""How many rows of G are kept: all of few arms; of many, those that a round looks at again; of very many, none."""

from __future__ import annotations

from shortlist.algorithms import signals
from shortlist.algorithms.screen import testifying
from shortlist.core.posterior import keeps_all_rows
from shortlist.core.records import Table

GRAM_LIMIT = 2048  # above, a whole G costs more memory than rows made again cost time
SPARE = 8  # rows beside those of candidates and witnesses
SOME, SOME_BY_GAPS = 128, 24  # arms, from which most are passed over
MANY = 4096  # arms, from which they are not even kept current, where J(t) is by means


def passes_over(arms: int, *, by_gaps: bool) -> bool:
    """Whether most arms are passed over (see docs/performance.md)."""
    return arms >= (SOME_BY_GAPS if by_gaps else SOME)


def resident_rows(features: Table, m: int, flags: int, *, by_gaps: bool) -> int:
    """How many, by measurement (see docs/performance.md)."""
    arms, rank = features.shape
    screened = flags & signals.SCREENED
    if screened and arms >= MANY and not by_gaps:
        return 0
    gram = flags & signals.MTH_GAPS and not screened and arms <= GRAM_LIMIT
    if keeps_all_rows(arms, rank) or gram:
        return arms
    return min(arms, m + SPARE + (testifying(m, arms) if screened and by_gaps else 0))
