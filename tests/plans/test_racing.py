"""KL-LUCB, KL-Racing and Racing: their bounds, their rounds, and what they prove."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, xlogy, zeta
from scipy.stats import beta as beta_law
from scipy.stats import binom

import shortlist
from bisection import highest_by_bisection
from by_plans import run_by_plans
from shortlist import errors
from shortlist.arrays import NO_BLOCK
from shortlist.catalog.registry import find_algorithm
from shortlist.numerics.kl import highest_mean, relative_entropy
from shortlist.plans import racing
from shortlist.plans.algorithm import Planned
from shortlist.plans.difference_bounds import contrast_threshold, one_sided_level
from shortlist.plans.racing import (
    ALPHA,
    K1,
    KL,
    KL_BY_MIXTURE,
    KL_MIXTURE,
    KL_RATE,
    NORMAL,
    NORMAL_RATE,
    PAIRED,
    THRESHOLDS,
    Interval,
    OwnIntervalStrategy,
    end,
    exploration,
)
from shortlist.plans.results import PlanResults, add_result
from shortlist.plans.strategy import ReducedProblem
from shortlist.relation import Unrelated
from shortlist.report.analysis import Analysis
from shortlist.report.methods import cited, methods
from shortlist.report.sections import specification
from shortlist.simulation.instances import Instance
from shortlist.study.plate import PlateRow, match

BOUNDED = ["KL-LUCB", "KL-LUCB (mixture)", "KL-Racing", "KL-Racing (mixture)"]
RACES = ["KL-Racing", "KL-Racing (mixture)", "Racing", "Racing (paired)"]
RIVALS = [*BOUNDED, "Racing", "Racing (paired)"]
DELTA = 0.05


def coins(means: Any, m: int, label: str = "coins") -> Instance:
    features = np.eye(len(means))
    return shortlist.instances.from_arrays(
        features, means=means, m=m, sigma=0.5, noise="bernoulli", label=label
    )


def bells(means: Any, m: int, sigma: float = 0.5) -> Instance:
    return shortlist.instances.from_arrays(np.eye(len(means)), means=means, m=m, sigma=sigma)


def run(name: str | Planned, instance: Instance, runs: int = 30, **settings: Any) -> Any:
    return shortlist.compare(name, instance, runs=runs, progress=False, **settings).frame


def improbability(frame: Any, delta: float) -> float:
    """The chance of so many errors or more if their rate were δ."""
    return float(binom.sf(int((~frame["correct"]).sum()) - 1, len(frame), delta))


@pytest.mark.parametrize(("kind", "epsilon"), [(NORMAL, 0.3), (PAIRED, 0.2)])
def test_an_arm_that_came_out_of_the_list_after_another_was_accepted(
    kind: Interval, epsilon: float
) -> None:
    """It was in J when arm 2 was accepted, so nothing says that it is not needed beside that."""
    strategy = OwnIntervalStrategy(ReducedProblem(np.eye(4), 2, 0.1, DELTA, epsilon), kind, True)
    for values in ([0.6, 0.3, 1.0, -3.0], [0.8, 1.6, 0.0, 0.0]):
        strategy.decide(PlanResults.at(strategy.plan, np.array(values)), 0)
    assert strategy.statistic <= epsilon
    assert strategy.inside.tolist() == [False, True, True, False]
    found = strategy.certified(epsilon)
    assert found.inside.tolist() == [False, True, True, False]
    assert found.outside.tolist() == [False, False, False, True]
    assert not found.open_outside.any()


@pytest.mark.parametrize("kind", [NORMAL, PAIRED])
def test_an_arm_that_left_beside_another_list_is_bounded_by_its_results_alone(
    kind: Interval,
) -> None:
    """Arm 2 was rejected when arm 0 was the list, which says nothing of it beside arm 1."""
    strategy = OwnIntervalStrategy(ReducedProblem(np.eye(3), 1, 0.1, DELTA, 0.0), kind, True)
    for values in ([1.0, 0.9, 0.2], [0.2, 0.65, 0.0]):
        strategy.decide(PlanResults.at(strategy.plan, np.array(values)), 0)
    assert strategy._now.status.tolist() == [racing.OPEN, racing.OPEN, racing.REJECTED]
    assert strategy.b == 1
    _, lower, upper = strategy.differences(1)
    own = strategy.intervals()
    assert upper[2] == own[1][2] - own[0][1] > 0.0
    assert lower[2] == own[0][2] - own[1][1]
    assert upper[0] == strategy.statistic


# Intervals


def test_the_exploration_rate_is_what_the_theorem_asks_for() -> None:
    assert ALPHA > 1.0
    assert K1 > 1.0 + 1.0 / (ALPHA - 1.0)
    assert zeta(ALPHA) < K1  # the union over all numbers of results
    task = ReducedProblem(np.eye(7), 2, 0.3, DELTA, 0.0)
    beta = exploration(KL_RATE, KL.constants(task), 40, 17, 9.0)
    assert beta == pytest.approx(math.log(K1 * 7 * 40.0**ALPHA / DELTA))
    assert exploration(NORMAL_RATE, NORMAL.constants(task), 40, 17, 9.0) == beta
    half = end(NORMAL_RATE, NORMAL.constants(task), 40, 17, 9.0, True) - 9.0 / 17.0
    assert half == pytest.approx(0.3 * math.sqrt(2.0 * beta / 17.0))


@pytest.mark.parametrize(
    ("count", "total"), [(1, 0.0), (1, 1.0), (12, 3.0), (40, 39.5), (900, 5.0)]
)
def test_the_beta_mixture_is_that_of_its_integral(count: int, total: float) -> None:
    """At the ends of the interval the mixture of likelihood ratios is exactly K/δ."""
    task = ReducedProblem(np.eye(4), 2, 1.0, DELTA, 0.0)
    constants = KL_BY_MIXTURE.constants(task)
    misses = count - total
    # q = sin² x with x uniform is Beta(½, ½); relative to its peak, lest it be too small to add up.
    peak = total * math.log(max(total, 1e-300) / count)
    peak += misses * math.log(max(misses, 1e-300) / count)
    top = math.asin(math.sqrt(total / count))

    def relative(x: float) -> float:
        likelihood = xlogy(2.0 * total, np.sin(x)) + xlogy(2.0 * misses, np.cos(x))
        return float(np.exp(likelihood - peak))

    pieces = [
        quad(relative, 0.0, top, limit=200)[0],
        quad(relative, top, math.pi / 2, limit=200)[0],
    ]
    log_mixture = peak + math.log(sum(pieces) / (math.pi / 2))
    for upper in (True, False):
        mean = end(KL_MIXTURE, constants, 1, count, total, upper)
        if 0.0 < mean < 1.0:
            ratio = log_mixture - total * math.log(mean) - misses * math.log1p(-mean)
            assert ratio == pytest.approx(math.log(4 / DELTA), rel=1e-5)


def test_entropy_is_narrower_than_hoeffding() -> None:
    """For the same β and σ = ½: Pinsker's inequality, strict but at ½."""
    task = ReducedProblem(np.eye(10), 3, 0.5, DELTA, 0.0)
    kl, normal = KL.constants(task), NORMAL.constants(task)
    for count in (1, 5, 50, 5000):
        for share in (0.0, 0.02, 0.3, 0.5, 0.9, 1.0):
            arm = (count, count, share * count)
            for upper in (True, False):
                narrow = abs(end(KL_RATE, kl, *arm, upper) - share)
                wide = abs(end(NORMAL_RATE, normal, *arm, upper) - share)
                assert narrow < wide
                if share in (0.0, 0.02) and count > 100:
                    assert narrow < 0.5 * wide


