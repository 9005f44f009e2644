"""Runs of a comparison: how they are cut off, named and audited, and where they are made."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
import pytest

import shortlist
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.rewards import Coins, Normal, Recorded
from shortlist.engine.seeds import run_seeds
from shortlist.errors import InvalidSetting, ShortlistError
from shortlist.simulation import comparison
from shortlist.simulation.comparison import make_runs

EASY = shortlist.instances.classic(K=4, m=2, omega=1.0)
# Of rounds 200 runs are shared among processes, of plans 10.
SETTINGS: dict[str, Any] = {"seed": 3, "max_samples": 400, "progress": False}
WIDE, PLANS = {"runs": 200, **SETTINGS}, {"runs": 10, **SETTINGS}
POOL = np.random.default_rng(0).random((5, 60)) < np.linspace(0.1, 0.9, 5)[:, None]


def test_unfinished_runs_are_counted() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=0.05)
    results = shortlist.compare("LUCB", instance, runs=4, max_samples=50, progress=False)
    assert results.summary().loc["LUCB", "unfinished"] == 4
    assert (results.frame["samples"] == 50).all()
    with pytest.raises(InvalidSetting, match=r"max_samples=2 is below the \d+ initial pulls"):
        shortlist.compare("LUCB", instance, max_samples=2, progress=False)


def test_the_seed_alone_decides_and_a_comparison_can_be_continued() -> None:
    one, again, other = (
        shortlist.compare("auto", EASY, runs=20, seed=s, progress=False).frame for s in (1, 1, 2)
    )
    assert one.equals(again)
    assert one["samples"].tolist() != other["samples"].tolist()
    later = shortlist.compare("auto", EASY, runs=8, start=12, seed=1, progress=False).frame
    assert later.equals(one[12:].reset_index(drop=True))


def test_auto_beside_the_algorithm_it_takes_has_a_name_of_its_own() -> None:
    instance = shortlist.instances.random(K=6, N=3, m=2, seed=1, sigma=0.3)
    both = shortlist.compare(["auto", "Guess-and-verify"], instance, runs=3, progress=False)
    by_name = both.frame.groupby("algorithm")["samples"].apply(list)
    assert list(by_name.index) == ["Guess-and-verify", "auto (Guess-and-verify)"]
    assert by_name.iloc[0] == by_name.iloc[1]
    alone = shortlist.compare("auto", instance, runs=3, progress=False)
    assert set(alone.frame["algorithm"]) == {"Guess-and-verify"}
    with pytest.raises(InvalidSetting, match="listed twice: leave out one"):
        shortlist.compare(["LUCB", "LUCB"], instance, runs=1, progress=False)


def test_several_instances_give_what_each_gives_alone() -> None:
    hard = shortlist.instances.classic(K=4, m=2, omega=0.6)
    both = shortlist.compare(["LUCB", "LinGIFA"], [EASY, hard, EASY], runs=6, progress=False)
    labels = [EASY.label, hard.label, f"{EASY.label} (2)"]
    assert both.frame["instance"].unique().tolist() == labels
    summary = both.summary()
    assert summary.index.tolist() == [(at, name) for at in labels for name in ("LUCB", "LinGIFA")]
    alone = shortlist.compare(["LUCB", "LinGIFA"], hard, runs=6, progress=False)
    assert alone.frame["samples"].tolist() == both.each[1].frame["samples"].tolist()
    assert summary.loc[hard.label].equals(alone.summary())
    assert alone.each == (alone,)
    assert all(label in repr(both) and label in both._repr_html_() for label in labels)
    with pytest.raises(InvalidSetting, match=r"3 instances: results\.each"):
        both.lower_bound  # noqa: B018


def test_what_is_no_instance_is_refused() -> None:
    with pytest.raises(
        InvalidSetting, match="an instance is needed, or a list of them, got ndarray"
    ):
        shortlist.compare("LUCB", np.eye(3), runs=1, progress=False)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="no instance was given"):
        shortlist.compare("LUCB", [], runs=1, progress=False)


# Where runs are made


@pytest.mark.parametrize(
    ("algorithm", "instance", "told"),
    [
        ("auto", EASY, PLANS),
        ("auto", EASY, {**PLANS, "audit": True}),
        ("auto", shortlist.instances.table(POOL, m=2), PLANS),
        ("auto", shortlist.instances.table(POOL, m=2, blocks="random"), {**PLANS, "epsilon": 0.2}),
        (shortlist.PairsInDoubt(budget=50), EASY, PLANS),
        ("LUCB", EASY, WIDE),
        ("LinGame", EASY, WIDE),
        (["m-LinGapE", "LinGIFA"], [EASY, shortlist.instances.random(8, 3, 2, seed=1)], WIDE),
    ],
)
def test_runs_are_the_same_wherever_they_are_made(
    algorithm: Any, instance: Any, told: dict[str, Any]
) -> None:
    here, there = (shortlist.compare(algorithm, instance, workers=n, **told).frame for n in (1, 2))
    assert there.equals(here)
    with joblib.parallel_config(backend="threading"):
        assert shortlist.compare(algorithm, instance, workers=3, **told).frame.equals(here)


def test_rules_of_ones_own_are_sent_with_their_code() -> None:
    def least_pulled(now):  # type: ignore[no-untyped-def]
        return -now.pulls

    own = shortlist.GIFA(selection=least_pulled, name="own")
    here, there = (shortlist.compare(own, EASY, workers=n, **WIDE).frame for n in (1, 2))
    assert there.equals(here)


class Swinging(Normal):
    """Normal results of which one in ten has three times the noise."""

    def draws(self, generator: np.random.Generator, count: int) -> Any:
        return generator.standard_normal(count) * (1 + 2 * (generator.random(count) < 0.1))


def test_rewards_of_ones_own_are_drawn_in_other_processes_too() -> None:
    class Local(Swinging):
        """Not to be found in any module."""

    own = [replace(EASY, rewards=each(*vars(EASY.rewards).values())) for each in (Swinging, Local)]
    frames = [
        shortlist.compare("auto", one, workers=workers, **PLANS).frame
        for one in own
        for workers in (1, 2)
    ]
    assert all(frame.equals(frames[0]) for frame in frames)
    plain = shortlist.compare("auto", EASY, workers=1, **PLANS).frame
    assert frames[0]["samples"].tolist() != plain["samples"].tolist()


class Kills(Normal):
    """Ends the process that wants a result."""

    def draws(self, generator: np.random.Generator, count: int) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class Raises(Normal):
    """Does not answer."""

    def draws(self, generator: np.random.Generator, count: int) -> Any:
        raise InvalidSetting("no results today")


class Stays(Normal):
    """Cannot be sent."""

    def __reduce__(self) -> Any:
        raise TypeError("I stay here")


@pytest.mark.filterwarnings("ignore:A worker stopped while some jobs were given:UserWarning")
@pytest.mark.parametrize(
    ("rewards", "error", "words"),
    [
        (Kills, ShortlistError, "was killed.*fewer workers, or workers=1"),
        (Raises, InvalidSetting, "no results today"),
        (
            Stays,
            InvalidSetting,
            r"cannot be sent to other processes \(.*I stay here\): .*workers=1",
        ),
    ],
)
def test_what_goes_wrong_in_another_process_is_said(rewards: Any, error: Any, words: str) -> None:
    broken = replace(EASY, rewards=rewards(*vars(EASY.rewards).values()))
    with pytest.raises(error, match=f"(?s){words}"):
        shortlist.compare("auto", broken, workers=2, **PLANS)
    after = shortlist.compare("auto", EASY, workers=2, **PLANS)  # the next is not disturbed
    assert after.frame["stopped"].all()


def test_few_runs_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, parallel = list[int](), comparison.Parallel

    def here(n_jobs: int, **how: Any) -> Any:
        jobs.append(n_jobs)
        return parallel(1, **how)

    monkeypatch.setattr(comparison, "Parallel", here)
    for runs in (3, 199, 200):
        shortlist.compare(shortlist.PairsInDoubt(budget=12), EASY, runs=runs, progress=False)
    assert jobs == [1, 1, -1]


# What runs are made of


@pytest.mark.parametrize("name", ["Guess-and-verify", "LUCB"])
@pytest.mark.parametrize(
    "rewards",
    [
        Normal(EASY.means, np.full(4, 0.5)),
        Coins(EASY.means.clip(0.05, 0.95)),
        Recorded(EASY.means + np.random.default_rng(0).normal(0.0, 0.5, (40, 4))),
    ],
)
def test_a_run_does_not_depend_on_the_runs_beside_it(name: str, rewards: Any) -> None:
    problem = EASY.problem(0.05, 0.1)
    engine = find_algorithm(name).bind(problem).engine
    seeds = run_seeds(0, 5)
    runs = make_runs(engine, rewards, seeds, 300, None)
    for k in range(5):
        alone = make_runs(engine, rewards, seeds[k : k + 1], 300, None)
        assert alone.pulls.tolist() == runs.pulls[k : k + 1].tolist()


def test_costs_are_added_up() -> None:
    costs = [1.0, 2.0, 3.0, 4.0]
    instance = shortlist.instances.from_arrays(
        EASY.features, means=EASY.means, m=2, sigma=0.5, costs=costs
    )
    results = shortlist.compare("auto", instance, runs=5, progress=False)
    paid = [float(np.dot(costs, pulls)) for pulls in results.frame["pulls"]]
    assert results.frame["cost"].tolist() == paid
    assert results.summary()["cost"].tolist() == [np.mean(paid)]


def test_an_audit_takes_evaluations_and_rejects_what_is_curved() -> None:
    x = np.linspace(-1.0, 1.0, 12)
    features = np.column_stack([np.ones(12), x])
    straight, curved = (
        shortlist.instances.from_arrays(features, means=x + bend * x**4, m=2, sigma=0.05)
        for bend in (0.0, -2.0)
    )
    told: dict[str, Any] = {"runs": 20, "audit": True, "epsilon": 0.1, "progress": False}
    frames = [shortlist.compare("m-LinGapE", one, **told).frame for one in (straight, curved)]
    assert not frames[0]["rejected"].any()
    assert frames[1]["rejected"].mean() > 0.5
    plain = shortlist.compare("m-LinGapE", straight, **{**told, "audit": False}).frame
    assert (frames[0]["samples"] - frames[0]["audited"]).tolist() == plain["samples"].tolist()
    assert (frames[0]["audited"] >= 20).all()


@pytest.mark.parametrize("most", [1e3, 100.5, -1, 0])
def test_the_most_evaluations_of_a_run_are_a_whole_number(most: Any) -> None:
    with pytest.raises(shortlist.errors.InvalidSetting, match="max_samples"):
        shortlist.compare("m-LinGapE", EASY, runs=2, max_samples=most, progress=False)


class TwoDraws(Normal):
    """Normal results, of which one in ten is an outlier: two numbers for each."""

    def draws(self, generator: np.random.Generator, count: int) -> np.ndarray:
        scale = np.where(generator.random(count) < 0.1, 3.0, 1.0)
        return scale * generator.standard_normal(count)


def test_a_run_does_not_depend_on_the_most_that_is_allowed() -> None:
    engine = find_algorithm("m-LinGapE").bind(EASY.problem(0.05, 0.1)).engine
    rewards, seeds = TwoDraws(EASY.means, np.full(4, 0.5)), run_seeds(0, 4)
    long, short = (engine.replicate(rewards, seeds, most) for most in (5000, 777))
    ended = long.samples <= 777
    assert ended.any()
    assert long.pulls[ended].tolist() == short.pulls[ended].tolist()
