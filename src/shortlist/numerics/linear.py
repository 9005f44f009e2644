"""The Cholesky factor of a small matrix, and solving with it."""

from __future__ import annotations

import math

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
