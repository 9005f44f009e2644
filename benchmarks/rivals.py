"""What the classical rivals need on three Bernoulli instances, and how often they err."""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import shortlist
from shortlist.simulation.instances import Instance

SPARSE = np.array([0.05, 0.045, 0.04, 0.02, 0.018, 0.015, 0.01, 0.008, 0.005, 0.001])
MEANS = {
    "middle": np.linspace(0.5, 0.05, 10),
    "near 0": SPARSE,
    "near 1": 1.0 - SPARSE[::-1],
}
WANTED = {"middle": 3, "near 0": 3, "near 1": 7}  # near 1 is near 0 turned over
NAMES = (*("LUCB", "UGapE", "Guess-and-verify (own results)"),)


def instance(label: str) -> Instance:
    return shortlist.instances.from_arrays(
        np.eye(10), means=MEANS[label], m=WANTED[label], sigma=0.5, noise="bernoulli", label=label
    )


def table(runs: int, names: tuple[str, ...] = NAMES) -> pd.DataFrame:
    rows = []
    for label in MEANS:
        for name in names:
            started = time.process_time()
            results = shortlist.compare(name, instance(label), runs=runs, progress=False)
            frame = results.frame
            rows.append(
                {
                    "instance": label,
                    "algorithm": name,
                    "mean": round(float(frame["samples"].mean())),
                    "std": round(float(frame["samples"].std())),
                    "errors": int((~frame["correct"]).sum()),
                    "runs": runs,
                    "cpu seconds": round(time.process_time() - started, 1),
                }
            )
            print(*rows[-1].values(), sep="\t", flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=list(NAMES))
    options = parser.parse_args()
    found = table(options.runs, tuple(options.only))
    print(found.pivot_table(index="algorithm", columns="instance", values="mean").to_string())


if __name__ == "__main__":
    main()
