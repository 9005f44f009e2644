"""What is kept from round to round where most arms are passed over.

How many rows of G are kept: all of few arms; of many, those that a round looks at again; of very many, none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine import settings
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Grid, Integers, Reals, Record, Table, record_type
from shortlist.posterior.passes import SCANNED
from shortlist.posterior.posterior import keeps_all_rows

EPOCH, SCALE, COMPANIONS, SPENT, LOOKED_UP, LARGEST, NEXT_PAIR, PAIR_SQUARE = 0, 1, 2, 3, 4, 5, 6, 7
SUSPECTED = 8
FIGURES = 9
PAIRS, SHORT, RIVALS = 64, 32, 4
CALLED, MOST_CALLED = 8, 2048  # witnesses for one that testifies on all arms


@dataclass(frozen=True, eq=False)
class Screen(Record):
    """Bounds on the gap indices of all arms, and lists of the few that matter; empty if all matter.

    Where rows of G are kept, there are only lists, ``tops[s]`` that of the row in slot s, and witnesses in
    the ``pool`` (see ``scanning.py`` and ``witnesses.py``). Where none is:

    ``companions`` are the candidates and some that were: ``reach`` bounds the gap indices of each arm
    against all of them (see ``reach.py``); ``rivals`` are the arms that challenged most in the last
    round. ``tops`` lists for each the arms of largest gap index.
    ``pairs`` are ambiguous pairs of earlier rounds (see ``pursuit.py``).
    """

    reach: Reals
    places: Integers
    companions: Integers
    measured_at: Integers
    anchors: Reals
    images: Table
    means: Reals
    variances: Reals
    rivals: Integers
    past_rivals: Integers
    rival_gaps: Reals
    tops: Grid
    past_tops: Integers
    gaps: Table
    pairs: Grid
    directions: Table
    shortlists: Grid
    shortlist_gains: Reals
    levels: Reals
    block: Reals
    products: Table
    pool: Integers
    bounds: Reals
    suspects: Integers
    figures: Reals


SCREEN = record_type(Screen)


@compiled()
def testifying(m: int, arms: int) -> int:
    """How many witnesses testify on all arms, each with a row of its own."""
    return min(arms, 2 * m + 8)


def make_lists(arms: int, rank: int, m: int, rows: int, *, by_gaps: bool) -> Screen:
    """Lists for as many rows of G, and witnesses where J(t) is by the smallest m-th gap."""
    # One arm that nobody keeps out costs a row: of very many, more are called.
    called = max(CALLED * testifying(m, arms), min(arms // 100, MOST_CALLED))
    pool = min(arms, called) if by_gaps else 0
    return make_bounds(0, rank, m).replace(
        places=np.full(arms, NO_ARM, np.int64),
        companions=np.full(rows, NO_ARM, np.int64),
        measured_at=np.full(rows, NO_ARM, np.int64),
        tops=np.full((rows, m + 1), NO_ARM, np.int64),
        gaps=np.zeros((rows, m + 1)),
        pool=np.full(pool, NO_ARM, np.int64),
        bounds=np.zeros(pool),
        suspects=np.zeros(arms + m if by_gaps else 0, np.int64),
    )


@compiled()
def forget(screen: Screen) -> None:
    """What another run knew is no more."""
    screen.figures[EPOCH] = NO_ARM
    screen.figures[SUSPECTED] = 0.0
    screen.pool[:] = NO_ARM


def make_screen(arms: int, rank: int, m: int, rows: int, *, by_gaps: bool) -> Screen:
    """What is kept for as many arms, of which as many have a row of G."""
    return make_lists(arms, rank, m, rows, by_gaps=by_gaps) if rows else make_bounds(arms, rank, m)


def make_bounds(arms: int, rank: int, m: int) -> Screen:
    """Bounds for as many arms, none of which has a row."""
    companions = m + max(4, m // 2) if arms else 0
    pairs = PAIRS if arms else 0
    return Screen(
        reach=np.zeros(arms),
        places=np.full(arms, NO_ARM, np.int64),
        companions=np.full(companions, NO_ARM, np.int64),
        measured_at=np.full(companions, NO_ARM, np.int64),
        anchors=np.zeros(companions),
        images=np.zeros((companions, rank)),
        means=np.zeros(companions),
        variances=np.zeros(companions),
        rivals=np.full(RIVALS, NO_ARM, np.int64),
        past_rivals=np.full(RIVALS, NO_ARM, np.int64),
        rival_gaps=np.full(RIVALS, -np.inf),
        tops=np.full((companions, m + 1), NO_ARM, np.int64),
        past_tops=np.full(m + 1, NO_ARM, np.int64),
        gaps=np.zeros((companions, m + 1)),
        pairs=np.full((pairs, 2), NO_ARM, np.int64),
        directions=np.zeros((pairs + 2, rank)),
        shortlists=np.full((pairs, SHORT), NO_ARM, np.int64),
        shortlist_gains=np.zeros(SHORT),
        levels=np.zeros(pairs),
        block=np.zeros(max(SCANNED, companions)),
        products=np.zeros((companions, SCANNED)),
        pool=np.zeros(0, np.int64),
        bounds=np.zeros(0),
        suspects=np.zeros(0, np.int64),
        figures=np.array([NO_ARM] + [0] * (FIGURES - 1), np.float64),
    )


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
    screened = flags & settings.SCREENED
    if screened and arms >= MANY and not by_gaps:
        return 0
    gram = flags & settings.MTH_GAPS and not screened and arms <= GRAM_LIMIT
    if keeps_all_rows(arms, rank) or gram:
        return arms
    return min(arms, m + SPARE + (testifying(m, arms) if screened and by_gaps else 0))
