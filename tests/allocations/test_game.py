"""LinGame's game: the learner, nature's answer, and the pulls it leads to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shortlist.allocations import game

import shortlist

STEADY = settings(derandomize=True, deadline=None)


def learner(arms: int) -> np.ndarray:
    return np.array([0.0] * arms + [game.FIRST_MIXABILITY])


def test_the_learner_starts_even_and_finds_the_arm_that_pays() -> None:
    state, weights = learner(4), np.zeros(4)
    game.hedge(state, weights)
    assert weights.tolist() == [0.25] * 4
    rng = np.random.default_rng(0)
    for _ in range(400):
        game.hedge(state, weights)
        game.learn(state, weights, rng.uniform(0, 1, 4) + np.array([0, 0, 0.5, 0]))
    game.hedge(state, weights)
    assert weights.argmax() == 2
    assert weights[2] > 0.95


@STEADY
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_regret_stays_below_the_bound_of_adahedge(arms: int, seed: int) -> None:
    """sqrt(T ln K) + (16/3) ln K + 2 for gains in [0, 1] (de Rooij et al. 2014)."""
    rng = np.random.default_rng(seed)
    state, weights, earned = learner(arms), np.zeros(arms), 0.0
    total = np.zeros(arms)
    for _ in range(200):
        gains = rng.integers(0, 2, arms).astype(float)
        game.hedge(state, weights)
        earned += float(weights @ gains)
        total += gains
        game.learn(state, weights, gains)
    log = np.log(arms)
    assert total.max() - earned <= np.sqrt(200 * log) + 16 / 3 * log + 2


def test_new_answers_find_room() -> None:
    """All means are equal: J(t) wanders over more sets than there were places for."""
    rng = np.random.default_rng(3)
    features = rng.standard_normal((12, 6))
    study = shortlist.Study(
        features, m=5, sigma=1.0, epsilon=0.001, seed=1, algorithm="LinGame", audit=False
    )
    while not study.done and study.evaluations < 400:
        trial = study.ask()
        study.tell(trial, float(rng.standard_normal()))
    places = study._log.model.round.allocation.game.answers
    assert len(places) > 8
    assert 2 * np.sum(places != game.EMPTY) <= len(places)


def test_it_needs_fewer_evaluations_than_even_shares() -> None:
    instance = shortlist.instances.classic(K=6, m=1, omega=0.2, sigma=0.5)
    mean = shortlist.compare("LinGame", instance, runs=60, progress=False).frame["samples"].mean()

    def even(pair, arms, key):  # type: ignore[no-untyped-def]
        return int(np.argmin(arms.pulls))

    uniform = shortlist.GIFA(selection=even, name="even shares")
    other = shortlist.compare(uniform, instance, runs=60, progress=False).frame["samples"].mean()
    assert mean < 0.7 * other


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"selection": "tracking"}, "follows an allocation"),
        ({"allocation": "game"}, "no other rule does"),
        ({"selection": "tracking", "allocation": "gme"}, "did you mean 'game'"),
    ],
)
def test_an_allocation_goes_with_tracking(settings: dict[str, str], words: str) -> None:
    with pytest.raises(shortlist.errors.InvalidInput, match=words):
        shortlist.GIFA(**settings)


def test_the_published_one_finds_one_arm_only() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    with pytest.raises(shortlist.errors.InvalidSetting, match="m = 1"):
        shortlist.compare("LinGame (as published)", instance, runs=1, progress=False)


def test_the_guarantee_is_stated() -> None:
    instance = shortlist.instances.classic(K=4, m=1, omega=1.0)
    problem = instance.problem(0.05, 0.0)
    from shortlist.catalog.registry import find_algorithm

    assert find_algorithm("LinGame").bind(problem).proven
    assert not find_algorithm("LinGame (as published)").bind(problem).proven
