"""What is remembered from round to round where most arms are skipped, and how many rows of G are kept.

With few arms all rows are kept; with many, those that the next round will read; with very many,
none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine import settings
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Grid, Integers, Reals, Record, Table
from shortlist.posterior.passes import SCANNED
from shortlist.posterior.posterior import keeps_all_rows

EPOCH, SCALE, REFERENCES, SPENT, LOOKED_UP, LARGEST, NEXT_PAIR, PAIR_SQUARE = 0, 1, 2, 3, 4, 5, 6, 7
UNDECIDED = 8
FIGURES = 9
PAIRS, SHORT, STRONGEST = 64, 32, 4
LISTED, MOST_LISTED = 8, 2048  # high arms for each one whose row is read for all arms


@dataclass(frozen=True, eq=False)
class Memory(Record):
    """Bounds on the gap indices of all arms, and lists of the few arms that matter.

    Where rows of G are kept, there are only lists: ``top_arms[s]`` of the arm whose row is in slot s, and
    ``high_arms``, those of largest upper bound (see ``indices.py`` and ``candidates.py``). Where none
    is kept:

    ``references`` are the candidates and some former ones, and ``width_bounds`` bound the gap indices of
    each arm against all of them (see ``upper_bounds.py``). ``strongest`` are the arms that challenged
    most in the last round. ``top_arms`` lists for each reference the arms of largest gap index.
    ``pairs`` are ambiguous pairs of earlier rounds (see ``selection.py``).
    """

    width_bounds: Reals
    places: Integers
    references: Integers
    measured_at: Integers
    anchors: Reals
    images: Table
    means: Reals
    variances: Reals
    strongest: Integers
    past_strongest: Integers
    strongest_gaps: Reals
    top_arms: Grid
    past_top_arms: Integers
    gaps: Table
    pairs: Grid
    directions: Table
    shortlists: Grid
    shortlist_gains: Reals
    levels: Reals
    block: Reals
    products: Table
    high_arms: Integers
    high_bounds: Reals
    undecided: Integers
    figures: Reals


@compiled()
def rows_read(m: int, arms: int) -> int:
    """How many of the high arms have a row that is read for all arms."""
    return min(arms, 2 * m + 8)


def memory_with_rows(arms: int, rank: int, m: int, rows: int, *, by_gaps: bool) -> Memory:
    """An empty memory with that many rows of G; with high arms where J(t) is by the smallest m-th gap."""
    # An arm that no high arm excludes costs a row: with very many arms, more high arms are listed.
    listed = max(LISTED * rows_read(m, arms), min(arms // 100, MOST_LISTED))
    high_arms = min(arms, listed) if by_gaps else 0
    return memory_without_rows(0, rank, m).replace(
        places=np.full(arms, NO_ARM, np.int64),
        references=np.full(rows, NO_ARM, np.int64),
        measured_at=np.full(rows, NO_ARM, np.int64),
        top_arms=np.full((rows, m + 1), NO_ARM, np.int64),
        gaps=np.zeros((rows, m + 1)),
        high_arms=np.full(high_arms, NO_ARM, np.int64),
        high_bounds=np.zeros(high_arms),
        undecided=np.zeros(arms + m if by_gaps else 0, np.int64),
    )


@compiled()
def forget(memory: Memory) -> None:
    """Forget what belongs to another run."""
    memory.figures[EPOCH] = NO_ARM
    memory.figures[UNDECIDED] = 0.0
    memory.high_arms[:] = NO_ARM


def make_memory(arms: int, rank: int, m: int, rows: int, *, by_gaps: bool) -> Memory:
    """An empty memory for that many arms, ``rows`` of which have a row of G."""
    if not rows:
        return memory_without_rows(arms, rank, m)
    return memory_with_rows(arms, rank, m, rows, by_gaps=by_gaps)


def memory_without_rows(arms: int, rank: int, m: int) -> Memory:
    """An empty memory for that many arms, none of which has a row of G."""
    references = m + max(4, m // 2) if arms else 0
    pairs = PAIRS if arms else 0
    return Memory(
        width_bounds=np.zeros(arms),
        places=np.full(arms, NO_ARM, np.int64),
        references=np.full(references, NO_ARM, np.int64),
        measured_at=np.full(references, NO_ARM, np.int64),
        anchors=np.zeros(references),
        images=np.zeros((references, rank)),
        means=np.zeros(references),
        variances=np.zeros(references),
        strongest=np.full(STRONGEST, NO_ARM, np.int64),
        past_strongest=np.full(STRONGEST, NO_ARM, np.int64),
        strongest_gaps=np.full(STRONGEST, -np.inf),
        top_arms=np.full((references, m + 1), NO_ARM, np.int64),
        past_top_arms=np.full(m + 1, NO_ARM, np.int64),
        gaps=np.zeros((references, m + 1)),
        pairs=np.full((pairs, 2), NO_ARM, np.int64),
        directions=np.zeros((pairs + 2, rank)),
        shortlists=np.full((pairs, SHORT), NO_ARM, np.int64),
        shortlist_gains=np.zeros(SHORT),
        levels=np.zeros(pairs),
        block=np.zeros(max(SCANNED, references)),
        products=np.zeros((references, SCANNED)),
        high_arms=np.zeros(0, np.int64),
        high_bounds=np.zeros(0),
        undecided=np.zeros(0, np.int64),
        figures=np.array([NO_ARM] + [0] * (FIGURES - 1), np.float64),
    )


GRAM_LIMIT = 2048  # above, a whole G costs more memory than rows made again cost time
SPARE = 8  # rows beside those of candidates and high arms
SOME, SOME_BY_GAPS = 128, 24  # with at least that many arms, most are skipped
MANY = 4096  # with at least that many, and J(t) by means, not all estimates are kept current


def skips_most_arms(arms: int, *, by_gaps: bool) -> bool:
    """Whether most arms are skipped in a round (see docs/performance.md)."""
    return arms >= (SOME_BY_GAPS if by_gaps else SOME)


def number_of_rows(features: Table, m: int, flags: int, *, by_gaps: bool) -> int:
    """How many rows of G to keep, chosen by measurement (see docs/performance.md)."""
    arms, rank = features.shape
    skips = flags & settings.SKIPS_ARMS
    if skips and arms >= MANY and not by_gaps:
        return 0
    gram = flags & settings.MTH_GAPS and not skips and arms <= GRAM_LIMIT
    if keeps_all_rows(arms, rank) or gram:
        return arms
    return min(arms, m + SPARE + (rows_read(m, arms) if skips and by_gaps else 0))
