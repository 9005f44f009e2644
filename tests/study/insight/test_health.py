"""Each finding on an instance made for it, none on a healthy one."""

from __future__ import annotations

import re
import time
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.errors import InvalidFeatures, InvalidSetting, UnhealthyFeatures
from shortlist.problem import Problem
from shortlist.study.insight import feature_findings, health
from shortlist.study.insight.feature_findings import examine_features
from shortlist.study.insight.finding import Finding
from shortlist.study.insight.health import examine
from shortlist.study.insight.linearity_words import remedy

ONCE = shortlist.GIFA(initialization="each", name="m-LinGapE, each arm once first")


def healthy(K: int = 12, N: int = 4, seed: int = 0) -> np.ndarray:
    normal = np.random.default_rng(seed).normal(size=(K, N - 1))
    return np.column_stack([np.ones(K), normal])


def of_features(x: Any, **settings: Any) -> dict[str, Finding]:
    problem = Problem.of(x, **{"m": 2, "sigma": 1.0, **settings})
    return {finding.name: finding for finding in examine_features(problem)}


def told(
    means: Any,
    results: int = 150,
    noise: Any = 1.0,
    seed: int = 0,
    x: np.ndarray | None = None,
    **settings: Any,
) -> shortlist.Study:
    x = healthy(seed=seed) if x is None else x
    settings = {"m": 3, "sigma": 1.0, "algorithm": ONCE, "seed": seed, "audit": False, **settings}
    study = shortlist.Study(x, **settings)
    rng = np.random.default_rng([seed, 1])
    spread = np.broadcast_to(noise, len(x))
    while not study.done and study.evaluations < results:
        trial = study.ask()
        study.tell(trial, float(means[trial.arm] + spread[trial.arm] * rng.standard_normal()))
    return study


def of_study(study: shortlist.Study) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(study)}


def linear(seed: int = 0) -> np.ndarray:
    return healthy(seed=seed) @ np.array([0.3, 0.5, -0.4, 0.2])


# Before any evaluation


def test_healthy_features_are_fine() -> None:
    for seed in range(20):
        found = of_features(healthy(seed=seed))
        assert [each.name for each in found.values() if each.level != "fine"] == []
        assert all(each.words and each.meaning for each in found.values())
    assert list(found) == ["rank", "redundant columns", "scaling", "norms", "alike", "offset"]


def test_as_many_dimensions_as_arms_leave_no_structure() -> None:
    found = of_features(np.random.default_rng(0).normal(size=(6, 9)))
    assert found["rank"].level == "note"
    assert "rank 6 for 6 arms" in found["rank"].words
    assert "no structure" in found["rank"].meaning
    assert found["redundant columns"].level == "note"
    assert "3 of the 9 columns" in found["redundant columns"].words


def test_redundant_columns() -> None:
    x = healthy()
    found = of_features(np.column_stack([x, x[:, 1] - 2.0 * x[:, 2]]))
    assert found["redundant columns"].level == "note"
    assert "1 of the 5 columns" in found["redundant columns"].words
    assert found["rank"].level == "fine"
    assert found["scaling"].level == "fine"  # the condition number is that of the other four


def test_scaling() -> None:
    x = healthy()
    large = x * [1.0, 1.0, 1.0, 5000.0]
    found = of_features(large, S=2.0)["scaling"]
    assert found.level == "note"
    assert "Column 3 is" in found.words
    assert f"{np.linalg.cond(large):.3g}" in found.words
    reach = 2.0 * np.sqrt((large**2).sum(axis=1).max())
    assert f"S·L = {reach:.3g}" in found.meaning
    assert "S·L" not in of_features(large)["scaling"].meaning
    units = of_features(x * [1.0, 1.0, 1.0, 1e9])["scaling"]
    assert units.level == "fine"  # the size of a column costs no digits
    assert units.meaning == "Units do not matter here."


