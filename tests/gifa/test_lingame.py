"""LinGame: the learner, nature's answer, and the pulls that follow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist
from gifa_algorithms import ALGORITHMS, engine_of
from pair_distances import pieces
from shortlist.engine.fits import fits_of
from shortlist.gifa.lingame import Game

STEADY = settings(derandomize=True, deadline=None)
CLASSIC = {
    "pi/6": shortlist.instances.classic(K=4, m=2, omega=np.pi / 6),
    "0.1": shortlist.instances.classic(K=3, m=1, omega=0.1),
}


def game_of(features: Any, m: int, runs: int = 1, epsilon: float = 0.0) -> Game:
    setup = engine_of("LinGame", features, m, sigma=1.0, epsilon=epsilon, intercept=False).setup
    return Game(setup, runs, as_published=False)


# The learner


def learns(gains: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The weights of every round, for gains in [0, 1] by rounds and arms."""
    arms, runs = gains.shape[1], 1
    game = game_of(np.eye(arms), 1)
    monkeypatch.setattr(Game, "_answer", lambda *_: np.zeros((runs, arms)))
    inside = np.arange(arms)[None, :] == 0
    # With no answer an arm's gain is ln t times its variance.
    rounds = (SimpleNamespace(observed=20, variances=row[None, :] / np.log(20)) for row in gains)
    return np.concatenate([game._play(each, inside, 0.0) for each in rounds])  # type: ignore[arg-type]


def test_the_learner_starts_even_and_finds_the_arm_that_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gains = np.random.default_rng(0).uniform(0, 1, (400, 4)) + np.array([0, 0, 0.5, 0])
    weights = learns(gains, monkeypatch)
    assert weights[0].tolist() == [0.25] * 4
    assert weights[-1].argmax() == 2
    assert weights[-1, 2] > 0.95


