"""A search: its plans, namings and changes, with results that a test tells."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from searching import (
    FEATURES,
    MEANS,
    NOISES,
    SHARED,
    SIGMA,
    measuring,
    placed,
    plan_in,
    question,
    state,
    to_the_stop,
)
from shortlist.plans.noises import Known
from shortlist.plans.question import Shared
from shortlist.plans.search import Search

BEST = MEANS >= 0.8
KINDS = list(itertools.product(NOISES, SHARED))


@pytest.mark.parametrize(("noise", "shared"), KINDS)
@pytest.mark.parametrize("features", [None, FEATURES])
def test_it_finds_the_best_whatever_the_noise_and_what_results_share(
    noise: str, shared: str, features: Any
) -> None:
    search = Search(question(noise, shared, features=features), 3)
    to_the_stop(search, measuring(5))
    assert search.stopped
    assert (search.inside == BEST).all()
    assert search.slack(search.inside) <= search.question.epsilon


@pytest.mark.parametrize(("noise", "shared"), KINDS)
def test_a_plan_is_a_function_of_the_seed_and_the_results(noise: str, shared: str) -> None:
    one, two = (Search(question(noise, shared), 3) for _ in range(2))
    measures = measuring(5), measuring(5)
    for _ in range(4):
        for search, measure in zip((one, two), measures, strict=True):
            plan_in(search, measure)
        assert state(one) == state(two)


def test_a_copy_is_independent() -> None:
    search = Search(question(), 3)
    for _ in range(3):
        plan_in(search, measuring(5))
    twin, before = search.copy(), state(search)
    to_the_stop(twin, measuring(6))
    twin.correct(0, 0, 0.1)
    twin.retire(5)
    assert state(search) == before


def test_of_a_random_block_each_cell_is_asked_for_once() -> None:
    search, seen, measure = (
        Search(question("range", "cells"), 3),
        set[tuple[int, int]](),
        measuring(5),
    )
    while not search.stopped:
        arms, blocks = placed(search)
        cells = set(zip(arms.tolist(), blocks.tolist(), strict=True))
        assert len(cells) == len(arms)
        assert not cells & seen
        seen |= cells
        search.take(arms, blocks, measure(arms, blocks))


def test_a_set_is_named_before_the_results_that_prove_it() -> None:
    search, measure = Search(question(), 3), measuring(5)
    while not search.stopped:
        plan_in(search, measure)
    proving = [each for each in search.namings if each.level(search.inside) < math.inf]
    assert proving
    assert all(each.since < len(search.record) for each in proving)
    assert sum(sum(each.risks.values()) for each in search.namings) <= search.question.delta


def test_more_evaluations_go_to_cheap_arms_and_cost_less_than_if_costs_were_ignored() -> None:
    dear = np.array([1.0, 1.0, 8.0, 1.0, 1.0, 8.0])
    spent = {}
    for known in (True, False):
        total = 0.0
        for seed in range(6):
            asked = question(costs=dear if known else np.ones(6), features=FEATURES)
            search = to_the_stop(Search(asked, seed), measuring(seed))
            total += float(search.guess.total.pulls @ dear)
        spent[known] = total
    assert spent[True] < 0.8 * spent[False]


# What changes


def midway(noise: str = "known", shared: str = "nothing", **changes: Any) -> tuple[Search, Any]:
    """A search with sets that are named and not proven."""
    search, measure = Search(question(noise, shared, **changes), 3), measuring(5)
    while not search.namings:
        plan_in(search, measure)
    assert not search.stopped
    return search, measure


def test_an_arm_outside_retires_and_what_was_shown_of_others_stays() -> None:
    search, measure = midway()
    plan_in(search, measure)
    peaks = [each.peak.copy() for each in search.namings]
    levels = [each.level(search.inside) for each in search.namings]
    search.retire(5)
    assert all(
        (now.peak == before).all() for now, before in zip(search.namings, peaks, strict=False)
    )
    assert all(
        now.level(search.inside) > before
        for now, before in zip(search.namings, levels, strict=False)
    )
    to_the_stop(search, measure)
    assert (search.inside == BEST).all()


def test_with_an_arm_inside_its_sets_are_gone() -> None:
    search, measure = midway()
    search.retire(0)
    assert not any(each.level(BEST) < math.inf for each in search.namings)
    to_the_stop(search, measure)
    assert np.flatnonzero(search.inside).tolist() == [1, 2]


def test_an_arm_that_comes_back_needs_a_later_naming() -> None:
    search, measure = midway()
    search.retire(0)
    named = search.named
    search.readmit(0)
    b, c = np.array([0]), np.array([4])
    assert not any(each.has(b, c).any() for each in search.namings[:named])
    to_the_stop(search, measure)
    assert (search.inside == BEST).all()


def test_an_arm_is_added_in_mid_plan_and_is_found() -> None:
    search, _ = midway()
    noise = Known(np.full(7, SIGMA))
    more = replace(question(), arms=7, costs=np.ones(7), out=np.zeros(7, bool), noise=noise)
    plan = search.slots
    search.add(more)
    assert search.slots is plan
    to_the_stop(search, measuring(6, np.append(MEANS, 1.0)))
    assert np.flatnonzero(search.inside).tolist() == [0, 6]


def test_a_larger_slack_asks_nothing_new() -> None:
    search, measure = midway(epsilon=0.0)
    while not (least := search.slack(search.inside)) < math.inf:
        plan_in(search, measure)
    told = len(search.record)
    if not search.stopped:
        search.widen(1.01 * least)
    assert search.stopped
    assert len(search.record) == told


def test_verification_has_a_delta_of_its_own_and_assumes_nothing_of_the_features() -> None:
    search = to_the_stop(Search(question(features=FEATURES), 3), measure := measuring(5))
    search.verify()
    assert not search.stopped
    assert search.named <= 1
    assert search.question.relied is None
    to_the_stop(search, measure)
    assert (search.inside == BEST).all()


@pytest.mark.parametrize("noise", NOISES)
def test_a_correction_changes_values_and_not_what_was_decided(noise: str) -> None:
    search, measure = midway(noise)
    plan_in(search, measure)
    decided = search.slots, [each.risks for each in search.namings], search.named
    right = float(search.record[-1].values[0])
    peaks = [each.peak.copy() for each in search.namings]
    search.correct(len(search.record) - 1, 0, 0.5 * right)
    assert (search.slots, [each.risks for each in search.namings], search.named) == decided
    search.correct(len(search.record) - 1, 0, right)
    for now, before in zip(search.namings, peaks, strict=True):
        known = np.isfinite(before)
        assert np.allclose(now.peak[known], before[known])


# A budget


@pytest.mark.parametrize(("noise", "shared"), KINDS)
def test_a_budget_is_spent_and_not_exceeded_and_something_is_proven(
    noise: str, shared: str
) -> None:
    search, measure = Search(question(noise, shared, budget=200), 3), measuring(5)
    while not search.stopped:
        assert len(search.slots.arms) <= 200 - search.guess.total.pulls.sum()
        plan_in(search, measure)
    assert search.guess.total.pulls.sum() == 200
    least = search.slack(search.inside)
    assert least < 0.5
    assert least == search.best_slack()[1]
    assert MEANS[search.inside].min() >= MEANS[BEST].min() - least


def test_with_a_budget_something_is_named_by_a_third_of_it() -> None:
    alike = np.full(6, 0.5)
    search, measure = Search(question(budget=300), 3), measuring(5, alike)
    while search.guess.total.pulls.sum() < 200:
        plan_in(search, measure)
    assert search.namings
    while not search.stopped:
        plan_in(search, measure)
    assert search.slack(search.inside) < math.inf


def test_what_is_asked_has_controls_that_are_never_listed() -> None:
    out = np.zeros(6, bool)
    out[0] = True
    shared = Shared(requested=True, controls=(2, 0, 0, 0, 0, 0))
    asked = replace(question(), shared=shared, out=out)
    search = Search(asked, 3)
    assert asked.controls.tolist() == [0]
    assert 0 not in search.slots.arms
    for _ in range(4):
        plan_in(search, measuring(5))
        assert 0 not in search.slots.arms
        assert not search.inside[0]