def test_nearly_redundant_columns_are_refused() -> None:
    x = healthy()
    twin = x[:, 1] + 1e-8 * np.random.default_rng(1).normal(size=len(x))
    with pytest.raises(shortlist.errors.InvalidFeatures, match="condition number"):
        of_features(np.column_stack([x, twin]))


def test_an_outlying_arm() -> None:
    x = healthy()
    x[7] *= 40.0
    found = of_features(x, arms=[f"drug {k}" for k in range(12)])["norms"]
    assert found.level == "note"
    assert "'drug 7'" in found.words
    norms = np.linalg.norm(x, axis=1)
    assert f"{norms[7] / np.median(norms):.3g} times the median" in found.words


def test_arms_that_coincide() -> None:
    x = healthy()
    x[9] = x[4]
    found = of_features(x, epsilon=0.1)["alike"]
    assert found.level == "note"
    assert found.words == "2 arms have the same features as another, such as 4 and 9."
    assert "0.1" in found.meaning
    with pytest.raises(shortlist.errors.IndistinguishableArms):
        of_features(x)
    assert of_features(np.ones((5, 1)), epsilon=0.1)["alike"].words.startswith("5 arms")


@pytest.mark.parametrize(("distance", "level"), [(1e-4, "note"), (1e-12, "warning"), (0.1, "fine")])
def test_arms_that_nearly_coincide(distance: float, level: str) -> None:
    x = healthy() * [1.0, 1e3, 1e-3, 1.0]  # whatever the units
    x[9] = x[4] + distance * np.array([0.0, 1e3, 1e-3, 1.0])
    found = of_features(x)["alike"]
    assert found.level == level
    if level != "fine":
        assert found.words.startswith("2 arms are nearly like another; the nearest, ")
        assert re.findall(r"\b[49] (?:and|differ)|[49],", found.words)


def test_the_nearest_pair_agrees_with_all_pairs() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 20))
    for k, size in enumerate(rng.uniform(1e-4, 3e-3, size=30)):
        direction = rng.normal(size=20)
        x[200 + k] = x[k] + size * np.sqrt(40.0) * direction / np.linalg.norm(direction)
    scaled = x / x.std(axis=0)
    apart = np.linalg.norm(scaled[:, None] - scaled, axis=2) / np.sqrt(40.0)
    np.fill_diagonal(apart, np.inf)
    near = int((apart.min(axis=1) < 1e-3).sum())
    assert 4 < near < 60
    i, j = np.unravel_index(np.argmin(apart), apart.shape)
    words = of_features(x)["alike"].words
    assert words.startswith(f"{near} arms ")
    assert f"{i} and {j}," in words
    assert f"{apart.min():.2g}" in words


def test_an_offset_that_cannot_be_expressed() -> None:
    x = healthy()[:, 1:]
    found = of_features(x - x.mean(axis=0))["offset"]
    assert found.level == "note"
    assert "100 % of a constant remains" in found.words
    assert "column of ones" in found.meaning
    one_hot = np.eye(3)[np.arange(9) % 3] + 1e-3 * healthy(9, 4)[:, 1:]
    assert (
        of_features(np.column_stack([one_hot, 1.0 - one_hot.sum(axis=1)]))["offset"].level == "fine"
    )


def test_many_arms_take_seconds_and_no_square() -> None:
    x = (np.random.default_rng(0).random((10_000, 100)) < 0.1).astype(float)
    x[:, 0] = 1.0
    problem = Problem.of(x, 20, sigma=1.0, epsilon=0.1)
    assert problem.rank == 100
    tracemalloc.start()
    start = time.perf_counter()
    found = examine_features(problem)
    took = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 6
    assert peak < 100e6  # all pairs would be 800 MB
    assert took < 30.0  # about 1 s on a machine that does nothing else


# From the results


def test_a_classical_study_cannot_misfit() -> None:
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=1.0, algorithm="LUCB", seed=0)
    assert [each.level for each in examine(study)] == ["fine", "untested", "fine"]
    for arm in range(4):
        for value in (0.1, 0.3, 5.0 * arm):
            study.tell(arm=arm, value=value)
    found = of_study(study)
    assert "no features" in found["rank"].words
    assert found["fit"].level == "fine"
    assert "no linear model to test" in found["fit"].words


