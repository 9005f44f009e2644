"""Instances whose means are linear in the features only up to c."""

from __future__ import annotations

import numpy as np

from misspecified import lying

Draw = tuple[np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]


LIE = 0.15
LIAR = lying(K=10, N=3, m=3, c=LIE, seed=3, sigma=0.3)


def draw(seed: int, c: float | None = None) -> Draw:
    """Features, c, weights, means that are linear up to c, and who of them is inside."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(4, 14))
    rank = int(rng.integers(1, min(K, 6)))
    features = rng.standard_normal((K, rank))
    if c is None:
        c = float(10.0 ** rng.uniform(-3, 1))
    weights = 10.0 ** rng.uniform(-2, 2, K)
    eta = np.clip(rng.uniform(-1.7, 1.7, K), -1.0, 1.0)  # many at the bounds
    means = features @ rng.standard_normal(rank) + c * eta
    inside = np.zeros(K, np.bool_)
    inside[np.argsort(-means)[: rng.integers(1, K)]] = True
    return features, c, weights, means, inside


def pairs(inside: np.ndarray) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i in np.flatnonzero(inside) for j in np.flatnonzero(~inside)]


# Both limits


def linear_answer(
    features: np.ndarray, weights: np.ndarray, means: np.ndarray, inside: np.ndarray
) -> tuple[float, np.ndarray]:
    """READING's closed form: min g²/(2‖y‖²) in the norm of V(w)⁻¹, and the λ that attains it."""
    inverse = np.linalg.inv((features.T * weights) @ features)
    best = (np.inf, means)
    for i, j in pairs(inside):
        y = features[i] - features[j]
        square, gap = y @ inverse @ y, means[i] - means[j]
        if gap**2 / (2 * square) < best[0]:
            best = gap**2 / (2 * square), means - gap / square * features @ inverse @ y
    return best


def classical_answer(
    weights: np.ndarray, means: np.ndarray, inside: np.ndarray
) -> tuple[float, np.ndarray]:
    """The two arms meet at their weighted mean, and the others stay."""
    best = (np.inf, means)
    for i, j in pairs(inside):
        value = (means[i] - means[j]) ** 2 / (2 * (1 / weights[i] + 1 / weights[j]))
        if value < best[0]:
            moved = means.copy()
            moved[[i, j]] = np.average(means[[i, j]], weights=weights[[i, j]])
            best = value, moved
    return best