def test_the_mixture_is_narrower_than_the_rate() -> None:
    task = ReducedProblem(np.eye(10), 3, 0.5, DELTA, 0.0)
    for count in (1, 10, 1000, 10**6):
        for share in (0.0, 0.01, 0.5, 1.0):
            arm = (count, count, share * count)
            narrow = exploration(KL_MIXTURE, KL_BY_MIXTURE.constants(task), *arm)
            assert narrow < exploration(KL_RATE, KL.constants(task), *arm)
            # Krichevsky and Trofimov's bound on the price of not knowing q.
            assert narrow <= math.log(10 / DELTA) + 0.5 * math.log(count) + math.log(2.0) + 1e-9


def escapes(share: float, draw: Callable[[np.random.Generator], np.ndarray], mean: float) -> int:
    """In how many of 150 sequences s kl(μ̂, μ) ever exceeds that share of the mixture's β."""
    rng, out = np.random.default_rng(11), 0
    constants = np.array([math.log(1 / 0.2), 0.0])
    for _ in range(150):
        sums = np.cumsum(draw(rng))
        out += any(
            s * relative_entropy(min(sums[s - 1] / s, 1.0), mean)
            > share * exploration(KL_MIXTURE, constants, s, s, sums[s - 1])
            for s in range(1, len(sums) + 1)
        )
    return out


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.5, 0.05])
def test_the_mixture_holds_at_all_times_and_a_quarter_of_it_does_not(mean: float) -> None:
    draws = [
        lambda rng: (rng.random(300) < mean).astype(float),
        lambda rng: rng.beta(mean, 1.0 - mean, 300),  # any results in [0, 1], not only coins
    ]
    for draw in draws:
        assert binom.sf(escapes(1.0, draw, mean) - 1, 150, 0.2) > 0.01
    assert binom.sf(escapes(0.25, draws[0], mean) - 1, 150, 0.2) < 1e-6