def test_an_algorithm_without_features_does_not_mind_them() -> None:
    bent = linear() + 3.0 * (np.arange(12) % 2)
    found = of_study(told(bent, algorithm="LUCB"))
    assert list(found) == ["rank", "noise", "fit"]
    assert {each.level for each in found.values()} == {"fine"}
    assert "LUCB does not look at the features" in found["rank"].words


def test_nothing_told_is_nothing_found() -> None:
    study = shortlist.Study(healthy(), m=3, sigma=1.0, seed=0, S=2.0, threshold="frequentist")
    found = of_study(study)
    untested = [name for name, each in found.items() if each.level == "untested"]
    assert untested == ["noise", "fit"]
    assert {each.level for each in found.values()} == {"fine", "untested"}
    assert "twice" in found["noise"].words


@pytest.mark.parametrize(("noise", "level"), [(1.0, "fine"), (1.6, "warning"), (0.3, "note")])
def test_sigma_against_the_spread_of_replicates(noise: float, level: str) -> None:
    study = told(linear(), noise=noise, results=150)
    found = of_study(study)["noise"]
    assert found.level == level
    squares = sum(
        float(np.var([t.value for t in study.taken if t.arm == arm]))  # type: ignore[arg-type]
        * study.posterior.pulls[arm]
        for arm in range(12)
    )
    assert f"standard deviation {np.sqrt(squares / (study.evaluations - 12)):.3g}" in found.words


def test_one_noisy_arm_is_named() -> None:
    spread = np.full(12, 0.7)
    spread[2] = 4.0
    x, means = healthy(), linear()
    study = shortlist.Study(x, m=3, sigma=1.0, seed=0, algorithm=ONCE, audit=False)
    rng = np.random.default_rng(0)
    for arm in [*range(12)] * 6:
        study.tell(arm=arm, value=float(means[arm] + spread[arm] * rng.standard_normal()))
    found = of_study(study)["noise"]
    assert found.level == "warning"
    assert "'2'" in found.words or "too small" in found.words


@pytest.mark.parametrize("count", [2, 4, 9])
def test_the_worst_arm_is_judged_by_its_own_degrees_of_freedom(count: int) -> None:
    from scipy.stats import chi2

    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.5, algorithm="LUCB", seed=0)
    wanted = 0.25 * chi2.isf(1.2e-4, count - 1)  # a sum of squares that chance gives so rarely
    steps = np.arange(count) - (count - 1) / 2.0
    for value in 3.0 + steps * np.sqrt(wanted / (steps @ steps)):
        study.tell(arm="b", value=float(value))
    for arm in ("a", "c"):
        for k in range(16):
            study.tell(arm=arm, value=0.3 * (-1.0) ** k)
    study.tell(arm="d", value=1.0)  # once: it has no spread
    own = np.sqrt(wanted / (count - 1))
    said = f"'b' have {own:.3g} (p = {3 * 1.2e-4:.1g}, as the worst of 3 arms)"
    assert said in of_study(study)["noise"].words


def one_sigma(deviations: list[float], results: int = 8) -> shortlist.Study:
    """A study with one estimated σ, told the same number of results of every arm."""
    study = shortlist.Study(arms=range(len(deviations)), m=2, sigma="estimate", seed=0)
    rng = np.random.default_rng(0)
    for arm in [*range(len(deviations))] * results:
        study.tell(arm=arm, value=float(arm + deviations[arm] * rng.standard_normal()))
    return study


def test_one_estimated_sigma_for_unequal_arms_is_a_warning_that_names_them() -> None:
    from scipy.stats import bartlett

    study = one_sigma([0.02] + [1.0] * 9 + [1.6])
    found = of_study(study)["noise"]
    values = [[t.value for t in study.taken if t.arm == arm] for arm in range(11)]
    spreads = [np.std(each, ddof=1) for each in values]
    assert found.level == "warning"
    assert f"(p = {bartlett(*values).pvalue:.1g})" in found.words
    assert f"arm 0 have standard deviation {spreads[0]:.3g}" in found.words
    widest = int(np.argmax(spreads))
    assert f"those of arm {widest} {spreads[widest]:.3g}" in found.words
    assert "sigma='estimate per arm'" in found.meaning


