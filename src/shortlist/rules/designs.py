"""w*(b, c): the lightest combination of arms that makes the direction x_b − x_c (equation 1).

Two ways to it. ``lightest_weights`` hands one pair to a general solver and is the reference.
``all_weights`` does every pair of an instance, some two hundred times faster a pair: it walks from
vertex to vertex of the dual polytope, which is the same for all pairs. It keeps only answers that
it can prove to be the one optimum, and asks ``lightest_weights`` for the others; so where w* is not
unique, both still choose the same.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from shortlist.core.rule import compiled
from shortlist.errors import SingularDesign

NEGLIGIBLE = 1e-9
EXACT = 1e-9  # what a solution may miss, relative to the largest weight
STRICT = 1e-7  # how far below 1 the other arms must stay for w* to be the only optimum
NOBODY = -1


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
    arms, rank = features.shape
    if rank == arms:
        # Linearly independent rows: e_b − e_c is the only combination there is.
        weights = np.zeros(arms)
        weights[b], weights[c] = 1.0, -1.0
        return weights if noise is None else weights * np.sqrt(noise)
    shown = features if noise is None else features / np.sqrt(noise)[:, None]
    solution = linprog(
        np.ones(2 * arms),
        A_eq=np.hstack([shown.T, -shown.T]),
        b_eq=features[b] - features[c],
        method="highs",
    )
    if solution.status != 0 or solution.x is None:
        raise SingularDesign(
            f"the linear program for the pair ({b}, {c}) was not solved: {solution.message} "
            "Rescale the features, or use selection='greedy'."
        )
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
    vertex = Vertex(
        inverse=np.empty((rank, rank)),
        point=np.empty(rank),
        target=np.empty(rank),
        members=np.empty(rank, np.int64),
        sides=np.empty(rank),
        inside=np.empty(arms, np.bool_),
        heights=np.empty(arms),
        slopes=np.empty(arms),
    )
    for b in range(arms - 1):
        table = np.zeros((arms - 1 - b, arms))
        if rank == arms:
            table[:, b] = 1.0
            np.fill_diagonal(table[:, b + 1 :], -1.0)
            yield table
            continue
        proven = np.zeros(len(table), np.bool_)
        _walk(basis, b, vertex, table, proven)
        for row in np.flatnonzero(~proven):
            table[row] = lightest_weights(features, b, b + 1 + int(row))
        yield _cleaned(table)


class Vertex(NamedTuple):
    """A corner u of the polytope |x_aᵀu| ≤ 1: r arms, its members, for which x_aᵀu = ±1.

    Row k of ``inverse`` is the direction that moves member k alone.
    """

    inverse: NDArray[np.float64]
    point: NDArray[np.float64]
    target: NDArray[np.float64]
    members: NDArray[np.int64]
    sides: NDArray[np.float64]
    inside: NDArray[np.bool_]
    heights: NDArray[np.float64]
    slopes: NDArray[np.float64]


@compiled()
def _walk(
    features: NDArray[np.float64],
    b: int,
    vertex: Vertex,
    table: NDArray[np.float64],
    proven: NDArray[np.bool_],
) -> None:
    """W*(b, c) for one c after the other, each started from the vertex of the last.

    The dual of the linear program is to maximise (x_b − x_c)ᵀu over the polytope. Starts anew for
    every b, so that rounding errors of the inverse do not pile up.
    """
    rank = features.shape[1]
    vertex.inverse[:] = 0.0
    vertex.point[:] = 0.0
    vertex.inside[:] = False
    # Unit vectors stand in for members: they are the first to leave and never return.
    vertex.members[:] = NOBODY
    vertex.sides[:] = 0.0
    for k in range(rank):
        vertex.inverse[k, k] = 1.0
    for row in range(table.shape[0]):
        for i in range(rank):
            vertex.target[i] = features[b, i] - features[b + 1 + row, i]
        if _climb(features, vertex):
            for k in range(rank):
                weight = 0.0
                for i in range(rank):
                    weight += vertex.inverse[k, i] * vertex.target[i]
                table[row, vertex.members[k]] = weight
            proven[row] = _is_the_optimum(features, vertex, table[row])


@compiled()
def _climb(features: NDArray[np.float64], vertex: Vertex) -> bool:
    """Pivot until every member's weight has the sign of its side; False if it takes too long."""
    arms, rank = features.shape
    inverse, heights, slopes = vertex.inverse, vertex.heights, vertex.slopes
    for a in range(arms):
        heights[a] = 0.0
        for i in range(rank):
            heights[a] += features[a, i] * vertex.point[i]
    for _ in range(50 * (arms + rank)):
        leaving, worst = NOBODY, -EXACT
        ahead = 1.0
        for k in range(rank):
            weight = 0.0
            for i in range(rank):
                weight += inverse[k, i] * vertex.target[i]
            if vertex.members[k] == NOBODY:
                leaving, ahead = k, 1.0 if weight >= 0.0 else -1.0
                break
            if weight * vertex.sides[k] < worst:
                leaving, worst, ahead = k, weight * vertex.sides[k], -vertex.sides[k]
        if leaving == NOBODY:
            return True
        # Move until the first arm reaches ±1; member ``leaving`` itself may, on its other side.
        entering, length, steepest = NOBODY, math.inf, 0.0
        for a in range(arms):
            slopes[a] = 0.0
            if vertex.inside[a] and a != vertex.members[leaving]:
                continue
            for i in range(rank):
                slopes[a] += features[a, i] * inverse[leaving, i]
            slopes[a] *= ahead
            steep = abs(slopes[a])
            if steep <= EXACT:
                continue
            room = max(0.0, 1.0 - math.copysign(heights[a], heights[a] * slopes[a])) / steep
            if room < length or (room == length and steep > steepest):
                entering, length, steepest = a, room, steep
        if entering == NOBODY:
            return False
        for i in range(rank):
            vertex.point[i] += length * ahead * inverse[leaving, i]
        for a in range(arms):
            heights[a] += length * slopes[a]
        vertex.sides[leaving] = math.copysign(1.0, slopes[entering])
        if entering != vertex.members[leaving]:
            _exchange(features, vertex, leaving, entering)
    return False


