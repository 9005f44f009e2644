"""The checks that users may call: the package's own parts pass them, and faulty ones do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shortlist
from examples.race import Race
from shortlist.errors import DamagedStorage
from shortlist.gifa.rules import RULES, Rule
from shortlist.gifa.thresholds import THRESHOLDS
from shortlist.plans.question import Question
from shortlist.storage.base import ROW, Change
from shortlist.storage.sql import _Transaction
from shortlist.testing import check_algorithm, check_rule, check_storage, check_strategy

BUILTIN = [each for kind in RULES.values() for each in kind.values()]
BUILTIN += [each.rule for each in THRESHOLDS.values()]


@pytest.mark.slow
@pytest.mark.parametrize("rule", BUILTIN, ids=lambda each: f"{each.kind} {each.name}")
def test_a_rule_of_the_package_passes(rule: Rule) -> None:
    check_rule(rule)


# One of each kind. That all of them stop, are right and repeat themselves: tests/catalog/test_gifa.py
# and test_engine.py in tests/plans.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["LUCB", "LinGapE", "LinGIFA", "LinGame", "Guess-and-verify"])
def test_an_algorithm_of_the_package_passes(name: str) -> None:
    check_algorithm(name, runs=20)


def test_a_storage_passes(new_storage: Callable[[], str]) -> None:
    check_storage(new_storage(), workers=3, results=8)


# --- faults that must be found


def first_arm(now):  # type: ignore[no-untyped-def]
    return now.candidates[:, 0]


def nothing(now):  # type: ignore[no-untyped-def]
    now.means.argmax()


def writes(now):  # type: ignore[no-untyped-def]
    now.variances[:, 0] = 0.0
    return now.variances


def undefined(now):  # type: ignore[no-untyped-def]
    return np.where(now.in_pair, np.nan, 1.0)


def across_runs(now):  # type: ignore[no-untyped-def]
    return now.means - now.means.mean()


def of_others(pairs):  # type: ignore[no-untyped-def]
    return pairs.mean_i - pairs.mean_j.max() + pairs.scale * pairs.distance


def infinite(now):  # type: ignore[no-untyped-def]
    return np.inf


def negative(t, log_det, known):  # type: ignore[no-untyped-def]
    return -1.0


def by_numpy(now):  # type: ignore[no-untyped-def]
    return np.random.random(now.means.shape)  # noqa: NPY002


@pytest.mark.parametrize(
    ("kind", "function", "words"),
    [
        ("ambiguous", first_arm, "must return a number for each candidate of each run"),
        ("candidates", nothing, "must return a number for each arm.*it returned None"),
        ("selection", writes, "must not write into what it is given"),
        ("selection", undefined, "it returned numbers that are not defined"),
        ("selection", across_runs, "the same answer alone and among others"),
        ("selection", by_numpy, "must depend on its arguments only"),
        ("indices", of_others, "the same answer alone and among others"),
        ("stopping", infinite, "must return numbers that are finite"),
        ("threshold", negative, "where C must be above 0"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_a_faulty_rule_fails(kind: str, function: Callable[..., Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_rule(shortlist.rule(kind)(function))


def in_turns() -> Rule:
    """A selection rule that remembers how often it was called."""
    calls: list[int] = []

    def alternating(now):  # type: ignore[no-untyped-def]
        calls.append(now.t)
        return now.marked((now.b, now.c)[len(calls) % 2])

    return shortlist.rule("selection")(alternating)


def test_a_rule_that_remembers_fails() -> None:
    rule = in_turns()
    with pytest.raises(AssertionError, match="must depend on its arguments only"):
        check_rule(rule)


class WritesIntoCopies(Race):
    def decide(self, arms: Any, values: Any, seed: int) -> None:
        shared = self.inside
        super().decide(arms, values, seed)
        shared[:] = ~shared


class NeverStops(Race):
    def decide(self, arms: Any, values: Any, seed: int) -> None:
        super().decide(arms, values, seed)
        self.statistic = 1.0


class ForgetsAnArm(Race):
    def __init__(self, task: Question) -> None:
        super().__init__(task)
        self.plan = np.array([1, 0, 0, 0, 0, 0])


class Undecided(Race):
    def decide(self, arms: Any, values: Any, seed: int) -> None:
        super().decide(arms, values, seed)
        self.inside = np.zeros_like(self.inside)


class Drawn(Race):
    def decide(self, arms: Any, values: Any, seed: int) -> None:
        drawn = np.random.default_rng().standard_normal(len(values))
        super().decide(arms, values + drawn, seed)


class WrongWay(Race):
    def decide(self, arms: Any, values: Any, seed: int) -> None:
        super().decide(arms, -values, seed)


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (WritesIntoCopies, "a copy must be independent"),
        (NeverStops, "must stop when the results leave no doubt"),
        (ForgetsAnArm, "must span the 4 dimensions"),
        (Undecided, "must mark m = 2 arms"),
        (Drawn, "must depend on its results only"),
        (WrongWay, "arms 0 and 1 are best"),
    ],
)
def test_a_faulty_strategy_fails(strategy: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_strategy(strategy)


def test_an_algorithm_that_is_often_wrong_fails() -> None:
    @shortlist.rule("threshold")
    def far_too_narrow(t, log_det, known):  # type: ignore[no-untyped-def]
        return 1e-6

    hasty = shortlist.GIFA(threshold=far_too_narrow, initialization="each", name="hasty")
    check = shortlist.testing._check_error_rate
    noisy = shortlist.instances.random(K=8, N=3, m=2, seed=1, sigma=3.0)
    with pytest.raises(AssertionError, match="must be wrong in at most 10%"):
        check(hasty, noisy, 200, 0)


def test_an_algorithm_that_does_not_repeat_itself_fails() -> None:
    rule = in_turns()
    with pytest.raises(AssertionError, match="must ask for the same arms"):
        check_algorithm(shortlist.GIFA(selection=rule, name="in turns"), runs=2)


def test_a_storage_that_loses_results_fails(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, value = _Transaction.commit, ROW.index("value")

    def careless(self: Any, change: Change) -> None:
        rows = [
            [
                round(field, 3) if place == value and field else field
                for place, field in enumerate(row)
            ]
            for row in change.altered
        ]
        keep(self, change._replace(altered=rows))

    monkeypatch.setattr(_Transaction, "commit", careless)
    with pytest.raises((AssertionError, DamagedStorage)):
        check_storage(str(tmp_path / "studies.db"), workers=2, results=3)
