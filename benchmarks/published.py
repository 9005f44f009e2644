"""The published figures beside ours: every GIFA row that needs no drug data, 500 runs each."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import shortlist

SHARED = Path(os.environ.get("SHORTLIST_PUBLISHED", "published"))


def instance_of(experiment: str, folder: Path) -> shortlist.instances.Instance | None:
    """The instance that a row of the published summary names; None where drug data is needed."""
    if experiment.startswith("classic"):
        fields = dict(part.split("=") for part in experiment.split()[1:])
        top, _, bottom = fields["omega"].partition("/")
        omega = math.pi / float(bottom) if top == "pi" else float(top)
        return shortlist.instances.classic(K=int(fields["K"]), m=int(fields["m"]), omega=omega)
    if experiment.startswith("random"):
        features = np.loadtxt(folder / "random_instance_N5_K10.csv").T
        theta = np.eye(features.shape[1])[0]
        m = int(experiment.rpartition("=")[2])
        return shortlist.instances.from_arrays(
            features, theta=theta, m=m, sigma=0.5, label=experiment
        )
    return None


def rows(folder: Path) -> pd.DataFrame:
    """The published rows that this program reproduces."""
    published = pd.read_csv(folder / "summary.csv")
    wanted = (published["algorithm"] != "LinGame") & ~published["experiment"].str.startswith(
        "epilepsy"
    )
    return published[wanted].reset_index(drop=True)


def reproduce(folder: Path, runs: int, seed: int) -> pd.DataFrame:
    """Ours beside the published: means, standard deviations, z of the difference, error rates."""
    table = []
    for row in rows(folder).itertuples():
        instance = instance_of(str(row.experiment), folder)
        assert instance is not None
        ours = shortlist.compare(
            f"{row.algorithm} {row.selection} (as published)",
            instance,
            runs=runs,
            seed=seed,
            threshold="heuristic" if row.threshold == "heuristic" else None,
            progress=False,
        ).summary()
        mean, std = float(ours["mean"].iloc[0]), float(ours["std"].iloc[0])
        noise = math.sqrt(std**2 / runs + float(row.std_samples) ** 2 / int(row.runs))
        table.append(
            {
                "experiment": row.experiment,
                "algorithm": row.algorithm,
                "selection": row.selection,
                "published": row.mean_samples,
                "ours": round(mean, 1),
                "std published": row.std_samples,
                "std ours": round(std, 1),
                "z": round((mean - float(row.mean_samples)) / noise, 2),
                "error published": row.error_rate,
                "error ours": float(ours["error_rate"].iloc[0]),
            }
        )
    return pd.DataFrame(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not (SHARED / "summary.csv").exists():
        print(f"published figures: skipped, no {SHARED}/summary.csv (set SHORTLIST_PUBLISHED)")
        return 0
    table = reproduce(SHARED, options.runs, options.seed)
    print(table.to_string(index=False))
    worst = table["z"].abs().max()
    print(f"\n{len(table)} rows, largest |z| = {worst:.2f} (at most 3 is asked)")
    return 0 if worst <= 3.0 else 1


if __name__ == "__main__":
    sys.exit(main())
