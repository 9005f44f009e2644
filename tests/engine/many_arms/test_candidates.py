"""J(t) among many arms is that of plain NumPy, updated or from nothing."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.engine.many_arms.candidates import update_smallest_gaps
from shortlist.engine.round import make_round
from shortlist.numerics.records import ABSENT
from tests.engine.many_arms.arms import KEY, SCALE, Arms, M


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
