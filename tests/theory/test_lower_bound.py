"""T*, its bracket and its allocation."""

from __future__ import annotations

import importlib
import itertools
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import shortlist
from shortlist import theory
from shortlist.designs import xy as interior_point
from shortlist.errors import InvalidSetting
from tests.theory.instances import given_as, linear

# The package shows the function of the same name.
module = importlib.import_module("shortlist.theory.lower_bound")


def norms(instance: Any, weights: np.ndarray) -> np.ndarray:
    """2σ²‖x_i − x_j‖²_{V(w)⁻¹}/Δ_ij² of every pair, as plainly as can be."""
    X, mu = instance.features, instance.means
    inverse = np.linalg.pinv(X.T @ (weights[:, None] * X), hermitian=True)
    order = np.argsort(-mu)
    i, j = np.array(list(itertools.product(order[: instance.m], order[instance.m :]))).T
    y = (X[i] - X[j]) / (mu[i] - mu[j])[:, None]
    return np.asarray(2.0 * instance.sigma**2 * np.einsum("pk,kl,pl->p", y, inverse, y))


def value(instance: Any, weights: np.ndarray) -> float:
    return float(norms(instance, weights).max())


@pytest.mark.parametrize(
    ("K", "m", "omega", "t_star", "samples"),
    [
        (4, 2, math.pi / 6, 118.45, 313.9),
        (4, 2, math.pi / 3, 9.65, 25.6),
        (3, 1, 0.1, 220.15, 583.4),
    ],
)
def test_t_star_of_the_classic_instances(
    K: int, m: int, omega: float, t_star: float, samples: float
) -> None:
    instance = shortlist.instances.classic(K=K, m=m, omega=omega, sigma=0.5)
    bound = theory.lower_bound(instance, 0.05)
    assert bound.t_star == pytest.approx(t_star, rel=1e-3)
    assert bound.samples == pytest.approx(samples, rel=2e-3)  # 25.6 has three digits
    assert bound.samples == pytest.approx(0.9 * math.log(19) * bound.t_star)
    assert bound.bracket[0] == bound.t_star <= bound.bracket[1] <= 1.001 * bound.t_star
    assert value(instance, bound.allocation) == pytest.approx(bound.bracket[1], rel=1e-6)


def test_t_star_of_two_arms_is_known() -> None:
    bound = theory.lower_bound(given_as(np.eye(2), [0.8, 0.3], 1, 0.5), tolerance=1e-6)
    assert bound.t_star == pytest.approx(2 * 0.25 * 4 / 0.25, rel=1e-6)
    np.testing.assert_allclose(bound.allocation, [0.5, 0.5], atol=1e-3)


def test_t_star_of_one_good_arm_among_equals_is_known() -> None:
    """X = I, gap Δ to K − 1 equal arms: T* = 2σ²(1 + √(K − 1))²/Δ²."""
    bound = theory.lower_bound(given_as(np.eye(5), [1.0, 0.5, 0.5, 0.5, 0.5], 1), tolerance=1e-6)
    assert bound.t_star == pytest.approx(2 * (1 + 2) ** 2 / 0.25, rel=2e-6)
    np.testing.assert_allclose(bound.allocation, [1 / 3] + 4 * [1 / 6], atol=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_t_star_is_what_a_general_optimiser_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K, N = int(rng.integers(3, 7)), int(rng.integers(1, 5))
    features = rng.standard_normal((K, N))
    instance = linear(features, rng.standard_normal(N), int(rng.integers(1, K)))
    bound = theory.lower_bound(instance, tolerance=1e-5)
    scale, found = bound.t_star, math.inf
    for start in 0.9 * rng.dirichlet(np.ones(K), 3) + 0.1 / K:
        solution = minimize(
            lambda x: x[-1],
            [*start, value(instance, start) / scale],
            constraints=[
                {"type": "ineq", "fun": lambda x: x[-1] - norms(instance, x[:-1]) / scale},
                {"type": "eq", "fun": lambda x: x[:-1].sum() - 1.0},
            ],
            bounds=[(1e-9, 1.0)] * K + [(0.0, None)],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-10},
        )
        weights = solution.x[:-1] / solution.x[:-1].sum()
        found = min(found, value(instance, weights) / scale)
    assert 1.0 - 1e-7 <= found <= 1.001


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_bracket_holds_whatever_the_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K, N = int(rng.integers(2, 9)), int(rng.integers(1, 7))
    features = rng.standard_normal((K, N)) * 10.0 ** rng.uniform(-2, 2, (K, 1))
    instance = linear(features, rng.standard_normal(N), int(rng.integers(1, K)))
    bound = theory.lower_bound(instance)
    low, high = bound.bracket
    assert 0.0 < low <= high <= 1.001 * low
    assert bound.allocation.min() >= 0.0
    assert bound.allocation.sum() == pytest.approx(1.0)
    for concentration in (0.3, 1.0, 10.0):
        near = 0.9 * bound.allocation + 0.1 * rng.dirichlet(np.full(K, concentration))
        for weights in (rng.dirichlet(np.full(K, concentration)), near):
            spread = (weights + 1e-6) / (1.0 + 1e-6 * K)
            assert value(instance, spread) >= low * (1.0 - 1e-6)