# Rounds


def oracle(
    name: str, kth: Callable[[int, int], float], task: ReducedProblem
) -> tuple[list[int], set[int]]:
    """The algorithm in plain Python, by its definition: the pulls and the answer."""
    K, m = len(task.features), task.m
    pulls, sums, open_arms = [0] * K, [0.0] * K, set(range(K))
    accepted: set[int] = set()
    plan, t = list(range(K)), 0

    def ends(a: int) -> tuple[float, float]:
        n, mean = pulls[a], sums[a] / pulls[a]
        if name == "Racing (paired)":
            level = one_sided_level(task.delta / (m * (K - m)))
            half = task.sigma * float(contrast_threshold(level, n)) / math.sqrt(2.0 * n)
            return mean - half, mean + half
        beta = math.log(K1 * K * t**ALPHA / task.delta)
        if name.endswith("(mixture)"):
            S = sums[a]
            beta = math.log(K / task.delta) - betaln(S + 0.5, n - S + 0.5) + betaln(0.5, 0.5)
            beta += S * math.log(mean) + (n - S) * math.log(1.0 - mean)
        if name == "Racing":
            half = task.sigma * math.sqrt(2.0 * beta / n)
            return mean - half, mean + half
        return (
            1.0 - highest_by_bisection(1.0 - mean, beta / n),
            highest_by_bisection(mean, beta / n),
        )

    while True:
        t += 1
        for a in plan:
            sums[a] += kth(a, pulls[a])
            pulls[a] += 1
        ranked = sorted(open_arms, key=lambda a: -sums[a] / pulls[a])
        inside = ranked[: m - len(accepted)]
        outside = ranked[m - len(accepted) :]
        L, U = {a: ends(a)[0] for a in inside}, {a: ends(a)[1] for a in outside}
        b, c = min(inside, key=L.__getitem__), max(outside, key=U.__getitem__)
        if U[c] - L[b] <= task.epsilon:
            return pulls, accepted | set(inside)
        plan = [b, c]
        if "Racing" in name:
            sure = {a for a in inside if U[c] - L[a] <= task.epsilon}
            accepted |= sure
            open_arms -= sure | {a for a in outside if U[a] < L[b]}
            plan = sorted(open_arms)


@pytest.mark.slow
@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("epsilon", [0.0, 0.07])
def test_every_round_is_that_of_the_definition(name: str, epsilon: float) -> None:
    means, m = np.array([0.9, 0.75, 0.5, 0.45, 0.2, 0.1]), 2
    rng = np.random.default_rng(3)
    # Continuous rewards: no ties.
    rewards = beta_law.rvs(4.0 * means, 4.0 * (1.0 - means), size=(20000, 6), random_state=rng)
    engine = find_algorithm(name).bind(bells(means, m, 0.3).problem(DELTA, epsilon)).engine
    expected = oracle(name, lambda a, k: float(rewards[k, a]), engine.problem)  # type: ignore[attr-defined]
    now, pulls = engine.round(), np.zeros(6, int)
    while not now.strategy.statistic <= epsilon:
        for a in np.flatnonzero(now.strategy.plan):
            assert now.strategy.plan[a] == 1
            add_result(now.results, a, rewards[pulls[a], a], NO_BLOCK)
            pulls[a] += 1
        now.decide(1)
    assert (pulls.tolist(), set(np.flatnonzero(now.inside).tolist())) == expected
    assert pulls.sum() > 60


