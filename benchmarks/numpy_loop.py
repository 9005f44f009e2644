"""One run of m-LinGapE or LinGIFA (greedy) in plain NumPy: the same rules, written as one would."""

from __future__ import annotations

import math

import numpy as np


def pick(best: np.ndarray, rng: np.random.Generator) -> int:
    """One of the tied arms at random."""
    return int(best[0] if len(best) == 1 else best[rng.integers(len(best))])


def run(
    features: np.ndarray,
    means: np.ndarray,
    m: int,
    sigma: float,
    initial: np.ndarray,
    *,
    algorithm: str,
    rounds: int,
    seed: int = 0,
    delta: float = 0.05,
    u: float = 0.1,
) -> tuple[int, np.ndarray]:
    """Run until the stop or ``rounds`` evaluations; returns the evaluations and the arms found."""
    rng = np.random.default_rng(seed)
    K, rank = features.shape
    start = features[initial]
    design = start.T @ start
    c = np.linalg.eigvalsh(design)[0]
    rewards = means[initial] + sigma * rng.standard_normal(len(initial))
    inverse = np.linalg.inv(design)
    shifted = np.linalg.inv(design + u * c * np.eye(rank))
    log_det = np.linalg.slogdet(np.eye(rank) + design / (u * c))[1]
    response = start.T @ rewards
    t = len(initial)
    while True:
        estimate = features @ (inverse @ response)
        gram = features @ inverse @ features.T
        variance = np.diag(gram)
        C = math.sqrt(2 * (1 + u) * (math.log(1 / delta) + 0.5 * log_det))
        square = variance[:, None] + variance[None, :] - 2 * gram
        width = C * sigma * np.sqrt(np.maximum(square, 0.0))
        gaps = estimate[:, None] - estimate[None, :] + width
        if algorithm == "m-LinGapE":
            order = np.lexsort((rng.random(K), -estimate))
            J, outside = order[:m], order[m:]
            worst = gaps[np.ix_(outside, J)].max(axis=0)
            b = J[pick(np.flatnonzero(worst == worst.max()), rng)]
            statistic = worst.max()
        else:
            others = np.where(np.eye(K, dtype=bool), -np.inf, gaps)
            mth = np.sort(others, axis=0)[K - m]
            order = np.lexsort((rng.random(K), mth))
            J, outside = order[:m], order[m:]
            b = J[pick(np.flatnonzero(mth[J] == mth[J].max()), rng)]
            statistic = mth[J].max()
        challenge = gaps[outside, b]
        c_arm = outside[pick(np.flatnonzero(challenge == challenge.max()), rng)]
        if statistic <= 0.0 or t >= rounds:
            return t, np.sort(J)
        gain = (gram[b] - gram[c_arm]) ** 2 / (1 + variance)
        a = pick(np.flatnonzero(gain == gain.max()), rng)
        reward = means[a] + sigma * rng.standard_normal()
        x = features[a]
        y = inverse @ x
        inverse -= np.outer(y, y) / (1 + x @ y)
        y = shifted @ x
        growth = 1 + x @ y
        shifted -= np.outer(y, y) / growth
        log_det += math.log(growth)
        response += reward * x
        t += 1
