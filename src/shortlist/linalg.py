"""Linear algebra on tables of features, one row per arm, block by block of rows where they are large.

Also what must come out alike on all processors, although their libraries round differently: which of
several values is the largest, and which arms span.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Integers, Reals

BLOCK = 1 << 18  # entries: 2 MB
WHOLE = 1 << 20  # entries: beyond, passes over a table are quicker than decomposing all of it
WELL = 1e-8  # λ_min/λ_max of a Gram matrix above which its rounding errors decide nothing
ALIKE = 1e-8  # the share by which values may differ that would be equal without rounding
REMADE = 1e-6  # of what was left when it was last made


def blocks(table: NDArray[Any]) -> Iterator[slice]:
    """The rows, a block at a time.

    Examples
    --------
    >>> [rows.stop for rows in blocks(np.zeros((5000, 64)))]
    [4096, 5000]
    """
    many = max(BLOCK // table.shape[1], 2 * table.shape[1])
    for first in range(0, len(table), many):
        yield slice(first, min(first + many, len(table)))


def squared_norms(table: Reals) -> Reals:
    """‖x_a‖² of every row.

    Examples
    --------
    >>> squared_norms(np.array([[3.0, 4.0], [1.0, 0.0]])).tolist()
    [25.0, 1.0]
    """
    return np.asarray(np.einsum("ij,ij->i", table, table))


def gram(table: Reals) -> Reals | None:
    """XᵀX where it is conditioned so well that squares lose nothing that matters, else None.

    Examples
    --------
    >>> gram(np.array([[1.0, 0.0], [0.0, 2.0]])).tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    >>> gram(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-7]])) is None
    True
    """
    if len(table) < table.shape[1]:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        product = table.T @ table
    if not np.isfinite(product).all():
        return None
    values = np.linalg.eigvalsh(product)
    return product if values[0] > WELL * values[-1] else None


def exponents(table: Reals) -> Integers:
    """For every column the power of two next above its largest entry; 0 for a column of zeros.

    Examples
    --------
    >>> exponents(np.array([[1.0, 1e-9, 0.0], [-3.0, 0.0, 0.0]])).tolist()
    [2, -29, 0]
    """
    largest = np.zeros(table.shape[1])
    for rows in blocks(table):
        np.maximum(largest, np.abs(table[rows]).max(axis=0), out=largest)
    return np.asarray(np.frexp(largest)[1], np.int64)


def sizes(table: Reals) -> Reals:
    """The root mean square of every column, also where squares overflow or vanish.

    Examples
    --------
    >>> (sizes(np.array([[3e200, 0.0], [4e200, 0.0]])) / 1e200).round(6).tolist()
    [3.535534, 0.0]
    """
    powers, squares = exponents(table), np.zeros(table.shape[1])
    for rows in blocks(table):
        squares += (np.ldexp(table[rows], -powers) ** 2).sum(axis=0)
    return np.asarray(np.ldexp(np.sqrt(squares / len(table)), powers))


def deviations(table: Reals) -> Reals:
    """The standard deviation of every column.

    Examples
    --------
    >>> deviations(np.array([[3.0, 1.0], [5.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    middle, squares = table.mean(axis=0), np.zeros(table.shape[1])
    for rows in blocks(table):
        squares += ((table[rows] - middle) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(squares / len(table)))


def even(table: Reals) -> Reals:
    """The table with every column brought to a root mean square of 1; a column of zeros stays.

    Examples
    --------
    >>> even(np.array([[3e200, 0.0], [4e200, 0.0]])).round(3).tolist()
    [[0.849, 0.0], [1.131, 0.0]]
    """
    table = np.ldexp(table, -exponents(table))  # exact, and then squares are in range
    size = sizes(table)
    return np.asarray(table / np.where(size > 0.0, size, 1.0))


def triangle_of(table: Reals, powers: Integers | None = None) -> Reals:
    """R of X = QR: its singular values are those of X, and no square is taken on the way.

    With ``powers`` it is that of X with its columns in units of these powers of two.

    Examples
    --------
    >>> np.abs(triangle_of(np.array([[3.0], [4.0]]))).round(12).tolist()
    [[5.0]]
    """
    factor = np.zeros((0, table.shape[1]))
    for rows in blocks(table):
        part = table[rows] if powers is None else np.ldexp(table[rows], -powers)
        factor = np.asarray(np.linalg.qr(np.vstack([factor, part]), mode="r"))
    return factor


def condition(table: Reals) -> float:
    """The condition number once all columns have the same size; infinite where the rank lacks.

    Examples
    --------
    >>> condition(np.array([[1.0, 0.0], [0.0, 1e-200]]))
    1.0
    """
    product = gram(table)
    if product is not None:
        size = np.sqrt(np.diagonal(product))
        values = np.sqrt(np.linalg.eigvalsh(product / np.outer(size, size))[::-1])
    else:
        factor = triangle_of(table, exponents(table))
        size = np.sqrt(squared_norms(factor.T))
        if len(factor) < table.shape[1] or not size.all():
            return np.inf
        values = np.linalg.svd(factor / size, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf


def singular_values(table: Reals) -> Reals:
    """The singular values, largest first.

    Examples
    --------
    >>> singular_values(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])).tolist()
    [4.0, 3.0]
    """
    product = gram(table)
    if product is not None:
        return np.asarray(np.sqrt(np.linalg.eigvalsh(product)[::-1]))
    return np.asarray(np.linalg.svd(triangle_of(table), compute_uv=False))


def share_left_of_ones(table: Reals) -> float:
    """‖1 − P1‖/‖1‖ with P the projection on the columns: 0 where they can express a constant.

    Examples
    --------
    >>> round(share_left_of_ones(np.array([[1.0], [0.0]])), 6)
    0.707107
    """
    arms, product = len(table), gram(table)
    if product is None:
        beside = np.zeros((0, table.shape[1] + 1))
        for rows in blocks(table):
            ones = np.ones((rows.stop - rows.start, 1))
            more = np.vstack([beside, np.hstack([table[rows], ones])])
            beside = np.asarray(np.linalg.qr(more, mode="r"))
        left = float(np.linalg.norm(beside[table.shape[1] :, -1]))
        return left / arms**0.5
    ones = np.ones(arms)
    rest = ones - table @ least_squares(table, product, ones)
    return float(np.linalg.norm(rest)) / arms**0.5


def least_squares(table: Reals, product: Reals, values: Reals) -> Reals:
    """Argmin ‖Xθ − y‖, with XᵀX conditioned well.

    Examples
    --------
    >>> least_squares(np.array([[1.0], [1.0]]), np.array([[2.0]]), np.array([1.0, 3.0])).tolist()
    [2.0]
    """
    theta = np.zeros(table.shape[1])
    for _ in range(2):  # the second time takes away what rounding left
        theta += np.linalg.solve(product, table.T @ (values - table @ theta))
    return theta


def is_identity(x: Reals) -> bool:
    """Whether a table is the identity: then all matrices are diagonal, and K may be large."""
    if x.shape[0] != x.shape[1] or np.count_nonzero(x) != len(x):
        return False
    return bool((x.diagonal() == 1.0).all())


def first_like(table: Reals) -> Integers:
    """For every row the first row that is equal to it: itself, if it is the first of its kind.

    Examples
    --------
    >>> first_like(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).tolist()
    [0, 1, 0]
    """
    arms, columns = table.shape
    # Whole numbers are summed exactly in any order, so equal rows have equal sums.
    odd = np.random.default_rng(0).integers(0, 2**63, columns, dtype=np.uint64) * 2 + 1
    sums = np.empty(arms, np.uint64)
    for rows in blocks(table):
        # + 0.0: zeros have a sign, which means nothing here.
        bits = np.ascontiguousarray(table[rows] + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(32)  # or the low bits, often all 0, would have little to say
        sums[rows] = (bits * odd).sum(axis=1, dtype=np.uint64)
    first, order = np.arange(arms), np.argsort(sums, kind="stable")
    same = np.flatnonzero(sums[order][1:] == sums[order][:-1])
    for start in same[np.diff(same, prepend=-2) > 1].tolist():
        alike = order[start : np.searchsorted(sums[order], sums[order[start]], side="right")]
        kinds: dict[bytes, int] = {}
        for arm in alike.tolist():
            first[arm] = kinds.setdefault((table[arm] + 0.0).tobytes(), arm)
    return first


def first_not_finite(table: Reals) -> tuple[int, int, int] | None:
    """Row and column of the first entry that is not finite, and how many are not; None if all are.

    Examples
    --------
    >>> first_not_finite(np.array([[1.0, np.nan], [np.inf, 0.0]]))
    (0, 1, 2)
    """
    found, count = None, 0
    for rows in blocks(table):
        bad = ~np.isfinite(table[rows])
        if bad.any():
            if found is None:
                row, column = np.argwhere(bad)[0].tolist()
                found = rows.start + row, column
            count += int(bad.sum())
    return None if found is None else (*found, count)


def first_largest(values: Reals) -> int:
    """The index of the largest value; among those equal to it up to rounding, the first.

    Linear algebra libraries round differently on different processors. Where arms lie regularly,
    that alone would decide which of them is the largest.

    Examples
    --------
    >>> first_largest(np.array([0.1, 0.3, 0.1 + 0.2]))
    1
    """
    largest = values.max()
    least = largest - ALIKE * abs(largest) if np.isfinite(largest) else largest
    return int(np.argmax(values >= least))


def largest_first(values: Reals) -> Integers:
    """The indices of the values, the largest first; those equal up to rounding in their order.

    Examples
    --------
    >>> largest_first(np.array([0.1, 0.3, 0.1 + 0.2, 0.5])).tolist()
    [3, 1, 2, 0]
    """
    unit = max(ALIKE * float(np.abs(values).max(initial=0.0)), np.finfo(np.float64).tiny)
    return np.argsort(-np.round(values / unit), kind="stable")


def span(table: Reals) -> Integers:
    """As many rows as there are columns, well spread: the pivots of a pivoted QR.

    Each pivot takes a pass over the table, without a second one. What is left of a
    row's ‖x‖² is kept by subtraction, and computed again once too little is left of it to have digits.

    Examples
    --------
    >>> span(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 2.0]])).tolist()
    [0, 2]
    """
    if is_identity(table):
        return np.arange(len(table))
    rank = table.shape[1]
    chosen = np.empty(rank, np.int64)
    directions = np.zeros((rank, rank))
    left, last = np.full(len(table), -np.inf), np.inf
    for k in range(rank):
        if not left.max() >= REMADE * last:
            for rows in blocks(table):
                part = table[rows]
                left[rows] = squared_norms(part - (part @ directions[:k].T) @ directions[:k])
            left[chosen[:k]] = -np.inf
            last = float(left.max())
        chosen[k] = first_largest(left)
        direction = table[chosen[k]].copy()
        for _ in range(2):  # the second time takes away what rounding left
            direction -= directions[:k].T @ (directions[:k] @ direction)
        length = np.linalg.norm(direction)
        directions[k] = direction / length if length > 0.0 else 0.0
        left -= (table @ directions[k]) ** 2
        left[chosen[k]] = -np.inf
    return np.sort(chosen)


def in_units(features: Reals, noise: Reals) -> Reals:
    """x_a σ/σ_a: what an evaluation of each arm shows of θ, in units of its noise (σ_a/σ)².

    Examples
    --------
    >>> in_units(np.eye(2), np.array([1.0, 0.25])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if (noise == 1.0).all():
        return features
    return np.asarray(features / np.sqrt(noise)[:, None])


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
