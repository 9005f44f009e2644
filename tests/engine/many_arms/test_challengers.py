"""Challengers found by bounds are those of all gap indices."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.engine.many_arms import challengers
from shortlist.engine.many_arms.candidates import first_top_means, update_top_means
from shortlist.engine.many_arms.state import REFERENCES
from shortlist.engine.many_arms.upper_bounds import update_references
from shortlist.engine.round import make_round
from shortlist.numerics.records import ABSENT
from tests.engine.many_arms.arms import KEY, SCALE, Arms, M


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_gap_index_outside_is_found_round_after_round(seed: int) -> None:
    arms = Arms.made(0, seed=seed)
    state, memory = arms.state, arms.memory
    now = make_round(60, 0, M, ABSENT, np.zeros((0, 0)), memory, by_time=False)
    candidates, inside = now.arm_heap, now.inside
    first_top_means.interpret(state, candidates, M, inside, KEY)
    found, gaps = now.challengers, now.outside_gaps
    for _ in range(15):
        update_top_means.interpret(state, memory, candidates, M, inside, KEY)
        update_references.interpret(state, memory, candidates, M, inside, SCALE)
        challengers.find_challengers.interpret(state, now, M, SCALE, KEY)
        indices = arms.gaps[np.ix_(~inside, inside)]
        assert gaps[inside].max() == pytest.approx(indices.max(), abs=1e-9)
        j = np.flatnonzero(inside)[np.argmax(gaps[inside])]
        assert arms.gaps[found[j], j] == pytest.approx(indices.max(), abs=1e-9)
        assert not inside[found[j]]
        arms.tell(3)


def test_lists_hold_the_arms_of_largest_gap_index() -> None:
    arms = Arms.made(0)
    state, memory = arms.state, arms.memory
    candidates, inside = np.zeros(M, np.int64), np.zeros(60, np.bool_)
    first_top_means.interpret(state, candidates, M, inside, KEY)
    for _ in range(10):
        update_top_means.interpret(state, memory, candidates, M, inside, KEY)
        update_references.interpret(state, memory, candidates, M, inside, SCALE)
        count = int(memory.figures[REFERENCES])
        challengers.update_lists.interpret(state, memory, 0, count, M, SCALE, KEY)
        gaps = arms.gaps
        np.fill_diagonal(gaps, -np.inf)
        for place in range(count):
            j = memory.references[place]
            expected = np.argsort(-gaps[:, j])[:M]
            assert memory.top_arms[place, :M].tolist() == expected.tolist()
            np.testing.assert_allclose(memory.gaps[place, :M], gaps[expected, j], atol=1e-9)
        arms.tell(3)
