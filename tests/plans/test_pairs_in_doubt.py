"""Pairs in doubt: how much a pair counts, which arm is pulled, and how the pulls are shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

import shortlist
from budgets import at, begin, play, result, spending
from shortlist import errors
from shortlist.plans.pairs_in_doubt import PairsInDoubtStrategy
from shortlist.study.definition import _algorithm, _described

RNG = np.random.default_rng(0)


def told(
    features: Any, pulls: Any, means: Any, m: int, epsilon: float = 0.0
) -> PairsInDoubtStrategy:
    strategy = spending(features, m, epsilon=epsilon, budget=10_000)
    strategy.decide(*at(np.asarray(pulls), means), 0)
    return strategy


def variances(features: NDArray[Any], pulls: NDArray[Any]) -> NDArray[Any]:
    """Of the means, in units of σ²."""
    inverse = np.linalg.inv(features.T @ (pulls[:, None] * features))
    return np.asarray(features @ inverse @ features.T)


def gains(
    strategy: PairsInDoubtStrategy, features: NDArray[Any], m: int, epsilon: float
) -> list[float]:
    """For every arm the shares of variance that its result removes, each times its doubt."""
    order = np.argsort(-strategy.means)
    before, removed = variances(features, strategy.total.pulls), []
    for arm in range(len(features)):
        after, total = (
            variances(features, strategy.total.pulls + (np.arange(len(features)) == arm)),
            0.0,
        )
        for b in order[:m]:
            for c in order[m:]:
                old, new = (v[b, b] + v[c, c] - 2 * v[b, c] for v in (before, after))
                gap = strategy.means[b] - strategy.means[c] + epsilon
                total += norm.sf(gap / (0.5 * np.sqrt(old))) * (old - new) / old
        removed.append(total)
    return removed


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("m", [1, 3, 8])
def test_the_pull_removes_most_of_what_is_in_doubt(m: int, epsilon: float) -> None:
    for _ in range(5):
        features = RNG.standard_normal((9, 3))
        pulls = RNG.integers(1, 6, 9)
        strategy = told(features, pulls, features @ RNG.standard_normal(3), m, epsilon)
        assert strategy.plan.sum() == max(1, pulls.sum() // 32)
        expected = gains(strategy, features, m, epsilon)
        assert strategy.plan[np.argmax(expected)] > 0


def test_pulls_of_a_plan_are_those_one_by_one_with_the_same_doubt() -> None:
    """With 640 results a plan has 20 pulls: the tables are brought up to date, and not made anew."""
    features = RNG.standard_normal((9, 3))
    strategy = told(features, np.full(9, 72), features @ [1.0, 0.4, -0.2], 2)
    plan, pairs = np.zeros(9, int), np.zeros((3, 3))
    order, known = np.argsort(-strategy.means), variances(features, np.full(9, 72))
    for b in order[:2]:
        for c in order[2:]:
            apart = known[b, b] + known[c, c] - 2 * known[b, c]
            doubt = norm.sf((strategy.means[b] - strategy.means[c]) / (0.5 * np.sqrt(apart)))
            pairs += doubt / apart * np.outer(features[b] - features[c], features[b] - features[c])
    for _ in range(20):
        pulls = 72 + plan
        inverse = np.linalg.inv(features.T @ (pulls[:, None] * features))
        seen = features @ inverse
        gain = np.einsum("ak,kj,aj->a", seen, pairs, seen)
        plan[np.argmax(gain / (1 + np.einsum("ak,ak->a", seen, features)))] += 1
    assert strategy.plan.tolist() == plan.tolist()


def test_one_against_many_gets_more_than_any_of_them() -> None:
    """One arm above 24 equal ones: the best shares are √24 to 1 (its variance is in every pair)."""
    means = np.append(0.1, np.zeros(24))
    strategy = told(np.eye(25), np.full(25, 10), means, 1)
    while strategy.told < 4_000:
        strategy.decide(*at(strategy.plan, means), 0)
    others = strategy.total.pulls[1:]
    assert strategy.total.pulls[0] / others.mean() == pytest.approx(np.sqrt(24), rel=0.02)
    assert others.max() <= others.min() + 1


def test_without_features_the_pair_in_doubt_gets_the_pulls() -> None:
    pulls = play(spending(np.eye(5), 2, budget=200), [2.0, 1.0, 0.8, -1.0, -2.0]).total.pulls
    assert pulls[[1, 2]].sum() > 150
    assert (pulls >= 1).all()


def test_with_features_the_arm_that_tells_most_gets_the_pulls() -> None:
    """At a small angle two arms are told apart by a third."""
    angle = 0.1
    features = [[1.0, 0.0], [np.cos(angle), np.sin(angle)], [0.0, 1.0]]
    pulls = play(spending(features, 1, budget=200), np.array(features) @ [1.0, 0.0]).total.pulls
    assert pulls[2] > 150


def test_slack_moves_pulls_to_where_it_does_not_help() -> None:
    means = [3.0, 1.0, 0.99, 0.0]
    near, slack = (
        play(spending(np.eye(4), 2, epsilon=e, budget=200), means).total.pulls for e in (0.0, 0.5)
    )
    assert near[[1, 2]].sum() > slack[[1, 2]].sum()


def test_without_features_it_decides_as_with_an_indicator_of_each_arm() -> None:
    means = RNG.standard_normal(30)
    own = spending(np.eye(30), 4, budget=3_000)
    rotation = np.linalg.qr(RNG.standard_normal((30, 30)))[0]
    other = spending(rotation, 4, budget=3_000)
    for pulls in (np.ones(30, int), RNG.integers(1, 90, 30), np.ones(30, int)):
        for each in (own, other):
            each.decide(*at(pulls, means), 0)
        assert own.plan.tolist() == other.plan.tolist()
        assert own.statistic == pytest.approx(other.statistic)
        for mine, theirs in zip(own.differences(3), other.differences(3), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2])
def test_arms_that_nothing_tells_apart_do_no_harm(m: int) -> None:
    features = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    last = play(spending(features, m, epsilon=0.1, budget=200), features @ [1.0, 0.2])
    assert last.total.pulls.sum() == 200
    assert set(np.flatnonzero(last.inside)) < {0, 1, 2}
    alike = play(spending(np.ones((4, 1)), m, budget=200), np.ones(4))
    assert alike.total.pulls.sum() == 200


def test_pairs_that_are_as_good_as_certain_still_have_an_order() -> None:
    """Probabilities of 1e-2000 are 0 in floating point; their ratios are not."""
    strategy = told(np.eye(3), [40, 40, 40], [1000.0, 0.0, -500.0], 1)
    assert strategy.plan[2] == 0
    assert strategy.plan.sum() == 3


def test_a_plan_is_one_part_in_32_of_what_is_known_and_ends_at_the_budget() -> None:
    strategy = spending(np.eye(4), 1, budget=301)
    while strategy.plan.any():
        known = strategy.told
        assert strategy.plan.sum() == (4 if not known else min(max(1, known // 32), 301 - known))
        strategy.decide(*at(strategy.plan, [1.0, 0.9, 0.8, 0.0]), 0)
    assert strategy.told == 301


def test_results_decide_and_no_seed() -> None:
    plans = []
    for seed in (1, 2):
        strategy = spending(np.eye(4), 1, budget=90)
        strategy.decide(*at(strategy.plan, [1.0, 0.9, 0.8, 0.0]), seed)
        plans.append(strategy.plan.tolist())
    assert plans[0] == plans[1]


def test_it_is_stored_under_its_own_kind(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(50, storage=path)
    assert _described(shortlist.PairsInDoubt(budget=50)) == {
        "name": "pairs-in-doubt",
        "kind": "PairsInDoubt",
        "settings": {"name": "pairs-in-doubt", "budget": 50},
    }
    study.run(result, max_evaluations=30, progress=False)
    loaded = shortlist.Study.load(path)
    assert loaded.round.search.strategy.plan.tolist() == study.round.search.strategy.plan.tolist()
    assert loaded.ask().arm == begin(50, storage=path).pending[0].arm


@pytest.mark.slow
def test_it_errs_less_often_than_equal_shares() -> None:
    """One arm above 24 equal ones, 6 evaluations an arm."""
    means = np.array([0.5, *[0.0] * 24])
    instance = shortlist.instances.from_arrays(np.eye(25), means=means, m=1, sigma=0.5)
    frame = shortlist.compare(
        shortlist.PairsInDoubt(budget=150), instance, runs=30, progress=False
    ).frame
    noise = np.random.default_rng(0).standard_normal((20_000, 25))
    equal = float(((means + 0.5 / np.sqrt(6) * noise).argmax(axis=1) != 0).mean())
    assert binom.cdf(int((~frame["correct"]).sum()), len(frame), equal) < 0.01


def test_a_stored_algorithm_that_is_unknown_is_said_so() -> None:
    stored = {**_described(shortlist.PairsInDoubt(budget=50)), "name": "top-two", "kind": "TopTwo"}
    with pytest.raises(errors.DamagedStorage, match="algorithm, top-two, is not known to this"):
        _algorithm(stored)
