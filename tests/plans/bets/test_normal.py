"""Likelihoods of normal results whose σ nobody knows: exact where they can be checked, and rarely wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, norm
from scipy.stats import t as student

import shortlist
from shortlist import Study, errors
from shortlist.noise.estimated import DEGREES_MEASURED, EstimatedPerArm, Measured
from shortlist.plans.bets.normal import (
    ByLikelihoods,
    Moments,
    gaps_at,
    least_distance,
    least_distances,
    price,
)
from shortlist.plans.guess_and_verify import GuessAndVerify
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from stored import assert_same

PER_ARM = "estimate per arm"
MEANS = np.array([1.0, 0.8, 0.2, 0.0, -0.5])
SIGMAS = np.array([0.05, 0.3, 1.5, 0.1, 0.6])


def told(values: dict[int, list[float]], arms: int = 2) -> PlanResults:
    single = [(arm, each) for arm, listed in values.items() for each in listed]
    rows, results = zip(*single, strict=True)
    return PlanResults.of(arms, np.array(rows), np.array(results))


def test_moments_of_parts_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(5.0, 2.0, 7), rng.normal(-1.0, 0.1, 4)
    parts = Moments.none(2).after(told({0: list(first)})).after(told({0: list(second), 1: [3.0]}))
    whole = np.concatenate([first, second])
    assert parts.pulls.tolist() == [11.0, 1.0]
    assert parts.means[0] == pytest.approx(whole.mean())
    assert parts.squares[0] == pytest.approx(11 * whole.var())
    assert parts.squares[1] == 0.0
    assert parts.placed(np.array([1])).means.tolist() == [3.0]


def test_the_prediction_is_a_density() -> None:
    """Over all pairs of results, the predicted density adds up to 1."""
    points = np.linspace(-15.0, 15.0, 1000)  # an even number: no two results are equal below
    y, z = (each.ravel() for each in np.meshgrid(points, points + 0.5 * (points[1] - points[0])))
    shape = np.ones(len(y))
    since = Moments(2.0 * shape, 0.5 * (y + z), 0.5 * (y - z) ** 2)
    prior = Moments(5.0 * shape, 0.3 * shape, 2.0 * shape)
    largest = -np.log(2.0 * math.pi * math.e * since.squares / 2.0)
    total = float(np.exp(largest - price(prior, since)).sum()) * (points[1] - points[0]) ** 2
    assert total == pytest.approx(1.0, abs=0.005)  # the tails beyond are left out


@pytest.mark.parametrize("seed", range(40))
def test_the_least_distance_is_the_least(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_b, n_c = rng.integers(2, 200, 2).astype(float)
    u_b, u_c, d = np.exp(rng.normal(0.0, 3.0, 3))

    def distance(t: float) -> float:
        return 0.5 * n_b * math.log1p(t * t / u_b) + 0.5 * n_c * math.log1p((d - t) ** 2 / u_c)

    starts = np.concatenate([np.linspace(0.0, d, 400), d - np.geomspace(1e-9, 1, 200) * d])
    starts = np.sort(np.concatenate([starts, np.geomspace(1e-9, 1, 200) * d]))
    k = int(np.argmin([distance(t) for t in starts]))
    ends = starts[max(k - 1, 0)], starts[min(k + 1, len(starts) - 1)]
    best = minimize_scalar(distance, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun
    found = least_distance(d, n_b, n_c, u_b, u_c)
    assert found <= min(best, distance(starts[k])) * (1.0 + 1e-9) + 1e-12
    assert found >= best * (1.0 - 1e-6) - 1e-9
    each = tuple(np.array([value]) for value in (n_b, n_c, u_b, u_c))
    gap = np.empty(1)
    gaps_at(np.array([found]), *each, gap)
    assert gap[0] == pytest.approx(d, rel=1e-6)
    assert least_distance(-1.0, n_b, n_c, u_b, u_c) == 0.0


def test_evidence_is_below_that_of_who_knows_the_truth() -> None:
    """E is at most the predicted over the true density, at any means of the null hypothesis."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        sigma = np.exp(rng.normal(size=2))
        prior, since = (
            [list(s * rng.standard_normal(n)) for s in sigma] for n in rng.integers(2, 30, 2)
        )
        before, after = (
            Moments.none(2).after(told(dict(enumerate(each)))) for each in (prior, since)
        )
        found = np.empty(1)
        spread = after.squares / after.pulls
        given = [np.array([each[k]]) for each in (after.pulls, spread) for k in (0, 1)]
        least_distances(np.array([after.means[0] - after.means[1]]), *given, found)
        paid = price(before, after)
        true = sum(norm.logpdf(y, 0.0, s).sum() for y, s in zip(since, sigma, strict=True))
        largest = -0.5 * after.pulls * np.log(2.0 * math.pi * math.e * spread)
        assert found[0] - paid.sum() <= (largest - paid).sum() - true + 1e-9


