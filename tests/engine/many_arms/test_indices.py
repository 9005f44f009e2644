"""Gap indices where rows of G are kept: compared without a root, and listed, as NumPy has them."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.engine.many_arms import indices
from shortlist.engine.round import LAST_B, LAST_C, make_round
from shortlist.numerics.order import mark_best
from shortlist.numerics.records import ABSENT
from tests.engine.many_arms.arms import KEY, SCALE, Arms, M


def test_an_index_attains_a_level_as_the_root_says() -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        mean_i, mean_j, least = generator.standard_normal(3)
        square = generator.uniform(0.0, 2.0)
        gap = mean_i - mean_j + SCALE * np.sqrt(square)
        found = indices.attains.interpret(mean_i, mean_j, square, least, SCALE * SCALE)
        assert bool(found) == (gap >= least)


@pytest.mark.parametrize("rows", [14, 60])
def test_the_list_of_an_arm_holds_its_largest_gap_indices(rows: int) -> None:
    arms = Arms.made(rows)
    for _ in range(6):
        gaps = arms.gaps
        np.fill_diagonal(gaps, -np.inf)
        for j in (0, 17, 59):
            slot = indices.slot_of.interpret(arms.state, arms.memory, j)
            mth = indices.rank_row.interpret(arms.state, arms.memory, slot, j, M, SCALE, KEY)
            expected = np.argsort(-gaps[:, j])[:M]
            assert arms.memory.top_arms[slot, :M].tolist() == expected.tolist()
            assert mth == pytest.approx(gaps[expected[-1], j], abs=1e-9)
        arms.tell(3)


@pytest.mark.parametrize("rows", [14, 60])
def test_the_challenger_and_the_greedy_arm_are_those_of_all_arms(rows: int) -> None:
    arms = Arms.made(rows)
    state = arms.state
    now = make_round(60, 0, M, ABSENT, np.zeros((0, 0)), arms.memory, by_time=False)
    for _ in range(10):
        mark_best.interpret(state.means, 1.0, M, KEY, now.arm_heap, now.inside)
        now.arm_heap[:] = np.flatnonzero(now.inside)
        indices.find_challengers_by_rows.interpret(state, now, M, SCALE, KEY)
        largest = arms.gaps[np.ix_(~now.inside, now.inside)].max()
        b = int(now.arm_heap[np.argmax(now.outside_gaps[now.arm_heap])])
        c = int(now.challengers[b])
        now.pair[LAST_B], now.pair[LAST_C] = b, c
        assert now.outside_gaps[b] == pytest.approx(largest, abs=1e-9)
        assert arms.gaps[c, b] == pytest.approx(largest, abs=1e-9)
        rows_of = np.array([arms.posterior.row(each) for each in (b, c)])
        gains = (rows_of[0] - rows_of[1]) ** 2 / (1.0 + state.variances)
        assert indices.greedy_arm_by_rows.interpret(state, b, c, KEY) == np.argmax(gains)
        arms.tell(2)
