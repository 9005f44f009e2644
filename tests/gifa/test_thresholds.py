"""Thresholds: what they claim is kept, and what is said of an arm's interval is what is shown."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import shortlist
from shortlist.engine.threshold import ThresholdInputs
from shortlist.gifa.thresholds import THRESHOLDS, Known, Threshold, user_threshold
from shortlist.study.answer import estimated

DELTA = 0.2
SETTING = ThresholdInputs(20, 20, 20, 1.0, 1.0, 0.05, None, 0.0, 1.0, True, "paired", 4)
PROVEN = [name for name, each in THRESHOLDS.items() if each.proven]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVEN)
def test_errors_at_a_near_tie_are_as_rare_as_promised(name: str) -> None:
    instance = shortlist.instances.from_arrays(np.eye(3), means=[0.01, 0.0, -1.0], m=1, sigma=1.0)
    frame = shortlist.compare(
        "LUCB",
        instance,
        threshold=name,
        delta=DELTA,
        S=2.0,
        runs=300,
        max_samples=1500,
        progress=False,
    ).frame
    wrong = int((frame["stopped"] & ~frame["correct"]).sum())
    assert binom.sf(wrong - 1, 300, DELTA) > 0.001


def test_no_threshold_is_proven_unless_it_says_so() -> None:
    known = THRESHOLDS["heuristic"]
    with pytest.raises(TypeError, match="proven"):
        Threshold(known.rule, source="me")  # type: ignore[call-arg]
    assert PROVEN == ["self_normalized", "frequentist", "lucb1"]
    assert known.why_not_proven(SETTING) == ["the threshold 'heuristic' has no proof"]
    assert not user_threshold(known.rule).proven


def test_each_says_why_it_is_not_proven_where_it_is_not() -> None:
    def reasons(name: str, **changed: Any) -> str:
        return "; ".join(THRESHOLDS[name].why_not_proven(replace(SETTING, **changed)))

    assert "unregularised least squares" in reasons("self_normalized", regularization=0.1)
    assert "bounds arms one by one" in reasons("lucb1")
    assert reasons("lucb1", indices="individual") == ""
    assert "linear model" in reasons("lucb1", indices="individual", classical=False)
    assert "S bounds ‖θ‖ for the features" in reasons("frequentist", features_unused=True)


@pytest.mark.parametrize("indices", ["paired", "individual"])
@pytest.mark.parametrize("stopping", ["lucb", "ugape"])
def test_a_history_ends_with_the_statistic_of_the_stop(indices: str, stopping: str) -> None:
    algorithm = shortlist.GIFA(indices=indices, stopping=stopping, initialization="each")
    study = shortlist.Study(arms=list("abc"), m=1, sigma=0.3, seed=0, algorithm=algorithm)
    noise = np.random.default_rng(0)
    study.run(lambda t: 0.5 * t.arm + 0.3 * noise.standard_normal(), progress=False)
    last = study.history().last
    assert last is not None
    assert last.table["gap_upper"][last.c] == pytest.approx(study.statistic)
    table = study.table()
    assert (table["lower"] < table["mean"]).all()
    assert study.procedure.proven


X = np.random.default_rng(5).standard_normal((6, 3))
FEATURES: dict[str, Any] = {"features": X, "algorithm": "m-LinGapE"}
EACH = [0.5, 0.4, 0.3, 0.5, 0.5, 0.2]


def half_widths(study: shortlist.Study) -> np.ndarray:
    """By the formula that the report prints, made of the table and C alone."""
    procedure = study.procedure
    C = procedure.engine.threshold(study.model.posterior, study.round)
    table, sigma, x = study.table(), study.problem.sigma, np.asarray(study.problem.features)
    pulls = table["pulls"].to_numpy(float)
    white = np.eye(6) if procedure.setting.classical else x
    ridge = procedure.setting.regularization * np.eye(white.shape[1])
    V = (white.T * (pulls / study.problem.relative_noise)) @ white + ridge
    gram = white @ np.linalg.inv(V) @ white.T
    usual = C * sigma * np.sqrt(np.diag(gram))
    if not procedure.interval.formula.startswith("by the model"):
        return np.asarray(usual)
    told = np.array([(trial.arm, trial.value) for trial in study.trials])
    averages = np.bincount(told[:, 0].astype(int), told[:, 1]) / pulls
    stands_for = gram * pulls  # s of every arm, by rows
    off = np.abs(stands_for @ averages - estimated(table).to_numpy())
    bias = 0.02 * np.abs(stands_for - np.eye(6)).sum(axis=1)
    return np.asarray(np.minimum(usual + bias + off, C * sigma / np.sqrt(pulls)))


@pytest.mark.parametrize(
    ("given", "formula"),
    [
        ({"algorithm": "LUCB"}, "μ̂ ± Cσ/√N"),
        ({"algorithm": "LUCB", "threshold": "heuristic", "sigma": EACH}, "μ̂ ± Cσ/√N"),
        ({**FEATURES, "threshold": "self_normalized"}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
        ({**FEATURES, "threshold": "self_normalized", "sigma": EACH}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
        ({**FEATURES, "threshold": "frequentist", "S": 2.0}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
        ({"features": X, "budget": 150}, "μ̂ ± Cσ√(xᵀV⁻¹x)"),
    ],
    ids=str,
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
    np.testing.assert_allclose(shown, half_widths(study), rtol=1e-6)


@pytest.mark.parametrize("C", [-1.0, 0.0, np.nan, np.ones(3), "soon"])
def test_a_threshold_of_ones_own_is_above_zero_and_one_number_for_each_run(C: Any) -> None:
    def mine(t: int, log_det: Any, known: Known) -> Any:
        return C

    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    algorithm = shortlist.GIFA(threshold=mine, name="mine")
    with pytest.raises(shortlist.errors.InvalidSetting, match="threshold rule 'mine' must return"):
        shortlist.compare(algorithm, instance, runs=2, progress=False)
