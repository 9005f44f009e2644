"""How far the alternatives of all pairs are, from the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import settings

STEADY = settings(derandomize=True, deadline=None, max_examples=60)


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
