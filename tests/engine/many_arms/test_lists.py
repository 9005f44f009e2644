"""Gap indices where rows of G are kept: compared without a root, and listed, as NumPy has them."""

from __future__ import annotations

import numpy as np
import pytest
from shortlist.engine.many_arms import lists
from shortlist.engine.round import make_round

from shortlist.linalg import mark_best
from shortlist.numerics.records import ABSENT
from tests.engine.many_arms.arms import KEY, SCALE, Arms, M


def test_an_index_attains_a_level_as_the_root_says() -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        mean_i, mean_j, least = generator.standard_normal(3)
        square = generator.uniform(0.0, 2.0)
        gap = mean_i - mean_j + SCALE * np.sqrt(square)
        found = lists.attains.interpret(mean_i, mean_j, square, least, SCALE * SCALE)
        assert bool(found) == (gap >= least)


@pytest.mark.parametrize("rows", [14, 60])
def test_the_list_of_an_arm_holds_its_largest_gap_indices(rows: int) -> None:
    arms = Arms.made(rows)
    current = make_round(60, 0, M, ABSENT, arms.memory)
    for _ in range(6):
        gaps = arms.gaps
        np.fill_diagonal(gaps, -np.inf)
        for j in (0, 17, 59):
            slot = lists.slot_of.interpret(arms.state, arms.memory, j)
            mth = lists.rank_row.interpret(arms.state, current, slot, j, SCALE, KEY)
            expected = np.argsort(-gaps[:, j])[:M]
            assert arms.memory.top_arms[slot, :M].tolist() == expected.tolist()
            assert mth == pytest.approx(gaps[expected[-1], j], abs=1e-9)
        arms.tell(3)


@pytest.mark.parametrize("rows", [14, 60])
def test_every_candidate_is_given_its_challenger(rows: int) -> None:
    arms = Arms.made(rows)
    current = make_round(60, 0, M, ABSENT, arms.memory)
    for _ in range(10):
        gaps, state = arms.gaps, arms.state
        np.fill_diagonal(gaps, -np.inf)
        mark_best.interpret(state.means, 1.0, M, KEY, current.candidates, current.inside)
        current.candidates[:] = np.flatnonzero(current.inside)
        current.number[0] += 1
        lists.find_challengers.interpret(state, current, SCALE, KEY)
        for j in current.candidates.tolist():
            outside = np.where(current.inside, -np.inf, gaps[:, j])
            assert current.challengers[j] == np.argmax(outside)
            assert current.outside_gaps[j] == pytest.approx(outside.max(), abs=1e-9)
            assert current.mth_gaps[j] == pytest.approx(np.sort(gaps[:, j])[-M], abs=1e-9)
        arms.tell(2)
