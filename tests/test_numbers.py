"""Units, nearly equal arms, and what double precision cannot hold: no answer rests on rounding."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import shortlist
from examples.race import RACE
from shortlist import GIFA, Study, errors
from shortlist.engine.fits import LEAST_SHARE, Posterior
from shortlist.features import fits_own_units, reduce_to_rank
from shortlist.linalg import even, span
from shortlist.problem import Problem

ALGORITHMS = [
    "auto",
    "m-LinGapE",
    "m-LinGapE optimized",
    "LinGIFA",
    "LinGame",
    "Guess-and-verify (own results)",
]
UNITS = [
    (1.0, 1e-9, 1e7),
    (1e-150, 1.0, 1e150),
    (1e150, 1e-150, 1e-20),
    (1e160, 1e160, 1e160),
    (1e-300, 1.0, 1e300),
]


def features_of_size_one() -> np.ndarray:
    return even(np.random.default_rng(3).standard_normal((12, 3)))


def pulls_of(
    features: np.ndarray, means: np.ndarray, sigma: float, most: int, **settings: Any
) -> tuple[list[int], Study]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.UnhealthyFeatures)
        study = Study(features, sigma=sigma, seed=1, **settings, audit=False)
    rng, pulls = np.random.default_rng(1), []
    while not study.done and len(pulls) < most:
        trial = study.ask()
        pulls.append(trial.arm)
        study.tell(trial, float(means[trial.arm] + sigma * rng.standard_normal()))
    return pulls, study


@pytest.mark.slow
@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: getattr(each, "name", each))
def test_units_change_no_pull(algorithm: Any, units: tuple[float, ...]) -> None:
    assert pulls_in_units(algorithm, units) == pulls_in_units(algorithm, (1.0, 1.0, 1.0))


@cache
def pulls_in_units(algorithm: Any, units: tuple[float, ...]) -> list[int]:
    x = features_of_size_one()
    means = x @ np.array([1.0, -0.7, 0.4])
    return pulls_of(x * np.array(units), means, 2.0, 70, m=2, algorithm=algorithm)[0]


def test_columns_of_very_different_size_give_no_wrong_arm() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(20):
        x = rng.standard_normal((20, 3))
        means = x @ np.array([1.0, 3.0, -2.0])
        got, study = pulls_of(x * np.array([1.0, 1e-9, 1e7]), means, 0.5, 5000, m=3)
        assert study.done
        assert len(got) > 3
        best = set(np.argsort(-means)[:3].tolist())
        wrong += set(study.shortlist.names) != best
    assert wrong <= 3  # δ = 0.05


@pytest.mark.parametrize("ratio", [10.0**k for k in range(0, 301, 50)])
def test_the_rank_is_that_of_scaled_columns(ratio: float) -> None:
    x = np.random.default_rng(1).standard_normal((9, 3))
    units = np.array([ratio**-0.5, 1.0, ratio**0.5])
    assert Problem.of(x * units, 1, sigma=1.0).rank == 3
    twice = np.column_stack([x, x[:, 0] - x[:, 2]])
    assert Problem.of(twice * np.append(units, ratio**0.5), 1, sigma=1.0).rank == 3


def test_well_scaled_features_stay_as_they_are() -> None:
    x = np.random.default_rng(2).standard_normal((20, 4))
    assert np.shares_memory(reduce_to_rank(x), x)
    uneven = x * np.array([1.0, 1e2, 1e-1, 1e3])
    assert np.shares_memory(reduce_to_rank(uneven), uneven)
    np.testing.assert_allclose(reduce_to_rank(x * np.array([1.0, 1e3, 1e-4, 1e7])), even(x))
    redundant = np.column_stack([np.eye(4)[np.arange(20) % 4], np.ones(20), 1e3 * x[:, 0]])
    right = np.linalg.svd(np.linalg.qr(redundant, mode="r"))[2]
    assert np.array_equal(reduce_to_rank(redundant), redundant @ right[:5].T)


def with_a_nearly_redundant_column(apart: float) -> np.ndarray:
    x = np.random.default_rng(3).standard_normal((20, 3))
    x[:, 2] = x[:, 0] + apart * x[:, 2]
    return x


def test_nearly_redundant_columns_are_refused() -> None:
    assert reduce_to_rank(with_a_nearly_redundant_column(1e-5)).shape == (20, 3)
    with pytest.raises(errors.InvalidFeatures, match=r"condition number .*e\+09"):
        reduce_to_rank(with_a_nearly_redundant_column(1e-9))


def test_what_keeps_the_norm_of_theta_keeps_the_units_or_says_so() -> None:
    x = features_of_size_one()
    uneven = x * np.array([1.0, 1e-2, 1e2])
    assert fits_own_units(uneven)
    assert np.shares_memory(Problem.of(uneven, 2, sigma=1.0).in_own_units, uneven)
    for units in ((1.0, 1e-9, 1e9), (1e-200, 1.0, 1.0)):
        problem = Problem.of(x * np.array(units), 2, sigma=1.0, S=1.0)
        for threshold in ("frequentist",):
            with pytest.raises(errors.InvalidFeatures, match="units of the features"):
                shortlist.catalog.registry.find_algorithm("m-LinGapE").bind(problem, threshold)


def test_arms_that_are_lost_beside_larger_ones_are_refused() -> None:
    with pytest.raises(errors.InvalidFeatures, match="row 1 "):
        Problem.of([[1e20, 1e20], [1.0, 0.0], [0.0, 1.0]], 1, sigma=1.0).rank  # noqa: B018
    with pytest.raises(errors.InvalidFeatures, match="arm 2 "):
        Problem.of([[1.0, 0.0], [0.0, 1.0], [1e-160, 1e-170]], 1, sigma=1.0)
    large_and_small = [[1e20, 0.0], [0.0, 1e20], [1.0, 0.0], [0.0, 2.0]]
    assert Problem.of(large_and_small, 1, sigma=1.0).rank == 2


# Nearly equal arms.


def nearly_equal(apart: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The best arm, and another so far from it in a direction in which the means hardly change."""
    rng = np.random.default_rng(seed)
    theta = np.array([1.0, 0.7, -0.5])
    x = rng.standard_normal((8, 3))
    best = int(np.argmax(x @ theta))
    along = theta / np.linalg.norm(theta)
    across = rng.standard_normal(3)
    across -= (across @ along) * along
    across /= np.linalg.norm(across)
    x[(best + 1) % 8] = x[best] - apart * (0.15 * along + np.sqrt(1.0 - 0.15**2) * across)
    return x, theta


