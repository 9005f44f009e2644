"""The runs of a comparison: table, summary, files and picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import shortlist
from shortlist.simulation.results import clopper_pearson

mpl.use("Agg")


@pytest.fixture(scope="module")
def results() -> object:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3)
    return shortlist.compare(["LUCB", "m-LinGapE"], instance, runs=60, seed=5, progress=False)


def test_frame_has_one_row_a_run(results: shortlist.simulation.results.Results) -> None:  # type: ignore[name-defined]
    frame = results.frame
    assert list(frame.columns) == [
        "algorithm", "run", "seed", "samples", "stopped", "correct", "recommendation", "pulls",
    ]  # fmt: skip
    assert len(frame) == 120
    assert frame.groupby("algorithm")["run"].nunique().tolist() == [60, 60]
    assert frame["seed"].nunique() == 60
    assert all(row == ["0", "1"] for row in frame.loc[frame["correct"], "recommendation"])


def test_summary(results: shortlist.simulation.results.Results) -> None:  # type: ignore[name-defined]
    summary = results.summary()
    samples = results.frame.loc[results.frame["algorithm"] == "LUCB", "samples"]
    row = summary.loc["LUCB"]
    assert row["mean"] == samples.mean()
    assert row["std"] == samples.std()
    assert row["q05"] <= row["q25"] <= row["median"] <= row["q75"] <= row["q95"]
    assert (row["error_low"], row["error_rate"]) == (0.0, 0.0)
    assert row["error_high"] == pytest.approx(clopper_pearson(0, 60)[1])
    assert summary.index.tolist() == ["LUCB", "m-LinGapE"]


def test_clopper_pearson_covers() -> None:
    rng = np.random.default_rng(0)
    draws = rng.binomial(100, 0.1, 2000)
    inside = [low <= 0.1 <= high for low, high in (clopper_pearson(int(d), 100) for d in draws)]
    assert np.mean(inside) >= 0.93  # 0.95, less four standard errors
    assert clopper_pearson(100, 100)[1] == 1.0


def test_written_files_can_be_read_back(
    results: shortlist.simulation.results.Results,  # type: ignore[name-defined]
    tmp_path: Path,
) -> None:
    results.to_parquet(tmp_path / "runs.parquet")
    read = pd.read_parquet(tmp_path / "runs.parquet")
    assert read["samples"].tolist() == results.frame["samples"].tolist()
    assert [list(p) for p in read["pulls"]] == results.frame["pulls"].tolist()
    results.to_csv(tmp_path / "runs.csv")
    read = pd.read_csv(tmp_path / "runs.csv")
    assert read["pulls"].iloc[0] == ";".join(map(str, results.frame["pulls"].iloc[0]))
    assert read["seed"].astype("uint64").tolist() == results.frame["seed"].tolist()


def test_the_picture_has_a_box_and_every_run(
    results: shortlist.simulation.results.Results,  # type: ignore[name-defined]
    tmp_path: Path,
) -> None:
    figure = shortlist.plot.samples(results)
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["LUCB", "m-LinGapE"]
    dots = [line for line in ax.lines if line.get_marker() == "."]
    assert [len(line.get_xdata()) for line in dots] == [60, 60]
    assert len(ax.patches) == 2
    assert "classic" in ax.get_title()
    figure.savefig(tmp_path / "samples.png")
    assert (tmp_path / "samples.png").stat().st_size > 5000
