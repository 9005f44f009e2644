"""FWS and lazy track-and-stop: the step, the game behind it, w*, and how they are followed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import shortlist
from shortlist.allocations import allocation as allocations
from shortlist.allocations import allocation as lazy
from shortlist.allocations import frank_wolfe as fw
from shortlist.allocations.alternative import make_pairs
from shortlist.allocations.frank_wolfe import solve_game
from shortlist.catalog.names import find_algorithm
from shortlist.posterior.posterior import Posterior
from shortlist.rules.initialization import span, weakest_direction
from shortlist.theory.lower_bound import optimal_allocation

STEADY = settings(derandomize=True, deadline=None, max_examples=60)
TRACKING = ["LinGame", "FWS", "lazy track-and-stop"]
CLASSIC = {
    "pi/6": shortlist.instances.classic(K=4, m=2, omega=np.pi / 6),
    "0.1": shortlist.instances.classic(K=3, m=1, omega=0.1),
}


def pieces(
    X: np.ndarray, means: np.ndarray, inside: np.ndarray, w: np.ndarray, epsilon: float = 0.0
) -> np.ndarray:
    """2σ²f_p(w) of every pair, straight from the definition."""
    W = np.linalg.inv(X.T @ (w[:, None] * X))
    return np.array(
        [
            max(means[i] - means[j] + epsilon, 0.0) ** 2 / ((X[i] - X[j]) @ W @ (X[i] - X[j]))
            for i in np.flatnonzero(inside)
            for j in np.flatnonzero(~inside)
        ]
    )


def situation(K: int, N: int, m: int, seed: int) -> tuple[Posterior, np.ndarray, np.ndarray]:
    """A posterior, J(t) and weights, at random."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((K, N))
    posterior = Posterior(X, regularization=1.0)
    for _ in range(40):
        posterior.observe(int(rng.integers(K)), float(rng.standard_normal()))
    inside = np.zeros(K, bool)
    inside[np.argsort(-posterior.means)[:m]] = True
    return posterior, inside, rng.dirichlet(np.ones(K))


# The matrix game


def game_by_linprog(payoffs: np.ndarray) -> float:
    scale = np.abs(payoffs).max() or 1.0
    rows, columns = payoffs.shape
    answer = linprog(
        np.r_[np.zeros(columns), -1],
        A_ub=np.c_[-payoffs / scale, np.ones(rows)],
        b_ub=np.zeros(rows),
        A_eq=np.r_[np.ones(columns), 0][None],
        b_eq=[1],
        bounds=[(0, None)] * columns + [(None, None)],
    )
    assert answer.status == 0
    return float(-answer.fun * scale)


@STEADY
@given(
    st.integers(1, 12),
    st.integers(1, 14),
    st.sampled_from(["normal", "few values", "tiny", "equal"]),
    st.integers(0, 2**32 - 1),
)
def test_the_matrix_game_is_solved(rows: int, columns: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    payoffs = {
        "normal": rng.standard_normal((rows, columns)),
        "few values": rng.integers(0, 3, (rows, columns)).astype(float),
        "tiny": 1e-9 * rng.standard_normal((rows, columns)),
        "equal": np.full((rows, columns), -2.5),
    }[kind]
    shares = np.zeros(columns)
    names = np.zeros(rows, np.int64), np.zeros(columns, np.int64)
    value = solve_game(payoffs, rows, np.zeros((rows + 1, columns + 1)), *names, shares)
    size = np.abs(payoffs).max()
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0.0).all()
    assert value == pytest.approx(game_by_linprog(payoffs), rel=1e-8, abs=1e-9 * size)
    assert (payoffs @ shares).min() == pytest.approx(value, rel=1e-8, abs=1e-9 * size)


# The Frank–Wolfe step


@STEADY
@given(
    st.integers(5, 9),
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.4]),
    st.integers(0, 2**32 - 1),
)
def test_with_one_piece_the_step_goes_to_its_largest_gradient(
    K: int, N: int, m: int, epsilon: float, seed: int
) -> None:
    posterior, inside, w = situation(K, N, m, seed)
    X, means = posterior.state.features, posterior.means
    shares, room = np.zeros(K), fw.make_pieces(K, 4)
    pairs = make_pairs(K, N, m)
    assert fw.frank_wolfe(posterior.state, inside, w, 0.0, epsilon, pairs, room, shares) == 1
    values = pieces(X, means, inside, w, epsilon)
    np.testing.assert_allclose(pairs.distances.ravel(), values, rtol=1e-6)
    steps = 1e-6 * np.eye(K)
    slopes = [
        (pieces(X, means, inside, w + h, epsilon) - pieces(X, means, inside, w - h, epsilon)) / 2e-6
        for h in steps
    ]
    slope = np.array(slopes)[:, values.argmin()]
    # ⟨w, ∇f⟩ = f: the pieces are of degree 1.
    assert slope @ w == pytest.approx(values.min(), rel=1e-4)
    assert slope @ shares == pytest.approx(slope.max(), rel=1e-4)
    assert shares.max() == 1.0