SETTINGS: list[tuple[Any, str | None]] = [
    ("m-LinGapE", None),
    ("LinGIFA", None),
    ("LinGame", None),
    ("Guess-and-verify", None),
]


def errors_among(apart: float, algorithm: Any, threshold: str | None, epsilon: float) -> int:
    x, theta = nearly_equal(apart)
    instance = shortlist.instances.from_arrays(x, theta=theta, m=1, sigma=1.0)
    runs = 12
    got = shortlist.compare(
        [algorithm],
        instance,
        runs=runs,
        seed=0,
        epsilon=epsilon,
        threshold=threshold,
        max_samples=2_000,
        workers=1,
        progress=False,
    )
    return round(float(got.summary(lower_bound=False)["error_rate"].iloc[0]) * runs)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.02])
@pytest.mark.parametrize("apart", [1e-7, 1e-12])
@pytest.mark.parametrize(("algorithm", "threshold"), SETTINGS, ids=str)
def test_nearly_equal_arms_are_not_told_apart_by_rounding(
    algorithm: Any, threshold: str | None, apart: float, epsilon: float
) -> None:
    # Where rounding decides, every other run errs; all but none do so by chance.
    assert errors_among(apart, algorithm, threshold, epsilon) == 0


@pytest.mark.slow
@pytest.mark.parametrize("apart", [1e-3, 1e-8, 1e-12])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: getattr(each, "name", each))
def test_no_study_of_nearly_equal_arms_raises(algorithm: Any, apart: float) -> None:
    x, theta = nearly_equal(apart)
    for epsilon in (0.0, 1e-9):
        pulls_of(x, x @ theta, 1.0, 90, m=1, algorithm=algorithm, epsilon=epsilon)


