"""The paper's data: its profiles, signatures and scores are found again."""

from __future__ import annotations

import re
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paths import DATA, needs_data
from shortlist.repurposing.expression.assay import DuplicatedGenes
from shortlist.repurposing.expression.profiles import (
    binarize_via_histogram,
    cds2_score,
    cosine_score,
    mask,
    quantile_normalize,
    restrict,
)
from shortlist.repurposing.expression.readers import read_expression
from shortlist.repurposing.expression.signatures import binary_direction, characteristic_direction
from shortlist.repurposing.outcome import auc, hit_rate

NAN = float("nan")


class Epilepsy:
    """The files, read by the package's reader, and the log, read here."""

    def __init__(self, folder: Path) -> None:
        def read(name: str) -> pd.DataFrame:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DuplicatedGenes)
                return read_expression(folder / name)

        self.patients, self.controls = read("GSE77578_patients.csv"), read("GSE77578_controls.csv")
        self.phenotype = read("epilepsy_phenotype.csv")["Epilepsy"]
        self.disease = read("epilepsy_phenotype_nonbinarized.csv")["Epilepsy"]
        self.binary = read("epilepsy_signatures_binarized.csv")
        self.real = read("epilepsy_signatures_nonbinarized.csv")
        self.drugs = pd.read_csv(folder / "epilepsy_scores.csv", dtype={0: str}, index_col=0)
        self.id = {name: drug for drug, name in self.drugs["drug_name"].items()}
        solution = (folder / "report_model1_solution.net").read_text()
        self.network = re.findall(r"([\w.-]+)\[[^]]*\]\{", solution)  # in the file's order
        self.alphabet = sorted(self.network)
        self.cases = list(self._log(folder / "rewards_cosine_10drugs_18samples.txt"))

    def _log(self, path: Path) -> Any:
        case: dict[str, Any] = {}
        for line in path.read_text().splitlines():
            if line.startswith("('Arm"):
                name = re.search(r"\(\d+, '([^']+)'\)", line)
                assert name
                reward, label, baseline = line.rsplit("(", 1)[1].strip(")").split(", ")
                case |= {"name": name[1], "hit": float(label) > 0}
                yield case | {"reward": float(reward), "baseline": float(baseline)}
                case = {}
            else:
                row, key = line.split("\t")
                order = self.network if key == "state" else self.alphabet
                values = [NAN if mark == "|" else float(mark) for mark in row]
                case[key] = pd.Series(values, index=order)

    def baseline(self, drug: str) -> float:
        return cds2_score(restrict(self.real[drug], self.network), self.disease)


@pytest.fixture(scope="module")
def epilepsy() -> Epilepsy:
    assert DATA
    return Epilepsy(Path(DATA))


@pytest.mark.slow
@needs_data
def test_the_files_are_those_described(epilepsy: Epilepsy) -> None:
    assert epilepsy.patients.shape == (6940, 18)
    assert epilepsy.controls.shape == (6940, 17)
    assert len(epilepsy.network) == len(set(epilepsy.network)) == 101
    assert len(set(epilepsy.network) & set(epilepsy.patients.index)) == 50
    assert epilepsy.binary.shape == (67, 512)
    assert len(epilepsy.cases) == 180
    assert DATA
    with pytest.warns(DuplicatedGenes, match="962 of 7,902 rows repeat a gene"):
        read_expression(Path(DATA) / "GSE77578_patients.csv")


