"""Guess-and-verify: right at the promised rate, by named sets, by the fall-back, and for 10⁴ arms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

import shortlist
from error_rates import shown_below
from shortlist.arrays import Mask, Reals
from shortlist.catalog.registry import find_algorithm
from shortlist.errors import InvalidSetting
from shortlist.plans import guess_and_verify
from shortlist.plans.evidence import (
    ByEstimates,
    PairEvidence,
    one_sided_level,
    squared_threshold,
)
from shortlist.plans.guess_and_verify import GuessAndVerify, vote
from shortlist.plans.means import OwnMeans
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.problem import Problem
from shortlist.rules.thresholds import mixture_threshold

IMPROBABLE = 1e-4
SIGMA = 0.5


def played(
    strategy: GuessAndVerify, means: Reals, rng: np.random.Generator, most: int, noise: Any = None
) -> bool:
    """Whether the strategy stopped within so many pulls."""
    made, epsilon = 0, strategy._problem.epsilon
    while made < most:
        pulls = strategy.plan
        if noise is None:
            sums = pulls * means + SIGMA * np.sqrt(pulls) * rng.standard_normal(len(means))
        else:
            sums = np.array([noise(n, mu) for n, mu in zip(pulls, means, strict=True)])
        made += int(pulls.sum())
        strategy.decide(PlanResults(pulls, sums), 0)
        if strategy.statistic <= epsilon:
            return True
    return False


def wrong(inside: Mask, means: Reals, epsilon: float = 0.0) -> bool:
    m = int(inside.sum())
    return bool(means[inside].min() < np.sort(means)[-m] - epsilon)


@pytest.mark.parametrize("prior", [0.0, 5.0])
def test_the_test_of_a_pair_without_a_gap_passes_as_rarely_as_promised(prior: float) -> None:
    rng, paths = np.random.default_rng(1), 20_000
    evidence = PairEvidence.none(np.zeros(1, np.int64), np.full((1, paths), prior))
    for look in range(200):
        length = np.full((1, paths), 1.05**look)
        if look:  # look often where it is near to passing
            near = evidence.scores > np.sqrt(evidence.information)
            length = np.where(near, 0.05 * length, 2.0 * length)
        gaps = rng.standard_normal((1, paths)) / np.sqrt(length)
        evidence = evidence.add(gaps, length, 1.0)
    for risk in (0.05, 0.3, 0.8):
        passed = int((evidence.largest >= -math.log(risk)).sum())
        assert binom.sf(passed - 1, paths, risk) > IMPROBABLE
        assert passed > 0.4 * risk * paths  # the test has power: it is no empty promise


def test_what_is_shown_as_the_threshold_is_enough_for_the_test() -> None:
    for risk in (0.001, 0.03, 0.3, 0.48, 0.9):
        for growth in (0.5, 1.0, 6.0, 200.0):
            squared = squared_threshold(-math.log(risk), growth)
            scores = np.array([math.sqrt(squared * growth)])
            evidence = PairEvidence.none(np.zeros(1, np.int64), np.ones(1)).add(
                scores / growth, np.full(1, growth), 1.0
            )
            assert evidence.largest[0] >= -math.log(risk) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("shares", [(0.8, 0.12, 0.04), (1.0,), (0.4, 0.3, 0.3), ()])
def test_near_ties_are_answered_wrong_as_rarely_as_promised(
    delta: float, shares: tuple[float, ...]
) -> None:
    means = np.array([0.0, -1e-9, -1.0])

    def errors_in(runs: int, seed: int) -> int:
        errors = 0
        for run in range(runs):
            problem = ReducedProblem(np.eye(3), 1, SIGMA, delta, 0.0)
            strategy = GuessAndVerify(problem, shares)
            stopped = played(strategy, means, np.random.default_rng([seed, run]), 1500)
            errors += stopped and wrong(strategy.inside, means)
        return errors

    shown_below(delta, errors_in, confidence=0.8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rademacher", "coin", "skewed"])
def test_noise_that_is_not_normal_is_covered(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The wrong set is named on purpose, at once and with all of δ.
    bad = np.array([False, True, False])
    monkeypatch.setattr(ReducedProblem, "best_of", lambda problem, means: bad)
    everything = {np.packbits(bad).tobytes(): 1.0}
    monkeypatch.setattr(guess_and_verify, "vote", lambda *_: everything)
    monkeypatch.setattr(guess_and_verify, "LIKELY", 0.0)
    rng = np.random.default_rng(0)
    low = {"rademacher": -0.5, "coin": 0.0, "skewed": 0.0}[kind]
    at = {"rademacher": 0.0, "coin": 0.5, "skewed": 0.1}[kind]
    means, delta, runs, errors = at + np.array([1e-9, 0.0, -0.05]), 0.3, 60, 0
    for _ in range(runs):
        strategy = GuessAndVerify(ReducedProblem(np.eye(3), 1, SIGMA, delta, 0.0), (1.0,))
        errors += played(
            strategy,
            means,
            rng,
            2000,
            lambda n, mu: float(n * low + rng.binomial(n, min(max(mu - low, 0.0), 1.0))),
        )
    assert binom.sf(errors - 1, runs, delta) > IMPROBABLE


def test_the_level_of_a_one_sided_mixture_is_that_of_its_integral() -> None:
    for risk in (1e-6, 1e-3, 0.05, 0.3, 0.7):
        for ratio in (0.01, 1.0, 30.0, 1e4):
            C = float(mixture_threshold(one_sided_level(risk), ratio))
            # In units with σ²ρ = 1: Q = ratio, M = C√Q, λ half-normal of variance 1.
            Q, M = ratio, C * np.sqrt(ratio)
            width = 1.0 / np.sqrt(1.0 + Q)
            peak = M / (1.0 + Q)
            value, _ = quad(
                lambda x, M=M, Q=Q: 2.0 * norm.pdf(x) * np.exp(x * M - x * x * Q / 2.0),
                max(0.0, peak - 30.0 * width),
                peak + 30.0 * width,
                points=[max(0.0, peak)],
                limit=200,
            )
            assert 1.0 / risk <= value * (1.0 + 1e-9)
            assert value <= 2.0 / risk
            if risk < 0.1:  # then next to nothing is given away
                assert value <= 1.07 / risk


@pytest.mark.slow
def test_a_sigma_for_every_arm_saves_evaluations() -> None:
    means, sigma = np.linspace(2.5, 0.0, 8), np.where(np.arange(8) % 2, 0.05, 1.0)
    counts = {}
    for name, given in (("by arm", sigma), ("largest", 1.0)):
        study = shortlist.Study(
            arms=[f"a{k}" for k in range(8)], m=2, sigma=given, seed=0, algorithm="Guess-and-verify"
        )
        rng = np.random.default_rng(3)
        study.run(
            lambda t, rng=rng: means[t.arm] + sigma[t.arm] * rng.standard_normal(), progress=False
        )
        counts[name] = study.evaluations
        assert set(study.shortlist.names) == {"a0", "a1"}
    assert counts["by arm"] < 0.8 * counts["largest"]


def test_slack_makes_nearly_equal_arms_cheap() -> None:
    means = np.array([0.5, 0.5 - 1e-6, 0.0, -0.5])
    problem = ReducedProblem(np.eye(4), 1, SIGMA, 0.05, 0.2)
    strategy = GuessAndVerify(problem)
    assert played(strategy, means, np.random.default_rng(0), 5000)
    assert not wrong(strategy.inside, means, 0.2)


def test_named_arms_are_kept_while_they_seem_cheaper_to_verify() -> None:
    problem = ReducedProblem(np.eye(6), 2, SIGMA, delta=0.05, epsilon=0.5)
    strategy = GuessAndVerify(problem)
    means = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])  # any two of the first three are right
    while not strategy._tables.namings:
        strategy.decide(PlanResults.at(strategy.plan, means), 0)
    named = np.flatnonzero(strategy.inside).tolist()
    other = next(arm for arm in range(3) if arm not in named)
    strategy.decide(PlanResults.at(strategy.plan, means - 0.1), 0)
    drift = strategy.plan * means
    drift[other] += 0.05 * strategy.plan[other]  # now of largest mean, by a little
    strategy.decide(PlanResults(strategy.plan, drift), 0)
    assert np.flatnonzero(strategy.inside).tolist() == named
    assert strategy._whole is not None
    assert strategy._whole.means[other] > strategy._whole.means[named].min()


def test_a_named_set_is_given_up_when_it_seems_wrong() -> None:
    problem = ReducedProblem(np.eye(6), 2, SIGMA, delta=0.05, epsilon=0.1)
    strategy = GuessAndVerify(problem)
    first = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    while not strategy._tables.namings:
        strategy.decide(PlanResults.at(strategy.plan, first), 0)
    later = np.array([-1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    for _ in range(40):
        strategy.decide(PlanResults.at(strategy.plan, later), 0)
        if strategy.statistic <= problem.epsilon:
            break
    assert np.flatnonzero(strategy.inside).tolist() == [1, 2]


@pytest.mark.parametrize("sigma", [0.5, [0.5, 0.1, 0.5, 0.5, 0.2, 0.5]])
def test_shown_means_are_the_averages_of_all_results(sigma: Any) -> None:
    study = shortlist.Study(arms=range(6), m=2, sigma=sigma, seed=0)
    rng, seen = np.random.default_rng(0), {arm: [] for arm in range(6)}
    for _ in range(75):
        trial = study.ask()
        seen[trial.arm].append(trial.arm + 0.1 * rng.standard_normal())
        study.tell(trial, seen[trial.arm][-1])
        if study.done:
            break
    averages = [np.mean(values) for values in seen.values()]
    assert study.table()["mean"].tolist() == pytest.approx(averages)


def test_votes_are_shares_and_the_guess_is_right_within_the_slack() -> None:
    problem = ReducedProblem(np.eye(3), 1, 1.0, 0.05, 0.0)
    fit = OwnMeans(problem).fit(PlanResults(np.full(3, 4), np.array([4.0, 3.0, -8.0])))
    inside = np.array([True, False, False])
    rng = np.random.default_rng(0)
    votes = vote(fit, inside, problem, rng)
    assert math.isclose(sum(votes.values()), 1.0)
    key = np.packbits(inside).tobytes()
    assert 0.5 < votes[key] < 0.8
    assert vote(fit, inside, problem._replace(epsilon=3.0), rng)[key] > 0.98


def test_many_arms_have_rows_only_for_those_that_may_be_best() -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((2000, 6))
    means = features @ rng.standard_normal(6)
    strategy = GuessAndVerify(ReducedProblem(features, 5, SIGMA, 0.05, 0.0))
    assert played(strategy, means, np.random.default_rng(0), 10**6)
    assert not wrong(strategy.inside, means)
    assert len(strategy._tables.rows) < 100
    gap, lower, upper = strategy.differences(strategy.c)
    assert (lower <= gap).all()
    assert (gap <= upper).all()
    assert np.isfinite(upper[strategy.inside]).all()


def test_every_pair_of_a_stopped_study_has_a_finite_bound() -> None:
    means = np.linspace(10.0, 0.0, 40)  # most arms are out before the sets are named
    strategy = GuessAndVerify(ReducedProblem(np.eye(40), 3, SIGMA, 0.05, 0.2))
    assert played(strategy, means, np.random.default_rng(0), 10**5)
    gap, lower, upper = strategy.differences(strategy.b)
    assert np.isfinite([lower, upper]).all()
    far = np.arange(40) > 20
    assert upper[far].max() < upper[strategy.c]
    np.testing.assert_allclose(gap[far], means[far] - means[strategy.b], atol=4 * SIGMA)


def test_a_pair_that_passed_once_is_shown_as_passed() -> None:
    means = np.array([0.5, 0.3, 0.2, 0.0])
    strategy = GuessAndVerify(ReducedProblem(np.eye(4), 2, SIGMA, 0.05, 0.0))
    assert not played(strategy, means, np.random.default_rng(0), 200)
    b, c, inside = strategy.b, strategy.c, strategy.inside
    assert strategy.differences(b)[2][c] > 0.0 > strategy.differences(c)[1][b]
    past = strategy._tables.fall_back
    passed = replace(past, largest=np.full_like(past.largest, 100.0))  # earlier, by other results
    strategy._tables = replace(strategy._tables, fall_back=passed)
    gap, lower, upper = strategy.differences(b)
    assert gap[c] <= 0.0
    assert (upper[~inside] <= 0.0).all()
    assert (lower <= gap).all()
    assert (strategy.differences(c)[1][inside] >= 0.0).all()
    assert upper[inside].max() > 0.0  # nobody tested two arms of the guess


def test_rows_on_demand_give_the_same_proof_as_rows_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    means = np.linspace(1.0, 0.0, 12)
    monkeypatch.setattr(ByEstimates, "most_rows", 4)
    strategy = GuessAndVerify(ReducedProblem(np.eye(12), 3, SIGMA, 0.05, 0.0))
    assert played(strategy, means, np.random.default_rng(0), 10**5)
    assert not wrong(strategy.inside, means)


@pytest.mark.parametrize("shares", [(0.6, 0.6), (0.5, 0.0), (-0.1,)])
def test_shares_that_would_spend_more_than_delta_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(InvalidSetting, match="add up to 1 at most"):
        GuessAndVerify(ReducedProblem(np.eye(3), 1, 1.0, 0.05, 0.0), shares)


def test_where_nothing_is_left_of_delta_nothing_passes_or_is_bounded() -> None:
    strategy = GuessAndVerify(ReducedProblem(np.eye(3), 1, SIGMA, 0.05, 0.0))
    strategy._shares = ()
    strategy._tables = strategy._with_last_resort(strategy._tables)
    assert not played(strategy, np.array([0.0, 5.0, 1.0]), np.random.default_rng(0), 200)
    assert strategy.certified(0.0).epsilon == math.inf
    assert strategy.statistic == math.inf
    assert np.isposinf(strategy.differences(1)[2][[0, 2]]).all()


def test_the_guarantee_names_what_is_assumed() -> None:
    features = np.random.default_rng(0).standard_normal((9, 3))
    problem = Problem.of(features, 2, sigma=0.5)
    linear = find_algorithm("Guess-and-verify").bind(problem)
    own = find_algorithm("Guess-and-verify (own results)").bind(problem)
    assert linear.proven
    assert "linear in the features" in linear.claim.text
    assert own.proven
    assert "linear" not in own.claim.text
    with pytest.raises(InvalidSetting, match="uses its own bound"):
        find_algorithm("Guess-and-verify").bind(problem, "frequentist")
