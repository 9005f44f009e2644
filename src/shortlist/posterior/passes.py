"""Passes over the features of many arms: making rows of G, and all that an evaluation changes.

With many arms a round is as fast as memory: what counts is how often X, or a vector of its length,
is read. So a pass does all it can with a block of arms while the block is in the cache.
"""

from __future__ import annotations

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import (
    Integers,
    Reals,
    Table,
)

BLOCK = 1024


@compiled(fast=True)
def inner(features: Reals, arm: int, vector: Reals) -> float:
    """x_aᵀv."""
    total = 0.0
    for k in range(features.shape[1]):
        total += features[arm, k] * vector[k]
    return total


@compiled(typed=True, fast=True)
def products_of_quarters(
    features: Table,
    quarter: int,
    first: int,
    vector: Reals,
    out: Reals,
    second: Reals,
    third: Reals,
    fourth: Reals,
) -> None:
    """x_iᵀv of as many arms as ``out`` takes, from ``first`` on in each quarter of the arms.

    One core gets more out of memory where it reads in four places at once: twice as much of 10⁶ arms.
    """
    size = out.shape[0]
    a, b = features[first:], features[quarter + first :]
    c, d = features[2 * quarter + first :], features[3 * quarter + first :]
    for i in range(size):
        to_a, to_b, to_c, to_d = 0.0, 0.0, 0.0, 0.0
        for k in range(vector.shape[0]):
            value = vector[k]
            to_a += a[i, k] * value
            to_b += b[i, k] * value
            to_c += c[i, k] * value
            to_d += d[i, k] * value
        out[i], second[i], third[i], fourth[i] = to_a, to_b, to_c, to_d


@compiled(typed=True, fast=True)
def products(features: Table, vector: Reals, out: Reals) -> None:
    """x_iᵀv of every arm."""
    arms = features.shape[0]
    quarter = arms // 4
    products_of_quarters(
        *(features, quarter, 0, vector, out[:quarter], out[quarter : 2 * quarter]),
        *(out[2 * quarter : 3 * quarter], out[3 * quarter : 4 * quarter]),
    )
    for i in range(4 * quarter, arms):
        out[i] = inner(features, i, vector)


@compiled(typed=True, fast=True)
def norms(features: Table, factor: Table, y: Reals, out: Reals) -> None:
    """‖x_i‖²_{V⁻¹} = ‖L⁻¹x_i‖² of every arm, V = LLᵀ: half a solve is enough."""
    for i in range(features.shape[0]):
        square = 0.0
        for k in range(features.shape[1]):
            total = features[i, k]
            for q in range(k):
                total -= factor[k, q] * y[q]
            y[k] = total / factor[k, k]
            square += y[k] * y[k]
        out[i] = square


@compiled(typed=True, fast=True)
def absorb(
    features: Table,
    product: Reals,
    rows: Table,
    owners: Integers,
    slot: int,
    u: Reals,
    means: Reals,
    variances: Reals,
    shrink: float,
    step: float,
) -> None:
    """Update means, variances and the rows kept by an evaluation of the arm with V⁻¹x_a = ``product``.

    Its row of G is in ``slot``; if that is negative, the row is made here.
    """
    arms = means.shape[0]
    for first in range(0, arms, BLOCK):
        end = min(first + BLOCK, arms)
        # A view begins at zero: an index that might be negative is not taken several at once.
        size, part = end - first, u[first:end]
        block_means, block_variances = means[first:end], variances[first:end]
        if slot >= 0:
            made = rows[slot, first:end]
            for i in range(size):
                part[i] = made[i]
        else:
            products(features[first:end], product, part)
        for i in range(size):
            block_means[i] += part[i] * step
            block_variances[i] -= (part[i] * shrink) * part[i]
        for s in range(rows.shape[0]):
            if owners[s] >= 0:
                factor = inner(features, owners[s], product) * shrink
                row = rows[s, first:end]
                for i in range(size):
                    row[i] -= factor * part[i]