@pytest.mark.parametrize("arms", [2, 4, 6])
@pytest.mark.parametrize("seed", range(5))
def test_regret_stays_below_the_bound_of_adahedge(
    arms: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sqrt(T ln K) + (16/3) ln K + 2 for gains in [0, 1] (de Rooij et al. 2014)."""
    gains = np.random.default_rng(seed).integers(0, 2, (200, arms)).astype(float)
    earned, log = (learns(gains, monkeypatch) * gains).sum(), np.log(arms)
    assert gains.sum(axis=0).max() - earned <= np.sqrt(200 * log) + 16 / 3 * log + 2


# The closest alternative


@pytest.mark.slow
@STEADY
@given(
    st.integers(5, 9), st.integers(2, 4), st.integers(1, 2),
    st.sampled_from([0.0, 0.3]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_nature_answers_with_the_closest_alternative(
    K: int, N: int, m: int, epsilon: float, seed: int
) -> None:
    """No θ that puts another arm ε above a candidate is nearer than the answer, in any run."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((K, N))
    fits = fits_of(X, 2, regularization=1.0)
    for _ in range(30):
        fits.observe(rng.integers(K, size=2), rng.standard_normal(2))
    game = game_of(X, m, 2)
    game.setup = SimpleNamespace(**{**vars(game.setup), "features": X})  # type: ignore[assignment]
    every = np.zeros((2, K), bool)
    np.put_along_axis(every, np.argsort(-fits.means, axis=1)[:, :m], True, axis=1)
    weights = rng.dirichlet(np.ones(K), 2)
    shifts = game._answer(fits, every, weights, 0.0, epsilon)
    for run, inside in enumerate(every):
        V = X.T @ (weights[run][:, None] * X)
        theta = np.linalg.lstsq(X, fits.means[run], rcond=None)[0]
        moved = np.linalg.lstsq(X, shifts[run], rcond=None)[0]
        assert X @ moved == pytest.approx(shifts[run], rel=1e-5, abs=1e-7)
        there = X @ (theta - moved)
        assert max(there[~inside]) >= min(there[inside]) + epsilon - 1e-6
        distance = moved @ V @ moved
        for i in np.flatnonzero(inside):
            for j in np.flatnonzero(~inside):
                y = X[i] - X[j]
                other = (theta @ y + epsilon) ** 2 / (y @ np.linalg.inv(V) @ y)
                assert distance <= other * (1 + 1e-5) + 1e-12


def test_a_direction_without_weight_is_answered_for() -> None:
    fits = fits_of(np.eye(3), regularization=1.0)
    for arm, value in enumerate([3.0, 2.0, 1.0]):
        fits.observe(np.array([arm]), np.array([value]))
    [shift] = game_of(np.eye(3), 1)._answer(
        fits, np.array([[True, False, False]]), np.array([[1.0, 0.0, 0.0]]), 0.0, 0.0
    )
    assert np.isfinite(shift).all()
    assert abs(shift[1]) > 0.4  # nature moves what nobody looks at
    assert abs(shift[0]) < 1e-6


@pytest.mark.parametrize("relates", [True, False])
def test_the_answer_is_that_of_all_of_g(relates: bool) -> None:
    """Arms of equal features never change places, as little as rounding tells them apart."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((7, 3)) if relates else np.eye(7)
    if relates:
        X[3] = X[0]
    fits = fits_of(X, 2, regularization=1.0)
    for _ in range(20):
        fits.observe(rng.integers(7, size=2), rng.standard_normal(2))
    game, weights = game_of(X, 2, 2, epsilon=0.2), rng.dirichlet(np.ones(7), 2)
    X = fits.features
    game.setup = SimpleNamespace(**{**vars(game.setup), "features": X})  # type: ignore[assignment]
    inside = np.zeros((2, 7), bool)
    inside[:, [0, 5]] = True
    shifts = game._answer(fits, inside, weights, 0.0, 0.2)
    for run in range(2):
        V = X.T @ (weights[run][:, None] * X)
        G, means, best = X @ np.linalg.inv(V) @ X.T, fits.means[run], (np.inf, np.zeros(7))
        for i in (0, 5):
            for j in (1, 2, 3, 4, 6):
                if relates and (i, j) == (0, 3):
                    continue
                square = G[i, i] + G[j, j] - 2 * G[i, j]
                margin = max(means[i] - means[j] + 0.2, 0.0)
                if margin**2 / square < best[0]:
                    best = margin**2 / square, margin / square * (G[i] - G[j])
        assert shifts[run] == pytest.approx(best[1], rel=1e-6, abs=1e-9)


# The sum of the shares is tracked


def followed(features: np.ndarray, theta: np.ndarray, rounds: int, **more: Any) -> Any:
    """A study after so many results."""
    study = shortlist.Study(features, seed=0, algorithm="LinGame", **more, audit=False)
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, float(features[trial.arm] @ theta + rng.standard_normal()))
        if study.done:
            study.reopen()
    return study


def test_counts_stay_by_the_sum_of_the_shares() -> None:
    features = np.random.default_rng(0).standard_normal((9, 3))
    study = followed(features, np.array([1.0, 0.0, 0.0]), 400, m=3, sigma=1.0, delta=1e-99)
    game = study.round.memory.game
    assert game.target.sum() == pytest.approx(game.shared[0])
    assert game.shared[0] == 401
    assert np.abs(game.target[0] - study.posterior.pulls).max() <= len(features)
    assert np.ptp(study.posterior.pulls) > 30  # the shares are not even


def test_a_batch_is_spread_and_leaves_the_memory_alone() -> None:
    features = np.random.default_rng(0).standard_normal((8, 3))
    study = followed(features, np.array([1.0, 0.0, 0.0]), 100, m=2, sigma=1.0)
    before = study.round.copy().memory.game
    assert len({trial.arm for trial in study.ask(6)}) >= 2
    after = study.round.memory.game
    for memory in ("shared", "target"):
        np.testing.assert_array_equal(getattr(before, memory), getattr(after, memory))
    [old], [new] = before.learners, after.learners
    assert old.keys() == new.keys()
    for answer in old:
        np.testing.assert_array_equal(old[answer], new[answer])


def test_a_wider_epsilon_counts_at_once_and_teaches_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = np.random.default_rng(0).standard_normal((8, 3))
    study = followed(features, np.array([1.0, 0.0, 0.0]), 100, m=2, sigma=1.0, delta=1e-99)
    before = study.round.copy().memory.game
    assert before.shared[0] == 101
    study.widen(epsilon=0.05)
    after = study.round.memory.game
    assert not study.done
    assert after.target.tolist() == before.target.tolist()
    [old], [new] = before.learners, after.learners
    assert {name: row.tolist() for name, row in old.items()} == {
        name: row.tolist() for name, row in new.items()
    }
    slack, answer = [], Game._answer

    def watched(self: Game, *given: Any) -> Any:
        slack.append(given[-1])
        return answer(self, *given)

    monkeypatch.setattr(Game, "_answer", watched)
    study.tell(study.ask(), 0.0)
    assert slack
    assert set(slack) == {0.05}


@pytest.mark.slow
@pytest.mark.parametrize("instance", CLASSIC.values(), ids=CLASSIC)
def test_the_pulls_become_optimal(instance: Any) -> None:
    """δ is so small that nothing stops: the shares of the pulls are worth nearly those of w*."""
    most = 40_000 if instance is CLASSIC["0.1"] else 6_000
    results = shortlist.compare(
        "LinGame", instance, runs=2, seed=1, delta=1e-300, max_samples=most, progress=False
    ).frame
    assert not results["stopped"].any()
    inside = np.zeros(len(instance.means), bool)
    inside[np.argsort(-instance.means)[: instance.m]] = True
    reduced = instance.problem(0.05, 0.0).reduced
    best = shortlist.theory.lower_bound(instance).allocation
    worth = [
        pieces(reduced, instance.means, inside, np.array(pulls) / most).min()
        for pulls in results["pulls"]
    ]
    share = np.mean(worth) / pieces(reduced, instance.means, inside, best).min()
    assert 0.9 <= share <= 1.001
    if instance is CLASSIC["0.1"]:  # where w* is much alone in being nearly as good
        mean = np.mean(results["pulls"].tolist(), axis=0) / most
        assert mean == pytest.approx(best, abs=0.08)


@pytest.mark.slow
def test_it_needs_fewer_evaluations_than_even_shares() -> None:
    instance = shortlist.instances.classic(K=6, m=1, omega=0.2, sigma=0.5)
    uniform = shortlist.GIFA(selection=even, name="even shares")
    frame = shortlist.compare(["LinGame", uniform], instance, runs=20, progress=False).frame
    mean = frame.groupby("algorithm")["samples"].mean()
    assert mean["LinGame"] < 0.7 * mean["even shares"]


def even(now: Any) -> Any:
    return -now.pulls


# ε > 0


def test_slack_lets_equal_arms_be() -> None:
    """Arms of ranks m and m + 1 are equal: without slack no stop, with it a right one."""
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.4], [0.2, 0.1]])
    theta = np.array([1.0, 1.0])
    instance = shortlist.instances.from_arrays(features, theta=theta, m=1, sigma=0.5)
    frame = shortlist.compare(
        "LinGame", instance, runs=20, epsilon=0.3, max_samples=100_000, progress=False
    ).frame
    assert frame["stopped"].all()
    assert frame["correct"].all()


@pytest.mark.slow
def test_slack_moves_the_pulls_to_where_they_are_worth_more_with_it() -> None:
    """A near tie wants almost all pulls at ε = 0; with ε = 0.5 it is one pair of many."""
    means = np.array([1.0, 0.95, 0.6, 0.5])
    instance = shortlist.instances.from_arrays(np.eye(4), theta=means, m=1, sigma=0.5)
    options: dict[str, Any] = {"runs": 4, "delta": 1e-200, "max_samples": 1500, "progress": False}
    worth = {}
    for epsilon in (0.0, 0.5):
        frame = shortlist.compare("LinGame", instance, epsilon=epsilon, **options).frame
        assert not frame["stopped"].any()
        shares = np.sum(frame["pulls"].tolist(), axis=0) / (4 * 1500)
        worth[epsilon] = pieces(np.eye(4), means, means == 1.0, shares, 0.5).min()
    assert worth[0.5] > 1.3 * worth[0.0]


# What goes with it


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"selection": "tracking"}, "follows an allocation"),
        ({"allocation": "game"}, "no other rule does"),
        ({"selection": "tracking", "allocation": "gme"}, "did you mean 'game'"),
    ],
)
def test_an_allocation_goes_with_tracking(settings: dict[str, str], words: str) -> None:
    with pytest.raises(shortlist.errors.InvalidInput, match=words):
        shortlist.GIFA(**settings)


def test_the_published_one_finds_one_arm_only_and_is_not_proven() -> None:
    published, problem = ALGORITHMS["LinGame (as published)"], CLASSIC["pi/6"].problem(0.05, 0.0)
    with pytest.raises(shortlist.errors.InvalidSetting, match="m = 1"):
        published.bind(problem)
    assert not published.bind(CLASSIC["0.1"].problem(0.05, 0.0)).proven
    procedure = ALGORITHMS["LinGame"].bind(problem)
    assert procedure.proven
    assert procedure.claim.text.startswith("Proven")