@pytest.mark.slow
def test_a_plain_study_of_nearly_equal_arms_does_not_stop_by_rounding() -> None:
    wrong = 0
    for seed in range(10):
        x, theta = nearly_equal(1e-7, seed)
        means = x @ theta
        _, study = pulls_of(x, means, 1.0, 1500, m=1)
        if study.done:
            wrong += study.shortlist.names[0] != int(np.argmax(means))
    assert wrong <= 2


@pytest.mark.parametrize("arms", [8, 200])
@pytest.mark.parametrize("bend", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("regularization", [0.0, 1e-4, 1.0])
def test_the_floor_covers_what_rounding_does_to_a_square(
    arms: int, bend: float, regularization: float
) -> None:
    from shortlist.engine.fits import width_floor

    rng = np.random.default_rng(4)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    x = rng.standard_normal((arms, 3)) @ (turn * np.geomspace(1.0, 1.0 / bend, 3)) @ turn.T
    x[1] = x[0]  # the square is 0, and all that is computed is rounding
    posterior = Posterior(x, regularization=regularization)
    for arm in [*span(x), *range(arms)]:
        posterior.observe(int(arm), 0.0)
    posterior.refresh()
    floor = width_floor(x, regularization)
    assert floor >= LEAST_SHARE
    chosen = rng.choice(arms, size=3000, p=rng.dirichlet(np.full(arms, 0.3)))
    for n, arm in enumerate(chosen):
        posterior.observe(int(arm), 0.0)
        if n % 100 == 0:
            both = posterior.variances[0] + posterior.variances[1]
            assert abs(both - 2.0 * posterior.row(1)[0]) <= floor * both


# Advice.

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.9, 0.1]])
FAR = X * np.array([1e-200, 1.0])
MANY = np.random.default_rng(0).standard_normal((4001, 2))


def make(features: Any = X, m: int = 1, *, sigma: Any = 1.0, **settings: Any) -> Callable[[], Any]:
    return lambda: Study(features, m, sigma=sigma, **settings, audit=False)


