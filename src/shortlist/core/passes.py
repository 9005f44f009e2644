"""Passes over the features of many arms: rows of G made, and all that an evaluation changes.

With many arms a round is as fast as memory: what counts is how often X, or a vector of its length,
is read. So a pass does all it can with a block of arms while the block is in the cache.
"""

from __future__ import annotations

import numpy as np

from shortlist.core.rule import INTEGER, INTEGERS, REAL, REALS, TABLE, VOID, compiled

BLOCK = 1024
SCANNED = 128  # at once, where a find makes it necessary to look closely


@compiled(fast=True)
def inner(features: np.ndarray, arm: int, vector: np.ndarray) -> float:
    """x_aᵀv."""
    total = 0.0
    for k in range(features.shape[1]):
        total += features[arm, k] * vector[k]
    return total


@compiled(VOID(TABLE, REALS, REALS), fast=True)
def products(features: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """x_iᵀv of every arm, four at a time."""
    arms = features.shape[0]
    for i in range(0, arms - 3, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for k in range(features.shape[1]):
            value = vector[k]
            a += features[i, k] * value
            b += features[i + 1, k] * value
            c += features[i + 2, k] * value
            d += features[i + 3, k] * value
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(arms - arms % 4, arms):
        out[i] = inner(features, i, vector)


@compiled(VOID(TABLE, INTEGER, INTEGER, TABLE, INTEGER, INTEGER, TABLE), fast=True)
def products_of_block(
    features: np.ndarray,
    start: int,
    stop: int,
    vectors: np.ndarray,
    first: int,
    end: int,
    out: np.ndarray,
) -> None:
    """x_iᵀv of the arms from ``start`` to ``stop`` and the vectors from ``first`` to ``end``, one a row.

    Four at a time: then the features are read from the cache a quarter as often.
    """
    rank = features.shape[1]
    k = first
    while k + 4 <= end:
        v, w, y, z = vectors[k], vectors[k + 1], vectors[k + 2], vectors[k + 3]
        for i in range(start, stop):
            to_v, to_w, to_y, to_z = 0.0, 0.0, 0.0, 0.0
            for q in range(rank):
                value = features[i, q]
                to_v += value * v[q]
                to_w += value * w[q]
                to_y += value * y[q]
                to_z += value * z[q]
            out[k - first, i - start] = to_v
            out[k - first + 1, i - start] = to_w
            out[k - first + 2, i - start] = to_y
            out[k - first + 3, i - start] = to_z
        k += 4
    while k < end:
        for i in range(start, stop):
            out[k - first, i - start] = inner(features, i, vectors[k])
        k += 1


@compiled(VOID(TABLE, TABLE, REALS, REALS), fast=True)
def norms(features: np.ndarray, factor: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
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


@compiled(VOID(TABLE, REALS, TABLE, INTEGERS, INTEGER, REALS, REALS, REALS, REAL, REAL), fast=True)
def absorb(
    features: np.ndarray,
    product: np.ndarray,
    rows: np.ndarray,
    owners: np.ndarray,
    slot: int,
    u: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
    shrink: float,
    step: float,
) -> None:
    """Means, variances and resident rows after an evaluation of the arm with V⁻¹x_a = ``product``.

    Its row of G is in ``slot``; if that is negative it is made on the way.
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
                kept = rows[s, first:end]
                for i in range(size):
                    kept[i] -= factor * part[i]
