"""How many rows of G are kept, and what is remembered with them."""

from __future__ import annotations

import numpy as np
from shortlist.engine.many_arms.memory import forget, make_memory, number_of_rows, rows_read

from shortlist.arrays import NO_ARM


def test_how_many_rows_are_kept() -> None:
    def rows(arms: int, *, skips: bool = False, needs: bool = False) -> int:
        return number_of_rows(np.zeros((arms, 5)), 3, skips_arms=skips, needs_mth_gaps=needs)

    assert rows(50) == 50  # all of few arms
    assert rows(500) == rows(100_000) == 3 + 8  # candidates and some to spare
    assert rows(500, skips=True, needs=True) == 3 + 8 + rows_read.interpret(3, 500)
    assert rows(500, needs=True) == 500  # read by a rule of the user's
    assert rows(3000, needs=True) == 11


def test_there_is_a_list_for_every_row() -> None:
    memory = make_memory(500, 3, 11)
    assert memory.top_arms.shape == (11, 4)
    assert len(memory.undecided) == 503


def test_another_run_is_forgotten() -> None:
    memory = make_memory(500, 3, 11)
    memory.examined[0], memory.high_arms[:] = 5, 3
    forget.interpret(memory)
    assert memory.examined[0] == 0
    assert (memory.high_arms == NO_ARM).all()
