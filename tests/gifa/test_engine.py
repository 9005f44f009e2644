"""A study and simulated runs are the same rounds: asked or simulated, alone or among others, looked at or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shortlist
from gifa_algorithms import ALGORITHMS, allowed, engine_of
from shortlist.engine.contract import Runs, joined
from shortlist.engine.rewards import Normal, Recorded, Rewards, drawer
from shortlist.engine.seeds import run_seeds
from shortlist.gifa import simulated
from shortlist.gifa.engine import Engine

UNNAMED = {
    "frequentist": shortlist.GIFA(threshold="frequentist", initialization=None),
    "heuristic": shortlist.GIFA(
        threshold="heuristic", initialization="span", indices="individual",
        candidates="smallest_gap", selection="both_arms",
    ),
    "mth gap, lagged": shortlist.GIFA(
        ambiguous="mth_gap", stopping="lucb_lagged", selection="optimized"
    ),
}  # fmt: skip
ALL = {**ALGORITHMS, **UNNAMED}
SOME = ["LUCB both arms", "UGapE", "m-LinGapE", "m-LinGapE optimized", "LinGIFA", "LinGame"]


def linear(
    name: str, K: int, N: int, m: int, sigma: float | list[float] = 0.3, **more: Any
) -> tuple[dict[str, Any], Engine, Normal]:
    """A problem, the engine on it, and normal results of linear means."""
    if not allowed(name, m) if name in ALGORITHMS else False:
        m = 1
    rng = np.random.default_rng([K, N, m, 5])
    features = rng.standard_normal((K, N)) * rng.uniform(0.5, 1.5, (K, 1))
    theta = rng.standard_normal(N)
    given = {"features": features, "m": m, "sigma": sigma, "S": 1.0, **more}
    means = features @ (theta / np.linalg.norm(theta))
    return given, engine_of(ALL[name], **given), Normal(means, np.broadcast_to(sigma, K) * 1.0)


def study_of(name: str, given: dict[str, Any], seed: int, **more: Any) -> shortlist.Study:
    settings = {"algorithm": ALL[name], "seed": seed, "audit": False, "intercept": False}
    return shortlist.Study(**given, **settings, **more)


def follow(study: shortlist.Study, rewards: Rewards, seed: int, most: int) -> None:
    """Ask and tell to the stop, or to ``most`` results."""
    draw = drawer(rewards, seed)
    while not study.done and study.evaluations < most:
        trial = study.ask()
        study.tell(trial, float(draw(np.array([trial.arm]))[0]))


def rows_of(runs: Runs) -> list[tuple[Any, ...]]:
    columns = runs.pulls, runs.samples, runs.stopped, runs.recommended
    return [
        tuple(np.ravel(each[run]).tolist() for each in columns) for run in range(len(runs.seeds))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_a_study_pulls_as_a_simulated_run(name: str) -> None:
    """On results drawn from a normal distribution, and on recorded ones."""
    most = 120
    sigma: Any = [0.3, 0.2, 0.3, 0.1, 0.25, 0.3, 0.3, 0.15, 0.3] if "GapE" in name else 0.3
    given, engine, normal = linear(name, 9, 3, 2, sigma)
    noisy = normal.means + 0.3 * np.random.default_rng(0).standard_normal((5, 9))
    for rewards in (normal, Recorded(noisy)):
        seeds = run_seeds(5, 3)
        runs = engine.replicate(rewards, seeds, most)
        for run, seed in enumerate(seeds.tolist()):
            study = study_of(name, given, seed)
            follow(study, rewards, seed, most)
            assert study.posterior.pulls.tolist() == runs.pulls[run].tolist()
            assert (study.evaluations, study.done) == (runs.samples[run], runs.stopped[run])
            assert sorted(study.shortlist.names) == np.flatnonzero(runs.recommended[run]).tolist()


@pytest.mark.slow
def test_a_study_of_many_arms_pulls_as_a_simulated_run() -> None:
    for name in ("m-LinGapE", "LinGIFA", "LinGIFA (tau LUCB) largest variance", "LUCB"):
        given, engine, normal = linear(name, 400, 4, 3)
        [seed] = run_seeds(1, 1).tolist()
        [row] = rows_of(engine.replicate(normal, run_seeds(1, 1), 450))
        study = study_of(name, given, seed)
        follow(study, normal, seed, 450)
        assert (study.posterior.pulls.tolist(), [study.evaluations]) == row[:2]


@pytest.mark.parametrize("name", SOME)
def test_a_run_alone_is_the_same_run_among_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs have ended before it, and however many advance together."""
    sigma = 0.3 if "Lin" in name else 0.2
    _, engine_, normal = linear(name, 8, 4, 3, sigma, epsilon=0.3)
    seeds = run_seeds(2, 16)
    many = engine_.replicate(normal, seeds, 400)
    assert len(np.unique(many.samples)) > 5
    alone = [engine_.replicate(normal, seeds[run : run + 1], 400) for run in range(len(seeds))]
    assert rows_of(joined(alone)) == rows_of(many)
    monkeypatch.setattr(simulated, "AT_ONCE", 7 * 64)
    monkeypatch.setattr(simulated, "AT_ONCE_COMPILED", 5 * 64)
    for compiled in (None, False):
        assert rows_of(engine_.replicate(normal, seeds, 400, compiled=compiled)) == rows_of(many)


