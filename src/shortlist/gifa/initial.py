"""The pulls made before the first round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.linalg import is_identity, span


def no_pulls(features: Reals) -> Integers:
    """No initial pulls."""
    return np.zeros(0, np.int64)


def every_arm(features: Reals) -> Integers:
    """Every arm once, in index order."""
    return np.arange(features.shape[0], dtype=np.int64)


def auto(features: Reals) -> Integers:
    """Every arm once while that costs at most four pulls per dimension, else a spanning set.

    Examples
    --------
    >>> len(auto(np.eye(3))), len(auto(np.random.default_rng(0).normal(size=(100, 3))))
    (3, 3)
    """
    arms, rank = features.shape
    return every_arm(features) if arms <= 4 * rank else span(features)


INITIALIZATIONS: dict[str | None, Callable[[Reals], Integers]] = {
    None: no_pulls,
    "each": every_arm,
    "span": span,
    "auto": auto,
}


def weakest_direction(features: Reals, initial: Integers) -> float:
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
