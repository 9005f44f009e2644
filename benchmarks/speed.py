"""Time a round, side by side with plain NumPy, and a second start of the process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from shortlist.engine.engine import Engine

import numpy_loop
import shortlist
from shortlist.catalog.registry import find_algorithm
from shortlist.seeds import run_seeds

REPEATS = 25
INSTANCES = {
    "K=4, N=3, m=2": (shortlist.instances.classic(K=4, m=2, omega=np.pi / 6), 40, 400),
    "K=10, N=71, m=5": (shortlist.instances.random(K=10, N=71, m=5, seed=1), 2, 100),
}
START = """
import time
import shortlist
instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
shortlist.compare("m-LinGapE", instance, runs=10, progress=False)
print(time.process_time())
"""


def least(action: Callable[[], int], repeats: int = REPEATS) -> float:
    """Nanoseconds a round, the least of many tries: the machine is noisy, and only adds."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        rounds = action()
        best = min(best, (time.perf_counter() - start) / rounds * 1e9)
    return float(best)


def engine_of(name: str, instance: shortlist.instances.Instance, *, as_numpy: bool) -> Engine:
    """The algorithm as Table 1 has it, or with the settings of the NumPy loop."""
    algorithm = find_algorithm(name)
    if as_numpy:
        algorithm = replace(algorithm, threshold="frequentist", initialization=None)
    return algorithm.bind(instance.problem(0.05, 0.0)).engine


def rounds_table() -> None:
    print("A round on one core, the same rules and threshold (2) of the paper in both:")
    print(f"{'instance':18}{'algorithm':12}{'NumPy':>10}{'shortlist':>12}{'ratio':>8}  asked")
    for label, (instance, runs, asked) in INSTANCES.items():
        for name in ("m-LinGapE", "LinGIFA"):
            engine = engine_of(name, instance, as_numpy=True)
            seeds = run_seeds(0, runs)

            def ours(engine=engine, instance=instance, seeds=seeds) -> int:
                got = engine.replicate(instance.rewards, seeds, 20_000)
                return int(got.samples.sum())

            def plain(name=name, instance=instance) -> int:
                return numpy_loop.run(
                    instance.features,
                    instance.means,
                    instance.m,
                    instance.sigma,
                    algorithm=name,
                    rounds=600,
                )[0]

            ours()
            # In turns, so that a slow minute slows both.
            pairs = [(least(plain, 1), least(ours, 1)) for _ in range(REPEATS)]
            slow, fast = min(p[0] for p in pairs), min(p[1] for p in pairs)
            print(
                f"{label:18}{name:12}{slow / 1e3:8.1f} µs{fast:9.0f} ns{slow / fast:8.0f}  ≥ {asked}"
            )


def default_threshold() -> None:
    print("\nThe same with the default threshold (a second matrix is kept for its determinant):")
    for label, (instance, runs, _) in INSTANCES.items():
        for name in ("m-LinGapE", "LinGIFA"):
            engine = engine_of(name, instance, as_numpy=False)
            seeds = run_seeds(0, runs)
            fast = least(
                lambda engine=engine, instance=instance, seeds=seeds: int(
                    engine.replicate(instance.rewards, seeds, 20_000).samples.sum()
                )
            )
            print(f"{label:18}{name:12}{fast:19.0f} ns")


def threads() -> None:
    # Long runs, so that the loop is what is measured and not the table made of its results.
    instance = shortlist.instances.classic(K=4, m=2, omega=0.25)
    best = {1: np.inf, 2: np.inf}
    for _ in range(15):
        for workers in best:
            start = time.perf_counter()
            shortlist.compare("m-LinGapE", instance, runs=100, workers=workers, progress=False)
            best[workers] = min(best[workers], time.perf_counter() - start)
    print(f"\ntwo threads are {best[1] / best[2]:.2f} × one (100 runs; asked: ≥ 1.8)")


def second_start() -> None:
    command = [sys.executable, "-c", START]
    subprocess.run(command, check=True, capture_output=True)
    spent = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    ]
    print(f"second start, import and first compare of 10 runs: {min(spent):.2f} s CPU (≤ 3)")


if __name__ == "__main__":
    rounds_table()
    default_threshold()
    threads()
    second_start()