@pytest.mark.slow
@needs_data
def test_all_logged_cases(epilepsy: Epilepsy) -> None:
    started = time.process_time()
    patients = epilepsy.patients.apply(binarize_via_histogram)
    assert time.process_time() - started < 1.0
    goal = restrict(1.0 - epilepsy.phenotype, epilepsy.alphabet)
    for number, case in enumerate(epilepsy.cases):
        patient = restrict(patients.iloc[:, number // 10], epilepsy.alphabet)
        drug = restrict(epilepsy.binary[epilepsy.id[case["name"]]], epilepsy.alphabet)
        masked = mask(patient, drug)
        for ours, key in (
            (patient, "initial"),
            (drug, "drug"),
            (masked, "masked"),
            (goal, "-Epilepsy"),
        ):
            pd.testing.assert_series_equal(ours, case[key], check_names=False)
        assert 12 <= patient.notna().sum() <= 29
        assert 15 <= masked.notna().sum() <= 56
        assert cosine_score(goal, case["state"]) == pytest.approx(case["reward"], abs=1e-12)
    assert goal.notna().sum() == 50
    assert goal.sum() == 24


@needs_data
def test_means_hit_rates_and_baseline(epilepsy: Epilepsy) -> None:
    goal = restrict(1.0 - epilepsy.phenotype, epilepsy.alphabet)
    rewards: dict[str, list[float]] = {}
    for case in epilepsy.cases:
        rewards.setdefault(case["name"], []).append(cosine_score(goal, case["state"]))
    means = pd.Series({name: np.mean(values) for name, values in rewards.items()})
    hits = pd.Series({case["name"]: case["hit"] for case in epilepsy.cases})
    ranked = means.sort_values(ascending=False)
    assert ranked.round(3).tolist() == [
        *(0.491, 0.485, 0.482, 0.478, 0.465),
        *(0.399, 0.397, 0.393, 0.383, 0.382),
    ]
    assert hits[ranked.index].tolist() == [True] * 5 + [False] * 5

    baseline = pd.Series({name: epilepsy.baseline(epilepsy.id[name]) for name in means.index})
    for case in epilepsy.cases:
        assert baseline[case["name"]] == pytest.approx(case["baseline"], abs=1e-12)
    assert baseline.sort_values().round(3).to_dict() == {
        "Topiramate": 0.678,
        "Fipronil": 0.790,
        "Fg-7142": 0.894,
        "Flumazenil": 0.984,
        "Diazepam": 1.099,
        "Dmcm": 1.152,
        "Pentobarbital": 1.201,
        "Acetazolamide": 1.230,
        "Hydroxyzine": 1.312,
        "Brucine": 1.314,
    }
    ranks = (1, 2, 5, 10)
    assert [hit_rate(means, hits, r) for r in ranks] == [1.0, 1.0, 1.0, 0.5]
    assert [hit_rate(baseline, hits, r) for r in ranks] == [0.0, 0.5, 0.6, 0.5]

    labelled = epilepsy.drugs[epilepsy.drugs["score"] != 0]
    assert len(labelled) == 27
    all_27 = pd.Series({drug: epilepsy.baseline(drug) for drug in labelled.index})
    assert auc(all_27, labelled["score"] > 0) == pytest.approx(0.438, abs=5e-4)


@needs_data
def test_direction_is_the_stored_phenotype(epilepsy: Epilepsy) -> None:
    direction = characteristic_direction(epilepsy.patients, epilepsy.controls)
    common = epilepsy.disease.index.intersection(direction.index)
    assert len(common) == 1712  # 21 of the 1,733 stored labels are two names run together
    stored = epilepsy.disease[common]
    assert np.corrcoef(direction[common], stored)[0, 1] >= 0.99
    # It is more than correlated: these are the same numbers, and their signs the same bits.
    np.testing.assert_allclose(direction[common], stored, atol=1e-10)
    pd.testing.assert_series_equal(
        binary_direction(direction), epilepsy.phenotype, check_names=False
    )
    differential = binary_direction(characteristic_direction(epilepsy.controls, epilepsy.patients))
    assert differential.equals((1.0 - epilepsy.phenotype).rename(differential.name))
    # The file keeps the quarter of largest absolute value.
    strongest = binary_direction(direction, keep=0.25).dropna()
    assert set(common) <= set(strongest.index)
    unscaled = characteristic_direction(epilepsy.patients, epilepsy.controls, standardize=False)
    assert 0.99 <= np.corrcoef(unscaled[common], stored)[0, 1] < 0.9999


@needs_data
def test_normalizing_the_paper_s_samples(epilepsy: Epilepsy) -> None:
    both = pd.concat([epilepsy.patients, epilepsy.controls], axis=1)
    normal = quantile_normalize(both)
    spread = np.ptp(np.sort(normal.to_numpy(), axis=0), axis=1).max()
    before = np.ptp(np.sort(both.to_numpy(), axis=0), axis=1).max()
    assert spread < 0.01 < before
    for one, other in pairwise(normal):
        assert normal[one].mean() == pytest.approx(normal[other].mean())
