"""The panels hold the published rows, figures and instances."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.experiment import AS_PUBLISHED
from reproduction.panels import DRUGS, PANELS, RANDOM_3

PUBLISHED = Path(os.environ.get("SHORTLIST_PUBLISHED", "published"))
EPILEPSY = "epilepsy K=10 m=5"
EXPERIMENT_OF = {
    "classic K=3 m=1 omega=0.1": "omega-0.1",
    "classic K=4 m=2 omega=pi/3": "pi-3",
    "classic K=4 m=2 omega=pi/6": "pi-6",
    EPILEPSY: "drugs-as-published",
    "random K=10 N=5 m=3": "random-3",
    "random K=10 N=5 m=8": "random-8",
}


def test_there_are_33_published_rows() -> None:
    assert sum(len(panel.of(AS_PUBLISHED)) for panel in PANELS if panel.counted) == 33


@pytest.mark.skipif(
    not (PUBLISHED / "summary.csv").exists(),
    reason=f"the published figures are not at {PUBLISHED} (set SHORTLIST_PUBLISHED)",
)
def test_the_published_figures_are_copied_right() -> None:
    declared = {
        (panel.name, row.algorithm, row.selection): (
            row.threshold,
            row.published.mean,
            row.published.std,
            row.published.error,
            row.published.runs,
        )
        for panel in PANELS
        if panel.counted
        for row in panel.of(AS_PUBLISHED)
        if row.published is not None
    }
    table = pd.read_csv(PUBLISHED / "summary.csv")
    assert len(table) == len(declared) == 33
    for row in table.itertuples():
        selection = {"both": "both arms"}.get(str(row.selection), row.selection)
        key = (EXPERIMENT_OF[str(row.experiment)], row.algorithm, selection)
        logged = (row.threshold, row.mean_samples, row.std_samples, row.error_rate, row.runs)
        assert declared[key] == logged
    features = np.loadtxt(PUBLISHED / "random_instance_N5_K10.csv").T
    assert np.array_equal(RANDOM_3.instance().features, features)


@pytest.mark.skipif("SHORTLIST_DATA" not in os.environ, reason="needs the drug data")
def test_the_drugs_have_the_means_of_the_paper() -> None:
    means = np.sort(DRUGS.instance().means)[::-1].round(3).tolist()
    assert means == [0.491, 0.485, 0.482, 0.478, 0.465, 0.399, 0.397, 0.393, 0.383, 0.382]
