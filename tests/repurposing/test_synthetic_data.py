"""The synthetic data set: what was planted is there, and a screen finds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist
from shortlist.errors import InvalidSetting
from shortlist.repurposing import hit_rate, read, read_expression, synthetic
from shortlist.repurposing.screen import DrugScreen
from shortlist.repurposing.synthetic_data import DataSet

SMALL: dict[str, Any] = {"drugs": 10, "m": 3, "patients": 8, "controls": 8, "background": 600}
EPSILON = 0.1


def planted(data: DataSet) -> set[str]:
    return {str(drug) for drug, label in data.labels.items() if label > 0}


@pytest.mark.parametrize("seed", range(6))
def test_the_planted_drugs_are_the_best_and_the_baseline_is_misled(seed: int) -> None:
    data = synthetic(seed=seed)
    screen = data.screen()
    means = screen.rewards(40).mean(axis=1)
    hits = data.labels > 0
    assert hits.sum() == 5
    # The gap is wider than ε: within the slack, too, the planted ones alone are right.
    assert means[hits].min() - means[~hits].max() > 1.2 * EPSILON
    baseline = screen.baseline()
    for r in (1, 2, 5):
        assert hit_rate(means, hits, r) == 1.0
        assert hit_rate(baseline, hits, r) <= 0.4
    untreated = means[[drug for drug in means.index if drug.startswith("inert")]].mean()
    decoys = means[[drug for drug in means.index if drug.startswith("decoy")]]
    aggravators = means[[drug for drug in means.index if drug.startswith("aggravator")]]
    # The network takes back what a decoy does, and not what an aggravator does.
    assert np.allclose(decoys, untreated, atol=0.05)
    assert (aggravators < untreated).all()


# The means are not quite linear in the features, and a study may say so.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")
@pytest.mark.parametrize("seed", range(3))
def test_studies_find_what_was_planted(seed: int) -> None:
    data = synthetic(seed=seed, **SMALL)
    screen = data.screen(seed=seed)
    study = screen.study(3, epsilon=0.15)
    answer = study.run(screen.objective, progress=False)
    assert answer.final
    assert answer.guarantee.text.startswith(("Proven", "In doubt"))
    assert set(answer.names) == planted(data)
    hits = data.labels > 0
    assert hit_rate(study.table()["estimate"], hits, 3) == 1.0
    assert hit_rate(screen.baseline(), hits, 3) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_confidence_holds_over_many_runs(seed: int) -> None:
    data = synthetic(seed=seed)
    instance = data.screen().instance(5, repeats=30)
    acceptable = {
        name
        for name, right in zip(instance.names, instance.acceptable(EPSILON), strict=True)
        if right
    }
    assert acceptable == planted(data)
    results = shortlist.compare(
        ["LUCB", "m-LinGapE"], instance, runs=100, epsilon=EPSILON, seed=seed, progress=False
    )
    summary = results.summary(lower_bound=False)
    # The widths are generous, as proven ones are: one error in 100 runs is the most to expect.
    assert (summary["error_rate"] <= 0.01).all()
    assert summary.loc["m-LinGapE", "mean"] < 0.6 * summary.loc["LUCB", "mean"]


def test_an_ensemble_differs_and_still_holds_the_truth() -> None:
    data = synthetic(seed=2, networks=3, **SMALL)
    functions = [dict(network.functions) for network in data.networks]
    assert functions[0] != functions[1] != functions[2]
    screen = data.screen()
    means = screen.rewards(20).mean(axis=1)
    hits = data.labels > 0
    assert means[hits].min() > means[~hits].max()


def test_the_seed_is_all_that_matters() -> None:
    one, same, other = (synthetic(seed=seed, **SMALL) for seed in (3, 3, 4))
    for name in ("patients", "controls", "signatures", "full_signatures", "features"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(same, name))
        assert not getattr(one, name).equals(getattr(other, name))
    assert one.screen().fingerprint == same.screen().fingerprint != other.screen().fingerprint


def test_files_hold_the_same_data(tmp_path: Path) -> None:
    data = synthetic(seed=5, networks=2, **SMALL)
    paths = {path.name: path for path in data.write(tmp_path)}
    assert sorted(paths) == [
        "controls.csv",
        "features.csv",
        "full_signatures.csv",
        "labels.csv",
        "network1.bnet",
        "network2.bnet",
        "patients.csv",
        "signatures.csv",
    ]
    screen = DrugScreen(
        [read(paths["network1.bnet"]), read(paths["network2.bnet"])],
        *(read_expression(paths[f"{name}.csv"]) for name in ("patients", "controls", "signatures")),
        features=read_expression(paths["features.csv"]),
        labels=pd.read_csv(paths["labels.csv"], index_col=0)["label"],
    )
    own = data.screen()
    assert screen.fingerprint == own.fingerprint
    pd.testing.assert_frame_equal(screen.features, own.features, check_index_type=False)
    pd.testing.assert_series_equal(screen.labels, own.labels)


@pytest.mark.parametrize(
    ("setting", "least"),
    [("m", 1), ("modules", 5), ("patients", 2), ("networks", 1), ("background", 200)],
)
def test_too_little_of_anything(setting: str, least: int) -> None:
    with pytest.raises(InvalidSetting, match=f"{setting} must be at least {least}"):
        synthetic(**{setting: least - 1})


def test_there_must_be_more_drugs_than_wanted() -> None:
    with pytest.raises(InvalidSetting, match="drugs must be at least 4, got 3"):
        synthetic(drugs=3, m=3)
