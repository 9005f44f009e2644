"""What a pool of processes is sent in a comparison of very many arms, and the memory they take."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from shortlist.simulation import instances

ARMS, FEATURES, RUNS, WORKERS = 100_000, 50, 32, 2


class Counting(ProcessPoolExecutor):
    """A pool that counts the bytes of what it is sent."""

    sent = pieces = 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """As any pool."""
        self.sent += len(ForkingPickler.dumps((function, given, named)))
        self.pieces += 1
        return super().submit(function, *given, **named)

    def memory(self) -> int:
        """Bytes of all processes; what they share is counted once (Linux)."""
        kilobytes = 0
        for process in self._processes:
            lines = Path("/proc", str(process), "smaps_rollup").read_text().splitlines()
            kilobytes += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return 1024 * kilobytes


def main() -> None:
    draw = np.random.default_rng
    x = draw(0).standard_normal((ARMS, FEATURES))
    theta = draw(1).standard_normal(FEATURES) / 7.0
    instance = instances.from_arrays(x, theta=theta, m=10, sigma=0.3)
    with Counting(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        for _ in range(WORKERS):
            pool.submit(time.sleep, 1.0).result()
        shortlist.compare("m-LinGapE", small(), runs=4, executor=pool, progress=False)
        before, pool.sent, pool.pieces = pool.memory(), 0, 0
        begun = time.perf_counter()
        shortlist.compare(
            *("m-LinGapE", instance, RUNS),
            executor=pool,
            workers=WORKERS,
            max_samples=510,
            progress=False,
        )
        taken = time.perf_counter() - begun
        print(
            f"{pool.pieces} pieces of {RUNS} runs with {x.nbytes / 1e6:.0f} MB of features: "
            f"{pool.sent / 1e6:.1f} MB sent, {taken:.1f} s, {WORKERS} processes have "
            f"{(pool.memory() - before) / 1e6:.0f} MB more"
        )


def small() -> instances.Instance:
    """Loads what there is to load."""
    return instances.classic(4, 2, 0.5)


if __name__ == "__main__":
    main()
