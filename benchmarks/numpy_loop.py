"""One run of m-LinGapE or LinGIFA (greedy) in plain NumPy: the same rules, written as one would."""

from __future__ import annotations

import math

import numpy as np


def argmax(values: np.ndarray, rng: np.random.Generator) -> int:
    """The place of the largest value, ties broken at random."""
    best = np.flatnonzero(values == values.max())
    return int(best[0] if len(best) == 1 else rng.choice(best))


def run(
    features: np.ndarray,
    means: np.ndarray,
    m: int,
    sigma: float,
    *,
    algorithm: str,
    rounds: int,
    seed: int = 0,
    delta: float = 0.05,
    S: float = 1.0,
) -> tuple[int, np.ndarray]:
    """Threshold (2) of the paper, λ_V = (σ/20)², no initial pulls; stops after ``rounds`` at most."""
    rng = np.random.default_rng(seed)
    K, N = features.shape
    ridge = (sigma / 20.0) ** 2
    longest = np.linalg.norm(features, axis=1).max()
    inverse = np.eye(N) / ridge
    response = np.zeros(N)
    t = 0
    while True:
        estimate = features @ (inverse @ response)
        gram = features @ inverse @ features.T
        variance = np.diag(gram)
        spread = N * math.log(1 + (t + 2) * longest**2 / (ridge * N))
        C = math.sqrt(2 * math.log(1 / delta) + spread) + math.sqrt(ridge) * S / sigma
        square = variance[:, None] + variance[None, :] - 2 * gram
        width = C * sigma * np.sqrt(np.maximum(square, 0.0))
        gaps = estimate[:, None] - estimate[None, :] + width
        if algorithm == "m-LinGapE":
            order = np.lexsort((rng.random(K), -estimate))
            J, outside = order[:m], order[m:]
            worst = gaps[np.ix_(outside, J)].max(axis=0)
        else:
            mth = np.sort(np.where(np.eye(K, dtype=bool), -np.inf, gaps), axis=0)[K - m]
            order = np.lexsort((rng.random(K), mth))
            J, outside = order[:m], order[m:]
            worst = mth[J]
        b = J[argmax(worst, rng)]
        c = outside[argmax(gaps[outside, b], rng)]
        if worst.max() <= 0.0 or t >= rounds:
            return t, np.sort(J)
        a = argmax((gram[b] - gram[c]) ** 2 / (1 + variance), rng)
        reward = means[a] + sigma * rng.standard_normal()
        x = features[a]
        y = inverse @ x
        inverse -= np.outer(y, y) / (1 + x @ y)
        response += reward * x
        t += 1