ADVICE: list[tuple[Callable[[], Any], str, list[Callable[[], Any]]]] = [
    (
        make(threshold="frequentist"),
        "give S=…, or use threshold='self_normalized'",
        [make(threshold="frequentist", S=2.0), make(threshold="self_normalized")],
    ),
    (
        make(algorithm=GIFA(threshold="frequentist", regularization=0.0), S=1.0),
        "leave regularization=None for its own choice, or use threshold='self_normalized'",
        [
            make(algorithm=GIFA(threshold="frequentist", regularization=None), S=1.0),
            make(
                algorithm=GIFA(threshold="frequentist", regularization=0.0),
                threshold="self_normalized",
            ),
        ],
    ),
    (
        make(algorithm=GIFA(initialization=None)),
        "use GIFA(…, initialization='span') or 'each', or threshold='frequentist' with S=…",
        [
            make(algorithm=GIFA(initialization="span")),
            make(algorithm=GIFA(initialization="each")),
            make(algorithm=GIFA(initialization=None), threshold="frequentist", S=1.0),
        ],
    ),
    (
        make(algorithm=GIFA(threshold="heuristic", initialization=None)),
        "use GIFA(…, initialization='span') or 'each', or GIFA(…, regularization=…) above 0",
        [
            make(algorithm=GIFA(threshold="heuristic", initialization="span")),
            make(algorithm=GIFA(threshold="heuristic", initialization="each")),
            make(algorithm=GIFA(threshold="heuristic", initialization=None, regularization=0.1)),
        ],
    ),
    (
        make(FAR, threshold="frequentist", S=1.0, algorithm="m-LinGapE"),
        "divide each column by its largest absolute value and give S in these units, or use "
        "threshold='self_normalized' without a regularization",
        [
            make(FAR / np.abs(FAR).max(axis=0), threshold="frequentist", S=1.0),
            make(FAR, threshold="self_normalized"),
        ],
    ),
    (
        make(sigma=[1e-9, 1.0, 1.0, 1.0], algorithm="m-LinGapE"),
        "raise the small ones, for example to a thousandth of the largest",
        [make(sigma=[1e-3, 1.0, 1.0, 1.0], algorithm="m-LinGapE")],
    ),
    (
        make(m=2, algorithm="LinGapE"),
        "use m-LinGapE",
        [make(m=2, algorithm="m-LinGapE")],
    ),
    (
        make(algorithm="Guess-and-verify", threshold="heuristic"),
        "leave threshold=None",
        [make(algorithm="Guess-and-verify", threshold=None)],
    ),
    (
        make(algorithm=RACE, sigma="estimate"),
        "give a number for sigma, or leave out algorithm= and threshold=",
        [make(algorithm=RACE, sigma=1.0), make(algorithm="Guess-and-verify", sigma="estimate")],
    ),
    (
        make(sigma="bounded"),
        "give reward_range=(low, high)",
        [make(sigma="bounded", reward_range=(0.0, 1.0))],
    ),
    (
        make(reward_range=(0.0, 1.0)),
        "leave one of them out",
        [make(), make(sigma="bounded", reward_range=(0.0, 1.0))],
    ),
    (
        make(algorithm="m-LinGapE", budget=20),
        "Leave out one of the two",
        [make(algorithm="m-LinGapE"), make(budget=20)],
    ),
    (
        make(algorithm="pairs-in-doubt"),
        "pass budget=… to Study",
        [make(algorithm="pairs-in-doubt", budget=20)],
    ),
    (make(budget=1), "Pass at least budget=3", [make(budget=3)]),
    (
        make(np.vstack([X, X[0]])),
        "Keep one of them, give them different features, or set epsilon > 0",
        [make(X), make(np.vstack([X, X[0] + 1.0])), make(np.vstack([X, X[0]]), epsilon=0.1)],
    ),
    (
        make(np.vstack([X, np.zeros(2)]), intercept=False),
        "Remove it, or use intercept=True",
        [make(X), make(np.vstack([X, np.zeros(2)]), intercept=True)],
    ),
    (
        make(np.vstack([X, [1e-150, 0.0]]), intercept=False),
        "Remove the arm, or bring its features to the size of the others'",
        [make(X), make(np.vstack([X, [1.0, 0.5]]))],
    ),
    (
        make([[1e20, 1e20], [1.0, 0.0], [0.0, 1.0]], intercept=False),
        "leave the arm out, or bring its features to the size of the others'",
        [make([[1e20, 1e20], [1e20, 0.0], [0.0, 1e20]])],
    ),
    (
        make(with_a_nearly_redundant_column(1e-9)),
        "Leave out a column that others nearly determine",
        [make(with_a_nearly_redundant_column(1e-9)[:, :2])],
    ),
]


@pytest.mark.parametrize(("refused", "advice", "advised"), ADVICE, ids=[row[1] for row in ADVICE])
def test_advice_works_as_written(
    refused: Callable[[], Any], advice: str, advised: list[Callable[[], Any]]
) -> None:
    with pytest.raises(errors.ShortlistError, match=re.escape(advice)):
        refused()
    for follow in advised:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.UnhealthyFeatures)
            made = follow()
        if isinstance(made, Study):
            made.tell(made.ask(), 0.5)
