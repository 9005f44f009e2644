"""Bets with features: right at the promised rate, and fast for results that vary little."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.plans.bets.linear import OF_AN_ARM, OF_LEAST_SQUARES, ByLinearBets, multiply
from shortlist.plans.bets.pooled import SLACK, SLACK_OF_EACH
from shortlist.plans.evidence import FittedPlan
from shortlist.plans.guess_and_verify import GuessAndVerify
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.4], [0.2, 0.7]])
RANGE = {"sigma": "bounded", "reward_range": (2.0, 4.0)}


def reduced(theta: list[float], delta: float) -> tuple[ReducedProblem, np.ndarray]:
    """A problem with results in [2, 4], no intercept among the features, and its means."""
    means = X @ np.array(theta)
    return ReducedProblem(X, 1, 1.0, delta, 0.0, np.ones(4), limits=(2.0, 4.0)), means


@pytest.mark.parametrize("theta", [[3.0, 3.0], [2.6, 2.6 + 1e-12]])
def test_evidence_on_equal_means_is_not_expected_to_grow(theta: list[float]) -> None:
    """Over all 512 outcomes of each of two plans of coins, after whatever happened before."""
    problem, means = reduced(theta, 0.3)
    told = np.repeat(np.arange(4), [4, 3, 1, 1])
    sides = np.array(list(product((0.0, 1.0), repeat=len(told))))
    chance = np.where(sides > 0.0, means[told] - 2.0, 4.0 - means[told]).prod(axis=1) / 2.0**9
    assert chance.sum() == pytest.approx(1.0)

    def planned(before: ByLinearBets, coins: np.ndarray) -> FittedPlan:
        results = PlanResults.of(4, told, 2.0 + 2.0 * coins)
        return FittedPlan(results, before.means.fit(results), None)

    verifier, had = ByLinearBets.linear(problem), 1.0
    first = planned(verifier, sides[211])
    verifier = verifier.after(first)  # named after the first plan, with what that showed
    best = np.array([True, False, False, False])
    evidence = verifier.evidence(np.array([0]), first.fit, best, 0.1, 0.1)
    for happened in (0b111101000, 0b010110101):
        fresh = replace(evidence, largest=np.full((1, 4), -np.inf))
        found = [fresh.after(planned(verifier, each), problem).largest[0, 1] for each in sides]
        assert np.std(found) > 0.05
        assert 0.5 * had < chance @ np.exp(found) <= had
        had, plan = math.exp(found[happened]), planned(verifier, sides[happened])
        evidence, verifier = fresh.after(plan, problem), verifier.after(plan)


@pytest.mark.parametrize("kappa", [-25.0, -24.3, 20.0])
def test_rounding_of_many_equal_results_stays_within_what_is_taken_off(kappa: float) -> None:
    count = 100_000
    found = []
    for told in (1, count):
        wealth, one = np.zeros((1, 1)), np.ones(1)
        values, where = np.full(told, 0.3), (np.array([0]), np.array([0, told]))
        contrast = np.array([[kappa]]), np.ones((1, 1)), one
        multiply(*contrast, *where, values, 0.5 * one, 0.01 * one, 1.0, wealth)
        found.append(Fraction(wealth[0, 0]))
    assert abs(found[1] - count * found[0]) < 0.01 * (SLACK + SLACK_OF_EACH * count)


def test_bets_are_made_only_for_arms_that_were_thought_to_be_among_the_best() -> None:
    rng = np.random.default_rng(3)
    features = np.column_stack([np.ones(40), rng.uniform(-1.0, 1.0, (40, 2))])
    means = features @ [0.5, 0.3, 0.1]
    strategy = GuessAndVerify(
        ReducedProblem(features, 3, 0.5, 0.05, 0.02, limits=(0.0, 1.0)), kind=ByLinearBets
    )
    while strategy.statistic > 0.02:
        arms = np.repeat(np.arange(40), strategy.plan)
        values = (rng.random(len(arms)) < means[arms]).astype(float)
        strategy.decide(PlanResults.of(40, arms, values), 0)
    assert means[strategy.inside].min() >= np.sort(means)[-3] - 0.02
    assert 3 <= len(strategy._tables.rows) < 30
    _, lower, upper = strategy.differences(int(np.argmin(means)))
    assert np.isfinite(lower[strategy.inside]).all()
    assert (lower <= means - means.min()).all()
    assert (means - means.min() <= upper).all()


def begun(direction: str, seed: int) -> shortlist.Study:
    rng = np.random.default_rng(seed)
    means = X @ [3.4, 2.6] if direction == "maximize" else 6.0 - X @ [3.4, 2.6]
    study = shortlist.Study(X, m=1, direction=direction, seed=seed, audit=False, **RANGE)

    def measure(trial: shortlist.Trial) -> float:
        return float(np.clip(means[trial.arm] + 0.3 * rng.uniform(-1.0, 1.0), 2.0, 4.0))

    study.run(measure, progress=False, max_evaluations=4000)
    return study


def test_a_study_with_features_stops_soon_and_says_what_it_assumes() -> None:
    study = begun("maximize", 3)
    assert study.procedure.name == "Guess-and-verify"
    assert study.done
    assert study.shortlist.names == [0]
    assert study.evaluations < 250  # with σ half the range, about 400
    guarantee = study.shortlist.guarantee.text
    assert (
        "provided the results lie in [2, 4] and the means are linear in the features" in guarantee
    )
    table = study.table()
    means = X @ [3.4, 2.6]
    assert (table["lower"] <= means).all()
    assert (table["upper"] >= means).all()
    assert (table["upper"] - table["lower"]).max() < 1.5
    again = study.history().frame["statistic"].iloc[-1]
    assert again <= 0.0


def test_an_arms_interval_is_what_the_printed_bets_do_not_refute() -> None:
    """Twenty results of each arm: λ, κ and the centres by hand."""
    problem, _ = reduced([3.0, 3.0], 0.3)
    values = np.random.default_rng(0).uniform(2.5, 3.5, 80)
    verifier = ByLinearBets.linear(problem)
    results = PlanResults.of(4, np.repeat(np.arange(4), 20), values)
    verifier = verifier.after(FittedPlan(results, verifier.means.fit(results), None))
    lower, upper = verifier.intervals()
    inverse = np.linalg.inv(20.0 * X.T @ X)
    for arm, x in enumerate(X):
        weights, v = np.repeat(X @ inverse @ x, 20), x @ inverse @ x
        for end, sign in ((lower[arm], 1.0), (upper[arm], -1.0)):
            assert 2.0 < end < 4.0
            total = 0.0
            for bet in sign * 2.0 * OF_AN_ARM:
                kappa = bet * weights / v
                size = np.abs(2.0 * kappa)  # over the range, where the variance is taken for ¼
                away = (np.sqrt(1.0 + size**2) - 1.0) / (2.0 * size)
                near = np.minimum(0.5 - away, 0.97 / size).clip(0.0, 1.0)
                c = 2.0 + 2.0 * np.where(kappa > 0.0, near, 1.0 - near)
                wealth = np.prod((1.0 + kappa * (values - c)) * np.exp(kappa * c))
                total += math.exp(-bet * end / v) * wealth
            assert total == pytest.approx(2.0 * len(OF_AN_ARM) / 0.3, rel=1e-4)
    features: dict[str, Any] = {"m": 1, "algorithm": "Guess-and-verify", **RANGE}
    meaning = shortlist.Study(X, **features).procedure.interval.meaning
    assert meaning.startswith(OF_LEAST_SQUARES)


def test_with_features_as_a_guide_and_after_verify_own_results_are_bet_on() -> None:
    study = begun("maximize", 3)
    study.verify()
    assert study.remaining().evaluations is not None
    rng = np.random.default_rng(0)
    means = X @ [3.4, 2.6]
    study.run(
        lambda trial: float(np.clip(means[trial.arm] + 0.3 * rng.uniform(-1.0, 1.0), 2.0, 4.0)),
        progress=False,
    )
    assert study.shortlist.guarantee.badge == "Proven"
    assert "σ is not used" in study.shortlist.guarantee.text
    guided = shortlist.Study(X, m=1, trust="guide", seed=0, **RANGE)
    guided.run(lambda trial: float(means[trial.arm]), progress=False)
    assert guided.shortlist.names == [0]
    assert guided.evaluations < 120
    assert "nothing is assumed about how the means depend" in guided.shortlist.guarantee.text
