"""Compiled rounds make the pulls of those in NumPy, to the last one."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

from shortlist.catalog.gifa import GIFA
from shortlist.engine.rewards import Coins, Normal, Recorded, Rewards
from shortlist.engine.seeds import run_seeds
from shortlist.gifa.engine import Engine
from shortlist.gifa.rules import RULES
from shortlist.problem import Problem

RUNS, MOST = 4, 150
NAMES = {kind: [name for name in rules if name != "tracking"] for kind, rules in RULES.items()}
COMPOSED: list[dict[str, Any]] = [
    dict(zip(NAMES, rules, strict=True)) for rules in product(*NAMES.values())
]
SETTINGS: list[dict[str, Any]] = [
    {"threshold": "self_normalized"},
    {"threshold": "frequentist", "initialization": None},
    {"threshold": "lucb1", "classical": True},
    {"threshold": "heuristic", "initialization": "span"},
    {"threshold": "self_normalized", "regularization": 0.3, "initialization": "each"},
    {"threshold": "frequentist", "classical": True, "initialization": "each"},
    {"threshold": "heuristic", "regularization": 0.5, "initialization": None},
    {"threshold": "self_normalized", "classical": True, "initialization": "each"},
    {"threshold": "lucb1", "regularization": 1e-9, "initialization": None},  # V is refreshed early
    {"threshold": "self_normalized", "initialization": "span"},
    {"threshold": "heuristic", "classical": True, "regularization": 0.2},
]
kernel = pytest.mark.skipif(
    find_spec("numba") is None, reason="Numba is not installed (extra fast)"
)


def problem(number: int) -> Problem:
    rng = np.random.default_rng(number)
    arms, rank, m = ((6, 3, 2), (5, 5, 1), (7, 4, 3), (4, 2, 2))[number % 4]
    features = rng.standard_normal((arms, rank))
    if number % 4 == 3:  # arms that tie
        features[1] = features[0]
    sigma = 0.5 if number % 3 else np.linspace(0.3, 0.6, arms)
    return Problem.of(
        features, m, sigma=sigma, S=2.0, epsilon=0.4 if number % 5 or number % 4 == 3 else 0.0
    )


def rewards(kind: int, number: int, arms: int) -> Rewards:
    rng = np.random.default_rng(number + 1)
    means = rng.uniform(0.1, 0.9, arms)
    if kind == 0:
        return Normal(2.0 * means, np.full(arms, 0.5))
    if kind == 1:
        return Coins(means.round(1))
    return Recorded(means + 0.3 * rng.standard_normal((9, arms)).round(1))


def engine_of(algorithm: GIFA, given: Problem) -> Engine:
    return cast(Engine, algorithm.bind(given).engine)


@kernel
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["normal", "coins", "recorded"])
@pytest.mark.parametrize("part", range(4))
def test_pulls_are_the_same(kind: int, part: int) -> None:
    """Every composition of rules, each with another threshold and problem for each kind of rewards."""
    stopped = 0
    for number in range(part, len(COMPOSED), 4):
        at = 5 * number + kind * 13
        algorithm = GIFA(**COMPOSED[number], **SETTINGS[at % len(SETTINGS)])
        given = problem(at)
        engine = engine_of(algorithm, given)
        told, seeds = rewards(kind, at, given.arms), run_seeds(number, RUNS)
        slow = engine.replicate(told, seeds, MOST, compiled=False)
        fast = engine.replicate(told, seeds, MOST, compiled=True)
        assert (slow.by, fast.by) == ("NumPy", "compiled")
        for name in ("pulls", "samples", "stopped", "recommended"):
            assert np.array_equal(getattr(slow, name), getattr(fast, name)), (algorithm, name)
        stopped += int(slow.stopped.sum())
    assert stopped > 0


@kernel
def test_one_run_is_the_same_among_others() -> None:
    engine = engine_of(GIFA(), problem(1))
    told, seeds = rewards(0, 1, 5), run_seeds(3, 5)
    one = engine.replicate(told, seeds[2:3], MOST, compiled=True)
    slow = engine.replicate(told, seeds[2:3], MOST, compiled=False)
    many = engine.replicate(told, seeds, MOST, compiled=True)
    assert np.array_equal(one.pulls, slow.pulls)
    assert np.array_equal(one.pulls[0], many.pulls[2])


@kernel
def test_a_rule_of_ones_own_is_left_to_numpy() -> None:
    engine = GIFA(selection=lambda now: now.marked(now.c)).bind(problem(1)).engine
    found = engine.replicate(rewards(0, 1, 5), run_seeds(0, 2), MOST)
    assert found.by == "NumPy"
