"""The drug instance: each drug with its own rewards, or those of the published runs."""

from __future__ import annotations

import re

import numpy as np

import shortlist.data
from paths import needs_data
from shortlist.data import drugs

MEANS = {
    "Hydroxyzine": 0.491,
    "Acetazolamide": 0.485,
    "Pentobarbital": 0.482,
    "Topiramate": 0.478,
    "Diazepam": 0.465,
    "Fg-7142": 0.399,
    "Flumazenil": 0.397,
    "Fipronil": 0.393,
    "Brucine": 0.383,
    "Dmcm": 0.382,
}


def logged() -> list[tuple[str, float, float]]:
    """Drug, reward and class of every case in the log."""
    text = shortlist.data.path("rewards_cosine_10drugs_18samples.txt").read_text()
    cases = re.findall(r"^\('Arm: ', \(\d+, '(.+?)'\),.*= ', \((\S+), (\S+), ", text, flags=re.M)
    return [(name, float(reward), float(label)) for name, reward, label in cases]


@needs_data
def test_each_drug_has_its_own_rewards_and_features() -> None:
    instance = shortlist.data.drug_instance()
    assert dict(zip(instance.names, instance.means.round(3).tolist(), strict=True)) == MEANS
    assert instance.features.shape == (10, 71)
    assert (instance.m, instance.sigma) == (5, 0.5)
    cases = logged()
    assert len(cases) == 180
    for arm, name in enumerate(instance.names):
        own = [reward for drug, reward, _ in cases if drug == name]
        np.testing.assert_allclose(instance.rewards.table[:, arm], own, atol=1e-12)
    # The ids that Figure 1c's drugs have in epilepsy_scores.csv, read off by eye.
    import pandas as pd

    table = pd.read_csv(shortlist.data.path("epilepsy_signatures.csv"), index_col=0)
    np.testing.assert_array_equal(instance.features[0], table["5734"])
    np.testing.assert_array_equal(instance.features[9], table["4375"])
    np.testing.assert_allclose(np.linalg.norm(instance.features, axis=1), 1.0)


@needs_data
def test_the_published_columns_are_in_the_logs_order() -> None:
    cases = logged()
    assert [drug for drug, _, _ in cases] == list(drugs.PUBLISHED_COLUMNS) * 18
    own = shortlist.data.drug_instance()
    published = shortlist.data.drug_instance(columns="published")
    assert published.names == own.names
    np.testing.assert_array_equal(published.features, own.features)
    same = [n for k, n in enumerate(own.names) if own.means[k] == published.means[k]]
    assert same == ["Pentobarbital", "Fipronil"]
    # Column k of the file went to the k-th drug of the log.
    raw = np.loadtxt(shortlist.data.path("rewards_cosine_10drugs_18samples.csv"))
    for column, name in enumerate(drugs.PUBLISHED_COLUMNS):
        np.testing.assert_array_equal(
            published.rewards.table[:, published.names.index(name)], raw[:, column]
        )
    label = {drug: sign for drug, _, sign in cases}
    best = {name for name, sign in label.items() if sign > 0}
    for instance in (own, published):
        assert {n for n, ok in zip(instance.names, instance.acceptable(), strict=True) if ok} == (
            best
        )
