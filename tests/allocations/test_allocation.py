"""LinGame, FWS and lazy track-and-stop: w*, and how allocations are followed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import shortlist
from pair_distances import STEADY, pieces
from shortlist.allocations import allocation as allocations
from shortlist.allocations import allocation as lazy
from shortlist.catalog.registry import find_algorithm
from shortlist.posterior.posterior import Posterior
from shortlist.rules.initialization import span, weakest_direction
from shortlist.theory.lower_bound import optimal_allocation

TRACKING = ["LinGame", "FWS", "lazy track-and-stop"]
CLASSIC = {
    "pi/6": shortlist.instances.classic(K=4, m=2, omega=np.pi / 6),
    "0.1": shortlist.instances.classic(K=3, m=1, omega=0.1),
}


# w* and lazy track-and-stop


@pytest.mark.parametrize("instance", CLASSIC.values(), ids=CLASSIC)
def test_the_shares_of_the_truth_are_those_of_the_lower_bound(instance: Any) -> None:
    inside = np.zeros(len(instance.means), bool)
    inside[np.argsort(-instance.means)[: instance.m]] = True
    bound = shortlist.theory.lower_bound(instance)
    reduced = instance.problem(0.05, 0.0).reduced
    ours = optimal_allocation(reduced, instance.means, inside)
    assert ours == pytest.approx(bound.allocation, abs=2e-3)
    value = pieces(reduced, instance.means, inside, ours).min()
    assert 2 * instance.sigma**2 / value == pytest.approx(bound.t_star, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_no_other_shares_do_better(seed: int, epsilon: float) -> None:
    """Against a general-purpose optimiser."""
    rng = np.random.default_rng(seed)
    K, N, m = 7, 3, 2
    X, theta = rng.standard_normal((K, N)), rng.standard_normal(N)
    means = X @ theta
    inside = np.zeros(K, bool)
    inside[np.argsort(-means)[:m]] = True
    best = optimal_allocation(X, means, inside, epsilon=epsilon)
    assert best is not None
    assert best.sum() == pytest.approx(1.0)
    value = pieces(X, means, inside, best, epsilon).min()

    # The largest v with f_p(w) ≥ v for all pairs, in units of the value found.
    found = minimize(
        lambda wv: -wv[-1],
        np.r_[np.full(K, 1 / K), 0.1],
        bounds=[(1e-6, 1)] * K + [(None, None)],
        constraints=[
            {"type": "eq", "fun": lambda wv: wv[:-1].sum() - 1},
            {
                "type": "ineq",
                "fun": lambda wv: pieces(X, means, inside, wv[:-1], epsilon) / value - wv[-1],
            },
        ],
        method="SLSQP",
        options={"maxiter": 500},
    )
    assert found.success
    assert 0.98 <= -found.fun <= 1.0 + 1e-3  # if it were far below, it would be a straw man


def test_there_are_no_shares_where_the_means_do_not_tell() -> None:
    X = np.random.default_rng(0).standard_normal((4, 2))
    inside = np.array([True, True, False, False])
    assert optimal_allocation(X, np.array([2.0, 1.0, 1.0, 0.0]), inside) is None
    assert optimal_allocation(X, np.zeros(4), inside) is None
    assert optimal_allocation(X, np.zeros(4), inside, epsilon=0.1) is not None
    same = np.ones((3, 1))
    assert optimal_allocation(same, np.ones(3), inside[1:], epsilon=0.1) is None


def test_the_shares_are_solved_at_the_first_round_and_at_powers_of_2() -> None:
    solved, moments = -1, []
    for t in range(40, 600):
        if lazy.next_solution(solved) <= t:
            moments.append(t)
            solved = t
    assert moments == [40, 64, 128, 256, 512]
    assert lazy.next_solution(200) == lazy.next_solution(128) == 256


@pytest.mark.slow
@STEADY
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_exploration_is_wanted_where_the_weakest_direction_is_weak(rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rank + 3, rank))
    posterior = Posterior(X, regularization=0.3)
    arms = span(X)
    floor = weakest_direction(X, arms) / math.sqrt(rank) * 10 ** rng.uniform(0, 2)
    levels = np.array([floor, 0.0])
    favourite = rng.integers(len(X))
    for t in range(1, 80):
        posterior.observe(int(rng.integers(len(X)) if rng.uniform() < 0.5 else favourite), 0.0)
        A = X.T @ (posterior.pulls[:, None] * X)
        weakest = np.linalg.eigvalsh(A)[0]
        if abs(weakest - floor * math.sqrt(t)) > 1e-9:
            assert lazy.is_explored(posterior.state, levels) == (weakest > floor * math.sqrt(t))
        assert levels[lazy.CERTIFIED] <= weakest + 1e-9


def test_a_direction_nobody_wants_is_explored_all_the_same() -> None:
    """Only two of the arms matter; c√t is kept in every direction."""
    X = np.eye(3)
    study = shortlist.Study(
        X, m=1, sigma=0.01, epsilon=0.0, seed=0, S=100.0,
        algorithm=shortlist.GIFA(
            selection="tracking", allocation="lazy", threshold="determinant", initialization=None
        ), audit=False,
    )  # fmt: skip
    means = np.array([1.0, 0.999, -50.0])
    while study.evaluations < 400:
        trial = study.ask()
        study.tell(trial, float(means[trial.arm]))
        if study.done:
            study.reopen()
    assert study.posterior.pulls.min() >= math.sqrt(400 / 3) - 2
    assert study.posterior.pulls[2] <= math.sqrt(400 / 3) + 2


# What they share: the sum of the shares is tracked


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
    assert memory.target.sum() == pytest.approx(memory.clock[allocations.SHARED])
    assert memory.clock[allocations.SHARED] == 401
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
    for memory in ("clock", "target", "weights", "levels"):
        if name != "FWS" or memory != "weights":  # which are made anew in every step
            np.testing.assert_array_equal(getattr(before, memory), getattr(after, memory))
    for memory in ("answers", "learners"):
        np.testing.assert_array_equal(getattr(before.game, memory), getattr(after.game, memory))


@pytest.mark.parametrize("name", ["FWS", "lazy track-and-stop"])
@pytest.mark.parametrize("told", [100, 120])  # in the second batch w* is solved on the way
def test_a_batch_is_what_results_at_their_means_would_lead_to(name: str, told: int) -> None:
    features = np.random.default_rng(0).standard_normal((8, 3))
    theta = np.array([1.0, 0.0, 0.0])
    at_once, in_turn = (followed(name, features, theta, told, m=2, sigma=1.0) for _ in range(2))
    batch = [trial.arm for trial in at_once.ask(12)]
    one_by_one = []
    for _ in range(12):
        trial = in_turn.ask()
        one_by_one.append(trial.arm)
        in_turn.tell(trial, float(in_turn.posterior.means[trial.arm]))
        if in_turn.done:
            in_turn.reopen()
    assert batch == one_by_one


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
    best = optimal_allocation(reduced, instance.means, inside)
    worth = [
        pieces(reduced, instance.means, inside, np.array(pulls) / 40_000).min()
        for pulls in results["pulls"]
    ]
    share = np.mean(worth) / pieces(reduced, instance.means, inside, best).min()
    assert 0.9 <= share <= 1.001
    if instance is CLASSIC["0.1"]:  # where w* is much alone in being nearly as good
        mean = np.mean(results["pulls"].tolist(), axis=0) / 40_000
        assert mean == pytest.approx(best, abs=0.08 if name == "LinGame" else 0.01)


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


# Where there is nothing to go by


@pytest.mark.parametrize("name", ["FWS", "lazy track-and-stop"])
def test_results_that_tell_nothing_are_shared_out_evenly(name: str) -> None:
    study = shortlist.Study(np.eye(4), m=2, sigma=1.0, seed=0, algorithm=name, audit=False)
    while study.evaluations < 200:
        study.tell(study.ask(), 0.0)
    assert np.ptp(study.posterior.pulls) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arms"), [("FWS", 8), (TRACKING[2], 8), (TRACKING[2], 80)])
def test_what_remains_is_projected(name: str, arms: int) -> None:
    features = np.random.default_rng(0).standard_normal((arms, 3))
    study = followed(name, features, np.array([1.0, 0.0, 0.0]), 120, m=2, sigma=1.0, delta=1e-9)
    projection = study.remaining()
    assert projection.evaluations is not None
    assert projection.low <= projection.evaluations


def test_the_guarantee_is_stated() -> None:
    problem = CLASSIC["pi/6"].problem(0.05, 0.0)
    for name in TRACKING:
        procedure = find_algorithm(name).bind(problem)
        assert procedure.proven
        assert procedure.claim.text.startswith("Proven")
