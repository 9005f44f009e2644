"""The pulls made before the first round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

Features = NDArray[np.float64]


def none(features: Features) -> NDArray[np.int64]:
    """No initial pulls."""
    return np.zeros(0, np.int64)


def each(features: Features) -> NDArray[np.int64]:
    """Every arm once, in index order."""
    return np.arange(features.shape[0], dtype=np.int64)


def span(features: Features) -> NDArray[np.int64]:
    """As many arms as the features have dimensions, well spread, by pivoted QR.

    Examples
    --------
    >>> span(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 2.0]])).tolist()
    [0, 2]
    """
    order = qr(features.T, mode="r", pivoting=True)[-1]
    return np.sort(order[: features.shape[1]]).astype(np.int64)


def auto(features: Features) -> NDArray[np.int64]:
    """Every arm once while that costs at most four pulls a dimension, else a spanning set.

    Examples
    --------
    >>> len(auto(np.eye(3))), len(auto(np.random.default_rng(0).normal(size=(100, 3))))
    (3, 3)
    """
    arms, rank = features.shape
    return each(features) if arms <= 4 * rank else span(features)


INITIALIZATIONS: dict[str | None, Callable[[Features], NDArray[np.int64]]] = {
    None: none,
    "each": each,
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
    values = np.linalg.eigvalsh(features[initial].T @ features[initial])
    return float(values[0]) if values[0] > 1e-12 * values[-1] else 0.0
