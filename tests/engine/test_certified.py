"""What is certain before a stop: no algorithm says it too soon, and a larger ε stops at it."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import shortlist
from paths import ROOT
from shortlist.engine.certified import Certified
from shortlist.gifa.round import Round

MEANS = np.array([1.0, 0.9, 0.5, 0.49, 0.3, 0.1])
NAMES = ["ash", "elm", "fir", "oak", "pine", "yew"]
ALGORITHMS = [
    "Guess-and-verify (own results)",
    "Guess-and-verify",
    "LUCB",
    "UGapE",
    "LinGIFA",
]


@pytest.fixture(scope="module")
def attack() -> ModuleType:
    spec = importlib.util.spec_from_file_location("anytime", ROOT / "benchmarks" / "anytime.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def begin(algorithm: Any, **given: Any) -> shortlist.Study:
    return shortlist.Study(arms=NAMES, m=3, sigma=0.3, seed=1, algorithm=algorithm, **given)


def run(study: shortlist.Study, most: int) -> shortlist.Study:
    def measure(trial: shortlist.Trial) -> float:
        noise = np.random.default_rng(trial.seed).standard_normal()
        return float(MEANS[trial.arm] + 0.3 * noise)

    study.run(measure, max_evaluations=most, progress=False)
    return study


def test_pairs_that_passed_and_pairs_whose_bounds_hold_together() -> None:
    listed = np.array([True, True, False, False])
    passed = np.array([[True, True], [False, True]])
    settled = np.array([[True, False], [False, False]])
    found = Certified.by_pairs(listed, -0.1, passed, settled, settled)
    assert found.epsilon == 0.0
    assert not found.inside.any()
    assert not found.outside.any()
    assert found.open_inside.tolist() == [False, True, False, False]
    assert found.open_outside.tolist() == [False, False, True, False]


def test_at_the_stop_every_arm_is_certain() -> None:
    listed = np.array([True, True, False, False])
    nothing = np.zeros((2, 2), np.bool_)
    found = Certified.by_pairs(listed, 0.1, ~nothing, nothing, nothing)
    assert (found.inside | found.outside).all()
    assert not (found.open_inside | found.open_outside).any()
    by_statistic = Certified.by_bounds(listed, np.full((2, 2), 3.0), 0.1, 0.05)
    assert by_statistic.epsilon == 0.05
    assert by_statistic.inside.sum() == 2
    assert not by_statistic.outside.any()


@pytest.mark.filterwarnings("ignore:epsilon=1 is larger")
def test_a_list_that_is_right_may_miss_a_better_arm() -> None:
    """Means 1.2, 0, 0 and -3: the list of both zeros is right up to 1, as the second best is 0."""
    names = ["best", "one", "other", "far"]
    study = shortlist.Study(arms=names, m=2, sigma=0.25, epsilon=1.0, seed=0, algorithm="UGapE")
    told = names[::-1], [-3.0, 0.0, 0.0, -0.5], [40, 40, 40, 1]
    for name, value, times in zip(*told, strict=True):
        for _ in range(times):
            study.tell(arm=name, value=value)
    now = study.shortlist.certain
    assert study.done
    assert now is not None
    assert set(now.inside) == {"one", "other"}
    assert now.undecided == ("best",)
    assert not now.open_outside
    assert "among the best" not in now.words


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: getattr(each, "name", each))
def test_the_least_slack_stops_and_a_little_less_does_not(algorithm: Any) -> None:
    study = run(begin(algorithm), 100)
    now = study.shortlist.certain
    assert not study.done
    assert now is not None
    assert now.epsilon is not None
    assert 0.0 < now.epsilon < 2.0
    assert study.statistic is not None
    assert now.epsilon >= min(study.statistic, 0.0)
    other = run(begin(algorithm), 100)
    other.widen(0.95 * now.epsilon)
    assert not other.done
    other.widen(now.epsilon)
    assert other.done
    assert other.shortlist.names == study.shortlist.names
    assert set(other.shortlist.certain.inside) == set(study.shortlist.names)  # type: ignore[union-attr]
    assert other.shortlist.evaluations == 100


def test_bounds_on_all_pairs_name_the_arms_that_are_certain() -> None:
    def evenly(now: Round) -> Any:
        return -now.pulls

    even = shortlist.GIFA(classical=True, threshold="self_normalized", selection=evenly)
    now = run(begin(even), 1500).shortlist.certain
    assert now is not None
    assert now.inside == ("ash", "elm")
    assert set(now.undecided) == {"fir", "oak"}
    [worst], [best] = now.open_inside, now.open_outside
    assert {worst, best} == {"fir", "oak"}
    assert "ash and elm are among the best" in now.words
    assert f"its worst arm is {worst}, and the best one that it lacks is {best}" in now.words
    assert now.to_dict()["undecided"] == now.undecided


def test_after_a_stop_it_may_be_smaller_than_asked() -> None:
    study = run(begin("LUCB", epsilon=0.4), 5000)
    assert study.done
    now = study.shortlist.certain
    assert now is not None
    assert now.epsilon is not None
    assert now.epsilon <= 0.4
    assert not study.shortlist.already


def test_nothing_is_certain_too_early_or_on_a_budget() -> None:
    assert begin("LUCB").shortlist.certain is None
    budget = shortlist.Study(arms=NAMES, m=3, sigma=0.3, seed=1, budget=60)
    assert run(budget, 60).shortlist.certain is None


@pytest.mark.parametrize("name", ["Guess-and-verify (own results)", "LUCB"])
def test_what_is_said_near_a_tie_is_hardly_ever_wrong(attack: ModuleType, name: str) -> None:
    """A short version of ``benchmarks/anytime.py``: at δ = 0.3, and far fewer than that."""
    case = attack.cases()[1]
    found = attack.attack(name, case, 0.3, runs=30, most=150)
    assert found["any"] <= 15  # with a rate of 0.3, more come once in a hundred such tests
    assert found["any"] >= max(found[kind] for kind in attack.KINDS)


def test_the_attack_sees_what_is_false(attack: ModuleType) -> None:
    case = attack.cases()[0]
    listed = np.array([False, True, False, False, False])
    shown = attack.wrong(case, listed, Certified.by_statistic(listed, 0.0, 0.01))
    assert shown == {"epsilon", "any"}
    shown = attack.wrong(case, listed, Certified.by_statistic(listed, 0.0, 0.0))
    assert shown == {"epsilon", "inside", "outside", "open", "any"}
    assert not attack.wrong(case, listed, Certified.by_statistic(listed, 0.0, 0.06))
