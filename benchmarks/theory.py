"""What the lower bound costs to compute, and the upper bounds beside real runs."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads wait for busy cores

import time

import numpy as np

import shortlist
from shortlist import theory
from shortlist.designs import Designs

SIZES = ((100, 20, 5), (100, 20, 30), (1000, 20, 5), (1000, 20, 500), (10_000, 50, 10))
# Rows of Table 2, the algorithms that they are about, and their own thresholds.
ROWS = {
    "LUCB": ("LUCB", "lucb1"),
    "UGapE": ("UGapE", "lucb1"),
    "m-LinGapE(1)": ("m-LinGapE largest variance", "frequentist"),
    "m-LinGapE(2)": ("m-LinGapE optimized", "frequentist"),
}


def lower_bounds() -> None:
    print("The lower bound, one thread, a relative bracket of 1e-3:")
    for K, N, m in SIZES:
        instance = shortlist.instances.random(K=K, N=N, m=m, seed=0)
        start = time.perf_counter()
        low, high = theory.lower_bound(instance).bracket
        spent = time.perf_counter() - start
        print(f"K={K:6} N={N:3} m={m:4}{spent:9.2f} s   width {high / low - 1:.1e}")


def lightest_designs() -> None:
    print("\nw* of all pairs of an instance:")
    for K, N in ((10, 5), (10, 5), (20, 10), (30, 15), (60, 20)):  # the first loads SciPy
        features = shortlist.instances.random(K=K, N=N, m=2, seed=0).features
        start = time.perf_counter()
        Designs(features).table()
        spent = time.perf_counter() - start
        print(f"K={K:3} N={N:3}{spent / (K * (K - 1) / 2) * 1e6:8.1f} µs a pair")


def upper_bounds(runs: int = 50) -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5)
    bounds = theory.upper_bounds(instance, delta=0.05)
    print(f"\nUpper bounds of Table 2 beside {runs} runs, {instance.label}:")
    for row, (name, threshold) in ROWS.items():
        results = shortlist.compare(name, instance, runs, threshold=threshold, progress=False)
        samples = results.frame["samples"]
        print(f"{row:14}{bounds[row]:9.0f}{samples.mean():9.0f}{samples.quantile(0.95):9.0f}")


if __name__ == "__main__":
    lower_bounds()
    lightest_designs()
    upper_bounds()
