"""The nearest means that are linear up to c."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear, minimize

from nearly_linear import draw, pairs
from shortlist.numerics.quadratic import nearest_to, workspace

# The quadratic programs


@pytest.mark.parametrize("seed", range(20))
def test_the_estimate_is_that_of_bounded_least_squares(seed: int) -> None:
    features, c, weights, means, _ = draw(seed)
    rng = np.random.default_rng(seed + 1000)
    target = means + rng.standard_normal(len(means))
    work = workspace(features)
    value = nearest_to(target, weights, c, work)
    root = np.sqrt(weights)
    rank, K = features.shape[1], len(means)
    free, box = np.full(rank, np.inf), np.full(K, c)
    scipys = lsq_linear(
        root[:, None] * np.hstack([features, np.eye(K)]),
        root * target,
        bounds=(np.concatenate([-free, -box]), np.concatenate([free, box])),
        tol=1e-14,
        max_iter=2000,
    )
    assert value <= scipys.cost * (1.0 + 1e-9) + 1e-12
    assert value == pytest.approx(scipys.cost, rel=1e-5, abs=1e-9)
    # What is left over is orthogonal to the features: the normal equations of the free θ.
    left = weights * (target - work.means)
    scale = np.abs(features * (weights * target)[:, None]).sum()
    assert np.abs(features.T @ left).max() <= 1e-9 * scale


def test_features_that_are_read_only_are_shared() -> None:
    features, c, weights, means, _ = draw(0)
    expected = nearest_to(means, weights, c, workspace(features))
    features.flags.writeable = False
    work = workspace(features)
    assert np.shares_memory(work.features, features)
    assert nearest_to(means, weights, c, work) == expected


@pytest.mark.parametrize("seed", range(25))
def test_an_alternative_is_that_of_a_general_solver(seed: int) -> None:
    features, c, weights, means, inside = draw(seed)
    weights = np.clip(weights, 0.1, 10.0)
    c = min(c, 2.0)
    rank, K = features.shape[1], len(means)
    i, j = pairs(inside)[0]
    gap = -0.1 if seed % 3 == 0 else 0.0
    work = workspace(features)
    value = nearest_to(means, weights, c, work, (i, j, gap))
    assert work.means[i] - work.means[j] == pytest.approx(gap, abs=1e-7)
    both = np.hstack([features, np.eye(K)])
    row = both[i] - both[j]

    def cost(z: np.ndarray) -> float:
        return 0.5 * float((weights * (means - both @ z) ** 2).sum())

    def slope(z: np.ndarray) -> np.ndarray:
        return -both.T @ (weights * (means - both @ z))

    scipys = minimize(
        cost,
        np.zeros(rank + K),
        jac=slope,
        method="SLSQP",
        bounds=[(None, None)] * rank + [(-c, c)] * K,
        constraints={"type": "eq", "fun": lambda z: row @ z - gap, "jac": lambda z: row},
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    assert scipys.status in (0, 8)  # 8: no step is any better, as far as it can see
    assert value == pytest.approx(scipys.fun, rel=1e-5, abs=1e-9)


def off_linear(features: np.ndarray, means: np.ndarray) -> float:
    """How far the means are from the nearest linear function of the features, at their farthest."""
    K, rank = features.shape
    ones = -np.ones((K, 1))
    solved = linprog(
        np.append(np.zeros(rank), 1.0),
        A_ub=np.vstack([np.hstack([features, ones]), np.hstack([-features, ones])]),
        b_ub=np.concatenate([means, -means]),
        bounds=[(None, None)] * (rank + 1),
    )
    return float(solved.fun)


@pytest.mark.parametrize("seed", range(60))
def test_alternatives_are_optimal_by_duality(seed: int) -> None:
    """The multipliers make an s whose dual value is the distance: nothing can be nearer."""
    features, c, weights, means, inside = draw(seed)
    if seed % 4 == 0:
        weights = weights**3  # from 1e-6 to 1e6
    slack = 0.2 if seed % 2 else 0.0
    i, j = pairs(inside)[seed % len(pairs(inside))]
    work = workspace(features)
    value = nearest_to(means, weights, c, work, (i, j, -slack))
    assert work.price[0] >= 0.0
    s = weights * (means - work.means) / work.price[0]
    own = np.zeros(len(means))
    own[i], own[j] = 1.0, -1.0
    over = s - own
    gram = (features.T * weights) @ features
    over -= weights * (features @ np.linalg.solve(gram, features.T @ over))
    s = own + over
    dual = max(s @ means + slack - c * np.abs(over).sum(), 0.0) ** 2 / (s * s / weights).sum() / 2.0
    assert value == pytest.approx(dual, rel=1e-5)
    assert dual <= value * (1.0 + 1e-9)
    assert off_linear(features, work.means) <= c * (1.0 + 1e-6) + 1e-9