def by_hand(before: np.ndarray, since: np.ndarray, b: int, c: int) -> float:
    """ln E at ε = 0, from Student's densities and the least over a grid of x_b = x_c."""
    paid, spreads, averages = 0.0, [], []
    for arm in (b, c):
        seen = before[before[:, 0] == arm, 1]
        own = since[since[:, 0] == arm, 1]
        if len(own) < 2:
            return -math.inf
        every = np.append(seen, own)
        n = np.arange(len(seen), len(every))  # how many were seen before each result
        mean = np.cumsum(every)[n - 1] / n
        scale = np.sqrt((np.cumsum(every**2)[n - 1] / n - mean**2) * (n + 1) / (n - 1))
        paid -= student.logpdf(own, n - 1, mean, scale).sum()
        paid += norm.logpdf(own, own.mean(), own.std()).sum()
        spreads.append((len(own), own.var()))
        averages.append(own.mean())
    if averages[0] <= averages[1]:
        return -max(paid, 0.0)
    x = np.linspace(averages[1], averages[0], 2001)
    terms = zip(spreads, averages, strict=True)
    lost = sum(0.5 * n * np.log1p((x - average) ** 2 / u) for (n, u), average in terms)
    return float(np.min(lost)) - max(paid, 0.0)


@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("sigmas", [(0.05, 1.5, 1.0), (1.5, 0.05, 1.0), (1.0, 1.0, 1.0)])
def test_it_stops_when_the_evidence_for_every_pair_is_one_over_the_share(
    sigmas: tuple[float, ...], delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E by hand after every plan: a set is named after the first, with all of δ."""
    named = np.array([False, True, False])
    monkeypatch.setattr(ReducedProblem, "best_of", lambda problem, means: named)
    monkeypatch.setattr(
        "shortlist.plans.guess_and_verify.vote", lambda *_: {np.packbits(named).tobytes(): 1.0}
    )
    monkeypatch.setattr("shortlist.plans.guess_and_verify.LIKELY", 0.0)
    for run in range(2):
        rng = np.random.default_rng(run)
        problem = ReducedProblem(np.eye(3), 1, 1.0, delta, 0.0, first=np.full(3, 5))
        strategy, results = GuessAndVerify(problem, (1.0,), ByLikelihoods), np.empty((0, 2))
        largest, looks = np.full(2, -math.inf), 0
        while largest.min() < -math.log(delta) and len(results) < 600:
            arms = np.repeat(np.arange(3), strategy.plan)
            noise = np.array(sigmas)[arms] * rng.standard_normal(len(arms))
            values = np.array([0.0, 0.8, -0.5])[arms] + noise
            strategy.decide(PlanResults.of(3, arms, values), run)
            results = np.vstack([results, np.column_stack([arms, values])])
            found = [by_hand(results[:15], results[15:], 1, c) for c in (0, 2)]
            largest, looks = np.maximum(largest, found), looks + 1
            assert (strategy.statistic <= 0.0) == (largest.min() >= -math.log(delta))
        assert looks > 2
        assert strategy.statistic <= 0.0


def test_an_arms_own_interval_holds_at_all_times() -> None:
    rng, runs, missed = np.random.default_rng(2), 100, 0
    for _ in range(runs):
        problem = ReducedProblem(np.eye(1), 1, 1.0, 0.2, 0.0)
        verifier = ByLikelihoods.own(problem).before(told({0: list(rng.standard_normal(5))}, 1))
        for _ in range(40):
            verifier = verifier.before(told({0: list(rng.standard_normal(3))}, 1))
            low, high = verifier.intervals()
            if not low[0] <= 0.0 <= high[0]:
                missed += 1
                break
    assert binom.sf(missed - 1, runs, 0.2) > 0.01


# In a study


def begin(**given: Any) -> Study:
    settings: dict[str, Any] = {"arms": list("abcde"), "m": 2, "sigma": PER_ARM, "seed": 0}
    return Study(**{**settings, **given})


def value(trial: shortlist.Trial) -> float:
    noise = np.random.default_rng(trial.seed).standard_normal()
    return float(MEANS[trial.arm] + SIGMAS[trial.arm] * noise)


def test_a_study_begins_with_few_results_of_each_arm() -> None:
    study = begin()
    assert study.procedure.engine.setup.wanted.tolist() == [DEGREES_MEASURED + 1] * 5
    assert study.run(value, progress=False).names == ["a", "b"]
    guarantee = study.shortlist.guarantee
    assert guarantee.status == "proven"
    assert "no σ is used, threshold 'named_likelihoods'" in guarantee.text
    assert "the noise of each arm is normal with a σ of its own" in guarantee.text
    assert study.procedure.setting.delta == study.problem.delta  # nothing is paid for a bound
    assert isinstance(study.problem.noise, Measured)
    table = study.table()
    assert ((table["lower"] <= MEANS) & (table["upper"] >= MEANS)).all()
    assert all(finding.level == "fine" for finding in study.health() if finding.name == "noise")
    assert shortlist.report.html(study)


def test_smallest_means_costs_and_a_slack() -> None:
    study = begin(direction="minimize", costs=[1.0, 2.0, 1.0, 3.0, 1.0], epsilon=0.2)
    study.run(lambda trial: -value(trial), progress=False)
    assert study.shortlist.names == ["a", "b"]
    now = begin(epsilon=0.0)
    now.run(value, max_evaluations=40, progress=False)
    if not now.done and now.shortlist.certain is not None and now.shortlist.certain.stops_at:
        now.widen(now.shortlist.certain.stops_at)
        assert now.done


def test_before_the_first_results_are_in() -> None:
    study = begin()
    assert [each.level for each in study.health() if each.name == "noise"] == ["untested"]
    assert "5 results of each come first" in study.procedure.noise.announcement
    assert study.problem.noise.as_stated.written == [PER_ARM, 0.2, 30]


def test_stored_and_continued(tmp_path: Any) -> None:
    place = tmp_path / "study.db"
    study = begin(storage=place)
    study.run(value, max_evaluations=30, progress=False)
    assert_same(Study.load(place), study)
    later = study.continued(delta=0.1, storage=tmp_path / "other.db")
    assert isinstance(later.problem.noise.as_stated, EstimatedPerArm)
    assert later.run(value, progress=False).names == ["a", "b"]


def test_arms_can_be_retired_on_the_way() -> None:
    study = begin()
    study.run(value, max_evaluations=35, progress=False)
    study.retire("c", reason="out of stock", whatever_the_results=True)
    assert study.run(value, progress=False).names == ["a", "b"]
    with pytest.raises(errors.InvalidInput, match="each arm's noise is estimated by its results"):
        begin().add(arms=["f"])


@pytest.mark.parametrize("u_c", [1e-28, 1e-34, 1e-60])
def test_the_least_distance_is_the_least_beside_a_tiny_spread(u_c: float) -> None:
    for d in np.random.default_rng(0).uniform(0.5, 2.0, 50):
        at_the_end = 5.0 * math.log1p(d * d)
        assert least_distance(d, 10.0, 10.0, 1.0, u_c) <= at_the_end
        assert least_distance(d, 10.0, 10.0, u_c, 1.0) <= at_the_end


@pytest.mark.parametrize("constant", [0.0, 1.0, 0.1])
def test_an_arm_without_noise_ends_in_a_heuristic_answer(constant: float) -> None:
    study = Study(arms=range(3), m=1, sigma=PER_ARM, seed=0)
    rng = np.random.default_rng(0)
    study.run(
        lambda trial: constant if trial.arm == 0 else 3.0 * trial.arm + rng.standard_normal(),
        max_evaluations=150,
        progress=False,
    )
    assert study.done
    assert study.shortlist.names == [2]
    assert study.shortlist.guarantee.badge == "Heuristic"


def test_equal_results_prove_nothing() -> None:
    study = begin(epsilon=0.1)
    study.run(lambda trial: value(trial) if trial.arm else 1.0, max_evaluations=200, progress=False)
    assert not study.done or study.shortlist.guarantee.status == "heuristic"