def test_equal_arms_have_one_estimated_sigma() -> None:
    assert of_study(one_sigma([1.0] * 11))["noise"].level == "fine"


def test_results_that_are_equal_by_rounding_do_not_contradict_one_sigma() -> None:
    study = shortlist.Study(arms=range(12), m=2, sigma="estimate", seed=0)
    rng = np.random.default_rng(0)
    for arm in [*range(12)] * 7:
        study.tell(arm=arm, value=float(np.round(arm + 0.0 if arm < 3 else rng.normal(), 1)))
    assert of_study(study)["noise"].level == "fine"


def test_unequal_arms_do_not_contradict_a_sigma_for_each() -> None:
    study = shortlist.Study(arms=range(3), m=1, sigma="estimate per arm", seed=0)
    rng = np.random.default_rng(0)
    for arm in [0, 1, 2] * 40:
        study.tell(arm=arm, value=float(arm + 10.0**-arm * rng.standard_normal()))
    assert of_study(study)["noise"].level == "fine"


@pytest.fixture(scope="module")
def alarms() -> Counter[tuple[str, float]]:
    """How many of 60 healthy studies had a p-value below 0.001 and below 0.05, by finding."""
    found: Counter[tuple[str, float]] = Counter()
    for seed in range(60):
        study = told(linear(seed), results=110, seed=seed, S=0.75, threshold="frequentist")
        for alpha in (0.001, 0.05):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(health, "ALPHA", alpha)
                found.update((e.name, alpha) for e in examine(study) if e.level == "warning")
    print(f"\nof 60 healthy studies: {dict(found)}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["S", "noise", "fit"])
def test_false_alarms_are_rare(alarms: Counter[tuple[str, float]], name: str) -> None:
    assert alarms[name, 0.001] <= 1
    # Two tests of the noise, each at 0.05, and pulls that depend on results: not above one in six.
    assert alarms[name, 0.05] <= 10


def test_a_finding_can_be_read() -> None:
    finding = Finding("rank", "note", "It is so.", "Do that.")
    assert str(finding) == "rank (note): It is so. Do that."


def test_a_p_value_too_small_for_a_number_is_not_0() -> None:
    study = shortlist.Study(arms=["a", "b"], m=1, sigma=1e-9, algorithm="LUCB")
    for value in (0.0, 1.0, 0.0, 1.0):
        study.tell(arm="a", value=value)
    [found] = [each for each in study.health() if each.name == "noise"]
    assert "p < 1e-300" in found.words
    assert "p = 0" not in found.words


def with_results(values: list[float], **settings: Any) -> shortlist.Study:
    names = [f"arm {k}" for k in range(len(values))]
    study = shortlist.Study(arms=names, m=2, sigma=0.08, algorithm="LUCB", **settings)
    for arm, value in enumerate(values):
        study.tell(arm=arm, value=value)
    return study


def outliers(study: shortlist.Study) -> list[Finding]:
    return [finding for finding in study.health() if finding.name == "outliers"]


def test_a_single_result_far_beyond_all_others_is_noted() -> None:
    usual = [0.1, 0.93, 0.3, 0.45, 0.6]
    [found] = outliers(with_results([*usual, 10.67]))
    assert found.level == "note"
    assert "'arm 5', 10.67 (trial 5), is 122 σ beyond" in found.words
    assert "correct" in found.meaning
    assert "heuristic" in found.meaning
    assert outliers(with_results([*usual, -10.67], direction="minimize"))
    assert not outliers(with_results([*usual, 1.5]))  # 7 σ beyond, and within twice the span
    assert not outliers(with_results([0.1, 0.3, 10.67]))  # too few to say


def test_a_result_far_from_the_others_of_its_arm_is_warned_of() -> None:
    study = with_results([0.1, 0.93, 0.3])
    for value in (0.95, 0.9, 9.3):
        study.tell(arm=1, value=value)
    [found] = outliers(study)
    assert found.level == "warning"
    assert "The result 9.3 of arm 'arm 1' (trial 5) is 105 σ from the arm's 3 others" in found.words
    study.correct(5, 0.93, reason="decimal point")
    assert not outliers(study)


@pytest.mark.parametrize(("claimed", "level"), [(0.1, "warning"), (3.0, "fine")])
@pytest.mark.parametrize("pulls", [2, 5, 50])
def test_a_sigma_that_is_too_small_is_said_and_no_result_is_called_mistyped(
    claimed: float, level: str, pulls: int
) -> None:
    noise = np.random.default_rng(pulls)
    study = shortlist.Study(arms=list("abcdef"), m=1, sigma=claimed, algorithm="LUCB")
    for arm in list(range(6)) * pulls:
        study.tell(arm=arm, value=arm + 3.0 * noise.normal())
    [found] = [each for each in study.health() if each.name == "noise"]
    assert found.level == level
    assert ("too small" in found.words) == (level == "warning")
    assert not outliers(study)
    # A slip of the pen is found all the same, by the noise that the others have.
    study.tell(arm="b", value=3e4)
    [slip] = outliers(study)
    assert "3e+04 of arm 'b'" in slip.words


def test_a_single_arm_is_not_called_odd_where_sigma_is_too_small() -> None:
    noise = np.random.default_rng(0)
    study = shortlist.Study(arms=list("abcdefg"), m=1, sigma=0.01, algorithm="LUCB")
    values = noise.normal(size=(6, 4))
    for arm, value in np.ndenumerate(values):
        study.tell(arm=arm[0], value=value)
    low, high = values.mean(axis=1).min(), values.mean(axis=1).max()
    study.tell(arm="g", value=high + 2.5 * (high - low))  # beyond twice the span, 250 σ or so
    assert not outliers(study)


def test_an_outlier_is_named_though_the_one_other_pair_differs_by_chance() -> None:
    study = shortlist.Study(arms=list("abc"), m=1, sigma=1.0, algorithm="LUCB")
    for arm, value in [("a", 0.0), ("a", 17.0), ("b", 0.0), ("b", 2.2)]:
        study.tell(arm=arm, value=value)
    [found] = outliers(study)
    assert found.level == "warning"
    assert "arm 'a'" in found.words


@pytest.mark.parametrize(
    ("arms", "ways"),
    [
        (4_001, ["study.continued(trust='guide', sigma='estimate')"]),
        (30_001, ["study.continued(trust='guide', sigma='estimate')"]),
        (200_001, ["new_study.carry_over(study)"]),  # others would need a table of arms × arms
    ],
)
def test_no_way_on_is_advised_that_so_many_arms_are_refused(arms: int, ways: list[str]) -> None:
    study = shortlist.Study(healthy(arms, 3), m=1, sigma=1.0, algorithm="m-LinGapE")
    said = remedy(study)
    assert re.findall(r"\w*study\.\w+\(.*?\)", said) == ways
    if arms == 200_001:
        with pytest.raises((InvalidFeatures, InvalidSetting)):
            study.continued(features=None)


# --- at the door
def test_healthy_features_are_not_examined_when_a_study_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def examined(problem: Problem) -> list[Finding]:
        raise AssertionError("examined")

    monkeypatch.setattr(feature_findings, "examine_features", examined)
    shortlist.Study(np.random.default_rng(0).normal(size=(20, 5)), m=5, sigma=1.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e6])
def test_arms_that_nearly_coincide_are_seen_at_the_door(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 4)) * size * 10.0 ** np.arange(4)
    x[17] = x[3] * (1.0 + 1e-8 * rng.normal(size=4))
    with pytest.warns(UnhealthyFeatures, match="nearly like another"):
        shortlist.Study(x, m=2, sigma=1.0)
