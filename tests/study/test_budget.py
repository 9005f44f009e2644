"""How sure a study with a budget says it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import shortlist
from budgets import begin, play, result, spending
from shortlist.study.budget import estimated_error, share_of_wrong

# How sure it says it is

PLAYS = 150


def played(
    generator: np.random.Generator, *, sigma: float = 0.5, epsilon: float = 0.0
) -> tuple[float, bool]:
    """One budget on a random problem with noise of s.d. 0.5: the estimate, and whether it erred."""
    K, N = int(generator.integers(4, 9)), int(generator.integers(2, 5))
    m, budget = int(generator.integers(1, K)), int(generator.integers(2 * N, 60))
    features = generator.standard_normal((K, N))
    means = features @ generator.standard_normal(N)
    options: dict[str, Any] = {"sigma": sigma, "epsilon": epsilon}
    strategy = play(spending(features, m, budget=budget, **options), means, generator)
    assert strategy.total.pulls.sum() == budget
    share = share_of_wrong(
        features,
        strategy.total.pulls,
        strategy.means,
        strategy.inside,
        **options,
        generator=generator,
    )
    return share, bool(means[strategy.inside].min() < np.sort(means)[-m] - epsilon)


def surprise(plays: list[tuple[float, bool]]) -> float:
    """How many standard deviations more errors there are than were announced."""
    shares, wrong = np.array(plays).T
    return float((wrong.sum() - shares.sum()) / np.sqrt(max((shares * (1.0 - shares)).sum(), 1.0)))


@pytest.mark.slow
def test_the_estimated_error_is_what_happens() -> None:
    """Over random problems, and among those for which much or little was announced."""
    generator = np.random.default_rng(0)
    plays = [played(generator) for _ in range(PLAYS)]
    assert abs(surprise(plays)) < 3.0
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 1.0)):
        group = [each for each in plays if low <= each[0] < high]
        assert len(group) > 10
        assert abs(surprise(group)) < 3.0
    assert abs(surprise([played(generator, epsilon=0.3) for _ in range(30)])) < 3.0


@pytest.mark.slow
def test_an_estimated_error_with_half_the_noise_is_found_out() -> None:
    """The planted bug: the test before would not let it pass."""
    generator = np.random.default_rng(0)
    assert surprise([played(generator, sigma=0.25) for _ in range(PLAYS)]) > 3.0


def test_the_estimated_error_of_two_arms_is_a_normal_tail() -> None:
    study = shortlist.Study(np.eye(2), m=1, sigma=0.7, seed=3, budget=20)
    study.run(lambda trial: [0.3, 0.0][trial.arm], progress=False)
    tail = norm.cdf(-0.3 / (0.7 * np.sqrt(2 / 10)))
    assert study.shortlist.error == pytest.approx(tail, abs=4 * np.sqrt(tail / 10_000))
    slack = shortlist.Study(np.eye(2), m=1, sigma=0.7, seed=3, budget=20, epsilon=0.2)
    slack.run(lambda trial: [0.3, 0.0][trial.arm], progress=False)
    tail = norm.cdf(-0.5 / (0.7 * np.sqrt(2 / 10)))
    assert slack.shortlist.error == pytest.approx(tail, abs=4 * np.sqrt(tail / 10_000))


def test_drawing_only_the_arms_near_the_boundary_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    features, pulls = rng.standard_normal((30, 3)), rng.integers(1, 4, 30)
    means = features @ [1.0, 0.5, 0.0]
    inside = np.argsort(np.argsort(-means)) < 12
    shares = []
    for near in (64, 6):
        monkeypatch.setattr("shortlist.study.budget.NEAR", near)
        options: dict[str, Any] = {"sigma": 0.6, "epsilon": 0.0}
        generator = np.random.default_rng(1)
        shares.append(
            share_of_wrong(features, pulls, means, inside, **options, generator=generator)
        )
    assert 0.05 < shares[0] < 0.95
    assert shares[1] == pytest.approx(shares[0], abs=0.01)


def test_the_words_say_what_it_is() -> None:
    study = begin()
    assert study.shortlist.guarantee.text.startswith(
        "Not final: 0 of 40 results. No guarantee: with a "
    )
    assert study.shortlist.error is None
    assert estimated_error(study) is None
    study.run(result, progress=False)
    words = study.shortlist.guarantee.text
    assert words.startswith("No guarantee: with a fixed budget the study ends after 40 evaluations")
    assert "It is an estimate, not a bound" in words
    assert "extension without a theorem" in words
    assert "You et al. 2023" in words
    assert "σ = 0.6 and means linear in the features" in words
    assert not study.procedure.proven
    assert 0.0 <= study.shortlist.error <= 1.0
    assert study.shortlist.error == estimated_error(study)
    classical = shortlist.Study(arms=["a", "b", "c"], m=1, sigma=1.0, budget=9, epsilon=0.5)
    classical.run(lambda trial: float(trial.arm), progress=False)
    assert "linear" not in classical.shortlist.guarantee.text
    assert "below the mean of rank 1 minus ε = 0.5" in classical.shortlist.guarantee.text