@pytest.mark.slow
@pytest.mark.parametrize("name", RIVALS)
def test_a_simulated_run_is_that_of_the_engine_step_by_step(name: str) -> None:
    """The compiled run and a decision at a time: the same rewards, the same pulls."""
    instance = coins([0.9, 0.6, 0.5, 0.1], 2)
    engine = find_algorithm(name).bind(instance.problem(DELTA, 0.02)).engine
    seeds = np.arange(1, 3, dtype=np.uint64)
    with np.errstate(over="ignore"):
        quick, slow = (
            engine.replicate(reward, instance.parameters, seeds, 1500)
            for reward in (instance.reward, instance.reward.interpreted())
        )
    assert quick.pulls.tolist() == slow.pulls.tolist()
    assert quick.stopped.tolist() == slow.stopped.tolist()
    assert quick.recommended.tolist() == slow.recommended.tolist()


@pytest.mark.parametrize("name", ["KL-LUCB", "KL-Racing"])
def test_two_arms_that_never_vary_take_what_can_be_computed(name: str) -> None:
    """Means 1 and 0: after t pulls each, U = 1 − e^(−β/t) and L = e^(−β/t), which meet at β = t ln 2."""
    t = next(t for t in range(1, 1000) if math.log(K1 * 2 * t**ALPHA / DELTA) <= t * math.log(2))
    frame = run(name, coins([1.0, 0.0], 1), runs=3)
    assert frame["samples"].tolist() == [2 * t] * 3
    assert frame["correct"].all()


def test_racing_for_one_arm_is_successive_elimination() -> None:
    means = np.array([1.0, 0.8, 0.5, 0.5, 0.0])
    rewards = means + 0.5 * np.random.default_rng(2).standard_normal((20000, 5))
    left, pulls, t = np.arange(5), np.zeros(5, int), 0
    while len(left) > 1:
        t += 1
        pulls[left] = t
        average = rewards[:t, left].mean(axis=0)
        width = 0.5 * math.sqrt(2.0 * math.log(K1 * 5 * t**ALPHA / DELTA) / t)
        left = left[average.max() - average <= 2.0 * width]
    now = find_algorithm("Racing").bind(bells(means, 1).problem(DELTA, 0.0)).engine.round()
    made = np.zeros(5, int)
    while not now.strategy.statistic <= 0.0:
        for a in np.flatnonzero(now.strategy.plan):
            add_result(now.results, a, rewards[made[a], a], NO_BLOCK)
            made[a] += 1
        now.decide(0)
    assert made.tolist() == pulls.tolist()
    assert np.flatnonzero(now.inside).tolist() == left.tolist() == [0]


@pytest.mark.parametrize("name", RACES)
def test_who_has_left_the_race_is_pulled_no_more(name: str) -> None:
    frame = run(name, coins([0.95, 0.55, 0.45, 0.05], 2), runs=20)
    pulls = np.array(frame["pulls"].tolist())
    assert (pulls[:, [0, 3]] < pulls[:, [1, 2]]).all()
    assert (pulls[:, 1] == pulls[:, 2]).all()
    assert frame["correct"].all()


def standing(means: list[float], m: int, epsilon: float) -> list[int]:
    """Who has left a race after a round where all intervals are the averages ± 0.05."""
    count, level = 4000, 5.0
    square = 0.05**2 * count / (level + ALPHA * math.log(1.0))
    now = racing.new_table(4).replace(pulls=np.full(4, count), sums=count * np.array(means))
    rules = np.array([NORMAL_RATE, 1, 1, m], np.int64)
    racing.decide_round(now, epsilon, rules, np.array([level, square]), np.uint64(0))
    return now.status.tolist()


