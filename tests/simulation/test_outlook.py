"""What a study will take; tests/cli/test_new.py reads the same from the command line."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest

import shortlist
from by_plans import run_by_plans
from shortlist.errors import InvalidInput, InvalidSetting, UnknownName
from shortlist.simulation import outlook
from shortlist.simulation.outlook import Outlook, look_ahead

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9]])
NAMES = ("a", "b", "c", "d")


@pytest.fixture
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook, "RUNS", 5)


def begun(**settings: object) -> shortlist.Study:
    return shortlist.Study(X, m=1, arms=NAMES, seed=0, **settings)  # type: ignore[arg-type]


def test_without_a_pilot_nothing_is_known_but_the_initial_pulls() -> None:
    study = begun(sigma=0.3)
    initial = study.procedure.engine.setup.initial
    assert look_ahead(study, None, {}) == Outlook(len(initial), len(set(initial.tolist())))


def test_the_misfit_is_the_distance_of_the_pilot_from_linear_means() -> None:
    theta = np.array([0.8, 0.1])
    pilot = dict(zip(NAMES, (X @ theta).tolist(), strict=True))
    study = begun(sigma=0.3, epsilon=0.2)
    linear = look_ahead(study, pilot, {"algorithm": "LUCB"})
    assert linear.misfit == pytest.approx(0.0, abs=1e-12)
    assert linear.lower_bound is not None
    assert linear.forecast is not None
    pilot["c"] += 0.1
    bent = look_ahead(study, pilot, {"algorithm": "LUCB"})
    assert bent.misfit is not None
    assert 0.01 < bent.misfit < 0.1


def test_a_pilot_must_name_arms_of_the_study_and_span_its_features() -> None:
    study = begun(sigma=0.3)
    with pytest.raises(UnknownName, match="unknown arm 'z'"):
        look_ahead(study, {"z": 1.0}, {})
    with pytest.raises(InvalidInput, match="give means of more arms"):
        look_ahead(study, {"a": 1.0}, {})


def test_sigma_that_is_to_be_estimated_leaves_no_bound() -> None:
    outlook = look_ahead(begun(sigma="estimate"), {"a": 1.0, "b": 0.0}, {})
    assert outlook.lower_bound is None
    assert outlook.why_no_bound == "σ is not known"


def test_a_forecast_is_what_a_study_takes() -> None:
    features = np.random.default_rng(0).normal(size=(12, 3))
    means = features @ [1.0, 0.5, 0.0]
    settings = {"m": 2, "sigma": 0.3, "epsilon": 0.1}
    expected = shortlist.forecast(features, means=means, **settings)
    took = []
    for seed in range(5):
        study = shortlist.Study(features, seed=seed, audit=False, **settings)
        noise = np.random.default_rng(seed)
        draw = lambda trial, noise=noise: means[trial.arm] + 0.3 * noise.standard_normal()  # noqa: E731
        took.append(run_by_plans(study, draw).evaluations)
    assert expected.low / 3 <= np.median(took) <= 3 * expected.high
    by_name = dict(enumerate(means.tolist()))
    assert shortlist.forecast(features, means=by_name, **settings).runs > 0


@pytest.mark.parametrize(
    "given",
    [
        {"m": 2, "sigma": 0.5, "epsilon": 0.05, "spread": 0.3},
        {"m": 2, "sigma": 0.5, "epsilon": 0.05, "spread": 0.3, "algorithm": "LUCB"},
        {"m": 2, "sigma": "bounded", "reward_range": (0, 1), "epsilon": 0.1, "spread": 0.4},
    ],
)
@pytest.mark.usefixtures("few_runs")
def test_a_forecast_is_the_same_however_fast_the_machine_is(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_machine(seconds: float) -> str:
        clock = itertools.count()
        with monkeypatch.context() as changed:
            for each in ("time", "monotonic", "perf_counter", "process_time"):
                changed.setattr(time, each, lambda: seconds * next(clock))
            return str(shortlist.forecast(arms=range(6), **given))

    assert on_a_machine(1e-6) == on_a_machine(60.0)


@pytest.mark.usefixtures("few_runs")
def test_errors_with_a_budget_are_counted_however_fast_the_machine_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outlook, "ERROR_RUNS", 20)

    def on_a_machine(seconds: float) -> Any:
        clock = itertools.count()
        with monkeypatch.context() as changed:
            changed.setattr(time, "monotonic", lambda: seconds * next(clock))
            study = shortlist.Study(X, m=1, arms=NAMES, seed=0, sigma=0.3, budget=10)
            pilot = dict(zip(NAMES, (0.8, 0.1, 0.62, 0.25), strict=True))
            return look_ahead(study, pilot, {}).errors

    fast, busy = on_a_machine(1e-6), on_a_machine(60.0)
    assert fast == busy
    assert fast.runs == 20


@pytest.mark.usefixtures("few_runs")
def test_a_larger_spread_takes_fewer_evaluations() -> None:
    near, far = (
        shortlist.forecast(arms=range(6), m=2, sigma=0.5, epsilon=0.05, spread=spread)
        for spread in (0.3, 3.0)
    )
    assert far.median < near.median
    assert "evaluations (" in str(near)


def test_a_forecast_needs_to_know_how_far_apart_the_means_are() -> None:
    for given in ({}, {"spread": 1.0, "means": [0.0, 1.0]}):
        with pytest.raises(InvalidSetting, match="give spread=…"):
            shortlist.forecast(arms=["a", "b"], sigma=1.0, **given)
    for given in ({"sigma": "estimate"}, {"sigma": 1.0, "budget": 20}):
        with pytest.raises(InvalidSetting, match="as a number, or sigma='bounded', and no budget"):
            shortlist.forecast(arms=["a", "b", "c"], spread=1.0, **given)
    with pytest.raises(InvalidSetting, match="Set epsilon > 0"):
        shortlist.forecast(arms=["a", "b"], sigma=1.0, means=[1.0, 1.0])


POOL = {"sigma": "bounded", "reward_range": (0.0, 1.0), "blocks": 60}


@pytest.mark.usefixtures("few_runs")
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_forecast_on_a_pool_is_compared_with_the_whole_pool(epsilon: float) -> None:
    expected = shortlist.forecast(arms=range(6), m=2, epsilon=epsilon, spread=0.2, **POOL)
    assert expected.whole == 360
    assert 0 < expected.low <= expected.median <= expected.high <= 360
    assert "Every arm on every block would be 360." in str(expected)
    assert "an end of the range" in str(expected)


@pytest.mark.usefixtures("few_runs")
def test_a_forecast_of_results_in_a_range_does_not_depend_on_the_unit() -> None:
    means, given = np.array([0.9, 0.8, 0.2, 0.1]), {"arms": range(4), "m": 2, "sigma": "bounded"}
    one = shortlist.forecast(means=means, reward_range=(0, 1), epsilon=0.1, **given)
    small = {"reward_range": (0, 100), "epsilon": 10.0, "direction": "minimize"}
    other = shortlist.forecast(means=100 * (1 - means), **small, **given)
    assert (one.low, one.median, one.high) == (other.low, other.median, other.high)
    with pytest.raises(InvalidSetting, match=r"standard deviation is 0\.5 at most"):
        shortlist.forecast(spread=2.0, reward_range=(0, 1), **given)


@pytest.mark.usefixtures("few_runs")
def test_a_lower_bound_for_normal_noise_is_not_claimed_of_results_in_a_range() -> None:
    study = shortlist.Study(arms=NAMES, m=1, epsilon=0.1, **POOL)
    ahead = look_ahead(study, {"a": 0.9, "b": 0.85, "c": 0.2, "d": 0.1}, {})
    assert ahead.lower_bound is None
    assert "may take fewer" in str(ahead.why_no_bound)
    assert ahead.forecast is not None
    assert ahead.forecast.high <= ahead.forecast.whole == 240
