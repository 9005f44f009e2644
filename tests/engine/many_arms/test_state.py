"""How many rows of G are kept, and what is remembered with them."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.arrays import NO_ARM
from shortlist.engine import settings
from shortlist.engine.many_arms.state import (
    EPOCH,
    MANY,
    forget,
    make_memory,
    number_of_rows,
    rows_read,
    skips_most_arms,
)


@pytest.mark.parametrize(
    ("arms", "by_gaps", "skips"),
    [(23, True, False), (24, True, True), (127, False, False), (128, False, True)],
)
def test_with_how_many_arms_most_are_skipped(arms: int, by_gaps: bool, skips: bool) -> None:
    assert skips_most_arms(arms, by_gaps=by_gaps) is skips


def test_how_many_rows_are_kept() -> None:
    def rows(arms: int, flags: int, *, by_gaps: bool = False) -> int:
        return number_of_rows(np.zeros((arms, 5)), 3, flags, by_gaps=by_gaps)

    assert rows(50, 0) == 50  # all of few arms
    assert rows(500, settings.SKIPS_ARMS) == 3 + 8  # candidates and some to spare
    assert rows(500, settings.SKIPS_ARMS, by_gaps=True) == 3 + 8 + rows_read.interpret(3, 500)
    assert rows(MANY, settings.SKIPS_ARMS) == 0
    assert rows(MANY, settings.SKIPS_ARMS, by_gaps=True) > 0
    assert rows(500, settings.MTH_GAPS) == 500  # read by a rule of the user's
    assert rows(3000, settings.MTH_GAPS) == 11


def test_what_is_remembered_has_room_for_what_is_kept() -> None:
    with_rows = make_memory(500, 5, 3, 11, by_gaps=True)
    assert with_rows.top_arms.shape == (11, 4)
    assert len(with_rows.width_bounds) == 0
    without = make_memory(5000, 5, 3, 0, by_gaps=False)
    assert len(without.width_bounds) == 5000
    assert len(without.references) >= 3


def test_another_run_is_forgotten() -> None:
    memory = make_memory(500, 5, 3, 11, by_gaps=True)
    memory.figures[EPOCH], memory.high_arms[:] = 5.0, 3
    forget.interpret(memory)
    assert memory.figures[EPOCH] == NO_ARM
    assert (memory.high_arms == NO_ARM).all()
