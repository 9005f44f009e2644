"""A study of very many arms: its creation, its answers, and its memory beside the features.

    python benchmarks/study.py [K]

Each in a process of its own. Memory is what the process has beyond the features and what it had
before, in numbers of eight bytes an arm: now, and at the peak (Linux).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shortlist
from intake import memory

CASES = (("m-LinGapE", ""), ("LinGIFA", ""), ("auto", ""), ("m-LinGapE", "stored"))
N, M, SIGMA = 50, 10, 0.5
ROUNDS = 150
NOISE = np.random.default_rng(2)


def timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1e3


def begin(
    x: np.ndarray, m: int, algorithm: str, storage: str | None
) -> tuple[shortlist.Study, np.ndarray]:
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(x.shape[1])
    study = shortlist.Study(x, m=m, sigma=SIGMA, seed=0, algorithm=algorithm, storage=storage)
    return study, x @ (theta / np.linalg.norm(theta))


def tell(study: shortlist.Study, trial: shortlist.Trial, means: np.ndarray) -> None:
    arm = study.problem.index(trial.arm)
    study.tell(trial, float(means[arm] + SIGMA * NOISE.standard_normal()))


def measure(arms: int, algorithm: str, kept: str) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        few, means = begin(rng.standard_normal((300, 5)), 2, algorithm, None)  # loads what it needs
        while not few.done:
            tell(few, few.ask(), means)
        few.table()
        x = rng.standard_normal((arms, N)) / np.sqrt(N)
        Path("/proc/self/clear_refs").write_text("5")
        before, begun = memory("VmRSS"), time.perf_counter()
        study, means = begin(x, M, algorithm, f"{folder}/study.db" if kept else None)
        creation = time.perf_counter() - begun
        created = memory("VmHWM")
        while not study.posterior.ready:  # the initial pulls
            tell(study, study.ask(), means)
        asked, told = [], []
        for _ in range(ROUNDS):
            trials: list[shortlist.Trial] = []
            asked.append(timed(lambda: trials.append(study.ask())))  # noqa: B023
            told.append(timed(lambda: tell(study, trials[0], means)))  # noqa: B023
        stands = memory("VmRSS")
        table, why = timed(study.table), timed(lambda: study.why(study.ask()))
    per_arm = 8 * arms
    print(
        f"{algorithm:10}{kept:7}{arms:>10,}{creation:9.1f} s{np.median(asked):9.1f} ms"
        f"{np.median(told):9.1f} ms{table:9.0f} ms{why:8.1f} ms{(stands - before) / per_arm:9.0f}"
        f"{(created - before) / per_arm:9.0f}",
        flush=True,
    )


def main(arms: str) -> None:
    print(
        f"{'':17}{'K':>10}{'creation':>11}{'ask':>12}{'tell':>12}{'table()':>12}{'why()':>11}"
        f"{'numbers':>9}{'at peak':>9}   N = {N}, m = {M}; medians of {ROUNDS} rounds"
    )
    for algorithm, kept in CASES:
        command = [sys.executable, __file__, arms, algorithm, kept]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(int(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else "100000")
