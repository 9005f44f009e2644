"""Time a drug screen as large as the paper's: setting up, single pulls, all drugs on all patients."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd

from shortlist import data
from shortlist.errors import DataUnavailable
from shortlist.repurposing import DrugScreen, read, read_expression, synthetic

DRUGS, PATIENTS, REPEATS, PULLS = 509, 18, 100, 2000


def paper_screen() -> DrugScreen:
    """All 509 drugs that the paper names."""

    def table(name: str) -> pd.DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read_expression(data.path(name))

    drugs = pd.read_csv(data.path("epilepsy_scores.csv"), dtype=str)
    return DrugScreen(
        read(data.path("report_model1_solution.net")),
        table("GSE77578_patients.csv"),
        table("GSE77578_controls.csv"),
        table("epilepsy_signatures_binarized.csv")[list(drugs.iloc[:, 0])],
    )


def main() -> None:
    start = time.perf_counter()
    try:
        screen, words = paper_screen(), "the paper's data"
    except (DataUnavailable, ImportError):
        screen = synthetic(drugs=DRUGS, patients=PATIENTS, modules=12).screen()
        words = "synthetic data (the paper's is not at hand)"
    ready = time.perf_counter() - start
    print(f"{screen} on {words}")
    print(f"{'what':52}{'measured':>12}  asked")

    def row(what: str, figure: str, asked: str = "") -> None:
        print(f"{what:52}{figure:>12}  {asked}")

    row("reading, binarising, directions", f"{ready:.1f} s")
    start = time.perf_counter()
    for index in range(len(screen.drugs)):
        screen.reward(index, 0)
    row("the first pull of every drug", f"{time.perf_counter() - start:.1f} s")
    rng = np.random.default_rng(0)
    drugs = rng.integers(len(screen.drugs), size=PULLS).tolist()
    start = time.perf_counter()
    for seed, drug in enumerate(drugs, 1):
        screen.reward(drug, seed)
    row("a pull after that", f"{(time.perf_counter() - start) / PULLS * 1e6:.0f} µs")
    start = time.perf_counter()
    rewards = screen.simulate(REPEATS)
    shape = " × ".join(map(str, rewards.shape))
    row(f"{shape} rewards", f"{time.perf_counter() - start:.1f} s", "< 60 s")


if __name__ == "__main__":
    main()
