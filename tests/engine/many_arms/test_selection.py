"""The greedy pull among very many arms is that of all arms, whether a list of them was kept or not."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.engine.many_arms.candidates import first_top_means, update_top_means
from shortlist.engine.many_arms.selection import greedy_arm, largest_variance_at_refresh
from shortlist.engine.many_arms.upper_bounds import update_references
from tests.engine.many_arms.arms import KEY, SCALE, Arms, M


@pytest.mark.parametrize("seed", range(3))
def test_the_arm_of_most_gain_is_found(seed: int) -> None:
    arms = Arms.made(0, seed=seed)
    state, memory = arms.state, arms.memory
    largest_variance_at_refresh.interpret(state, memory)
    candidates, inside = np.zeros(M, np.int64), np.zeros(60, np.bool_)
    first_top_means.interpret(state, candidates, M, inside, KEY)
    for turn in range(12):
        update_top_means.interpret(state, memory, candidates, M, inside, KEY)
        update_references.interpret(state, memory, candidates, M, inside, SCALE)
        b, c = int(candidates[0]), int(np.flatnonzero(~inside)[turn % 4])  # pairs come back
        rows = np.array([arms.posterior.row(each) for each in (b, c)])
        gains = (rows[0] - rows[1]) ** 2 / (1.0 + arms.posterior.variances)
        assert greedy_arm.interpret(state, memory, b, c, KEY) == np.argmax(gains)
        arms.tell(1)