def test_only_those_accepted_have_slack() -> None:
    """Rejected with a slack, an arm of the m best might leave, and then the next: slacks add up."""
    IN, OUT, STAY = racing.ACCEPTED, racing.REJECTED, racing.OPEN
    assert standing([2.0, 1.9, 1.88, 1.0], 2, 0.0) == [IN, STAY, STAY, OUT]
    # μ̂ = 1.95 may be worse than 1.88 by 0.03, and 1.84 better than 1.90 by 0.04.
    assert standing([1.95, 1.9, 1.88, 1.84], 2, 0.0) == [STAY] * 4
    assert standing([1.95, 1.9, 1.88, 1.84], 2, 0.06) == [IN, STAY, STAY, STAY]


@pytest.mark.parametrize("name", RIVALS)
def test_ties_go_to_everybody(name: str) -> None:
    """No place in the list is favoured where all averages are equal."""
    frame = run(name, coins([0.5] * 4, 2), runs=60, epsilon=0.6)
    counts = np.bincount(
        [int(arm) for answer in frame["recommendation"] for arm in answer], minlength=4
    )
    assert counts.sum() == 120
    assert counts.min() >= 15


# What they prove


@pytest.mark.slow
@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize(
    "instance",
    [
        coins([0.6, 0.45, 0.4, 0.2, 0.1], 1, "middle"),
        coins([0.12, 0.1, 0.03, 0.02, 0.01, 0.0], 2, "sparse"),
        coins([1.0, 0.99, 0.97, 0.92, 0.85, 0.7], 4, "near 1"),
        bells([1.0, 0.5, 0.0, -0.5], 2),
    ],
    ids=["middle", "sparse", "near-1", "normal"],
)
def test_errors_stay_below_delta(name: str, instance: Instance) -> None:
    if name in BOUNDED and instance.reward_range == (-np.inf, np.inf):
        with pytest.raises(errors.InvalidSetting, match="for rewards from 0 to 1"):
            run(name, instance)
        return
    frame = run(name, instance, runs=100, delta=0.1)
    assert frame["stopped"].all()
    assert improbability(frame, 0.1) > 0.01
    procedure = find_algorithm(name).bind(instance.problem(0.1, 0.0))
    assert procedure.proven
    assert procedure.claim.text.startswith("Proven: with probability at least 0.9, no arm of the")


class Careless(Interval):
    """A β without ln(K/δ)."""

    def constants(self, problem: ReducedProblem) -> Any:
        return super().constants(problem) * [0.0, 1.0]


@pytest.mark.slow
def test_the_test_of_errors_can_fail() -> None:
    own = {"name": "Careless", "threshold": THRESHOLDS[KL_RATE], "relation": Unrelated}
    instance = coins(0.6 - 0.02 * np.arange(10), 1)
    for kind, races in ((KL_BY_MIXTURE, False), (NORMAL, True)):
        strategy = partial(OwnIntervalStrategy, interval=Careless(*astuple(kind)), races=races)
        frame = run(Planned(strategy=strategy, **own), instance, runs=100)  # type: ignore[arg-type]
        assert improbability(frame, 0.1) < 1e-6


@pytest.mark.parametrize("name", RIVALS)
def test_slack_and_small_and_odd_problems(name: str) -> None:
    for means, m, epsilon in (
        ([0.5, 0.5, 0.5, 0.5], 2, 0.3),  # all equal
        ([0.6, 0.2], 1, 0.0),  # K = 2
        ([0.9, 0.8, 0.7, 0.1], 3, 0.0),  # m = K − 1
        ([1.0, 1.0, 0.0, 0.0], 2, 0.0),  # coins that do not turn
        ([0.0, 0.0, 0.0], 1, 0.1),
        ([1.0, 1.0, 1.0], 2, 0.1),
        ([0.5, 0.45, 0.1], 1, 0.2),  # two right answers
    ):
        frame = run(name, coins(means, m), runs=15, epsilon=epsilon, max_samples=10**6)
        assert frame["stopped"].all()
        assert frame["correct"].all()
    exact, slack = (
        run(name, coins([0.6, 0.4, 0.3], 1), epsilon=epsilon)["samples"].mean()
        for epsilon in (0.0, 0.1)
    )
    assert slack < exact


