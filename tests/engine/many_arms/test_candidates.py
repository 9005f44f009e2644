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
    current = make_round(60, 0, M, ABSENT, arms.memory)
    for _ in range(10):
        mth_gaps = arms.mth_gaps
        current.number[0] += 1
        update_smallest_gaps.interpret(arms.state, current, SCALE, KEY, KEY)
        expected = set(np.argsort(mth_gaps)[:M].tolist())
        assert (
            set(current.candidates.tolist())
            == expected
            == set(np.flatnonzero(current.inside).tolist())
        )
        np.testing.assert_allclose(
            current.mth_gaps[current.inside], mth_gaps[current.inside], atol=1e-9
        )
        arms.tell(3)
