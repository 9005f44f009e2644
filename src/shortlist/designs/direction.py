"""w*(b, c): the lightest combination of arms that makes the direction x_b − x_c (equation 1).

``lightest_weights`` hands one pair to a general solver and is the reference. The other two ways are
there because it takes milliseconds a pair, and seconds among very many arms.

``all_weights`` does every pair of an instance, some two hundred times faster a pair. It walks from
vertex to vertex of the dual polytope |x_aᵀu| ≤ 1, which is the same for all pairs, to the one that
is highest in the direction: the arms whose constraints are tight there are those that carry weight.
It keeps only answers that it can prove to be the only optimum, and asks ``lightest_weights`` for
the others; so where w* is not unique, both still choose the same.

``few_weights`` is for very many arms. The arms of w* are at most as many as the features have
dimensions, so the program is solved over a small set of arms. Its prices u say of any other arm
whether it could make the combination lighter, which is so exactly where |x_aᵀu| > 1. Such arms join
the set until there are none. Then u proves that nothing among all arms is lighter.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.errors import SingularDesign
from shortlist.numerics.blockwise import gram, orthonormal_basis, triangle_of
from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import dot
from shortlist.numerics.records import Integers, Mask, Reals, Record, Table
from shortlist.rules.initialization import span

NEGLIGIBLE = 1e-9  # of the largest weight
ALL_AT_ONCE = 4096  # arms: with more, few are taken and the others checked
KEPT = 8  # times the rank: arms of earlier designs to start the next from
ADDED = 4  # times the rank: arms that join in one step
STEPS = 200
PIVOTS = 20  # times the rank, before a walk is taken to go in circles
EXACT_PRICE = 1e-10  # the least tolerance that HiGHS offers, for a price of 1
FINE = {"dual_feasibility_tolerance": EXACT_PRICE, "primal_feasibility_tolerance": EXACT_PRICE}


def lightest_weights(features: Table, b: int, c: int, noise: Reals | None = None) -> Reals:
    """Argmin ‖w‖₁ subject to Xᵀw = x_b − x_c.

    ``noise`` is (σ_a/σ)² of every arm, all 1 by default. An evaluation then shows x_a in units of
    its noise: Σ_a w_a x_a σ/σ_a makes the direction.

    Examples
    --------
    >>> lightest_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 2, 0).round(3).tolist()
    [0.0, 0.1, 0.0]
    """
    arms, rank = features.shape
    weights = np.zeros(arms)
    if rank == arms:
        # Linearly independent rows: e_b − e_c is the only combination there is.
        weights[b], weights[c] = 1.0, -1.0
        return weights if noise is None else weights * np.sqrt(noise)
    if arms > ALL_AT_ONCE:
        members, found = few_weights(features, b, c, noise)
        weights[members] = found
        return weights
    shown = features if noise is None else features / np.sqrt(noise)[:, None]
    return _cleaned(_by_solver(shown, features, b, c)[0])


def _by_solver(
    shown: Table, features: Table, b: int, c: int, options: Any = None
) -> tuple[Reals, Reals]:
    """The weights of the arms shown and the prices of the dimensions, by a general solver."""
    from scipy.optimize import linprog  # a quarter of a second, for `optimized` only

    arms = len(shown)
    solution = linprog(
        np.ones(2 * arms),
        A_eq=np.hstack([shown.T, -shown.T]),
        b_eq=features[b] - features[c],
        method="highs",
        options=options,
    )
    if solution.status != 0 or solution.x is None:
        raise _not_solved(b, c, solution.message)
    return solution.x[:arms] - solution.x[arms:], solution.eqlin.marginals


def _not_solved(b: int, c: int, message: str) -> SingularDesign:
    return SingularDesign(
        f"the linear program for the pair ({b}, {c}) was not solved: {message} "
        "Rescale the features, or use selection='greedy'."
    )


def _cleaned(weights: Reals) -> Reals:
    size = np.abs(weights)
    weights[size <= NEGLIGIBLE * size.max(axis=-1, keepdims=True)] = 0.0
    return weights


def all_weights(features: Table) -> Iterator[Table]:
    """The designs of all pairs, one table for each arm b: a row for w*(b, c), c = b + 1, …, K − 1.

    The features must have full column rank (see ``reduce_to_rank``).

    Examples
    --------
    >>> tables = all_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]))
    >>> [table.round(3).tolist() for table in tables]
    [[[1.0, -1.0, 0.0], [0.0, -0.1, 0.0]], [[-1.0, 0.9, 0.0]]]
    """
    arms, rank = features.shape
    # w* is the same in any basis of the column space; rounding errors are small in this one.
    basis = np.ascontiguousarray(np.linalg.qr(features)[0])
    vertex = empty_vertex(arms, rank)
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

    def __init__(self, features: Table, noise: Reals | None = None) -> None:
        self._features, self._noise = features, noise
        self._solved: dict[tuple[int, int], tuple[Integers, Reals]] = {}
        self._useful = np.zeros(0, np.int64)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._solved)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what is solved, and without the lock."""
        return Designs, (self._features, self._noise)

    def are_of(self, features: Table, noise: Reals) -> bool:
        """Whether they are designs for these features and this noise."""
        return np.array_equal(self._noise, noise) and np.array_equal(self._features, features)  # type: ignore[arg-type]

    def of(self, b: int, c: int) -> Reals:
        """w*(b, c) up to its sign."""
        pair = (min(b, c), max(b, c))
        with self._lock:
            if pair not in self._solved:
                self._solved[pair] = self._solve(*pair)
            members, found = self._solved[pair]
        weights = np.zeros(len(self._features))
        weights[members] = found
        return weights

    def _solve(self, b: int, c: int) -> tuple[Integers, Reals]:
        arms, rank = self._features.shape
        if arms <= ALL_AT_ONCE or rank == arms:
            weights = lightest_weights(self._features, b, c, self._noise)
            members = np.flatnonzero(weights)
            return members, weights[members]
        if not len(self._useful):
            self._useful = span(self._features)
            self._basis = nearly_orthonormal_basis(self._features)
        start, basis = self._useful, self._basis
        members, found = few_weights(self._features, b, c, self._noise, start, basis)
        # The arms of one pair's design are those of the next one's, or near them.
        if len(self._useful) < KEPT * rank:
            self._useful = np.union1d(self._useful, members)
        return members, found


