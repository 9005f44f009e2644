"""The projection against what the runs then took."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import shortlist
from gifa_algorithms import algorithm_of
from reproduction.published import PUBLISHED
from shortlist.engine.rewards import drawer
from shortlist.simulation.instances import Instance
from shortlist.study.insight import remaining as extrapolation
from shortlist.study.insight.remaining import Projection, remaining
from shortlist.study.running import progress
from stored import arrays_of
from without_blocks import WITHOUT_BLOCKS

FRACTIONS = (0.1, 0.25, 0.5, 0.75)
RANDOM = [
    ("m-LinGapE", 10, 5, 3),
    ("LinGIFA", 6, 3, 2),
    ("m-LinGapE largest variance", 12, 4, 4),
    ("LUCB", 8, 4, 2),
    ("LinGapE", 20, 5, 1),
    ("UGapE", 10, 5, 3),
    ("m-LinGapE optimized", 10, 4, 3),
    ("LinGIFA (individual)", 6, 3, 2),
    ("LinGame", 8, 3, 2),
    ("LUCB both arms", 6, 3, 1),
    ("m-LinGapE greedy (as published)", 12, 4, 2),
    ("LinGIFA greedy (as published)", 10, 5, 3),
]
CLASSIC = ["m-LinGapE", "LinGIFA", "LinGIFA (tau LUCB)", "LUCB", "m-LinGapE largest variance"]
LONGEST, SHORTEST = 700, 100  # results of a run that is taken


@dataclass(frozen=True)
class Point:
    """What was projected at a fraction of a run, as shares of what the run took."""

    algorithm: str
    fraction: float
    guess: float
    low: float
    high: float

    @property
    def held(self) -> bool:
        return self.low <= 1.0 <= self.high


class Run:
    """A study of an instance that meets the same noise as its simulation does."""

    def __init__(self, instance: Instance, algorithm: str, seed: int) -> None:
        self.study = shortlist.Study(
            instance.features,
            m=instance.m,
            sigma=instance.sigma,
            S=instance.S,
            algorithm=algorithm_of(algorithm),
            seed=seed,
            audit=False,
        )
        seeds = np.array([seed], np.uint64)
        runs = self.study.procedure.engine.replicate(instance.rewards, seeds, LONGEST)
        self.total = int(runs.samples[0]) if runs.stopped[0] else None
        self._draw = drawer(instance.rewards, seed)

    def go_on(self, until: int) -> None:
        while not self.study.done and self.study.evaluations < until:
            trial = self.study.ask()
            self.study.tell(trial, float(self._draw(np.array([trial.arm]))[0]))


def runs() -> list[Run]:
    """Three random instances for each of RANDOM and three classic ones for each of CLASSIC."""
    found = []
    for k, (algorithm, K, N, m) in enumerate(RANDOM):
        wanted, seed = 3, 1000 * k
        while wanted:
            seed += 1
            sigma = (0.03, 0.06, 0.1)[seed % 3]
            run = Run(shortlist.instances.random(K, N, m, seed, sigma), algorithm, seed)
            if run.total is not None and run.total >= SHORTEST:
                found.append(run)
                wanted -= 1
    for k, algorithm in enumerate(CLASSIC):
        for omega in (0.55, 0.8, 1.1):
            run = Run(shortlist.instances.classic(4, 2, omega, sigma=0.3), algorithm, 77 + k)
            if run.total is not None:
                found.append(run)
    return found


def points(run: Run) -> list[Point]:
    """What was projected at each fraction of the run."""
    found: list[Point] = []
    assert run.total is not None
    for fraction in FRACTIONS:
        run.go_on(round(fraction * run.total))
        told, said = run.study.evaluations, remaining(run.study)
        if "not known yet" in said.words:
            assert said.evaluations is None
            continue
        guess, high = (
            math.inf if each is None else (told + each) / run.total
            for each in (said.evaluations, said.high)
        )
        low = (told + said.low) / run.total
        found.append(Point(run.study.procedure.name, fraction, guess, low, high))
    run.go_on(LONGEST)
    assert run.study.evaluations == run.total  # what was projected is what the study did
    return found


def at(fraction: float, found: list[Point]) -> list[Point]:
    return [point for point in found if point.fraction == fraction]


def median(found: list[Point]) -> float:
    return float(np.median([point.guess for point in found]))


def held(found: list[Point]) -> float:
    return float(np.mean([point.held for point in found]))


def within_a_factor_of_two(found: list[Point]) -> bool:
    half = at(0.5, found)
    return len(half) >= 30 and 0.5 <= median(half) <= 2.0


def table(found: list[Point]) -> str:
    lines = []
    for fraction in FRACTIONS:
        here = at(fraction, found)
        quartiles = np.quantile([point.guess for point in here], [0.25, 0.5, 0.75], method="lower")
        lines.append(
            f"at {fraction:4.0%} of {len(here)} runs: projected/true {quartiles.round(2).tolist()}, "
            f"range held {held(here):.0%}"
        )
    return "\n".join(lines)


@pytest.fixture(scope="module")
def validation() -> list[Point]:
    """Every run, projected at every fraction."""
    found = [point for run in runs() for point in points(run)]
    print(f"\n{table(found)}")
    return found


@pytest.mark.slow
def test_half_way_the_projection_is_within_a_factor_of_two(validation: list[Point]) -> None:
    half = at(0.5, validation)
    assert len(half) >= 30
    assert 0.5 <= median(half) <= 2.0, table(validation)


@pytest.mark.slow
def test_the_range_holds_the_truth_about_as_often_as_it_says(validation: list[Point]) -> None:
    for fraction in FRACTIONS:
        # 80 % is meant at a moment chosen without knowledge of the end; these are not.
        points = at(fraction, validation)
        holding = round(held(points) * len(points))
        assert binom.cdf(holding, len(points), 0.8) > 0.01, table(validation)
    assert 0.8 <= held(validation) < 0.97, table(validation)
    late, early = at(0.75, validation), at(0.25, validation)
    spans = [np.median([point.high / point.low for point in each]) for each in (late, early)]
    assert spans[0] < spans[1]
    assert 0.8 <= median(late) <= 1.25


def small(algorithm: Any = "m-LinGapE", **settings: Any) -> shortlist.Study:
    x = np.random.default_rng(3).normal(size=(6, 3))
    settings = {"m": 1, "sigma": 0.5, "seed": 5, "algorithm": algorithm, "S": 3.0, **settings}
    return shortlist.Study(x, **{"audit": False, "intercept": False, **settings})


def tell(
    study: shortlist.Study, results: int, theta: Any = (1.0, -0.5, 0.3), seed: int = 0
) -> None:
    noise = np.random.default_rng(seed)
    while not study.done and study.evaluations < results:
        trial = study.ask()
        mean = float(study.problem.features[trial.arm] @ np.asarray(theta))
        value = mean + study.problem.sigma * noise.standard_normal()
        low, high = study.procedure.noise.limits
        study.tell(trial, min(max(value, low), high))


def test_before_the_initial_pulls_are_told_it_says_how_many_are_left() -> None:
    study = small()
    assert remaining(study) == Projection(
        None,
        60,
        None,
        "at least 60 more (initial pulls); how many will follow is not known yet",
    )
    tell(study, 17)
    assert remaining(study).low == 43
    study.tell(arm=0, value=1.0)
    assert remaining(study).low == 43 - (study.posterior.pulls[0] <= 10)


def test_after_the_stop_nothing_remains() -> None:
    study = small()
    tell(study, 10**5)
    assert study.done
    assert remaining(study) == Projection(0, 0, 0, "none: the study has stopped")
    study.reopen()
    assert remaining(study).evaluations == 1


def test_without_initial_pulls_nothing_is_said_until_the_features_are_seen() -> None:
    study = small(PUBLISHED["LinGIFA greedy (as published)"], sigma=2.0)
    assert remaining(study).evaluations is None
    assert "0 of the 3 dimensions" in str(remaining(study))
    while np.linalg.matrix_rank(study.problem.features[study.posterior.pulls > 0]) < 3:
        assert remaining(study).evaluations is None
        tell(study, study.evaluations + 1)
    assert remaining(study).low >= 1


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", sorted(WITHOUT_BLOCKS))
def test_every_algorithm_has_a_projection(algorithm: str) -> None:
    study = small(algorithm, sigma=4.0, epsilon=0.5)
    tell(study, max(len(study.procedure.engine.setup.initial), 12))
    said = remaining(study)
    if study.done:
        assert said.evaluations == 0
        return
    assert said.low >= 1
    high = math.inf if said.high is None else said.high
    assert said.low <= (high if said.evaluations is None else said.evaluations) <= high
    assert said == remaining(study)


def test_looking_changes_nothing() -> None:
    one, other = small(sigma=2.0), small(sigma=2.0)
    for study in (one, other):
        tell(study, 80)
    state = arrays_of(one)
    remaining(one)
    for before, after in zip(state, arrays_of(one), strict=True):
        np.testing.assert_array_equal(before, after)
    assert one.fingerprint == other.fingerprint
    assert [t.arm for t in one.ask(5)] == [t.arm for t in other.ask(5)]


@pytest.mark.slow
def test_arms_that_look_alike_have_a_wide_range() -> None:
    x = np.vstack([np.eye(3), [[1.0, 1.0, 1.0]]])
    study = shortlist.Study(x, m=1, sigma=1.0, seed=1, algorithm="m-LinGapE")
    noise = np.random.default_rng(0)
    lows = []
    for results in (100, 400, 1600):
        while study.evaluations < results:
            trial = study.ask()
            study.tell(trial, float([0.5, 0.5, -0.5, 0.5][trial.arm] + noise.standard_normal()))
        said = remaining(study)
        lows.append(said.low)
        assert said.high is None or said.high > 50 * said.low
    assert lows == sorted(lows)  # the end goes away as one comes nearer: the means are equal
    slack = shortlist.Study(x, m=1, sigma=1.0, seed=1, epsilon=0.3, algorithm="m-LinGapE")
    for trial in study.trials[:400]:
        slack.tell(arm=trial.arm, value=trial.value)
    assert not slack.done
    bounded = remaining(slack)
    assert bounded.high is not None
    assert bounded.high < 10_000


@pytest.mark.slow
def test_a_hopeless_study_is_answered_at_once() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 100))
    study = shortlist.Study(x, m=10, sigma=1.0, seed=0, algorithm="m-LinGapE")
    for arm in study.procedure.engine.setup.initial:
        study.tell(arm=int(arm), value=0.0)
    start = time.perf_counter()
    said = remaining(study)
    assert time.perf_counter() - start < 10.0  # 0.5 s on a machine that does nothing else
    assert said.low > 10**5
    assert said.high is None
    assert said.tie is not None
    assert "over 100,000,000" in said.words


def test_the_time_at_which_widths_have_shrunk_enough() -> None:
    assert extrapolation._time(0.5, 100, lambda t: 4.0) == pytest.approx(400.0)
    assert extrapolation._time(0.1, 100, lambda t: 4.0) == 100.0
    assert extrapolation._time(math.inf, 100, lambda t: 4.0) == math.inf
    assert extrapolation._time(1e4, 100, lambda t: 4.0) == math.inf
    grown = extrapolation._time(0.5, 100, lambda t: math.sqrt(2.0 * math.log(t)))
    assert grown == pytest.approx(100 * 0.25 * 2.0 * math.log(grown), rel=2e-3)


def test_deviations_of_pairs_are_those_of_plain_linear_algebra() -> None:
    study = small(m=2, epsilon=0.1)
    tell(study, 60)
    x, pulls = study.procedure.engine.setup.features, study.posterior.pulls
    inverse = np.linalg.inv((x.T * pulls) @ x)
    b, c = np.array([4, 1]), np.array([0, 2, 5])
    own, apart = extrapolation._deviations(study.posterior, 0.5, b, c)
    for i, j in np.ndindex(2, 3):
        one, other = x[b[i]], x[c[j]]
        norms = [math.sqrt(each @ inverse @ each) for each in (one, other, one - other)]
        assert own[i, j] == pytest.approx(0.5 * (norms[0] + norms[1]))
        assert apart[i, j] == pytest.approx(0.5 * norms[2])


@pytest.mark.parametrize("threshold", [None, "frequentist"])
def test_the_threshold_is_the_present_one_and_grows(threshold: str | None) -> None:
    study = small(threshold=threshold)
    tell(study, 100)
    engine, posterior = study.procedure.engine, study.posterior
    C = extrapolation._later_threshold(engine, posterior)
    since = posterior.observed
    assert C(since) == pytest.approx(engine.threshold(posterior, study.round), rel=1e-9)
    assert C(10.0 * since) > C(since)


def test_the_same_arms_in_another_basis_have_the_same_projection() -> None:
    rng = np.random.default_rng(0)
    means = np.linspace(0.0, 5.0, 40)
    rotation = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    projections = []
    for features in (np.eye(40), rotation):
        study = shortlist.Study(features, m=4, sigma=0.1, algorithm="UGapE", seed=0)
        for k, trial in enumerate(study.ask(200)):
            study.tell(trial, means[trial.arm] + 0.1 * (-1) ** (k // 40))
        projections.append(remaining(study))
    assert projections[0] == projections[1]


def near_tie(algorithm: str, **more: Any) -> shortlist.Study:
    means = [0.9, 0.635, 0.629, 0.3]
    study = shortlist.Study(
        arms=["ash", "elm", "oak", "yew"], m=2, sigma=0.1, seed=0, algorithm=algorithm, **more
    )
    noise = np.random.default_rng(0)
    sign = -1.0 if study.direction == "minimize" else 1.0
    while study.evaluations < 200:
        trial = study.ask()
        study.tell(trial, sign * (means[trial.arm] + 0.1 * noise.standard_normal()))
    return study


@pytest.mark.parametrize("algorithm", ["LUCB", "m-LinGapE", "LinGIFA"])
def test_two_arms_that_may_be_too_alike_are_named_and_the_slack_that_would_stop_now(
    algorithm: str,
) -> None:
    study = near_tie(algorithm)
    found = study.remaining()
    assert found.tie is not None
    assert set(found.tie.names) == {"elm", "oak"}
    assert found.tie.means == pytest.approx((0.63, 0.63), abs=0.03)
    assert "may be too alike to be told apart" in found.words
    assert " ≈ " in progress.describe(study, found.short)
    tie = replace(found.tie, names=("a compound of a long name 1", "a compound of a long name 2"))
    line = progress.describe(study, replace(found, tie=tie).short)
    assert "a compo…name 1 ≈ a compo…name 2, ε = " in line
    assert line.index(" left (") < 100  # of a terminal's columns
    # The advice works: with that slack the study stops.
    assert not study.done
    study.widen(found.tie.epsilon)
    assert study.done


def test_plans_say_what_stops_them_now() -> None:
    study = near_tie("Guess-and-verify")
    found = study.remaining()
    assert found.tie is not None
    assert f"study.widen(epsilon={found.tie.epsilon:g}) would end the study now" in found.words
    study.widen(found.tie.epsilon)
    assert study.done


def test_a_tie_is_told_in_the_users_sign() -> None:
    found = near_tie("LUCB", direction="minimize").remaining()
    assert found.tie is not None
    assert max(found.tie.means) < -0.5


def test_arms_far_apart_are_not_called_alike() -> None:
    study = shortlist.Study(arms=["a", "b", "c"], m=1, sigma=0.1, seed=0, algorithm="LUCB")
    for arm, mean in enumerate([0.9, 0.5, 0.1]):
        for away in (-0.1, 0.1):
            study.tell(arm=arm, value=mean + away)
    assert study.statistic is not None
    assert study.remaining().tie is None
