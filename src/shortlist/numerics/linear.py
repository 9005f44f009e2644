"""The Cholesky factor of a small matrix, and solving with triangular matrices.

For ``solve_lower`` and ``solve_upper`` a threaded library is no faster at the sizes met here, and on a busy
machine it waits for its threads: 20 ms were seen where this takes a tenth of one.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Reals, Table


@compiled()
def dot(matrix: Table, row: int, vector: Reals) -> float:
    """The product of a row and a vector, summed in order: the interpreter gives the same bits.

    ``posterior.passes.inner`` is faster, and does not.
    """
    total = 0.0
    for k in range(matrix.shape[1]):
        total += matrix[row, k] * vector[k]
    return total


@compiled(typed=True)
def cholesky(factor: Table) -> bool:
    """The Cholesky factor of a matrix, in place of its lower half; False if not positive."""
    for i in range(factor.shape[0]):
        diagonal = factor[i, i]
        for j in range(i + 1):
            total = factor[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 1e-15 * diagonal:
                factor[i, i] = math.sqrt(total)
            else:
                return False
    return True


@compiled(typed=True)
def solve_factor(factor: Table, vector: Reals) -> None:
    """Solve in place with a Cholesky factor."""
    rank = factor.shape[0]
    for i in range(rank):
        for k in range(i):
            vector[i] -= factor[i, k] * vector[k]
        vector[i] /= factor[i, i]
    for i in range(rank - 1, -1, -1):
        for k in range(i + 1, rank):
            vector[i] -= factor[k, i] * vector[k]
        vector[i] /= factor[i, i]


def solve_lower(lower: Reals, right: Reals) -> Reals:
    """L⁻¹B; what stands above the diagonal is not read.

    Examples
    --------
    >>> solve_lower(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([[2.0], [9.0]])).tolist()
    [[1.0], [2.0]]
    """
    diagonal = np.diagonal(lower)
    if not np.all(diagonal):
        raise np.linalg.LinAlgError("the triangle has a zero on its diagonal")
    solved = np.zeros(right.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(len(lower)):
            solved[i] = (right[i] - lower[i, :i] @ solved[:i]) / diagonal[i]
    return solved


def solve_upper(upper: Reals, right: Reals) -> Reals:
    """U⁻¹B; what stands below the diagonal is not read.

    Examples
    --------
    >>> solve_upper(np.array([[4.0, 1.0], [0.0, 2.0]]), np.array([[9.0], [2.0]])).tolist()
    [[2.0], [1.0]]
    """
    # Read backwards, an upper triangle is a lower one.
    return solve_lower(upper[::-1, ::-1], right[::-1])[::-1]
