"""How long the report of a study with very many arms takes, how large it is, and its memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

import shortlist
from shortlist import report

CASES = (
    (100_000, 50, 10, 640),
    (100_000, 20, 10, 400),
    (2_000, 50, 1_500, 640),
)  # K, N, m, results
SIGMA = 0.3


def told(arms: int, features: int, m: int, results: int) -> shortlist.Study:
    """A study of Gaussian features in its rounds."""
    draw = np.random.default_rng
    x = draw(0).standard_normal((arms, features))
    means, noise = x @ (draw(1).standard_normal(features) / 7.0), draw(2)
    study = shortlist.Study(x, m=m, sigma=SIGMA, seed=0, algorithm="m-LinGapE")
    while study.evaluations < results and not study.done:
        trial = study.ask()
        study.tell(trial, float(means[trial.arm] + SIGMA * noise.standard_normal()))
    return study


def measure(arms: int, features: int, m: int, results: int) -> None:
    study = told(arms, features, m, results)
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        page = report.html(study)
        seconds.append(time.perf_counter() - begun)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    times = ", ".join(f"{each:.1f}" for each in seconds)
    print(
        f"K = {arms:,}, N = {features}, m = {m:,}, {study.evaluations} results: {times} s (the first "
        f"loads matplotlib), {len(page.encode()) / 1e6:.1f} MB, process {most:,.0f} MiB at most",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*map(int, sys.argv[1:]))
    else:  # each in a process of its own, or they would share one peak of memory
        for case in CASES:
            subprocess.run([sys.executable, __file__, *map(str, case)], check=True)
