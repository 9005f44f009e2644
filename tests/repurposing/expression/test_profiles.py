"""Profiles: binarisation, normalisation, the mask and the cosine, against plain formulas."""

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
from hypothesis import given, settings
from hypothesis import strategies as st

from paths import DATA, needs_data
from shortlist.errors import InvalidExpression
from shortlist.repurposing.expression.assay import DuplicatedGenes
from shortlist.repurposing.expression.profiles import (
    binarize_via_histogram,
    cds2_score,
    check_expression,
    cosine_score,
    mask,
    quantile_normalize,
    restrict,
)
from shortlist.repurposing.expression.readers import read_expression
from shortlist.repurposing.expression.signatures import binary_direction, characteristic_direction
from shortlist.repurposing.outcome import auc, hit_rate

NAN = float("nan")

finite = st.floats(-1e6, 1e6).map(lambda x: 0.0 if abs(x) < 1e-6 else x)

genes = st.lists(st.sampled_from([f"G{i}" for i in range(12)]), min_size=1, unique=True)

binary = st.dictionaries(
    st.sampled_from([f"G{i}" for i in range(12)]), st.sampled_from([0.0, 1.0, NAN]), min_size=1
).map(lambda values: pd.Series(values, dtype=float))


@st.composite
def matrices(draw: st.DrawFn, ties: bool = True) -> pd.DataFrame:
    rows, columns = draw(st.integers(2, 7)), draw(st.integers(1, 5))
    cell = st.integers(-3, 3).map(float) if ties else st.floats(-100, 100)
    values = draw(
        st.lists(
            st.lists(cell, min_size=rows, max_size=rows, unique=not ties),
            min_size=columns,
            max_size=columns,
        )
    )
    return pd.DataFrame(dict(enumerate(values)), index=[f"G{i}" for i in range(rows)])


def plain_peaks(counts: list[int]) -> list[int]:
    """Births of superlevel components, the most persistent first, by paths instead of merging.

    Bins come in order of falling count, of equal ones the left first; a birth is a bin that comes
    before both its neighbours. It dies at the highest level from which a path leads to a birth that
    beats it: a higher one, or one as high on its right.
    """
    n = len(counts)
    peaks = [
        i
        for i in range(n)
        if (i == 0 or counts[i - 1] < counts[i]) and (i == n - 1 or counts[i + 1] <= counts[i])
    ]

    def persistence(p: int) -> float:
        passes = [
            min(counts[min(p, q) : max(p, q) + 1]) for q in peaks if (counts[q], q) > (counts[p], p)
        ]
        return counts[p] - max(passes) if passes else np.inf

    return sorted(peaks, key=lambda p: (-persistence(p), -counts[p], p))


def plain_binarize(values: list[float]) -> list[float]:
    counts, edges = np.histogram(values, bins=20)
    kept = [k for k in range(20) if counts[k] > 5]
    t = [edges[k] for k in kept]
    top = plain_peaks([int(counts[k]) for k in kept])[:2]
    if len(top) == 2:
        lo, hi = t[min(top) + 1], t[max(top)]
    else:
        i, end = top[0], len(t) - 1
        hi, lo = t[min(i + 1, end)], t[min(max(i - 1, 0) + 1, end)]
        if lo == hi:
            hi += np.std(edges)
    return [0.0 if x < lo else 1.0 if x > hi else NAN for x in values]


# binarize_via_histogram


@given(st.lists(st.integers(0, 14), min_size=20, max_size=20).filter(lambda c: max(c) > 5))
def test_binarization_is_what_the_words_say(counts: list[int]) -> None:
    counts[0], counts[-1] = max(counts[0], 1), max(counts[-1], 1)  # the ends hold the range
    # A value just off the middle of each bin, so that none lies on an edge.
    values = [k + 0.01 * j / 15 for k, count in enumerate(counts) for j in range(count)]
    ours = binarize_via_histogram(pd.Series(values))
    assert np.array_equal(ours, plain_binarize(values), equal_nan=True)


