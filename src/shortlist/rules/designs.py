"""w*(b, c): the lightest combination of arms that makes the direction x_b − x_c (equation 1)."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from shortlist.errors import SingularDesign

NEGLIGIBLE = 1e-9


def lightest_weights(features: NDArray[np.float64], b: int, c: int) -> NDArray[np.float64]:
    """Argmin ‖w‖₁ subject to Xᵀw = x_b − x_c.

    Parameters
    ----------
    features : array, K × r
        One row an arm.
    b, c : int
        The pair.

    Examples
    --------
    >>> lightest_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 2, 0).round(3).tolist()
    [0.0, 0.1, 0.0]
    """
    arms, rank = features.shape
    if rank == arms:
        # Linearly independent rows: e_b − e_c is the only combination there is.
        weights = np.zeros(arms)
        weights[b], weights[c] = 1.0, -1.0
        return weights
    solution = linprog(
        np.ones(2 * arms),
        A_eq=np.hstack([features.T, -features.T]),
        b_eq=features[b] - features[c],
        method="highs",
    )
    if solution.status != 0 or solution.x is None:
        raise SingularDesign(
            f"the linear program for the pair ({b}, {c}) was not solved: {solution.message} "
            "Rescale the features, or use selection='greedy'."
        )
    weights = solution.x[:arms] - solution.x[arms:]
    weights[np.abs(weights) <= NEGLIGIBLE * np.abs(weights).max()] = 0.0
    return np.asarray(weights)


class Designs:
    """The designs of every pair asked for so far, each solved once, shared by all runs."""

    def __init__(self, features: NDArray[np.float64]) -> None:
        self._features = features
        self._solved: dict[tuple[int, int], NDArray[np.float64]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._solved)

    def of(self, b: int, c: int) -> NDArray[np.float64]:
        """w*(b, c) up to its sign."""
        pair = (min(b, c), max(b, c))
        with self._lock:
            if pair not in self._solved:
                self._solved[pair] = lightest_weights(self._features, *pair)
            return self._solved[pair]
