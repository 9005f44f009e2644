"""The pulls made before the first round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shortlist.numerics.blockwise import blocks, is_identity, squared_norms
from shortlist.numerics.order import first_largest

Features = NDArray[np.float64]

REMADE = 1e-6  # of what was left when it was last made


def no_pulls(features: Features) -> NDArray[np.int64]:
    """No initial pulls."""
    return np.zeros(0, np.int64)


def every_arm(features: Features) -> NDArray[np.int64]:
    """Every arm once, in index order."""
    return np.arange(features.shape[0], dtype=np.int64)


def span(features: Features) -> NDArray[np.int64]:
    """As many arms as the features have dimensions, well spread: the pivots of a pivoted QR.

    Each pivot takes a pass over the features, without a second table of them. What is left of an
    arm's ‖x‖² is kept by subtraction, and computed again once too little is left of it to have digits.

    Examples
    --------
    >>> span(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 2.0]])).tolist()
    [0, 2]
    """
    if is_identity(features):
        return every_arm(features)
    rank = features.shape[1]
    chosen = np.empty(rank, np.int64)
    directions = np.zeros((rank, rank))
    left, last = np.full(len(features), -np.inf), np.inf
    for k in range(rank):
        if not left.max() >= REMADE * last:
            for rows in blocks(features):
                part = features[rows]
                left[rows] = squared_norms(part - (part @ directions[:k].T) @ directions[:k])
            left[chosen[:k]] = -np.inf
            last = float(left.max())
        chosen[k] = first_largest(left)
        direction = features[chosen[k]].copy()
        for _ in range(2):  # the second time takes away what rounding left
            direction -= directions[:k].T @ (directions[:k] @ direction)
        length = np.linalg.norm(direction)
        directions[k] = direction / length if length > 0.0 else 0.0
        left -= (features @ directions[k]) ** 2
        left[chosen[k]] = -np.inf
    return np.sort(chosen)


def auto(features: Features) -> NDArray[np.int64]:
    """Every arm once while that costs at most four pulls per dimension, else a spanning set.

    Examples
    --------
    >>> len(auto(np.eye(3))), len(auto(np.random.default_rng(0).normal(size=(100, 3))))
    (3, 3)
    """
    arms, rank = features.shape
    return every_arm(features) if arms <= 4 * rank else span(features)


INITIALIZATIONS: dict[str | None, Callable[[Features], NDArray[np.int64]]] = {
    None: no_pulls,
    "each": every_arm,
    "span": span,
    "auto": auto,
}


def in_units(features: Features, noise: NDArray[np.float64]) -> Features:
    """x_a σ/σ_a: what an evaluation of each arm shows of θ, in units of its noise (σ_a/σ)².

    Examples
    --------
    >>> in_units(np.eye(2), np.array([1.0, 0.25])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if (noise == 1.0).all():
        return features
    return np.asarray(features / np.sqrt(noise)[:, None])


def weakest_direction(features: Features, initial: NDArray[np.int64]) -> float:
    """λ_min of Σ x xᵀ over the initial pulls; 0 where they do not span.

    Examples
    --------
    >>> weakest_direction(np.eye(2), np.array([0, 1, 1]))
    1.0
    """
    if len(initial) < features.shape[1]:
        return 0.0
    if is_identity(features):  # K may be so large that to find eigenvalues takes minutes
        return float(np.bincount(initial, minlength=len(features)).min())
    values = np.linalg.eigvalsh(features[initial].T @ features[initial])
    return float(values[0]) if values[0] > 1e-12 * values[-1] else 0.0
