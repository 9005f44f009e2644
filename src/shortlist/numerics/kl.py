"""The relative entropy of two coins, and the means that it leaves possible."""

from __future__ import annotations

import math

from shortlist.numerics.jit import compiled

STEPS = 64  # a few do
NEAR = 1e-9  # of the width: a step as short is not worth its logarithms


@compiled(typed=True)
def relative_entropy(p: float, q: float) -> float:
    """kl(p, q) = p ln(p/q) + (1 − p) ln((1 − p)/(1 − q)) for p in [0, 1] and q in (0, 1).

    Examples
    --------
    >>> round(relative_entropy(0.5, 0.9), 4), relative_entropy(0.3, 0.3)
    (0.5108, 0.0)
    """
    # Near p both terms are about q − p and nearly cancel, so they are taken from there.
    total = 0.0
    if p > 0.0:
        total -= p * math.log1p((q - p) / p)
    if p < 1.0:
        total += (1.0 - p) * math.log1p((q - p) / (1.0 - q))
    return total


@compiled(typed=True)
def highest_mean(mean: float, level: float) -> float:
    """The largest q with kl(mean, q) ≤ level, approached from above.

    kl is convex in q, so Newton's steps from the right of the root stay there: where they break
    off, the bound is a little too high and never too low.

    Examples
    --------
    >>> q = highest_mean(0.2, 0.05)
    >>> round(q, 4), round(relative_entropy(0.2, q), 9)
    (0.3435, 0.05)
    >>> highest_mean(1.0, 0.05)
    1.0
    """
    if mean >= 1.0:
        return 1.0
    # kl ≥ 2(q − p)², kl ≥ (q − p)²/(2q), and kl ≥ −h − (1 − p) ln(1 − q) with the entropy h of p.
    q = mean + min(math.sqrt(0.5 * level), level + math.sqrt(level * (level + 2.0 * mean)))
    entropy = -(1.0 - mean) * math.log(1.0 - mean)
    if mean > 0.0:
        entropy -= mean * math.log(mean)
    q = min(q, -math.expm1(-(level + entropy) / (1.0 - mean)))
    if q >= 1.0:
        return 1.0
    for _ in range(STEPS):
        if q <= mean:
            return mean
        step = (relative_entropy(mean, q) - level) * q * (1.0 - q) / (q - mean)
        if step <= NEAR * (q - mean):
            break
        q -= step
    return q


@compiled(typed=True)
def lowest_mean(mean: float, level: float) -> float:
    """The smallest q with kl(mean, q) ≤ level, approached from below: that of the coin turned over.

    Examples
    --------
    >>> round(lowest_mean(0.8, 0.05), 4), lowest_mean(0.0, 0.05)
    (0.6565, 0.0)
    """
    return 1.0 - highest_mean(1.0 - mean, level)
