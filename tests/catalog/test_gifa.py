"""One contract that every algorithm of the catalog keeps, and what composing one allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import errors
from shortlist.arrays import Reals
from shortlist.catalog.gifa import TABLE_1, weakest_direction
from shortlist.catalog.registry import find_algorithm
from shortlist.gifa.round import Round
from shortlist.gifa.rules import Pairs
from shortlist.gifa.thresholds import THRESHOLDS, Known
from shortlist.linalg import span
from shortlist.problem import Problem
from shortlist.simulation.instances import Instance
from without_blocks import WITHOUT_BLOCKS

NAMES = WITHOUT_BLOCKS


def problem_for(name: str, **settings: Any) -> Problem:
    rng = np.random.default_rng(3)
    m = find_algorithm(name).only_m or 2
    features = rng.standard_normal((6, 3))
    return Problem.of(features, m, sigma=0.5, S=2.0, **settings)


def instance_for(name: str, sigma: float) -> Instance:
    """Normal rewards, or coins where the algorithm is for results in [0, 1]."""
    problem = problem_for(name)
    means = problem.features @ [1.0, -0.5, 0.3]
    settings: dict[str, Any] = {"m": problem.m, "sigma": sigma}
    if not find_algorithm(name).bind(problem).noise.uses_sigma:
        chances = (means - means.min()) / (means.max() - means.min())
        settings = {"m": problem.m, "sigma": 0.5, "noise": "bernoulli"}
        return shortlist.instances.from_arrays(problem.features, means=chances, **settings)
    return shortlist.instances.from_arrays(problem.features, theta=[1.0, -0.5, 0.3], **settings)


@pytest.mark.parametrize("name", NAMES)
class TestContract:
    def test_it_has_a_name_and_a_line(self, name: str) -> None:
        algorithm = find_algorithm(name)
        assert algorithm.name == name
        line = shortlist.algorithms(all=True)[name]
        assert 10 < len(line) < 120
        assert "\n" not in line

    def test_it_finds_the_best_and_stops(self, name: str) -> None:
        problem, instance = problem_for(name), instance_for(name, 0.05)
        results = shortlist.compare(name, instance, runs=20, progress=False, max_samples=200_000)
        assert results.frame["stopped"].all()
        assert results.frame["correct"].all()
        assert all(sum(row.pulls) == row.samples for row in results.frame.itertuples())
        assert all(len(row.recommendation) == problem.m for row in results.frame.itertuples())

    def test_it_says_whether_it_is_proven(self, name: str) -> None:
        procedure = find_algorithm(name).bind(problem_for(name))
        assert procedure.proven
        assert procedure.claim.text.startswith("Proven")

    @pytest.mark.slow
    def test_slack_stops_sooner(self, name: str) -> None:
        instance = instance_for(name, 6.0)
        runs = 4 if "GapE" in name or "GIFA" in name else 12  # of a wider spread
        exact, slack = (
            shortlist.compare(name, instance, runs, epsilon=e, progress=False).frame["samples"]
            for e in (0.0, 0.5)
        )
        assert slack.mean() < exact.mean()


def test_table_1_is_whole() -> None:
    rows = {row.algorithm: row for row in TABLE_1}
    assert set(rows) >= {"LUCB", "UGapE", "LinGapE", "m-LinGapE", "LinGIFA"}
    assert set(rows["m-LinGapE"].selections) == {"greedy", "optimized", "largest_variance"}
    composed = [name for name in NAMES if isinstance(find_algorithm(name), shortlist.GIFA)]
    every = 1 + sum(len(row.selections) for row in TABLE_1)  # and LinGame
    assert len(composed) == len(set(composed)) == every


def test_defaults_are_proven_thresholds() -> None:
    for row in TABLE_1:
        threshold = find_algorithm(row.algorithm).threshold
        assert threshold is THRESHOLDS["lucb1" if row.classical else "self_normalized"]


def proven(**rules: Any) -> bool:
    return shortlist.GIFA(**rules).bind(problem_for("m-LinGapE")).proven


def challenger(now: Round) -> Reals:
    return now.marked(now.c)


def first(now: Round) -> Reals:
    return -now.candidates


def narrow(pairs: Pairs) -> Reals:
    return np.asarray(pairs.mean_i - pairs.mean_j)


def three(t: int, log_det: Reals, known: Known) -> float:
    return 3.0


def test_own_rules_keep_or_lose_the_guarantee_as_theorem_1_says() -> None:
    def challenger(now: Round) -> Any:
        return now.marked(now.c)

    def largest_gap(now: Round) -> Any:  # own, though its name is known
        return now.outside_gaps

    def narrow(pairs: Pairs) -> Any:
        return pairs.mean_i - pairs.mean_j

    def three(t: int, log_det: Any, known: Known) -> float:
        return 3.0

    assert proven(selection=challenger)
    assert proven(candidates=own_means)
    assert proven(ambiguous=largest_gap, stopping="ugape")
    assert not proven(ambiguous=largest_gap, stopping="lucb")
    assert proven(ambiguous="mth_gap", stopping="lucb")
    assert not proven(indices=narrow)
    assert not proven(stopping=own_gap)
    assert not proven(threshold=three)
    assert not proven(threshold="lucb1")
    assert not proven(threshold="heuristic")
    assert not proven(stopping="lucb_lagged")
    assert not proven(threshold="self_normalized", regularization=0.5)
    assert proven(threshold="frequentist", initialization=None)


def own_means(now: Round) -> Any:
    return now.means


def own_gap(now: Round) -> Any:
    return now.gap


def test_without_features_the_weakest_direction_is_the_arm_pulled_least() -> None:
    initial = np.array([0, 1, 1, 2, 2])
    assert weakest_direction(np.eye(3), initial) == 1.0
    assert weakest_direction(np.eye(3), np.tile(initial, 2)) == 2.0
    assert weakest_direction(np.eye(3), np.array([0, 1, 1])) == 0.0
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert weakest_direction(turned, initial) == pytest.approx(1.0)


def test_span_pulls_as_many_arms_as_dimensions() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((50, 4))
    chosen = span(features)
    assert len(chosen) == len(set(chosen)) == 4
    assert weakest_direction(features, chosen) > 0.0
    assert weakest_direction(features, chosen[:3]) == 0.0
    assert weakest_direction(features, np.array([0, 0, 1, 2])) == 0.0
    each = shortlist.GIFA(initialization="each").bind(Problem.of(features, 3, sigma=1.0))
    assert each.engine.setup.initial.tolist() == list(range(50))
    problem = Problem.of(features, 3, sigma=1.0, S=1.0)
    algorithm = find_algorithm("m-LinGapE")
    assert len(algorithm.bind(problem).engine.setup.initial) == 4 * 10
    assert len(algorithm.bind(problem, "frequentist").engine.setup.initial) == 4
    assert len(find_algorithm("LUCB").bind(problem).engine.setup.initial) == 50


def test_auto_takes_the_least_demanding_of_the_proven_thresholds() -> None:
    def chosen(problem: Problem, **settings: Any) -> str:
        procedure = shortlist.GIFA(threshold="auto", **settings).bind(problem)
        assert procedure.proven
        return procedure.threshold.name

    linear = Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0)
    assert chosen(linear) == "self_normalized"
    few = Problem.of(arms=list("abcd"), m=2, sigma=1.0)
    assert chosen(few) == "self_normalized"
    assert chosen(few, indices="individual") in ("self_normalized", "lucb1")
    spared = Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0, S=2.0)
    assert chosen(spared, initialization=None) == "frequentist"
    with pytest.raises(errors.InvalidSetting, match="no threshold that is proven"):
        shortlist.GIFA(threshold="auto", initialization=None).bind(linear)


CLASSICAL = [
    name
    for name in NAMES
    if isinstance(algorithm := find_algorithm(name), shortlist.GIFA)
    and algorithm.classical
    and algorithm.regularization is None
]


@pytest.mark.parametrize("name", CLASSICAL)
def test_a_bound_on_theta_is_none_on_the_means_of_arms_whose_features_are_not_used(
    name: str,
) -> None:
    algorithm = find_algorithm(name)
    features = [[1000.0, 0.0], [1000.0, 1.0], [1000.0, -1.0]]  # ‖θ‖ = 1.1 and ‖μ‖ = 1732
    with_S = [each for each, threshold in THRESHOLDS.items() if threshold.needs_S]
    assert with_S == ["frequentist"]
    for S in (0.01, 1.2, 100.0):
        problem = Problem.of(features, 1, sigma=1.0, S=S)
        assert not THRESHOLDS[algorithm.bind(problem, "auto").threshold.name].needs_S
        alone = Problem.of(arms=["a", "b", "c"], m=1, sigma=1.0, S=S)  # there θ are the means
        for threshold in with_S:
            procedure = algorithm.bind(problem, threshold)
            assert not procedure.proven
            assert "S bounds ‖θ‖ for the features" in procedure.claim.text
            reasons = algorithm.bind(alone, threshold).claim.why_heuristic
            assert not any("S bounds" in reason for reason in reasons)
    assert find_algorithm("LUCB").bind(alone, "frequentist").proven


def test_how_often_arms_are_pulled_first_is_what_the_documents_say() -> None:
    few = Problem.of(np.random.default_rng(0).standard_normal((8, 2)), 1, sigma=1.0)
    many = Problem.of(np.random.default_rng(0).standard_normal((9, 2)), 1, sigma=1.0)
    times = {"self_normalized": 10, "heuristic": 1}
    for threshold, wanted in times.items():
        assert (
            shortlist.GIFA(threshold=threshold).bind(few).engine.setup.wanted.tolist()
            == [wanted] * 8
        )
        spanning = shortlist.GIFA(threshold=threshold).bind(many).engine.setup.wanted
        assert sorted(spanning.tolist()) == [0] * 7 + [wanted] * 2


def test_gaps_of_very_many_arms_are_warned_of() -> None:
    features = np.random.default_rng(0).standard_normal((10_001, 2))
    with pytest.warns(UserWarning, match=r"10,001 candidates .*algorithm='auto'"):
        shortlist.Study(features, 2, sigma=1.0, algorithm="LinGIFA", intercept=False, audit=False)
    assert find_algorithm("m-LinGapE").slow_on(Problem.of(features, 2, sigma=1.0)) == ""
