"""Upper bounds on gap indices hold, round after round, and are made smaller where that is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.engine.many_arms import upper_bounds
from shortlist.engine.many_arms.candidates import first_top_means
from shortlist.engine.many_arms.state import REFERENCES
from shortlist.engine.many_arms.state import SCALE as OLD_SCALE
from tests.engine.many_arms.arms import KEY, SCALE, Arms, M


def with_references(seed: int = 0) -> tuple[Arms, np.ndarray, np.ndarray]:
    arms = Arms.made(0, seed=seed)
    candidates, inside = np.zeros(M, np.int64), np.zeros(60, np.bool_)
    first_top_means.interpret(arms.state, candidates, M, inside, KEY)
    upper_bounds.update_references.interpret(arms.state, arms.memory, candidates, M, inside, SCALE)
    return arms, candidates, inside


def bounds_hold(arms: Arms, scale: float = SCALE) -> bool:
    memory = arms.memory
    ratio = scale / memory.figures[OLD_SCALE]
    gaps = arms.gaps
    for place in range(int(memory.figures[REFERENCES])):
        j = memory.references[place]
        bound = arms.means + ratio * (memory.width_bounds + memory.anchors[place]) - arms.means[j]
        others = np.arange(60) != j
        if (bound[others] < gaps[others, j] - 1e-9).any():
            return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_now_and_after_more_results(seed: int) -> None:
    arms, _, _ = with_references(seed)
    assert bounds_hold(arms)
    arms.tell(30)  # widths only shrink
    assert bounds_hold(arms)


def test_a_bound_that_was_tightened_is_smaller_and_holds() -> None:
    arms, _, _ = with_references()
    arms.tell(30)
    before = arms.memory.width_bounds.copy()
    for i in range(60):
        upper_bounds.renew_if_old.interpret(arms.state, i)
        upper_bounds.tighten.interpret(arms.state, arms.memory, i)
    # With the images of before, which are those of larger widths.
    assert (arms.memory.width_bounds <= before + 1e-9).all()
    assert (arms.memory.width_bounds < before - 1e-3).any()


def test_a_gap_index_is_that_of_numpy() -> None:
    arms, _, _ = with_references()
    gaps = arms.gaps
    for place in range(M):
        j = arms.memory.references[place]
        for i in set(range(60)) - {int(j)}:
            found = upper_bounds.gap_index.interpret(arms.state, arms.memory, i, place, SCALE)
            assert found == pytest.approx(gaps[i, j], abs=1e-9)


def test_a_reference_that_is_removed_leaves_the_others() -> None:
    arms, candidates, _ = with_references()
    upper_bounds.remove_reference.interpret(arms.memory, 0)
    memory = arms.memory
    assert memory.figures[REFERENCES] == M - 1
    assert set(memory.references[: M - 1]) == set(candidates[1:])
    assert memory.places[candidates[0]] == -1
    assert [memory.references[memory.places[j]] for j in candidates[1:]] == list(candidates[1:])


def test_a_new_candidate_becomes_a_reference_that_the_bounds_cover() -> None:
    arms, candidates, inside = with_references()
    new = int(np.flatnonzero(~inside)[0])
    inside[candidates[0]], inside[new] = False, True
    candidates[0] = new
    upper_bounds.update_references.interpret(arms.state, arms.memory, candidates, M, inside, SCALE)
    assert arms.memory.places[new] >= 0
    assert bounds_hold(arms)
