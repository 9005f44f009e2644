"""The mixture for two arms: it holds at all times, it is what asks for least, and nothing else changed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from shortlist.rules.thresholds import (
    THRESHOLDS,
    TWO_ARM_PRIOR,
    Threshold,
    ThresholdInputs,
    two_arm_threshold,
)

import shortlist
from shortlist.study.answer import estimated

DELTA = 0.2
PATHS = 2000


def largest_excess(*, with_logarithms: bool) -> float:
    """In which share of paths the noise of two arms ever exceeds its bound with risk ``DELTA``.

    The arm of smaller average is pulled: the pulls depend on the results.
    """
    rng = np.random.default_rng(0)
    pulls, sums = np.ones((PATHS, 2)), rng.standard_normal((PATHS, 2))
    beyond = np.zeros(PATHS, bool)
    for _ in range(1500):
        noise = (sums**2 / (pulls + TWO_ARM_PRIOR)).sum(axis=1) / 2.0
        level = np.log(1.0 / DELTA)
        if with_logarithms:
            level = level + 0.5 * np.log1p(pulls / TWO_ARM_PRIOR).sum(axis=1)
        beyond |= noise >= level
        arm = np.argmin(sums / pulls, axis=1)
        sums[np.arange(PATHS), arm] += rng.standard_normal(PATHS)
        pulls[np.arange(PATHS), arm] += 1.0
    return float(beyond.mean())


def test_the_mixture_holds_at_all_times() -> None:
    share = largest_excess(with_logarithms=True)
    assert binom.sf(share * PATHS - 1, PATHS, DELTA) > 0.001
    assert share > 0.02  # and the test sees excesses at all


def test_a_bound_without_the_logarithms_is_found_out() -> None:
    share = largest_excess(with_logarithms=False)
    assert binom.sf(share * PATHS - 1, PATHS, DELTA) < 1e-6


def test_the_width_of_a_pair_is_that_of_the_mixture_for_two_arms() -> None:
    constants, n, other = np.array([7.0, 3.0, 20.0]), 40.0, 9.0
    level = 7.0 + 0.5 * np.log1p(n / 3.0) + 0.5 * np.log1p(other / 3.0)
    square = 2.0 * level * ((1.0 + 3.0 / n) / n + (1.0 + 3.0 / other) / other)
    C = two_arm_threshold(constants, 1.0 / n, 1.0 / other)
    assert C**2 * (1.0 / n + 1.0 / other) == pytest.approx(square)


def test_the_figures_of_the_documents() -> None:
    setting = ThresholdInputs(20, 20, 20, 1.0, 1.0, 0.05, None, 0.0, 1.0, True, "paired", 4)
    mixture = THRESHOLDS["two_arms_mixture"]
    C = mixture.rule(10_000, 0.0, mixture.constants(setting))
    assert round(0.5 * float(C) ** 2, 1) == 12.4


@pytest.mark.parametrize("algorithm", ["LUCB", "m-LinGapE"])
def test_errors_at_a_near_tie_are_as_rare_as_promised(algorithm: str) -> None:
    instance = shortlist.instances.from_arrays(np.eye(3), means=[0.01, 0.0, -1.0], m=1, sigma=1.0)
    frame = shortlist.compare(
        algorithm, instance, threshold="two_arms_mixture", delta=DELTA, runs=300,
        max_samples=1500, progress=False,
    ).frame  # fmt: skip
    wrong = int((frame["stopped"] & ~frame["correct"]).sum())
    assert binom.sf(wrong - 1, 300, DELTA) > 0.001


def test_features_and_shrunk_means_are_not_covered() -> None:
    linear = shortlist.GIFA(threshold="two_arms_mixture")
    procedure = linear.bind(shortlist.instances.classic(3, 1, 0.5).problem(0.05, 0.0))
    assert not procedure.proven
    assert "does not cover a linear model" in procedure.claim.text


def test_a_study_stored_with_two_arms_keeps_it(tmp_path: Path) -> None:
    settings = {
        "m": 1,
        "sigma": 0.5,
        "seed": 0,
        "algorithm": "LUCB",
        "threshold": "two_arms_mixture",
    }
    path = tmp_path / "study.db"
    study = shortlist.Study(arms=list("abc"), storage=path, **settings)
    study.run(lambda trial: float(trial.arm), max_evaluations=9, progress=False)
    assert shortlist.Study.load(path).procedure.threshold.name == "two_arms_mixture"
    assert shortlist.Study.load(path).fingerprint == study.fingerprint


@pytest.mark.parametrize("indices", ["paired", "individual"])
def test_intervals_and_reasons_are_those_of_the_stop(indices: str) -> None:
    algorithm = shortlist.GIFA(threshold="two_arms_mixture", indices=indices)
    study = shortlist.Study(arms=list("abc"), m=1, sigma=0.3, seed=0, algorithm=algorithm)
    noise = np.random.default_rng(0)
    study.run(lambda t: 0.5 * t.arm + 0.3 * noise.standard_normal(), progress=False)
    last = study.history().last
    assert last is not None
    assert last.table["gap_upper"][last.c] == pytest.approx(study.statistic)
    table = study.table()
    assert (table["lower"] < table["mean"]).all()
    assert study.procedure.proven


def test_no_threshold_is_proven_unless_it_says_so() -> None:
    known = THRESHOLDS["heuristic"]
    with pytest.raises(TypeError, match="proven"):
        Threshold(known.rule, known.formula, source="me")  # type: ignore[call-arg]
    assert not known.proven


X = np.random.default_rng(5).standard_normal((6, 3))
MIXTURE = "μ̂ ± σ√(2L(1 + ρ/N)/N)"
FEATURES: dict[str, Any] = {"features": X, "algorithm": "m-LinGapE"}
EACH = [0.5, 0.4, 0.3, 0.5, 0.5, 0.2]


def printed(study: shortlist.Study) -> np.ndarray:
    """Half-widths by the formula that the report prints, made of the table and C alone."""
    procedure, delta = study.procedure, study.problem.delta
    C = procedure.engine.threshold(study.model.posterior, study.round)
    table, sigma, x = study.table(), study.problem.sigma, np.asarray(study.problem.features)
    pulls = table["pulls"].to_numpy(float)
    weights = pulls / study.problem.relative_noise
    white = np.eye(6) if procedure.setting.classical else x
    ridge = procedure.setting.regularization * np.eye(white.shape[1])
    gram = white @ np.linalg.inv((white.T * weights) @ white + ridge) @ white.T
    formula = procedure.interval.formula
    if formula == MIXTURE:
        many = 1.0 / np.diag(gram)
        level = np.log(8 / delta) + 0.5 * (np.log1p(many / 3) + np.log1p(many.max() / 3))
        return np.asarray(sigma * np.sqrt(2 * level * (1 + 3 / many) / many))
    usual = C * sigma * np.sqrt(np.diag(gram))
    if not formula.startswith("by the model"):
        return np.asarray(usual)
    told = [(trial.arm, trial.value) for trial in study.trials]
    averages = pd.DataFrame(told).groupby(0)[1].mean().to_numpy()
    stands_for = gram * pulls  # s of every arm, by rows
    off = np.abs(stands_for @ averages - estimated(table).to_numpy())
    bias = 0.02 * np.abs(stands_for - np.eye(6)).sum(axis=1)
    return np.asarray(np.minimum(usual + bias + off, C * sigma / np.sqrt(pulls)))


@pytest.mark.parametrize(
    ("given", "formula"),
    [
        ({"algorithm": "LUCB"}, "μ̂ ± Cσ/√N"),
        ({"algorithm": "LUCB", "threshold": "heuristic"}, "μ̂ ± Cσ/√N"),
        ({"algorithm": "LUCB", "threshold": "two_arms_mixture"}, MIXTURE),
        ({"algorithm": "LUCB", "threshold": "two_arms_mixture", "sigma": EACH}, MIXTURE),
        ({**FEATURES, "threshold": "two_arms_mixture"}, MIXTURE),
        ({**FEATURES, "threshold": "self_normalized"}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
        ({**FEATURES, "threshold": "self_normalized", "sigma": EACH}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
        ({**FEATURES, "threshold": "frequentist", "S": 2.0}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
        ({"features": X, "budget": 150}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
    ],
    ids=lambda each: (
        " ".join(str(v) for v in each.values() if isinstance(v, str))
        if isinstance(each, dict)
        else ""
    ),
)
def test_the_interval_is_the_one_that_is_printed(given: dict[str, Any], formula: str) -> None:
    settings = {"m": 2, "sigma": 0.5, "seed": 1, "arms": list("abcdef"), "audit": False, **given}
    means = X @ [0.3, 0.2, -0.2] if "features" in given else np.array([0, 0.1, 0.2, 0.3, 0.5, 2])
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = shortlist.Study(**settings)
        study.run(
            lambda t: float(means[t.arm] + rng.uniform(-0.3, 0.3)),
            max_evaluations=150,
            progress=False,
        )
    table = study.table()
    assert study.procedure.interval.formula == formula
    shown = (table["upper"] - table["lower"]).to_numpy() / 2
    np.testing.assert_allclose(shown, printed(study), rtol=1e-6)
