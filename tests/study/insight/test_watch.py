"""What a study says by itself while it goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.errors import GuaranteeInDoubt, LikelyTie, LinearityRejected
from shortlist.study.insight.watch import FIRST, Watch, likely_tie

MEANS = [0.9, 0.6, 0.4, 0.1]


def said(study: shortlist.Study, measure: Callable[[Any], float], most: int) -> list[Warning]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.run(measure, max_evaluations=most, progress=False)
    return [each.message for each in caught]  # type: ignore[misc]


def measured(means: list[float], sigma: float, seed: int = 0) -> Callable[[Any], float]:
    noise = np.random.default_rng(seed)
    return lambda trial: float(means[trial.arm] + sigma * noise.standard_normal())


def test_a_finding_is_said_early() -> None:
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.05, epsilon=0.01, seed=0)
    noise = np.random.default_rng(1)
    caught: list[Any] = []
    while not study.done and study.evaluations < 300:
        with warnings.catch_warnings(record=True) as new:
            warnings.simplefilter("always")
            trial = study.ask()
            study.tell(trial, MEANS[trial.arm] + 0.5 * noise.standard_normal())
        caught += [(study.evaluations, each.message) for each in new]
    [(when, message)] = [each for each in caught if "σ is too small" in str(each[1])]
    assert isinstance(message, GuaranteeInDoubt)
    assert when <= FIRST
    assert "study.continued(sigma=" in str(message)


def test_a_doubt_that_stands_is_said_again_and_at_the_stop() -> None:
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.1, epsilon=0.001, seed=0)
    noise = np.random.default_rng(1)
    said_at: list[int] = []
    while not study.done and study.evaluations < 400:
        with warnings.catch_warnings(record=True) as new:
            warnings.simplefilter("always")
            study.tell_many((t, 0.5 + 0.3 * noise.standard_normal()) for t in study.ask(8))
        said_at += [study.evaluations for each in new if "σ is too small" in str(each.message)]
    assert said_at[0] <= FIRST + 8
    assert len(said_at) == len(set(said_at)) > 1
    if study.done:
        assert said_at[-1] == study.evaluations


def test_two_equal_arms_are_said_to_be_alike_with_a_slack_within_the_range_seen() -> None:
    means = [0.5, 0.5, 0.4, 0.1]
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.1, seed=0)
    [tie] = said(study, measured(means, 0.1), 4000)
    assert isinstance(tie, LikelyTie)
    assert "'a' (" in str(tie)
    assert "'b' (" in str(tie)
    found = study.remaining().tie
    assert found is not None
    assert found.epsilon is not None
    assert 0.0 < found.epsilon < 0.4
    assert found.short in study.remaining().short.split(" · ")[0]
    study.widen(found.epsilon)
    assert study.remaining().tie is None


def test_an_easy_study_says_nothing() -> None:
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.3, epsilon=0.01, seed=0)
    assert said(study, measured(MEANS, 0.3), 5000) == []
    assert study.done
    assert likely_tie(study) is None


def test_a_rejection_is_said_once_and_nothing_else_with_it() -> None:
    dose = np.linspace(0.0, 10.0, 30)
    study = shortlist.Study(dose[:, None], m=3, sigma=0.1, epsilon=0.02, seed=0)
    bell = np.exp(-((dose - 4.0) ** 2))
    noise = np.random.default_rng(0)
    found = said(study, lambda trial: bell[trial.arm] + 0.1 * noise.standard_normal(), 1000)
    assert [type(each) for each in found if isinstance(each, LinearityRejected)] == [
        LinearityRejected
    ]


def test_a_watch_looks_when_the_results_have_grown_by_half() -> None:
    watch = Watch()
    study = shortlist.Study(arms=list("ab"), m=1, sigma=1.0, epsilon=0.1, seed=0)
    assert watch.due == FIRST
    said(study, measured([0.0, 0.1], 1.0), FIRST)
    watch.news(study)
    assert watch.due == FIRST + FIRST // 2


@pytest.mark.parametrize("times", [1.0, 0.6])
def test_a_sigma_that_is_too_large_says_what_it_costs(times: float) -> None:
    study = shortlist.Study(arms=list("abcd"), m=1, sigma=0.5, epsilon=0.01, seed=0)
    said(study, measured(MEANS, 0.5 * times), 150)
    [found] = [each for each in study.health() if each.name == "noise"]
    assert found.level == ("fine" if times == 1.0 else "note")
    assert ("times the evaluations" in found.words) == (times < 1.0)


@pytest.mark.parametrize("arms", [2, 4])
def test_arms_that_are_all_equal_are_said_to_be_alike(arms: int) -> None:
    study = shortlist.Study(arms=range(arms), m=1, sigma=1.0, seed=0)
    [tie] = said(study, measured([0.5] * arms, 1.0), 2000)
    assert isinstance(tie, LikelyTie)
    assert "study.widen(epsilon=" in str(tie)