@STEADY
@given(
    st.integers(5, 9),
    st.integers(2, 4),
    st.integers(1, 3),
    st.floats(0.0, 3.0),
    st.integers(0, 2**32 - 1),
)
def test_with_several_pieces_the_step_is_the_best_against_all(
    K: int, N: int, m: int, reach: float, seed: int
) -> None:
    posterior, inside, w = situation(K, N, m, seed)
    X, means = posterior.state.features, posterior.means
    shares = np.zeros(K)
    room, pairs = fw.make_pieces(K, m * (K - m) + 1), make_pairs(K, N, m)
    values = pieces(X, means, inside, w)
    reach *= values.min()
    count = fw.frank_wolfe(posterior.state, inside, w, reach, 0.0, pairs, room, shares)
    assert 1 <= count <= m * (K - m)
    W = np.linalg.inv(X.T @ (w[:, None] * X))
    differences = [X[i] - X[j] for i in np.flatnonzero(inside) for j in np.flatnonzero(~inside)]
    near = [p for p, value in enumerate(values) if value < values.min() + reach]
    payoffs = np.array(
        [
            (X @ W @ differences[p]) ** 2 * values[p] / (differences[p] @ W @ differences[p])
            - values[p]
            for p in near or [int(values.argmin())]
        ]
    )
    value = game_by_linprog(payoffs)
    assert (payoffs @ shares).min() == pytest.approx(value, abs=1e-6 * np.abs(payoffs).max())


def test_a_step_without_room_says_so_and_a_flat_one_too() -> None:
    posterior = Posterior(np.eye(6), regularization=1.0)
    for arm, value in enumerate([3.0, 1.0, 1.0, 1.0, 1.0, 1.0]):
        posterior.observe(arm, value)
    inside = np.arange(6) == 0
    shares, weights = np.zeros(6), np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    pairs = make_pairs(6, 6, 1)
    call: Any = (posterior.state, inside, weights, 1.0, 0.0, pairs)
    assert fw.frank_wolfe(*call, fw.make_pieces(6, 2), shares) == fw.CROWDED
    assert fw.frank_wolfe(*call, fw.make_pieces(6, 8), shares) == 5
    assert shares == pytest.approx([0.0, 0.2, 0.2, 0.2, 0.2, 0.2])
    posterior.state.means[:] = 1.0
    assert fw.frank_wolfe(*call, fw.make_pieces(6, 8), shares) == fw.FLAT


def test_exploration_is_forced_at_squares() -> None:
    forced = [t for t in range(1, 60) if fw.is_forced(t, 3)]
    squares = {k * k for k in range(10)}
    assert forced == [t for t in range(1, 60) if t // 3 in squares]
    assert fw.reach_at(1000, 4) == pytest.approx(1000**-0.9 / 4)


def test_many_tied_pieces_find_room() -> None:
    """Equal challengers: the step must look at all eleven at once."""
    means = np.array([1.0] + [0.0] * 11)
    study = shortlist.Study(
        np.eye(12), m=1, sigma=3.0, epsilon=0.01, seed=1, algorithm="FWS", audit=False
    )
    while study.evaluations < 300:
        trial = study.ask()
        study.tell(trial, float(means[trial.arm]))
    assert len(study._journal.model.round.allocation.pieces.payoffs) > 4
    challengers = study.posterior.pulls[1:]
    assert challengers.max() - challengers.min() <= 3


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
    memory = study._journal.model.round.allocation
    assert memory.target.sum() == pytest.approx(memory.clock[allocations.SHARED])
    assert memory.clock[allocations.SHARED] == 401
    assert np.abs(memory.target - study.posterior.pulls).max() <= len(features)
    assert np.ptp(study.posterior.pulls) > 30  # the shares are not even


@pytest.mark.parametrize("name", TRACKING)
def test_a_batch_is_spread_and_leaves_the_memory_alone(name: str) -> None:
    features = np.random.default_rng(0).standard_normal((8, 3))
    study = followed(name, features, np.array([1.0, 0.0, 0.0]), 100, m=2, sigma=1.0)
    before = allocations.apart(study._journal.model.round.allocation)
    batch = study.ask(6)
    assert len({trial.arm for trial in batch}) >= 2
    after = study._journal.model.round.allocation
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
        bound = find_algorithm(name).bind(problem)
        assert bound.proven
        assert bound.guarantee().startswith("Proven")