def few_weights(
    features: Table,
    b: int,
    c: int,
    noise: Reals | None = None,
    start: Integers | None = None,
    basis: Table | None = None,
) -> tuple[Integers, Reals]:
    """The arms of w*(b, c) and their weights, for features of full column rank.

    ``noise`` is (σ_a/σ)² of every arm, all 1 by default; ``start`` are arms to begin with, which
    span, such as those of another pair's design; ``basis`` is the result of
    ``nearly_orthonormal_basis``, if available.

    Examples
    --------
    >>> members, weights = few_weights(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 2, 0)
    >>> members.tolist(), weights.round(3).tolist()
    ([1], [0.1])
    """
    rank = features.shape[1]
    scale = np.ones(len(features)) if noise is None else 1.0 / np.sqrt(noise)
    basis = nearly_orthonormal_basis(features) if basis is None else basis
    among = np.union1d([b, c], span(features) if start is None else start).astype(np.int64)
    for _ in range(STEPS):
        shown = features[among] * scale[among, None]
        found = _by_walking(shown, features[b] - features[c], basis)
        weights, price = found or _by_solver(shown, features, b, c, FINE)
        height = np.abs(features @ price) * scale
        height[among] = 0.0
        best = np.argpartition(height, -min(ADDED * rank, len(height)))[-ADDED * rank :]
        joining = best[height[best] > 1.0 + EXACT_PRICE]
        if not len(joining):
            kept = np.abs(weights) > NEGLIGIBLE * np.abs(weights).max()
            return among[kept], weights[kept]
        among = np.union1d(among, joining)
    raise _not_solved(b, c, f"arms still joined after {STEPS} steps.")


def nearly_orthonormal_basis(features: Table) -> Table:
    """W for which XW has nearly orthonormal columns: w* is the same, rounding errors smaller."""
    product = gram(features)
    if product is not None:
        return orthonormal_basis(product)
    return np.asarray(np.linalg.inv(triangle_of(features)))


def _by_walking(shown: Table, target: Reals, basis: Table) -> tuple[Reals, Reals] | None:
    """Weights and prices by a walk along vertices; None if not proven to be the optimum."""
    vertex, weights = empty_vertex(*shown.shape), np.zeros(len(shown))
    points = np.ascontiguousarray(shown @ basis)
    size = float(np.abs(points).max())
    points /= size
    vertex.target[:] = target @ basis / size
    start_at_zero(vertex)
    if not arrive(points, vertex, weights, PIVOTS * shown.shape[1]):
        return None
    return weights, basis @ vertex.point / size


EXACT = 1e-9  # what a solution may miss, relative to the largest weight
STRICT = 1e-7  # how far below 1 the other arms must stay for w* to be the only optimum


@dataclass(frozen=True, eq=False)
class Vertex(Record):
    """A corner u of the polytope |x_aᵀu| ≤ 1, given by r arms, its members, with x_aᵀu = ±1.

    Row k of ``inverse`` is the direction that moves member k alone.
    """

    inverse: Table
    point: Reals
    target: Reals
    members: Integers
    sides: Reals
    inside: Mask
    heights: Reals
    slopes: Reals


