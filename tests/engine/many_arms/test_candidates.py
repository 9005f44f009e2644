"""J(t) among many arms is that of plain NumPy, updated or from nothing."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.engine.many_arms.candidates import (
    first_top_means,
    lowest_ranked,
    update_smallest_gaps,
    update_top_means,
)
from shortlist.engine.round import make_round
from shortlist.numerics.records import ABSENT
from tests.engine.many_arms.arms import KEY, SCALE, Arms, M


def test_the_lowest_ranked_arm_has_the_least_value_and_ties_go_by_the_key() -> None:
    arms = np.array([4, 9, 2])
    assert lowest_ranked.interpret(arms, np.array([3.0, 1.0, 2.0]), 3, KEY) == 1
    tied = {lowest_ranked.interpret(arms, np.ones(3), 3, np.uint64(key)) for key in range(40)}
    assert tied == {0, 1, 2}


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_means_are_found_though_means_lag_behind(seed: int) -> None:
    arms = Arms.made(0, seed=seed)
    candidates, inside = np.zeros(M, np.int64), np.zeros(60, np.bool_)
    first_top_means.interpret(arms.state, candidates, M, inside, KEY)
    for _ in range(20):
        expected = set(np.argsort(-arms.means)[:M].tolist())
        update_top_means.interpret(arms.state, arms.memory, candidates, M, inside, KEY)
        assert set(candidates.tolist()) == expected == set(np.flatnonzero(inside).tolist())
        arms.tell(3)


@pytest.mark.parametrize("rows", [14, 60])
def test_the_smallest_mth_gaps_are_found_where_rows_are_kept(rows: int) -> None:
    arms = Arms.made(rows)
    now = make_round(60, 0, M, ABSENT, np.zeros((0, 0)), arms.memory, by_time=False)
    for _ in range(10):
        mth_gaps = arms.mth_gaps
        update_smallest_gaps.interpret(arms.state, now, M, SCALE, KEY, KEY)
        expected = set(np.argsort(mth_gaps)[:M].tolist())
        assert set(now.arm_heap.tolist()) == expected == set(np.flatnonzero(now.inside).tolist())
        np.testing.assert_allclose(now.mth_gaps[now.inside], mth_gaps[now.inside], atol=1e-9)
        arms.tell(3)
