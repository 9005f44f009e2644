"""From vertex to vertex of the polytope |x_aᵀu| ≤ 1, to the one that is highest in a direction.

It is the dual of the lightest combination of arms that makes the direction: the arms that hold the
vertex are those that carry weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM
from shortlist.core.jit import compiled
from shortlist.core.records import Integers, Mask, Reals, Record, Table, record_type

EXACT = 1e-9  # what a solution may miss, relative to the largest weight
STRICT = 1e-7  # how far below 1 the other arms must stay for w* to be the only optimum


@dataclass(frozen=True, eq=False)
class Vertex(Record):
    """A corner u of the polytope |x_aᵀu| ≤ 1: r arms, its members, for which x_aᵀu = ±1.

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


VERTEX = record_type(Vertex)


def fresh_vertex(arms: int, rank: int) -> Vertex:
    """Room for a vertex."""
    return Vertex(
        inverse=np.empty((rank, rank)),
        point=np.empty(rank),
        target=np.empty(rank),
        members=np.empty(rank, np.int64),
        sides=np.empty(rank),
        inside=np.empty(arms, np.bool_),
        heights=np.empty(arms),
        slopes=np.empty(arms),
    )


@compiled()
def _climb(features: NDArray[np.float64], vertex: Vertex, most: int) -> bool:
    """Pivot until every member's weight has the sign of its side; False if it takes too long."""
    arms, rank = features.shape
    inverse, heights, slopes = vertex.inverse, vertex.heights, vertex.slopes
    for a in range(arms):
        heights[a] = 0.0
        for i in range(rank):
            heights[a] += features[a, i] * vertex.point[i]
    for _ in range(most):
        leaving, worst = NO_ARM, -EXACT
        ahead = 1.0
        for k in range(rank):
            weight = 0.0
            for i in range(rank):
                weight += inverse[k, i] * vertex.target[i]
            if vertex.members[k] == NO_ARM:
                leaving, ahead = k, 1.0 if weight >= 0.0 else -1.0
                break
            if weight * vertex.sides[k] < worst:
                leaving, worst, ahead = k, weight * vertex.sides[k], -vertex.sides[k]
        if leaving == NO_ARM:
            return True
        # Move until the first arm reaches ±1; member ``leaving`` itself may, on its other side.
        entering, length, steepest = NO_ARM, math.inf, 0.0
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
def _exchange(features: NDArray[np.float64], vertex: Vertex, leaving: int, entering: int) -> None:
    """Put one arm in the place of another and update the inverse."""
    rank = features.shape[1]
    inverse = vertex.inverse
    if vertex.members[leaving] != NO_ARM:
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


@compiled()
def stand_in(vertex: Vertex) -> None:
    """Begin at 0, where unit vectors stand in for members: the first to leave, never to return."""
    vertex.inverse[:] = 0.0
    vertex.point[:] = 0.0
    vertex.inside[:] = False
    vertex.members[:] = NO_ARM
    vertex.sides[:] = 0.0
    for k in range(vertex.inverse.shape[0]):
        vertex.inverse[k, k] = 1.0


@compiled()
def arrive(
    features: NDArray[np.float64], vertex: Vertex, weights: NDArray[np.float64], most: int
) -> bool:
    """The weights of the target, from the vertex of the last; False if they are not proven.

    ``most`` pivots are made: rounding may go in circles.
    """
    if not _climb(features, vertex, most):
        return False
    rank = features.shape[1]
    for k in range(rank):
        weight = 0.0
        for i in range(rank):
            weight += vertex.inverse[k, i] * vertex.target[i]
        weights[vertex.members[k]] = weight
    return bool(_is_the_optimum(features, vertex, weights))


@compiled()
def walk(
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
    arms, rank = features.shape
    stand_in(vertex)
    for row in range(table.shape[0]):
        for i in range(rank):
            vertex.target[i] = features[b, i] - features[b + 1 + row, i]
        proven[row] = arrive(features, vertex, table[row], 50 * (arms + rank))
