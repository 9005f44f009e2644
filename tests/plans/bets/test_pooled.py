"""Bets on results in a range: right at the promised rate near ties, certified, and fast for small variances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import shortlist
from shortlist.arrays import Reals
from shortlist.plans.bets import pooled as bets
from shortlist.plans.bets.pooled import TILTS, ByBets, Wealths
from shortlist.plans.guess_and_verify import GuessAndVerify
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem

IMPROBABLE = 1e-4


def coins(mean: float, shape: Any, rng: np.random.Generator) -> Reals:
    return (rng.random(shape) < mean).astype(float)


def skewed(mean: float, shape: Any, rng: np.random.Generator) -> Reals:
    """0.9 times the mean but for one in fifty, which makes up for it."""
    return np.where(rng.random(shape) < 0.02, 0.9 * mean + 5.0 * mean, 0.9 * mean)


def problem(arms: int, m: int, delta: float, epsilon: float = 0.0) -> ReducedProblem:
    given = np.eye(arms), m, 0.5, delta, epsilon
    return ReducedProblem(*given, noise=np.ones(arms), limits=(0.0, 1.0))


@pytest.mark.parametrize(("mean", "draw"), [(0.5, coins), (0.06, coins), (0.15, skewed)])
def test_bets_on_equal_means_pass_as_rarely_as_promised(mean: float, draw: Any) -> None:
    rng, pairs, looks = np.random.default_rng(2), 200, 25
    arms = 2 * pairs
    b, c = np.arange(pairs), np.arange(pairs, arms)
    # Bets on gaps of some sizes, with results of b and c in any order and number.
    sizes = rng.choice([0.02, 0.1, 0.4], pairs) * math.sqrt(mean)
    wealths, nothing = Wealths.none(arms, (0.0, 1.0)), np.full(pairs, -np.inf)
    largest, variance = nothing, np.full(arms, 0.5 * mean * (1.0 - mean))
    for _ in range(looks):
        told = np.repeat(np.arange(arms), rng.integers(0, 5, arms))
        wealths = wealths.after(PlanResults.of(arms, told, draw(mean, len(told), rng)))
        state = bets.Bets(
            np.full(arms, mean),
            variance,
            np.zeros(arms),
            0.0,
            0.0,
            wealths.above,
            wealths.below,
            wealths.pulls,
            wealths.totals,
        )
        found = np.empty(pairs)
        bets.log_evidence_of_pairs(TILTS, b, c, sizes, np.full(pairs, -5.0), state, found)
        largest = np.maximum(largest, found)
    for risk in (0.05, 0.3, 0.8):
        passed = int((largest >= -math.log(risk)).sum())
        assert binom.sf(passed - 1, pairs, risk) > IMPROBABLE
    assert (largest >= -math.log(0.8)).mean() > 0.1  # the test has power: it is no empty promise


def test_the_least_value_is_bounded_from_below_and_closely() -> None:
    rng = np.random.default_rng(3)
    scratch, found, moves = np.zeros((3, len(TILTS))), np.zeros(2), np.zeros(len(TILTS))
    weights = np.zeros((len(TILTS), len(TILTS)))
    for _ in range(8):
        n_b, n_c = rng.integers(1, 400, 2)
        mean_b, mean_c = rng.random(2)
        epsilon = float(rng.choice([0.0, 0.1, -0.3]))
        told = np.repeat([0, 1], [n_b, n_c])
        values = np.append(coins(mean_b, n_b, rng), coins(mean_c, n_c, rng))
        of = Wealths.none(2, (0.0, 1.0)).after(PlanResults.of(2, told, values))
        bets.weigh(TILTS, 0.2, 0.1, 0.5, 0.4, 0.2, 0.3, moves, weights)
        given = TILTS, weights, of.above[0], of.below[1], float(n_b), float(n_c), epsilon
        bound = bets.least_mixture(*given, 0.5, -np.inf, scratch, found)
        least = np.inf
        for x in np.linspace(max(0.0, -epsilon), min(1.0, 1.0 - epsilon), 801):
            bets.log_mixture(*given, float(x), scratch, found)
            least = min(least, float(found[0]))
        assert least - 2.1 * bets.CLOSE < bound <= least


def test_the_interpreter_finds_the_same() -> None:
    rng = np.random.default_rng(4)
    told = rng.integers(0, 3, 30)
    results = PlanResults.of(3, told, rng.random(30))
    wealths = Wealths.none(3, (0.0, 1.0)).after(results)
    variances = np.array([0.1, 0.2, 0.05])
    state = bets.Bets(
        wealths.smoothed,
        variances,
        np.zeros(3),
        0.05,
        0.05,
        wealths.above,
        wealths.below,
        wealths.pulls,
        wealths.totals,
    )
    b, c, sizes = np.array([0, 1]), np.array([1, 2]), np.array([0.1, 0.3])
    for function, extra in (
        (bets.log_evidence_of_pairs, np.full(2, -9.0)),
        (bets.lower_bounds_of_pairs, 1.0),
    ):
        compiled, interpreted = np.empty(2), np.empty(2)
        function(TILTS, b, c, sizes, extra, state, compiled)
        function.interpret(TILTS, b, c, sizes, extra, state, interpreted)
        assert np.allclose(compiled, interpreted, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
def test_intervals_hold_at_all_times_and_narrow(mean: float) -> None:
    rng, arms, delta = np.random.default_rng(5), 150, 0.2
    missed, wealths = np.zeros(arms, np.bool_), Wealths.none(arms, (-1.0, 3.0))
    for look in range(15):
        told = np.repeat(np.arange(arms), rng.integers(0, 2 + look, arms))
        values = -1.0 + 4.0 * coins(mean, len(told), rng)
        wealths = wealths.after(PlanResults.of(arms, told, values))
        lower, upper = wealths.intervals(delta)
        missed |= (lower > -1.0 + 4.0 * mean) | (upper < -1.0 + 4.0 * mean)
    assert binom.sf(int(missed.sum()) - 1, arms, delta) > IMPROBABLE
    width = 4.0 * 3.5 * math.sqrt(mean * (1.0 - mean) / float(wealths.pulls.mean()))
    assert np.median(upper - lower) < 2.0 * width + 0.1


@pytest.mark.parametrize("means", [[0.1, 0.1 - 1e-9, 0.04], [0.5, 0.5 - 1e-9, 0.3]])
def test_wrong_answers_near_a_tie_are_rare(means: list[float]) -> None:
    # At a larger δ so few runs find nothing. `benchmarks/bounded.py attack` has a hundred times as many.
    delta, wrong, runs, rng = 0.05, 0, 15, np.random.default_rng(6)
    for run in range(runs):
        strategy, made = GuessAndVerify(problem(3, 1, delta), kind=ByBets), 0
        while made < 250 and strategy.statistic > 0.0:
            told = np.repeat(np.arange(3), strategy.plan)
            values = (rng.random(len(told)) < np.array(means)[told]).astype(float)
            strategy.decide(PlanResults.of(3, told, values), run)
            made += len(told)
        wrong += int(strategy.statistic <= 0.0 and not strategy.inside[0])
    assert binom.sf(wrong - 1, runs, delta) > IMPROBABLE


def begun(direction: str, flip: bool, **settings: Any) -> shortlist.Study:
    rng = np.random.default_rng(7)
    study = shortlist.Study(
        arms=["ash", "elm", "fir", "oak"],
        m=2,
        sigma="bounded",
        reward_range=(2.0, 6.0),
        direction=direction,
        seed=1,
        **settings,
    )
    means = [0.2, 0.8, 0.5, 0.7]

    def measure(trial: shortlist.Trial) -> float:
        scaled = float(rng.beta(4.0 * means[trial.arm], 4.0 * (1.0 - means[trial.arm])))
        return 6.0 - 4.0 * scaled if flip else 2.0 + 4.0 * scaled

    study.run(measure, progress=False)
    return study


def test_the_smallest_means_are_found_as_the_largest_of_mirrored_results() -> None:
    largest, smallest = begun("maximize", flip=False), begun("minimize", flip=True)
    assert [t.arm for t in largest.trials] == [t.arm for t in smallest.trials]
    assert set(smallest.shortlist.names) == {"elm", "oak"}
    one, other = largest.table(), smallest.table()
    assert np.allclose(8.0 - one["lower"], other["upper"])


def test_a_study_replays_forks_and_asks_ahead(tmp_path: Any) -> None:
    path = tmp_path / "bets.db"
    study = begun("maximize", flip=False, storage=path, name="bets")
    again = shortlist.Study.load(path, "bets")
    assert again.shortlist.names == study.shortlist.names
    assert again.table().equals(study.table())
    assert again.history().frame.equals(study.history().frame)
    fresh = shortlist.Study(
        arms=["ash", "elm", "fir"], m=1, sigma="bounded", reward_range=(0, 1), seed=1
    )
    for _ in range(40):
        fresh.tell(trial := fresh.ask(), float(trial.arm == 1))
        if fresh.done:
            break
    ahead = shortlist.Study(
        arms=["ash", "elm", "fir"], m=1, sigma="bounded", reward_range=(0, 1), seed=1
    )
    batch = ahead.ask(60)  # no plan is repeated for ever
    assert len({trial.arm for trial in batch}) == 3
    for trial in batch:
        if not ahead.done:
            ahead.tell(trial, float(trial.arm == 1))
    assert ahead.shortlist.names == ["elm"]


def test_the_guarantee_rests_on_the_range_alone() -> None:
    study = begun("maximize", flip=False)
    guarantee = study.shortlist.guarantee
    assert guarantee.status == "proven"
    assert guarantee.badge == "Proven"
    assert "σ is not used" in guarantee.text
    assert "provided the results lie in [2, 6]" in guarantee.text
    low, high = study.table()[["lower", "upper"]].to_numpy().T
    assert (low >= 2.0).all()
    assert (high <= 6.0).all()
    assert study.evaluations < 400  # with σ half the range it takes over a thousand


def test_a_larger_slack_is_judged_by_the_same_bets() -> None:
    study = shortlist.Study(
        arms=["ash", "elm", "fir"], m=1, sigma="bounded", reward_range=(0, 10), seed=1
    )
    for _ in range(80):
        study.tell(trial := study.ask(), [6.0, 6.5, 4.0][trial.arm] + (trial.number % 7 - 3.0))
    assert not study.done
    least = study.shortlist.certain.epsilon
    assert 0.0 < least < 10.0
    study.widen(epsilon=1.01 * least)
    assert study.done


def test_results_that_vary_little_need_few_evaluations() -> None:
    rewards = 0.5 + 0.3 * np.linspace(-1.0, 1.0, 8) + 0.05 * np.linspace(-1.0, 1.0, 50)[:, None]
    instance = shortlist.instances.recorded(np.eye(8), rewards, m=3, sigma=0.5)
    ranged = {"sigma": "bounded", "reward_range": (0, 1)}
    found = shortlist.compare("auto", instance, runs=2, seed=0, progress=False, **ranged)
    stated = shortlist.compare("auto", instance, runs=2, seed=0, progress=False)
    assert found.frame["samples"].mean() < 0.4 * stated.frame["samples"].mean()
    assert found.frame["correct"].all()
