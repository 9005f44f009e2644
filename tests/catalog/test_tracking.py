"""Elimination: a difference once certified stays so, and only valid bounds are remembered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import shortlist
from shortlist.catalog.gifa import GIFA
from shortlist.catalog.tracking import eliminating
from shortlist.report.page import html
from shortlist.study.insight.history import last_moment

OMEGA, SIGMA = 0.6, 0.3


def study(algorithm: str | GIFA, seed: int = 3) -> shortlist.Study:
    instance = shortlist.instances.classic(K=5, m=2, omega=OMEGA)
    return shortlist.Study(
        instance.features, 2, sigma=SIGMA, algorithm=algorithm, seed=seed, audit=False
    )


def rewards(trial: shortlist.Trial) -> float:
    means = shortlist.instances.classic(K=5, m=2, omega=OMEGA).means
    noise = np.random.default_rng(trial.seed).standard_normal()
    return float(means[trial.arm] + SIGMA * noise)


@pytest.mark.slow
def test_what_is_remembered_never_rises() -> None:
    running = study("m-LinGapE with elimination")
    before = running.round.least.copy()
    fell = 0
    while not running.done:
        trial = running.ask()
        running.tell(trial, rewards(trial))
        now = running.round.least
        assert np.all(now <= before)
        fell += int(np.any(now < before))
        before = now.copy()
    assert fell > 20
    outside = np.flatnonzero(~running.round.inside)
    inside = np.flatnonzero(running.round.inside)
    assert before[np.ix_(inside, outside)].max() == running.statistic <= 0.0


@pytest.mark.slow
def test_some_pairs_are_certified_only_in_the_past() -> None:
    """The plain algorithm would still examine pairs that the other has settled."""
    settled_before = 0
    for seed in range(8):
        running = study("m-LinGapE with elimination", seed)
        running.run(rewards, progress=False)
        plain = running.procedure.engine.round()
        decision, _ = running.procedure.engine.decide(running.posterior.copy(), plain, running.seed)
        settled_before += decision.statistic > running.statistic
        assert running.statistic <= 0.0
        if settled_before:
            break
    assert settled_before > 0


def test_results_that_are_only_supposed_are_not_remembered() -> None:
    running = study("m-LinGapE with elimination")
    for _ in range(70):
        trial = running.ask()
        running.tell(trial, rewards(trial))
    assert running.round.least.min() < np.inf
    before = running.round.least.copy()
    running.ask(25)
    np.testing.assert_array_equal(running.round.least, before)


def test_a_pilot_is_not_remembered() -> None:
    running = study(eliminating(GIFA(threshold="pilot", name="pilot")))
    seen = {"in": 0, "after": 0}
    while not running.done:
        trial = running.ask()
        running.tell(trial, rewards(trial))
        looked = running.posterior.pilot_size > 0 and running.statistic is not None
        seen["after" if looked else "in"] += 1
        assert looked or running.round.least.min() == np.inf
    assert min(seen.values()) > 5
    assert running.round.least.min() < np.inf


@pytest.mark.slow
def test_the_last_look_shows_what_stopped_the_study() -> None:
    running = study(eliminating(GIFA(name="mine")))
    running.run(rewards, progress=False)
    moment = last_moment(running)
    assert moment is not None
    assert moment.table["gap_upper"][moment.c] == running.statistic
    page = html(running)  # and its pictures are drawn
    assert "mine with elimination" in page
    assert "Tirinzoni" in page


@pytest.mark.slow
def test_errors_stay_below_delta() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 3)
    names = [name for name in shortlist.algorithms(all=True) if name.endswith("with elimination")]
    assert len(names) == 7
    names.remove("LinGapE with elimination")
    results = shortlist.compare(names, instance, runs=200, delta=0.1, seed=5, progress=False)
    for name, errors in (
        (~results.frame["correct"]).groupby(results.frame["algorithm"]).sum().items()
    ):
        assert binomtest(int(errors), 200, 0.1, alternative="greater").pvalue > 0.01, name


def test_refused() -> None:
    with pytest.raises(shortlist.errors.InvalidSetting, match="must be valid; use stopping='lucb'"):
        GIFA(stopping="lucb_lagged", elimination=True)
    many = np.random.default_rng(0).standard_normal((2_049, 3))
    with pytest.raises(shortlist.errors.InvalidSetting, match="at most 2,048 arms, got 2,049"):
        shortlist.Study(many, 3, sigma=1.0, algorithm="m-LinGapE with elimination", audit=False)
