"""w*(b, c): the lightest combination of arms that makes the direction x_b − x_c (equation 1).

Two ways to it. ``lightest_weights`` hands one pair to a general solver and is the reference.
``all_weights`` does every pair of an instance, some two hundred times faster a pair: it walks from
vertex to vertex of the dual polytope, which is the same for all pairs. It keeps only answers that
it can prove to be the one optimum, and asks ``lightest_weights`` for the others; so where w* is not
unique, both still choose the same.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shortlist.rules.column_generation import few_weights, kind_basis, not_solved
from shortlist.rules.initialization import span
from shortlist.rules.vertex import fresh_vertex, walk

NEGLIGIBLE = 1e-9
ALL_AT_ONCE = 4096  # arms: of more, a few are taken and the others looked at
KEPT = 8  # times the rank: arms of earlier designs to start the next from


def lightest_weights(
    features: NDArray[np.float64], b: int, c: int, noise: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Argmin ‖w‖₁ subject to Xᵀw = x_b − x_c.

    Parameters
    ----------
    features : array, K × r
        One row an arm.
    b, c : int
        The pair.
    noise : array, K, optional
        (σ_a/σ)² of every arm, all 1 by default. An evaluation then shows x_a in units of its noise:
        Σ_a w_a x_a σ/σ_a makes the direction.

    Examples
    --------
    >>> lightest_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 2, 0).round(3).tolist()
    [0.0, 0.1, 0.0]
    """
    from scipy.optimize import linprog  # a quarter of a second, for `optimized` only

    arms, rank = features.shape
    if rank == arms:
        # Linearly independent rows: e_b − e_c is the only combination there is.
        weights = np.zeros(arms)
        weights[b], weights[c] = 1.0, -1.0
        return weights if noise is None else weights * np.sqrt(noise)
    if arms > ALL_AT_ONCE:
        members, found = few_weights(features, b, c, noise)
        weights = np.zeros(arms)
        weights[members] = found
        return weights
    shown = features if noise is None else features / np.sqrt(noise)[:, None]
    solution = linprog(
        np.ones(2 * arms),
        A_eq=np.hstack([shown.T, -shown.T]),
        b_eq=features[b] - features[c],
        method="highs",
    )
    if solution.status != 0 or solution.x is None:
        raise not_solved(b, c, solution.message)
    return _cleaned(solution.x[:arms] - solution.x[arms:])


def _cleaned(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    size = np.abs(weights)
    weights[size <= NEGLIGIBLE * size.max(axis=-1, keepdims=True)] = 0.0
    return weights


def all_weights(features: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """The designs of all pairs, one table for each arm b: a row for w*(b, c), c = b + 1, …, K − 1.

    Parameters
    ----------
    features : array, K × r
        One row an arm, of full column rank (see ``reduce_to_rank``).

    Examples
    --------
    >>> tables = all_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]))
    >>> [table.round(3).tolist() for table in tables]
    [[[1.0, -1.0, 0.0], [0.0, -0.1, 0.0]], [[-1.0, 0.9, 0.0]]]
    """
    arms, rank = features.shape
    # w* is the same in any basis of the column space; an orthonormal one is kindest to rounding.
    basis = np.ascontiguousarray(np.linalg.qr(features)[0])
    vertex = fresh_vertex(arms, rank)
    for b in range(arms - 1):
        table = np.zeros((arms - 1 - b, arms))
        if rank == arms:
            table[:, b] = 1.0
            np.fill_diagonal(table[:, b + 1 :], -1.0)
            yield table
            continue
        proven = np.zeros(len(table), np.bool_)
        walk(basis, b, vertex, table, proven)
        for row in np.flatnonzero(~proven):
            table[row] = lightest_weights(features, b, b + 1 + int(row))
        yield _cleaned(table)


class Designs:
    """The designs of every pair asked for so far, each solved once, shared by all runs.

    Only the arms that carry weight are kept: about as many as there are features.
    """

    def __init__(
        self, features: NDArray[np.float64], noise: NDArray[np.float64] | None = None
    ) -> None:
        self._features, self._noise = features, noise
        self._solved: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        self._useful = np.zeros(0, np.int64)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._solved)

    def of(self, b: int, c: int) -> NDArray[np.float64]:
        """w*(b, c) up to its sign."""
        pair = (min(b, c), max(b, c))
        with self._lock:
            if pair not in self._solved:
                self._solved[pair] = self._solve(*pair)
            members, found = self._solved[pair]
        weights = np.zeros(len(self._features))
        weights[members] = found
        return weights

    def _solve(self, b: int, c: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        arms, rank = self._features.shape
        if arms <= ALL_AT_ONCE or rank == arms:
            weights = lightest_weights(self._features, b, c, self._noise)
            members = np.flatnonzero(weights)
            return members, weights[members]
        if not len(self._useful):
            self._useful = span(self._features)
            self._basis = kind_basis(self._features)
        begin, basis = self._useful, self._basis
        members, found = few_weights(self._features, b, c, self._noise, begin, basis)
        # The arms of one pair's design are those of the next one's, or near them.
        if len(self._useful) < KEPT * rank:
            self._useful = np.union1d(self._useful, members)
        return members, found
