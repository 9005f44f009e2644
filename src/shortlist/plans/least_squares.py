"""Least squares with some of the arms, or only differences within blocks: what is known and what is not."""

from __future__ import annotations

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.errors import SingularDesign

TINY = 1e-300
SMALL, NOTHING = 1e-9, 1e-6  # of the largest eigenvalue; of an eigenvector: less is rounding


def whitened(x: Reals, precision: Reals) -> Reals:
    """L⁻¹xᵀ with Σ precision_a x_a x_aᵀ = LLᵀ."""
    try:
        factor = np.linalg.cholesky((x.T * precision) @ x)
    except np.linalg.LinAlgError:
        raise SingularDesign("the features are too near to a lower rank for a design.") from None
    return np.asarray(np.linalg.solve(factor, x.T))


def laplacian(arms: Integers, blocks: Integers, precision: Reals, count: int) -> Reals:
    """The information on the means of results on blocks (0, 1, …), where each has a free level.

    Examples
    --------
    >>> laplacian(np.array([0, 1]), np.array([0, 0]), np.ones(2), 2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    table = np.zeros((int(blocks.max(initial=0)) + 1, count))
    np.add.at(table, (blocks, arms), precision)
    total = np.maximum(table.sum(axis=1), TINY)
    return np.asarray(np.diag(table.sum(axis=0)) - table.T @ (table / total[:, None]))


def rooted(x: Reals, matrix: Reals) -> tuple[Reals, Reals]:
    """W with WᵀW = X(XᵀMX)⁺Xᵀ, and the directions of the arms in which M (or its diagonal) tells nothing."""
    inner = x.T @ matrix @ x if matrix.ndim > 1 else (x.T * matrix) @ x
    sizes, vectors = np.linalg.eigh(inner)
    good = sizes > SMALL * max(float(sizes[-1]), TINY)
    return (vectors[:, good] / np.sqrt(sizes[good])).T @ x.T, vectors[:, ~good].T @ x.T


def connected(null: Reals, b: Integers, c: Integers) -> Mask:
    """Whether pairs of arms differ in no direction of which nothing is known."""
    return np.asarray((np.abs(null[:, b] - null[:, c]) < NOTHING).all(axis=0))
