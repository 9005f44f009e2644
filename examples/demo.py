"""One classical and two linear algorithms on ten arms, then a study that asks and is told.

Run it with ``make demo``, or ``python examples/demo.py [PICTURE]``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import shortlist

ALGORITHMS = ["LUCB", "m-LinGapE", "LinGIFA"]
RUNS = 200
COUNTS = ["runs", "mean", "std", "median", "q95"]
ERRORS = ["error_rate", "error_high"]


def main() -> None:
    """Compare, draw, and run one study."""
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png").resolve()
    instance = shortlist.instances.random(K=10, N=5, m=3, seed=33, sigma=0.3)
    best = sorted(range(10), key=lambda arm: -instance.means[arm])[: instance.m]

    print("Ten arms, five features, the three best are wanted. True means, best first:")
    print("  " + ", ".join(f"{mean:.3f}" for mean in sorted(instance.means, reverse=True)))
    print(f"  The right answer is the arms {', '.join(map(str, best))}.\n")

    compare = shortlist.compare  # loads the loop; the first time ever, compiles it
    started = time.perf_counter()
    results = compare(ALGORITHMS, instance, runs=RUNS, seed=0)
    seconds = time.perf_counter() - started
    total = int(results.frame["samples"].sum())
    print(f"Evaluations until the stop, delta = {results.delta:g}:")
    summary = results.summary()
    table = summary[COUNTS].round().astype(int).join(summary[ERRORS].round(4))
    print(table.to_string())
    print(f"({total:,} simulated evaluations in {seconds:.1f} s)\n")

    print("One study with m-LinGapE, asked and told:")
    study = shortlist.Study(instance.features, m=instance.m, sigma=instance.sigma, seed=0)
    while not study.done:
        trial = study.ask()
        study.tell(trial, instance.draw(trial.arm, trial.seed))
    print(study.shortlist)

    figure = shortlist.plot.samples(results)
    figure.savefig(picture, dpi=120)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
