"""How results come to a search: in any order, asked for or not, corrected, interrupted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import shortlist
from searching import MEANS, measuring, placed, question, state
from shortlist.arrays import NO_BLOCK
from shortlist.blocks import Cell
from shortlist.plans.search import Search
from shortlist.plans.search_engine import Progress
from shortlist.study.study import Study


def begin(noise: str = "known", shared: str = "nothing", **changes: Any) -> Progress:
    asked = question(noise, shared, **changes)
    now = Progress(lambda seed: Search(asked, seed))
    now.begin(3)
    return now


def tell_plan(now: Progress, measure: Any) -> None:
    """Tell the results of a plan, and let it be decided."""
    arms, blocks = placed(now.search)
    for arm, block, value in zip(arms, blocks, measure(arms, blocks), strict=True):
        now.take(int(arm), int(block), float(value), asked=True)
    assert now.is_over
    now.decide()


def lacking(now: Progress) -> list[int]:
    """The arms that a plan lacks, in order."""
    supposed, arms = Counter[Cell](), list[int]()
    while cell := now.lacking(supposed, ()):
        supposed[cell] += 1
        arms.append(cell.arm)
    return arms


def test_the_plan_is_over_when_its_last_result_is_in() -> None:
    now = begin()
    arms = now.search.slots.arms
    for left, arm in zip(range(len(arms), 0, -1), arms.tolist(), strict=True):
        assert now.until_decision == left
        assert not now.is_over
        now.take(arm, NO_BLOCK, float(MEANS[arm]), asked=True)
    assert now.is_over


@pytest.mark.parametrize("shared", ["nothing", "plates"])
def test_what_is_asked_for_next_keeps_the_order_of_the_plan(shared: str) -> None:
    now = begin("unknown", shared)
    wanted = now.search.slots.arms.tolist()
    assert lacking(now) == wanted
    now.take(wanted[0], 0 if shared == "plates" else NO_BLOCK, 0.5, asked=True)
    assert lacking(now) == wanted[1:]


def test_an_interruption_leaves_all_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    now, measure = begin(), measuring(5)
    tell_plan(now, measure)
    for arm in now.search.slots.arms.tolist():
        now.take(arm, NO_BLOCK, float(MEANS[arm]), asked=True)
    before, results, search = state(now.search), list(now.results), now.search

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Search, "_arrange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            now.decide()
    assert now.search is search
    assert (state(now.search), now.results) == (before, results)
    now.decide()
    assert state(now.search) != before


def test_a_result_beyond_the_plan_guides_and_one_of_a_later_cell_waits_for_its_plan() -> None:
    now = begin()
    for _ in range(50):
        now.take(0, NO_BLOCK, 0.9, asked=True)
    assert len(now.beside) == 50 - now.search.slots.arms.tolist().count(0)
    cells = begin("range", "cells")
    later = int(cells.search.slots.blocks.max()) + 1
    cells.take(0, later, 0.9, asked=True)
    assert (cells.uncounted, cells.beside, cells.results) == (1, [], [])
    measure = measuring(5)
    tell_plan(cells, measure)
    assert [result.block for result in cells.results] == [later]


def test_of_two_results_of_a_cell_the_first_counts() -> None:
    now = begin("range", "cells")
    cell = now.order[0]
    for value in (0.2, 0.77):
        now.take(cell.arm, cell.block, value, asked=False)
    assert [result.value for result in now.results] == [0.2]
    rest = [each for each in now.order if each != cell]
    for each in rest:
        now.take(each.arm, each.block, float(MEANS[each.arm]), asked=True)
    now.decide()
    assert [plan.values.tolist().count(0.77) for plan in now.search.record] == [0]
    assert now.uncounted == 1


def test_of_a_plate_results_that_nobody_asked_for_only_guide() -> None:
    now = begin("known", "plates")
    now.take(0, 0, 0.9, asked=False)
    assert (len(now.beside), now.results) == (1, [])


@pytest.mark.parametrize("where", ["plan", "beside", "later", "record"])
def test_a_corrected_value_counts_wherever_it_went(where: str) -> None:
    """As if the right value had been told, with what was decided by the wrong one."""
    told = begin("range", "plates" if where == "beside" else "cells")
    cell = told.order[0]
    block = {"later": 99, "beside": 0}.get(where, cell.block)
    told.take(cell.arm, block, 0.1, asked=where != "beside")
    if where == "record":
        rest = [each for each in told.order if each != cell]
        for each in rest:
            told.take(each.arm, each.block, float(MEANS[each.arm]), asked=True)
        told.decide()
    told.correct(0, 0.7)
    if where == "record":
        assert told.search.record[0].values[0] == 0.7
        assert told.search.guess.total.sums[cell.arm] == pytest.approx(
            sum(v for p in told.search.record for v in p.values[p.arms == cell.arm])
        )
        return
    there = {"plan": told.results, "beside": told.beside}
    if where == "later":
        assert [each.value for each, _ in told.later.values()] == [0.7]
    else:
        assert [each.value for each in there[where]] == [0.7]


def test_a_wait_is_ended_by_retiring_what_it_is_for() -> None:
    now = begin()
    now.give_up(5)
    for arm in now.search.slots.arms.tolist():
        if arm != 5:
            now.take(arm, NO_BLOCK, float(MEANS[arm]), asked=True)
    assert now.is_over


def test_with_a_budget_nothing_is_left_open_at_its_end() -> None:
    now = begin("range", "cells", budget=30)
    for turn in range(30):
        now.take(turn % 6, 100 + turn, 0.5, asked=True)
    assert now.is_over
    now.decide()
    assert now.search.stopped
    assert (now.later, now.beside, now.uncounted) == ({}, [], 30)


# In a study


def study(direction: str, low: float, width: float, **settings: Any) -> Study:
    """With results in a range, the best two of six, by numbers of another scale."""
    signs = {"maximize": 1.0, "minimize": -1.0}
    generator = np.random.default_rng(8)
    given: dict[str, Any] = {
        **{"m": 2, "sigma": "bounded", "reward_range": (low, low + width), "epsilon": 0.1 * width},
        **{"direction": direction, "seed": 4, **settings},
    }
    asked = shortlist.Study(arms=[f"a{arm}" for arm in range(6)], **given)

    def measure(trial: Any) -> float:
        share = float(np.clip(MEANS[trial.arm] + 0.1 * generator.normal(), 0.0, 1.0))
        return low + width * (share if signs[direction] > 0 else 1.0 - share)

    asked.run(measure, progress=False)
    return asked


@pytest.mark.parametrize("blocks", [None, "random"])
def test_the_smallest_are_found_and_a_range_is_only_a_scale(blocks: str | None) -> None:
    settings = {} if blocks is None else {"blocks": blocks}
    plain = study("maximize", 0.0, 1.0, **settings)
    assert plain.shortlist.names == ["a0", "a1"]
    for direction, low, width in (("minimize", 0.0, 1.0), ("maximize", -3.0, 8.0)):
        other = study(direction, low, width, **settings)
        assert set(other.shortlist.names) == {"a0", "a1"}
        assert other.evaluations == pytest.approx(plain.evaluations, rel=0.05)


def test_on_plates_every_plate_is_a_sample_of_the_plan_and_plans_ask_for_no_control() -> None:
    given: dict[str, Any] = {"blocks": "shift", "controls": {"a5": 2}, "seed": 1}
    asked = shortlist.Study(arms=[f"a{arm}" for arm in range(6)], m=2, sigma=0.1, **given)
    generator = np.random.default_rng(0)
    for plate in range(2):
        trials, shift = asked.ask(12), generator.normal()
        arms = np.bincount([trial.arm for trial in trials], minlength=6)
        assert arms[5] == 2
        assert arms[:5].tolist() == [2] * 5 or plate
        for trial in trials:
            asked.tell(trial, MEANS[trial.arm] + shift + 0.1 * generator.normal())
    own = asked.round.search.slots.arms
    assert 5 not in own