def test_the_narrower_bounds_need_fewer_results() -> None:
    instance = coins([0.3, 0.2, 0.1, 0.05, 0.05], 2)
    mean = {name: run(name, instance)["samples"].mean() for name in [*RIVALS, "LUCB"]}
    assert mean["KL-LUCB (mixture)"] < 0.75 * mean["KL-LUCB"] < 0.75 * mean["LUCB"]
    assert mean["KL-Racing (mixture)"] < 0.75 * mean["KL-Racing"] < 0.75 * mean["Racing"]
    assert mean["Racing (paired)"] < 0.5 * mean["Racing"]


# In a study


def begin(name: str = "KL-LUCB", **settings: Any) -> shortlist.Study:
    given = {"arms": ["a", "b", "c"], "m": 1, "sigma": 0.5, "seed": 4, "algorithm": name}
    return shortlist.Study(**{**given, **settings})


def flip(trial: Any) -> float:
    return float(np.random.default_rng(trial.seed).random() < [0.8, 0.4, 0.1][trial.arm])


@pytest.mark.parametrize("name", BOUNDED)
def test_results_out_of_range_are_refused_before_anything_is_taken_in(name: str) -> None:
    study = begin(name)
    trial, other = study.ask(2)
    for value in (1.01, -1e-9, 7):
        with pytest.raises(
            errors.InvalidInput, match=r"is for results from 0 to 1, got .* nothing"
        ):
            study.tell(trial, value)
        with pytest.raises(errors.InvalidInput, match="an algorithm that uses σ"):
            study.tell(arm="a", value=value)
        with pytest.raises(errors.InvalidInput, match="nothing was told"):
            study.tell_many([(other, 0.5), (trial, value)])
    assert study.evaluations == 0
    assert [each.state for each in study.trials] == ["pending", "pending"]
    study.tell_many([(other, 0), (trial, True)])
    assert study.evaluations == 2
    begin("Racing").tell(arm="a", value=7.0)


def test_a_run_ends_at_a_result_out_of_range(tmp_path: Path) -> None:
    study = begin(storage=tmp_path / "study.db")
    with pytest.raises(errors.InvalidInput, match="got 2: nothing was told"):
        study.run(lambda trial: 2.0 if trial.number == 5 else flip(trial), progress=False)
    assert study.evaluations == 5
    assert study.pending[0].number == 5
    loaded = shortlist.Study.load(tmp_path / "study.db")
    assert loaded.run(flip, progress=False).names == ["a"]
    assert not any(trial.state == "failed" for trial in loaded.trials)


def test_recorded_results_must_lie_in_the_range() -> None:
    table = np.array([[0.0, 1.0], [0.5, 1.0], [0.1, 0.8]])
    fits = shortlist.instances.recorded(np.eye(2), table, m=1, sigma=0.5)
    assert run("KL-LUCB", fits)["correct"].all()
    wide = shortlist.instances.recorded(np.eye(2), 2.0 * table, m=1, sigma=0.5)
    with pytest.raises(
        errors.InvalidSetting, match="go from 0 to 2: take noise='bernoulli', or an"
    ):
        run("KL-Racing", wide)
    assert run("Racing", wide)["correct"].all()


@pytest.mark.parametrize("name", BOUNDED)
def test_neither_sigma_nor_features_are_used(name: str) -> None:
    one = begin(name)
    other = begin(name, sigma=40.0, arms=None, features=[[1.0, 0.2], [0.9, 0.1], [0.0, 1.0]])
    one.run(flip, progress=False)
    other.run(flip, progress=False)
    assert [t.arm for t in one.trials] == [t.arm for t in other.trials]
    assert one.table()["upper"].tolist() == other.table()["upper"].tolist()
    words = one.shortlist.guarantee.text
    assert "provided the results lie in [0, 1]." in words
    assert "σ is not used" in words
    assert "and σ was not used" in dict(other.shortlist.guarantee.rests_on)["Noise"]
    assert dict(specification(other))["Noise, σ"] == "40 (not used by this algorithm)"
    assert "results from 0 to 1" in methods(Analysis(other))
    assert "sub-Gaussian" not in methods(Analysis(other))
    assert "Kaufmann and Kalyanakrishnan 2013" in [work.short for work in cited(other)]
    noise = next(finding for finding in other.health() if finding.name == "noise")
    assert noise.level == "fine"
    assert "does not use σ" in noise.words


