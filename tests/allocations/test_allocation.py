"""LinGame: how its allocation is followed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shortlist.allocations import allocation as allocations

import shortlist
from pair_distances import pieces
from shortlist.catalog.registry import find_algorithm

TRACKING = ["LinGame"]
CLASSIC = {
    "pi/6": shortlist.instances.classic(K=4, m=2, omega=np.pi / 6),
    "0.1": shortlist.instances.classic(K=3, m=1, omega=0.1),
}


# The sum of the shares is tracked


def followed(name: str, features: np.ndarray, theta: np.ndarray, rounds: int, **more: Any) -> Any:
    """A study after so many results."""
    study = shortlist.Study(features, seed=0, algorithm=name, **more, audit=False)
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, float(features[trial.arm] @ theta + rng.standard_normal()))
        if study.done:
            study.reopen()
    return study


@pytest.mark.parametrize("name", TRACKING)
def test_counts_stay_by_the_sum_of_the_shares(name: str) -> None:
    features = np.random.default_rng(0).standard_normal((9, 3))
    theta = np.array([1.0, 0.0, 0.0])
    study = followed(name, features, theta, 400, m=3, sigma=1.0, delta=1e-99)
    memory = study._log.model.round.allocation
    assert memory.target.sum() == pytest.approx(memory.shared[0])
    assert memory.shared[0] == 401
    assert np.abs(memory.target - study.posterior.pulls).max() <= len(features)
    assert np.ptp(study.posterior.pulls) > 30  # the shares are not even


@pytest.mark.parametrize("name", TRACKING)
def test_a_batch_is_spread_and_leaves_the_memory_alone(name: str) -> None:
    features = np.random.default_rng(0).standard_normal((8, 3))
    study = followed(name, features, np.array([1.0, 0.0, 0.0]), 100, m=2, sigma=1.0)
    before = allocations.copy_allocation(study._log.model.round.allocation)
    batch = study.ask(6)
    assert len({trial.arm for trial in batch}) >= 2
    after = study._log.model.round.allocation
    for memory in ("shared", "target", "weights"):
        np.testing.assert_array_equal(getattr(before, memory), getattr(after, memory))
    for memory in ("answers", "learners"):
        np.testing.assert_array_equal(getattr(before.game, memory), getattr(after.game, memory))


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACKING)
@pytest.mark.parametrize("instance", CLASSIC.values(), ids=CLASSIC)
def test_the_pulls_become_optimal(name: str, instance: Any) -> None:
    """δ is so small that nothing stops: the shares of the pulls are worth nearly those of w*."""
    results = shortlist.compare(
        name, instance, runs=4, seed=1, delta=1e-300, max_samples=40_000, progress=False
    ).frame
    assert not results["stopped"].any()
    inside = np.zeros(len(instance.means), bool)
    inside[np.argsort(-instance.means)[: instance.m]] = True
    reduced = instance.problem(0.05, 0.0).reduced
    best = shortlist.theory.lower_bound(instance).allocation
    worth = [
        pieces(reduced, instance.means, inside, np.array(pulls) / 40_000).min()
        for pulls in results["pulls"]
    ]
    share = np.mean(worth) / pieces(reduced, instance.means, inside, best).min()
    assert 0.9 <= share <= 1.001
    if instance is CLASSIC["0.1"]:  # where w* is much alone in being nearly as good
        mean = np.mean(results["pulls"].tolist(), axis=0) / 40_000
        assert mean == pytest.approx(best, abs=0.08)


# ε > 0


@pytest.mark.parametrize("name", TRACKING)
def test_slack_lets_equal_arms_be(name: str) -> None:
    """Arms of ranks m and m + 1 are equal: without slack no stop, with it a right one."""
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.4], [0.2, 0.1]])
    theta = np.array([1.0, 1.0])
    instance = shortlist.instances.from_arrays(features, theta=theta, m=1, sigma=0.5)
    frame = shortlist.compare(
        name, instance, runs=40, epsilon=0.3, max_samples=100_000, progress=False
    ).frame
    assert frame["stopped"].all()
    assert frame["correct"].all()


@pytest.mark.parametrize("name", TRACKING)
def test_slack_moves_the_pulls_to_where_they_are_worth_more_with_it(name: str) -> None:
    """A near tie wants almost all pulls at ε = 0; with ε = 0.5 it is one pair of many."""
    means = np.array([1.0, 0.95, 0.6, 0.5])
    instance = shortlist.instances.from_arrays(np.eye(4), theta=means, m=1, sigma=0.5)
    options: dict[str, Any] = {"runs": 4, "delta": 1e-200, "max_samples": 1500, "progress": False}
    worth = {}
    for epsilon in (0.0, 0.5):
        frame = shortlist.compare(name, instance, epsilon=epsilon, **options).frame
        assert not frame["stopped"].any()
        shares = np.sum(frame["pulls"].tolist(), axis=0) / (4 * 1500)
        worth[epsilon] = pieces(np.eye(4), means, means == 1.0, shares, 0.5).min()
    assert worth[0.5] > 1.3 * worth[0.0]


def test_the_guarantee_is_stated() -> None:
    problem = CLASSIC["pi/6"].problem(0.05, 0.0)
    for name in TRACKING:
        procedure = find_algorithm(name).bind(problem)
        assert procedure.proven
        assert procedure.claim.text.startswith("Proven")
