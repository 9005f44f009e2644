"""The closest alternative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shortlist.allocations import game
from shortlist.allocations.alternative import make_pairs
from shortlist.posterior.posterior import Posterior

STEADY = settings(derandomize=True, deadline=None)


@pytest.mark.slow
@STEADY
@given(
    st.integers(5, 9),
    st.integers(2, 4),
    st.integers(1, 2),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 2**32 - 1),
)
def test_nature_answers_with_the_closest_alternative(
    K: int, N: int, m: int, epsilon: float, seed: int
) -> None:
    """No θ that puts another arm ε above a candidate is nearer than the answer."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((K, N))
    posterior = Posterior(X, regularization=1.0)
    for _ in range(30):
        posterior.observe(int(rng.integers(K)), float(rng.standard_normal()))
    means = posterior.means
    inside = np.zeros(K, bool)
    inside[np.argsort(-means)[:m]] = True
    board, weights = make_pairs(K, N, m), rng.dirichlet(np.ones(K))
    game.respond(posterior.state, inside, weights, 0.0, epsilon, board)
    V = X.T @ (weights[:, None] * X)
    theta = np.linalg.lstsq(X, means, rcond=None)[0]
    moved = np.linalg.lstsq(X, board.shift, rcond=None)[0]
    assert X @ moved == pytest.approx(board.shift, rel=1e-5, abs=1e-7)
    there = X @ (theta - moved)
    assert max(there[~inside]) >= min(there[inside]) + epsilon - 1e-6
    distance = moved @ V @ moved
    for i in np.flatnonzero(inside):
        for j in np.flatnonzero(~inside):
            y = X[i] - X[j]
            other = (theta @ y + epsilon) ** 2 / (y @ np.linalg.inv(V) @ y)
            assert distance <= other * (1 + 1e-5) + 1e-12


def test_a_direction_without_weight_is_answered_for() -> None:
    posterior = Posterior(np.eye(3), regularization=1.0)
    for arm, value in enumerate([3.0, 2.0, 1.0]):
        posterior.observe(arm, value)
    board, weights = make_pairs(3, 3, 1), np.array([1.0, 0.0, 0.0])
    game.respond(posterior.state, np.array([True, False, False]), weights, 0.0, 0.0, board)
    assert np.isfinite(board.shift).all()
    assert abs(board.shift[1]) > 0.4  # nature moves what nobody looks at
    assert abs(board.shift[0]) < 1e-6