def test_a_range_that_was_told_must_fit_and_is_checked_too() -> None:
    """The algorithm's range is 0 to 1; that of the results may be narrower, and not wider."""
    plain, told = begin(), begin(sigma="bounded", reward_range=(0, 1))
    for study in (plain, told):
        study.run(flip, progress=False)
    assert [t.arm for t in plain.trials] == [t.arm for t in told.trials]
    assert "σ is not used" in told.shortlist.guarantee.text
    narrow = begin(sigma="bounded", reward_range=(0.2, 0.9))
    with pytest.raises(errors.InvalidInput, match=r"reward_range=\(0.2, 0.9\), got 0.95"):
        narrow.tell(arm="a", value=0.95)
    narrow.tell(arm="a", value=0.9)
    with pytest.raises(errors.InvalidSetting, match=r"from 0 to 1, got reward_range=\(-1, 1\): sc"):
        begin(sigma="bounded", reward_range=(-1, 1))
    with pytest.raises(errors.InvalidSetting, match="needs: give a number for sigma"):
        begin(sigma="estimate")


def test_a_plate_names_the_line_of_a_result_out_of_range() -> None:
    study = begin()
    trial = study.ask()
    row = PlateRow(line=2, trial=trial.number, arm=trial.name, value="1.5", study="")
    with pytest.raises(errors.InvalidInput, match=r"line 2: KL-LUCB is for results from 0 to 1, g"):
        match(Path("plate.csv"), [row], study)


@pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")  # σ is not that of coins
def test_racing_takes_the_sigma_of_the_noisiest_arm() -> None:
    one, each = begin("Racing", sigma=0.5), begin("Racing", sigma=[0.1, 0.5, 0.2])
    for study in (one, each):
        run_by_plans(study, flip)
    assert [t.arm for t in one.trials] == [t.arm for t in each.trials]


@pytest.mark.slow
def test_racing_uses_sigma_and_says_so() -> None:
    narrow, wide = begin("Racing", sigma=0.5), begin("Racing", sigma=1.0)
    for study in (narrow, wide):
        run_by_plans(study, flip)
        assert "the noise is σ-sub-Gaussian." in study.shortlist.guarantee.text
        assert f"σ = {study.problem.sigma:g}" in study.shortlist.guarantee.text
    assert narrow.evaluations < wide.evaluations


@pytest.mark.parametrize("name", BOUNDED)
def test_the_table_has_the_intervals_that_stop_the_study(name: str) -> None:
    study = begin(name)
    assert study.table()["lower"].isna().all()
    study.run(flip, progress=False, max_evaluations=30)
    table = study.table()
    assert ((table["lower"] >= 0.0) & (table["lower"] <= table["mean"])).all()
    assert ((table["upper"] <= 1.0) & (table["mean"] <= table["upper"])).all()
    study.run(flip, progress=False)
    look = study.history().last
    assert look is not None
    ends = look.table["upper"][look.c] - look.table["lower"][look.b]
    assert ends == pytest.approx(study.statistic, abs=1e-12)
    count, total = int(look.table["pulls"][look.c]), study.posterior.state.sums[look.c]
    level = (look.C**2 / 2.0) / count
    assert look.table["upper"][look.c] == pytest.approx(highest_mean(total / count, level))


@pytest.mark.slow
@pytest.mark.parametrize("name", RIVALS)
def test_the_rest_is_foreseen(name: str) -> None:
    """Played on with coins where the algorithm is for them: the stop lies in the range, mostly."""
    foreseen = 0
    for seed in range(5):
        study = begin(name, seed=seed)
        run_by_plans(study, flip, 30)
        projection = study.remaining()
        run_by_plans(study, flip)
        assert projection.high is not None
        foreseen += projection.low <= study.evaluations - 30 <= projection.high
    assert foreseen >= 3


def test_kl_lucb_is_in_the_catalog_with_its_source() -> None:
    known = shortlist.algorithms(all=True)
    for name in RIVALS:
        assert "proven" in known[name]
        assert "2013" in known[name] or "1970" in known[name]
    known_as: Any = find_algorithm("KL-LUCB")
    assert known_as.threshold is THRESHOLDS[KL_RATE]
    assert known_as.strategy.keywords["interval"] is KL