@compiled()
def _exchange(features: NDArray[np.float64], vertex: Vertex, leaving: int, entering: int) -> None:
    """Put one arm in the place of another and update the inverse."""
    rank = features.shape[1]
    inverse = vertex.inverse
    if vertex.members[leaving] != NOBODY:
        vertex.inside[vertex.members[leaving]] = False
    vertex.members[leaving] = entering
    vertex.inside[entering] = True
    pivot = 0.0
    for i in range(rank):
        pivot += inverse[leaving, i] * features[entering, i]
    for i in range(rank):
        inverse[leaving, i] /= pivot
    for k in range(rank):
        if k != leaving:
            product = 0.0
            for i in range(rank):
                product += inverse[k, i] * features[entering, i]
            for i in range(rank):
                inverse[k, i] -= product * inverse[leaving, i]


@compiled()
def _is_the_optimum(
    features: NDArray[np.float64], vertex: Vertex, weights: NDArray[np.float64]
) -> bool:
    """Whether the weights make the target, weigh what the dual says, and nothing else does."""
    arms, rank = features.shape
    weight = reach = largest = 0.0
    for a in range(arms):
        weight += abs(weights[a])
        largest = max(largest, abs(weights[a]))
        height = 0.0
        for i in range(rank):
            height += features[a, i] * vertex.point[i]
        # Weak duality needs |x_aᵀu| ≤ 1; a strict inequality outside makes w* unique.
        if abs(height) > (1.0 + EXACT if vertex.inside[a] else 1.0 - STRICT):
            return False
    for i in range(rank):
        made = 0.0
        for a in range(arms):
            made += features[a, i] * weights[a]
        if abs(made - vertex.target[i]) > EXACT * largest:
            return False
        reach += vertex.target[i] * vertex.point[i]
    return weight - reach <= EXACT * largest


class Designs:
    """The designs of every pair asked for so far, each solved once, shared by all runs."""

    def __init__(
        self, features: NDArray[np.float64], noise: NDArray[np.float64] | None = None
    ) -> None:
        self._features, self._noise = features, noise
        self._solved: dict[tuple[int, int], NDArray[np.float64]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._solved)

    def of(self, b: int, c: int) -> NDArray[np.float64]:
        """w*(b, c) up to its sign."""
        pair = (min(b, c), max(b, c))
        with self._lock:
            if pair not in self._solved:
                self._solved[pair] = lightest_weights(self._features, *pair, self._noise)
            return self._solved[pair]
