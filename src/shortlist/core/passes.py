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
    """x_iᵀv of every arm."""
    for i in range(features.shape[0]):
        out[i] = inner(features, i, vector)


@compiled(VOID(TABLE, REALS, REALS, REALS, REALS), fast=True)
def two_products(
    features: np.ndarray, v: np.ndarray, w: np.ndarray, out_v: np.ndarray, out_w: np.ndarray
) -> None:
    """x_iᵀv and x_iᵀw of every arm, the features read once."""
    for i in range(features.shape[0]):
        total, other = 0.0, 0.0
        for k in range(features.shape[1]):
            total += features[i, k] * v[k]
            other += features[i, k] * w[k]
        out_v[i] = total
        out_w[i] = other


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
        if slot >= 0:
            for i in range(first, end):
                u[i] = rows[slot, i]
        else:
            for i in range(first, end):
                u[i] = inner(features, i, product)
        for i in range(first, end):
            means[i] += u[i] * step
            variances[i] -= (u[i] * shrink) * u[i]
        for s in range(rows.shape[0]):
            if owners[s] >= 0:
                factor = inner(features, owners[s], product) * shrink
                for i in range(first, end):
                    rows[s, i] -= factor * u[i]
