"""Run experiments of the paper, and write their runs, pictures and a page.

Finished runs are kept in the folder: after an interruption, run the same command again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from reproduction.agreement import Reproduced
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import draw
from reproduction.page import write_page
from reproduction.runs import Runs


def reproduce(
    names: Sequence[str], *, runs: int, seed: int, out: Path, workers: int | None
) -> tuple[Path, list[str]]:
    """Run the experiments of these names; the page, and why panels were not run.

    Parameters
    ----------
    names : sequence of str
        Names from ``EXPERIMENTS``.
    runs : int
        Runs of each algorithm on each instance; the paper has 500.
    seed : int
        Same seed, same runs.
    out : Path
        A folder, created if necessary.
    workers : int or None
        How many cores; None for all.
    """
    out.mkdir(parents=True, exist_ok=True)
    kept = Runs(out / "runs", runs, seed, workers)
    found, files = [], {}
    for number, name in enumerate(names, 1):
        began = time.monotonic()
        reproduced = kept.of_experiment(EXPERIMENTS[name])
        files[name] = draw(reproduced, out) + write_rows(reproduced, out)
        found.append(reproduced)
        spent = time.monotonic() - began
        print(f"{name} ({number} of {len(names)}): {spent:.0f} s", file=sys.stderr, flush=True)
    page = write_page(found, files, out, runs=runs, seed=seed)
    return page, list(dict.fromkeys(why for each in found for why in each.unavailable.values()))


def write_rows(reproduced: Reproduced, out: Path) -> list[Path]:
    """One row per run, instance or constant, as CSV and as Parquet; none if nothing was run."""
    if reproduced.constants:
        rows = [{**asdict(row), "agrees": row.agrees} for row in reproduced.constants]
        frame = pd.DataFrame(rows)
    elif reproduced.cells:
        frame = pd.concat(reproduced.instances, ignore_index=True)
    elif reproduced.panels:
        frame = reproduced.runs()
    else:
        return []
    paths = [out / f"{reproduced.experiment.name}.{kind}" for kind in ("csv", "parquet")]
    if "recommendation" in frame:  # labels are numbers or text: in a file a column has one type
        frame["recommendation"] = [list(map(str, each)) for each in frame["recommendation"]]
    frame.to_parquet(paths[1], index=False)
    for column in {"recommendation", "pulls"} & set(frame.columns):
        frame[column] = [";".join(map(str, values)) for values in frame[column]]
    frame.to_csv(paths[0], index=False)
    return paths


def at_least_one(text: str) -> int:
    """A whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main(words: Sequence[str] | None = None) -> int:
    """Read the command; 0 if all was run, 3 if something lacked its data."""
    listed = "\n".join(f"  {name:21} {each.title}" for name, each in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description=__doc__,
        epilog=f"experiments:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, "all"], default="all")
    parser.add_argument("--runs", type=at_least_one, default=500, help="of each algorithm")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same results")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for all files")
    parser.add_argument(
        "--workers", type=at_least_one, help="how many cores to use; all if not given"
    )
    given = parser.parse_args(words)
    names = [each for each in EXPERIMENTS if each in given.names or "all" in given.names]
    settings = {"runs": given.runs, "seed": given.seed, "out": given.out}
    page, missing = reproduce(names, **settings, workers=given.workers)
    print(f"The page: {page}")
    for reason in missing:
        print(f"Not all was run: {reason}", file=sys.stderr)
    return 3 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