def test_runs_end_at_the_stop_or_at_the_most_that_is_allowed() -> None:
    for name, most in (("m-LinGapE", 41), ("LUCB both arms", 9)):
        _, engine_, normal = linear(name, 8, 4, 3, 5.0)
        runs = engine_.replicate(normal, run_seeds(2, 5), max(most, len(engine_.setup.initial)))
        assert not runs.stopped.any()
        assert (runs.samples == runs.pulls.sum(axis=1)).all()
        assert (runs.samples == max(most, len(engine_.setup.initial))).all()
        assert (runs.recommended.sum(axis=1) == 3).all()


@pytest.mark.parametrize("arms", [40, 700])
def test_looking_at_a_stored_study_leaves_its_replay_as_it_is(tmp_path: Path, arms: int) -> None:
    given, _, normal = linear("m-LinGapE", arms, 5, 3, 1.0)
    study = study_of("m-LinGapE", given, 1, storage=tmp_path / "many.db")
    unseen, draw = study_of("m-LinGapE", given, 1), drawer(normal, 1)
    for t in range(60):
        trials, twins = study.ask(1 + t % 2), unseen.ask(1 + t % 2)
        assert [trial.arm for trial in trials] == [twin.arm for twin in twins]
        for trial, twin, value in zip(
            trials, twins, draw(np.array([trial.arm for trial in trials])).tolist(), strict=True
        ):
            study.tell(trial, value)
            unseen.tell(twin, value)
        if t > 40 and t % 9 == 0:
            study.why(trials[0])
            study.table()
    loaded = shortlist.Study.load(tmp_path / "many.db")
    assert loaded.fingerprint == study.fingerprint
    assert loaded.table().equals(study.table())
    assert loaded.ask().arm == unseen.ask().arm


@pytest.mark.parametrize("name", ["m-LinGapE", "LinGIFA", "LUCB both arms", "UGapE"])
def test_gaps_are_bounded_by_the_indices_that_the_stop_reads(name: str) -> None:
    """An arm outside is compared with the boundary, a candidate with c, each from both sides."""
    given, engine_, normal = linear(name, 9, 3, 2)
    study = study_of(name, given, 3)
    follow(study, normal, 3, len(engine_.setup.initial) + 20)
    posterior, current = study.posterior, study.round
    decision = current.decision(stop=False)
    found = engine_.gaps(posterior, current, decision)
    means, C = posterior.means, decision.threshold * engine_.setup.sigma
    G = np.stack([posterior.row(arm) for arm in range(9)])
    square = G.diagonal()[:, None] + G.diagonal() - 2.0 * G
    width: NDArray[Any] = C * np.sqrt(np.maximum(square, 0.0))
    if engine_.setup.alone:
        width = C * (np.sqrt(G.diagonal())[:, None] + np.sqrt(G.diagonal()))
    by_c = engine_.setup.stop == "lucb"
    for arm in range(9):
        other = found.boundary
        if current.inside[arm] and by_c:
            other, sign = decision.c, -1.0
        else:
            sign = 1.0
        if arm == other:
            assert np.isnan(found.gap[arm])
            continue
        gap = sign * (means[arm] - means[other])
        assert found.gap[arm] == pytest.approx(gap)
        assert found.lower[arm] == pytest.approx(gap - width[arm, other])
        assert found.upper[arm] == pytest.approx(gap + width[arm, other])
    if by_c:
        assert found.upper[decision.c] == found.upper[decision.b] == decision.statistic


def test_an_own_rule_is_not_taken_for_that_of_its_name() -> None:
    """What a stop that is called lucb returns bounds no other pair."""

    def lucb(now: Any) -> Any:
        return np.full(len(now), -1.0)

    features = np.random.default_rng(0).standard_normal((6, 3))
    study = shortlist.Study(
        features, m=2, sigma=1.0, algorithm=shortlist.GIFA(stopping=lucb), seed=0, audit=False
    )
    while not study.done:
        study.tell(study.ask(), 0.0)
    assert study.model.decision is not None
    found = study.procedure.engine.certified(study.posterior, study.round, study.model.decision)
    assert not found.outside.any()
