"""What is remembered from round to round where most arms are skipped, and how many rows of G are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Grid, Integers, Reals, Record, Table
from shortlist.posterior.posterior import keeps_all_rows

LISTED, MOST_LISTED = 8, 2048  # high arms for each one whose row is read for all arms
GRAM_LIMIT = 2048  # above, a whole G costs more memory than rows made again cost time
SPARE = 8  # rows beside those of candidates and high arms
SOME = 24  # with at least that many arms, most are skipped


@dataclass(frozen=True, eq=False)
class Memory(Record):
    """Lists of the few arms that matter.

    ``top_arms[s]`` are the arms of largest gap index ``gaps[s]`` against arm ``owners[s]``, whose row of G is
    in slot s, as they were in round ``ranked_at[s]``. ``high_arms`` are those of largest upper bound;
    ``undecided`` those that the high arms do not exclude from J(t), ``examined[0]`` of them since the
    high arms were listed.
    """

    owners: Integers
    ranked_at: Integers
    top_arms: Grid
    gaps: Table
    high_arms: Integers
    high_bounds: Reals
    undecided: Integers
    examined: Integers


def make_memory(arms: int, m: int, rows: int) -> Memory:
    """An empty memory for that many arms, ``rows`` of which have a row of G."""
    # An arm that no high arm excludes costs a row: with very many arms, more high arms are listed.
    listed = max(LISTED * rows_read.interpret(m, arms), min(arms // 100, MOST_LISTED))
    high = min(arms, listed)
    return Memory(
        owners=np.full(rows, NO_ARM, np.int64),
        ranked_at=np.full(rows, NO_ARM, np.int64),
        top_arms=np.full((rows, m + 1), NO_ARM, np.int64),
        gaps=np.zeros((rows, m + 1)),
        high_arms=np.full(high, NO_ARM, np.int64),
        high_bounds=np.zeros(high),
        undecided=np.zeros(arms + m, np.int64),
        examined=np.zeros(1, np.int64),
    )


@compiled()
def forget(memory: Memory) -> None:
    """Forget what belongs to another run."""
    memory.examined[0] = 0
    memory.high_arms[:] = NO_ARM


@compiled()
def rows_read(m: int, arms: int) -> int:
    """How many of the high arms have a row that is read for all arms."""
    return min(arms, 2 * m + 8)


def number_of_rows(features: Table, m: int, *, skips_arms: bool, needs_mth_gaps: bool) -> int:
    """How many rows of G to keep, chosen by measurement (``benchmarks/scale.py``)."""
    arms, rank = features.shape
    gram = needs_mth_gaps and not skips_arms and arms <= GRAM_LIMIT
    if keeps_all_rows(arms, rank) or gram:
        return arms
    return min(arms, m + SPARE + (rows_read.interpret(m, arms) if skips_arms else 0))