def test_the_thresholds_themselves_are_undefined() -> None:
    # From 0 to 20 in 20 bins: the edges are the whole numbers.
    ends = [0.0, 20.0]
    two = [*ends, *[3.5] * 30, *[8.5] * 6, *[15.5] * 20]  # peaks 3 and 15, a valley at 8
    asked = [7.99, 8.0, 15.0, 15.01]  # lo is the kept bin after the first peak, hi the last peak
    binary = binarize_via_histogram(pd.Series([*two, *asked]))
    assert np.array_equal(binary[-4:], [0.0, NAN, NAN, 1.0], equal_nan=True)
    # One bin alone: hi is as much above lo as the edges spread, √((21² − 1)/12) = 6.055.
    binary = binarize_via_histogram(pd.Series([*ends, *[10.5] * 30, 9.99, 10.0, 16.05, 16.06]))
    assert np.array_equal(binary[-4:], [0.0, NAN, NAN, 1.0], equal_nan=True)


@given(st.integers(0, 2**32 - 1))
def test_binarization_is_monotone_and_follows_scale(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 10, size=3)
    values = pd.Series(rng.normal(centres[rng.integers(0, 3, size=400)], 1.0))
    found = binarize_via_histogram(values)
    ranks = found.fillna(0.5)[values.sort_values().index].tolist()
    assert ranks == sorted(ranks)
    shuffled = values.sample(frac=1.0, random_state=seed % 1000)
    pd.testing.assert_series_equal(binarize_via_histogram(shuffled)[values.index], found)
    assert found.equals(binarize_via_histogram(values * 4.0))  # a power of two: edges stay exact


def test_binarization_leaves_missing_values_undefined() -> None:
    rng = np.random.default_rng(0)
    whole = pd.Series(np.concatenate([rng.normal(4, 1, 200), rng.normal(9, 1, 200)]), name="p")
    holes = pd.concat([whole, pd.Series([NAN, NAN], index=[400, 401])]).rename("p")
    assert binarize_via_histogram(holes)[:400].equals(binarize_via_histogram(whole))
    assert binarize_via_histogram(holes)[400:].isna().all()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([3.0] * 40, "'rep1' is 3 for every gene"),
        ([NAN, NAN], "'rep1' has no value"),
        ([], "'rep1' has no value"),
        (list(range(40)), "no bin of its histogram contains more than 5"),
        ([1.0, np.inf], "infinite"),
    ],
)
def test_profiles_that_cannot_be_binarized(values: list[float], words: str) -> None:
    with pytest.raises(InvalidExpression, match=words):
        binarize_via_histogram(pd.Series(values, name="rep1", dtype=float))