def test_t_star_scales_and_turns_as_it_should() -> None:
    rng = np.random.default_rng(5)
    features, theta = rng.standard_normal((12, 4)), rng.standard_normal(4)
    plain = theory.lower_bound(linear(features, theta, 4)).t_star
    assert theory.lower_bound(linear(features, theta, 4, 3.0)).t_star == pytest.approx(9 * plain)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    turned = theory.lower_bound(linear(features @ turn, turn.T @ theta, 4)).t_star
    assert turned == pytest.approx(plain, rel=1e-4)
    assert theory.lower_bound(linear(features, 2 * theta, 4)).t_star == pytest.approx(plain / 4)
    wide = np.hstack([features, features @ rng.standard_normal((4, 5))])
    assert theory.lower_bound(given_as(wide, features @ theta, 4)).t_star == pytest.approx(
        plain, rel=1e-4
    )


def test_independent_features_say_nothing() -> None:
    means = [0.9, 0.7, 0.4, 0.1]
    features = np.random.default_rng(0).standard_normal((4, 9))
    with_features = theory.lower_bound(given_as(features, means, 2))
    without = theory.lower_bound(given_as(np.eye(4), means, 2))
    assert with_features.t_star == pytest.approx(without.t_star, rel=1e-4)


@pytest.mark.parametrize("m", [5, 30])
def test_a_hundred_arms_are_quick(m: int) -> None:
    instance = shortlist.instances.random(K=100, N=20, m=m, seed=1)
    begun = time.process_time()
    bound = theory.lower_bound(instance, tolerance=1e-3)
    assert time.process_time() - begun < 10.0
    assert bound.bracket[1] <= 1.001 * bound.bracket[0]
    assert value(instance, bound.allocation) == pytest.approx(bound.bracket[1], rel=1e-6)


def test_few_arms_at_a_time_lead_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = shortlist.instances.random(K=150, N=6, m=20, seed=2)
    whole = theory.lower_bound(instance, tolerance=1e-4)
    assert whole.rounds == 1
    monkeypatch.setattr(module, "ARMS", 20)
    monkeypatch.setattr(module, "PAIRS", 5)
    parts = theory.lower_bound(instance, tolerance=1e-4)
    assert parts.rounds > 1
    assert parts.t_star == pytest.approx(whole.t_star, rel=2e-4)
    assert value(instance, parts.allocation) == pytest.approx(parts.bracket[1], rel=1e-6)


def test_a_bracket_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interior_point, "STEPS", 2)
    with pytest.raises(InvalidSetting, match="could not be narrowed"):
        theory.lower_bound(shortlist.instances.classic(K=4, m=2, omega=0.5))


def test_bad_scales_are_borne() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        features = rng.standard_normal((21, 18)) * 10.0 ** rng.uniform(-1.5, 1.5, (21, 1))
        instance = linear(features, rng.standard_normal(18), 7)
        low, high = theory.lower_bound(instance).bracket
        assert 0.0 < low <= high <= 1.001 * low