def empty_vertex(arms: int, rank: int) -> Vertex:
    """Memory for a vertex."""
    of_members = {"point": rank, "target": rank, "members": rank, "sides": rank}
    return Vertex.zeros(inverse=(rank, rank), **of_members, inside=arms, heights=arms, slopes=arms)


@compiled()
def _climb(features: Table, vertex: Vertex, most: int) -> bool:
    """Pivot until every member's weight has the sign of its side; False after ``most`` pivots."""
    arms, rank = features.shape
    inverse, heights, slopes = vertex.inverse, vertex.heights, vertex.slopes
    for a in range(arms):
        heights[a] = dot(features, a, vertex.point)
    for _ in range(most):
        leaving, worst = NO_ARM, -EXACT
        ahead = 1.0
        for k in range(rank):
            weight = dot(inverse, k, vertex.target)
            if vertex.members[k] == NO_ARM:
                leaving, ahead = k, 1.0 if weight >= 0.0 else -1.0
                break
            if weight * vertex.sides[k] < worst:
                leaving, worst, ahead = k, weight * vertex.sides[k], -vertex.sides[k]
        if leaving == NO_ARM:
            return True
        # Move until the first arm reaches ±1; it may be the leaving member, on its other side.
        entering, length, steepest = NO_ARM, math.inf, 0.0
        for a in range(arms):
            slopes[a] = 0.0
            if vertex.inside[a] and a != vertex.members[leaving]:
                continue
            slopes[a] = dot(features, a, inverse[leaving]) * ahead
            steep = abs(slopes[a])
            if steep <= EXACT:
                continue
            room = max(0.0, 1.0 - math.copysign(heights[a], heights[a] * slopes[a])) / steep
            if room < length or (room == length and steep > steepest):
                entering, length, steepest = a, room, steep
        if entering == NO_ARM:
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
def _exchange(features: Table, vertex: Vertex, leaving: int, entering: int) -> None:
    """Put one arm in the place of another and update the inverse."""
    rank = features.shape[1]
    inverse = vertex.inverse
    if vertex.members[leaving] != NO_ARM:
        vertex.inside[vertex.members[leaving]] = False
    vertex.members[leaving] = entering
    vertex.inside[entering] = True
    pivot = dot(inverse, leaving, features[entering])
    for i in range(rank):
        inverse[leaving, i] /= pivot
    for k in range(rank):
        if k != leaving:
            product = dot(inverse, k, features[entering])
            for i in range(rank):
                inverse[k, i] -= product * inverse[leaving, i]


@compiled()
def _is_the_optimum(features: Table, vertex: Vertex, weights: Reals) -> bool:
    """Whether the weights make the target with the weight of the dual, and no others do."""
    arms, rank = features.shape
    weight = reach = largest = 0.0
    for a in range(arms):
        weight += abs(weights[a])
        largest = max(largest, abs(weights[a]))
        height = dot(features, a, vertex.point)
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


@compiled()
def start_at_zero(vertex: Vertex) -> None:
    """Begin at 0 with unit vectors in place of members; they leave first, and never return."""
    vertex.inverse[:] = 0.0
    vertex.point[:] = 0.0
    vertex.inside[:] = False
    vertex.members[:] = NO_ARM
    vertex.sides[:] = 0.0
    for k in range(vertex.inverse.shape[0]):
        vertex.inverse[k, k] = 1.0


@compiled()
def arrive(features: Table, vertex: Vertex, weights: Reals, most: int) -> bool:
    """Fill in the weights of the target, from the vertex of the last; False if not proven.

    At most ``most`` pivots are made, since rounding may go in circles.
    """
    if not _climb(features, vertex, most):
        return False
    for k in range(features.shape[1]):
        weights[vertex.members[k]] = dot(vertex.inverse, k, vertex.target)
    return bool(_is_the_optimum(features, vertex, weights))


@compiled()
def walk(features: Table, b: int, vertex: Vertex, table: Table, proven: Mask) -> None:
    """Fill in w*(b, c) for one c after the other, each started from the vertex of the last.

    The dual of the linear program is to maximise (x_b − x_c)ᵀu over the polytope. It starts again
    for every b, so that rounding errors of the inverse do not pile up.
    """
    arms, rank = features.shape
    start_at_zero(vertex)
    for row in range(table.shape[0]):
        for i in range(rank):
            vertex.target[i] = features[b, i] - features[b + 1 + row, i]
        proven[row] = arrive(features, vertex, table[row], 50 * (arms + rank))
