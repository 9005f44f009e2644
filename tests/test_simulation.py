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


def test_classic_instance() -> None:
    instance = shortlist.instances.classic(K=5, m=2, omega=0.3, sigma=0.7)
    expected = [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [np.cos(0.3), 0, np.sin(0.3), 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(instance.features, expected)
    np.testing.assert_allclose(instance.means, [1, 1, np.cos(0.3), 0, 0])
    assert instance.S == 1.0
    assert instance.sigma == 0.7


def test_random_instance_has_unit_spectral_norm() -> None:
    instance = shortlist.instances.random(K=12, N=4, m=3, seed=2)
    assert np.linalg.norm(instance.features, 2) == pytest.approx(1.0)
    np.testing.assert_allclose(instance.means, instance.features[:, 0])


def test_theta_norm_is_known_only_where_the_means_are_linear() -> None:
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    make = shortlist.instances.from_arrays
    assert pytest.approx(5.0) == make(features, means=[3, 4, 7], m=1, sigma=1.0).S
    assert make(features, means=[3, 4, 0], m=1, sigma=1.0).S is None


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_rewards_have_the_means_they_claim(noise: str) -> None:
    means = np.array([0.2, 0.5, 0.9])
    instance = shortlist.instances.from_arrays(np.eye(3), means=means, m=1, sigma=0.4, noise=noise)
    draws = np.array([[instance.draw(a, seed) for seed in range(4000)] for a in range(3)])
    np.testing.assert_allclose(draws.mean(axis=1), means, atol=0.03)
    if noise == "bernoulli":
        assert set(np.unique(draws)) == {0.0, 1.0}
    else:
        np.testing.assert_allclose(draws.std(axis=1), 0.4, atol=0.02)


@pytest.mark.slow
def test_recorded_rewards_are_drawn_evenly() -> None:
    table = np.array([[0.0, 10.0], [1.0, 20.0], [2.0, 40.0]])
    instance = shortlist.instances.recorded(np.eye(2), table, m=1, sigma=5.0)
    draws = [instance.draw(1, seed) for seed in range(6000)]
    values, counts = np.unique(draws, return_counts=True)
    assert values.tolist() == [10.0, 20.0, 40.0]
    np.testing.assert_allclose(counts / 6000, 1 / 3, atol=0.03)
    frame = shortlist.compare("LUCB", instance, runs=5, progress=False).frame
    assert frame["correct"].all()


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


def test_unfinished_runs_are_counted() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=0.05)
    results = shortlist.compare("LUCB", instance, runs=4, max_samples=50, progress=False)
    assert results.summary().loc["LUCB", "unfinished"] == 4
    assert (results.frame["samples"] == 50).all()


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


def test_another_seed_gives_other_runs() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3)
    one, two = (
        shortlist.compare("LinGIFA", instance, runs=20, seed=s, progress=False).frame["samples"]
        for s in (1, 2)
    )
    assert one.tolist() != two.tolist()


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
