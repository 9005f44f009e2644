"""FWS: the Frank–Wolfe step, and the game behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import shortlist
from pair_distances import STEADY, pieces
from shortlist.allocations import frank_wolfe as fw
from shortlist.allocations.alternative import make_pairs
from shortlist.allocations.frank_wolfe import solve_game
from shortlist.posterior.posterior import Posterior


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


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert len(study._log.model.round.allocation.pieces.payoffs) > 4
    challengers = study.posterior.pulls[1:]
    assert challengers.max() - challengers.min() <= 3