# quantile normalisation, mask, cosine


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(matrices(ties=False))
def test_quantile_normalization_gives_one_distribution(raw: pd.DataFrame) -> None:
    normal = quantile_normalize(raw)
    ordered = np.sort(normal.to_numpy(), axis=0)
    np.testing.assert_array_equal(ordered, np.repeat(ordered[:, :1], raw.shape[1], axis=1))
    np.testing.assert_allclose(ordered[:, 0], np.sort(raw.to_numpy(), axis=0).mean(axis=1))
    for sample in raw:  # and the order within each sample stays
        assert (np.diff(normal[sample][raw[sample].sort_values().index]) >= 0).all()
    np.testing.assert_allclose(quantile_normalize(normal), normal, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(matrices(ties=True), st.integers(0, 100))
def test_quantile_normalization_with_ties(raw: pd.DataFrame, seed: int) -> None:
    normal = quantile_normalize(raw)
    np.testing.assert_allclose(normal.mean(), raw.to_numpy().mean(), atol=1e-12)
    target = np.sort(raw.to_numpy(), axis=0).mean(axis=1)
    for sample in raw:
        for value, tied in normal[sample].groupby(raw[sample]):
            below = int((raw[sample] < value).sum())
            np.testing.assert_allclose(tied, target[below : below + len(tied)].mean(), atol=1e-12)
    shuffled = raw.sample(frac=1.0, random_state=seed)
    pd.testing.assert_frame_equal(quantile_normalize(shuffled).loc[raw.index], normal)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(binary, binary)
def test_mask(profile: pd.Series, signature: pd.Series) -> None:
    masked = mask(profile, signature)
    assert set(masked.index) == set(profile.index) | set(signature.index)
    assert masked.index[: len(profile)].equals(profile.index)
    for gene in masked.index:
        over, under = signature.get(gene, NAN), profile.get(gene, NAN)
        expected = under if np.isnan(over) else over
        assert masked[gene] == expected or (np.isnan(masked[gene]) and np.isnan(expected))
    pd.testing.assert_series_equal(mask(masked, signature), masked)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(genes, st.data())
def test_cosine_is_a_cosine(names: list[str], data: Any) -> None:
    draw = lambda: pd.Series({gene: data.draw(finite) for gene in names})  # noqa: E731
    x, y = draw(), draw()
    score = cosine_score(x, y)
    assert -1.0 <= score <= 1.0
    assert cosine_score(y, x) == pytest.approx(score, abs=1e-12)
    assert cosine_score(x[data.draw(st.permutations(names))], y) == pytest.approx(score, abs=1e-12)
    extra = pd.concat([x, pd.Series({"X1": 5.0, "X2": NAN})])
    other = pd.concat([y, pd.Series({"X2": 3.0, "X1": NAN})])
    assert cosine_score(extra, other) == pytest.approx(score, abs=1e-12)
    assert cosine_score(3.0 * x, y) == pytest.approx(score, abs=1e-12)
    assert cosine_score(x, x) == pytest.approx(float(x.any()))
    norms = np.linalg.norm(x) * np.linalg.norm(y)
    if norms:
        assert score == pytest.approx(float(x @ y) / norms, abs=1e-9)
    else:
        assert score == 0.0


def test_cosine_of_very_large_and_very_small_numbers() -> None:
    x = pd.Series({"a": 3e200, "b": 4e200})
    y = pd.Series({"a": 3e-200, "b": -4e-200})
    assert cosine_score(x, y) == pytest.approx((9 - 16) / 25)


def test_profiles_that_do_not_meet() -> None:
    x, y = pd.Series({"A": 1.0, "B": NAN}), pd.Series({"B": 1.0, "a": 0.0})
    with pytest.raises(InvalidExpression, match="no gene in common: one has values for A, the o"):
        cosine_score(x, y)
    with pytest.raises(InvalidExpression, match="for no gene"):
        cosine_score(x[["B"]], y)
    with pytest.raises(InvalidExpression, match="'A' has an infinite"):
        cosine_score(pd.Series({"A": np.inf}), x)
    with pytest.raises(InvalidExpression, match="second profile: the gene 'A' occurs more than o"):
        cosine_score(x, pd.Series([1.0, 2.0], index=["A", "A"]))
    with pytest.raises(InvalidExpression, match="signature of X has a value for none of the netw"):
        restrict(x, ["B", "C"], "the signature of X")
    with pytest.raises(InvalidExpression, match=r"the signature: gene 'A' is 0.7; expected 0, 1 o"):
        mask(x, pd.Series({"A": 0.7}))


def test_expression_that_is_not() -> None:
    good = pd.DataFrame({"s": [1.0, 2.0]}, index=["A", "B"])
    check_expression(good)
    with pytest.raises(InvalidExpression, match="gene 'A' occurs more than once"):
        check_expression(good.set_axis(["A", "A"]))
    with pytest.raises(
        InvalidExpression, match="gene 'B', sample 't': expected a number, found 'h"
    ):
        check_expression(good.assign(t=[1, "high"]))
    with pytest.raises(InvalidExpression, match="0 genes × 1 samples"):
        quantile_normalize(good[:0])
    with pytest.raises(InvalidExpression, match="gene 'B' has nan in sample 's'"):
        quantile_normalize(good.where(good < 2))


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


@pytest.mark.slow
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
