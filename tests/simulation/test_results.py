"""The runs of a comparison: table, summary, files and picture."""

from __future__ import annotations

from dataclasses import replace
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
        "instance", "algorithm", "run", "seed", "samples", "stopped", "correct", "recommendation", "pulls",
        "threshold", "proven", "by",
    ]  # fmt: skip
    assert len(frame) == 120
    assert frame.groupby("algorithm")["run"].nunique().tolist() == [60, 60]
    assert frame["seed"].nunique() == 60
    assert all(row == [0, 1] for row in frame.loc[frame["correct"], "recommendation"])


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
    summary = results.summary()
    ends = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2]
    for quantile in ("q05", "q95"):
        assert set(summary[quantile]) <= set(ends)  # whiskers and their caps
    assert summary["lower_bound"].iloc[0] in ends
    assert "lower bound" in ax.get_xlabel()
    dots = [line for line in ax.lines if line.get_marker() == "."]
    assert [len(line.get_xdata()) for line in dots] == [60, 60]
    assert len(ax.patches) == 2
    assert "classic" in ax.get_title()
    figure.savefig(tmp_path / "samples.png")
    assert (tmp_path / "samples.png").stat().st_size > 5000


def test_what_no_theorem_covers_is_called_heuristic_everywhere() -> None:
    instance = shortlist.instances.random(K=6, N=3, m=2, seed=1, sigma=0.3)
    plain = shortlist.GIFA(threshold="heuristic", name="plain")
    results = shortlist.compare(["m-LinGapE", plain], instance, runs=5, progress=False)
    assert results.summary()["proven"].tolist() == [True, False]
    assert results.summary()["threshold"].tolist() == ["self_normalized", "heuristic"]
    assert results.heuristic == {"plain"}
    assert repr(results).count("no: heuristic") == 1
    assert results._repr_html_().count("no: heuristic") == 1
    figure = shortlist.plot.samples(results)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["m-LinGapE", "plain (heuristic)"]
    assert "no theorem covers" in figure.axes[0].get_xlabel()


def test_why_there_is_no_lower_bound_is_said() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    results = shortlist.compare("LUCB", instance, runs=2, epsilon=0.1, progress=False)
    with pytest.warns(UserWarning, match=r"ratio is NaN: it is known for ε = 0 only.*0\.1"):
        assert results.summary()["ratio"].isna().all()
    assert results.summary(lower_bound=False)["ratio"].isna().all()
    assert "lower bound" not in shortlist.plot.samples(results).axes[0].get_xlabel()


def test_large_numbers_are_printed_whole_with_separators() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=0.1)
    results = shortlist.compare("LUCB", instance, runs=2, max_samples=21234, progress=False)
    assert "21,234" in repr(results)
    assert "21,234" in results._repr_html_()


def test_the_eighth_box_differs_from_the_first(
    results: shortlist.simulation.results.Results,  # type: ignore[name-defined]
) -> None:
    one = results.frame[results.frame["algorithm"] == "LUCB"]
    frame = pd.concat([one.assign(algorithm=f"algorithm {k}") for k in range(8)])
    figure = shortlist.plot.samples(replace(results, frame=frame))
    boxes = [(patch.get_facecolor(), patch.get_hatch()) for patch in figure.axes[0].patches]
    assert len(set(boxes)) == 8


def test_several_instances_have_a_panel_each_and_captions_can_be_left_out() -> None:
    instances = [shortlist.instances.classic(K=4, m=2, omega=omega) for omega in (1.0, 0.6)]
    results = shortlist.compare(["LUCB", "LinGIFA"], instances, runs=4, progress=False)
    axes = shortlist.plot.samples(results, caption=False).axes
    for ax, one in zip(axes, results.each, strict=True):
        assert one.instance.label in ax.get_title()
        assert ax.get_xlabel() == "evaluations until the stop"
        dots = [line.get_xdata() for line in ax.lines if line.get_marker() == "."]
        assert np.concatenate(dots).tolist() == one.frame["samples"].tolist()
    with pytest.raises(shortlist.errors.InvalidSetting, match="give as many axes, got 1"):
        shortlist.plot.samples(results, ax=axes[0])
