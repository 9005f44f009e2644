"""Evaluations and errors where the features lie: linear, classical, and MisLid between them."""

from __future__ import annotations

import sys

import numpy as np

import shortlist
from shortlist import MisLid
from shortlist.simulation.instances import Instance

# K, N, m, c, seed: in the first the lie is as large as the gap and turns it round for a linear
# model, in the second it is an eighth of it.
INSTANCES = ((12, 4, 3, 0.1, 3), (20, 5, 5, 0.02, 0))
SIGMA, DELTA = 0.5, 0.05


def lying(K: int, N: int, m: int, c: float, seed: int, sigma: float = SIGMA) -> Instance:
    """Unit-norm features and θ, and every mean off Xθ by c, up or down."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    means = features @ theta + c * rng.choice([-1.0, 1.0], K)
    return shortlist.instances.from_arrays(features, means=means, m=m, sigma=sigma)


def main(runs: int) -> None:
    """Print a table for each instance."""
    for K, N, m, c, seed in INSTANCES:
        instance = lying(K, N, m, c, seed)
        ordered = np.sort(instance.means)[::-1]
        print(f"K = {K}, N = {N}, m = {m}, c = {c}, seed {seed}, ", end="")
        print(f"gap {ordered[m - 1] - ordered[m]:.3f}, σ = {SIGMA}, δ = {DELTA}, {runs} runs")
        algorithms = [
            "m-LinGapE",
            "LUCB",
            "UGapE",
            MisLid(misspecification=c),
            MisLid(misspecification=2 * c),
            MisLid(misspecification=10.0),  # so large that the features are of no use
            MisLid(misspecification=c, stop="glr"),
            MisLid(misspecification=2 * c, stop="glr"),
        ]
        results = shortlist.compare(algorithms, instance, runs=runs, delta=DELTA, progress=False)
        print(
            results.summary(lower_bound=False)[["mean", "std", "error_rate", "unfinished"]]
            .round(3)
            .to_string()
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
