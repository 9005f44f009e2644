"""Another processor rounds differently: regular features, whose arms are tied, are asked for alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shortlist import Study
from shortlist.linalg import span
from shortlist.plans.design import rounded
from shortlist.problem import Problem
from shortlist.study.insight.audit import audit_arms

DOSES = np.column_stack([np.ones(40), np.linspace(0.0, 10.0, 40)])
GRID = np.array([[1.0, a, b, c] for a in (0, 1) for b in (0, 1) for c in range(6)])
CORNERS = np.array([[1.0, a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 0, 1)])
REGULAR = {"doses": DOSES, "grid": GRID, "corners": CORNERS}


def rounded_otherwise(features: np.ndarray, seed: int) -> np.ndarray:
    """The features with their last digit up, down or as it is."""
    towards = np.random.default_rng(seed).choice([-np.inf, np.inf, 0.0], features.shape)
    return np.where(towards == 0.0, features, np.nextafter(features, towards))


@pytest.mark.parametrize("name", REGULAR)
def test_the_arms_that_span_are_the_same(name: str) -> None:
    x = REGULAR[name]
    weights = np.full(len(x), 1.0 / len(x))
    weights[::3] = 1e-9
    for seed in range(10):
        other = rounded_otherwise(x, seed)
        assert span(other).tolist() == span(x).tolist()
        bases = [np.linalg.qr(each)[0] for each in (x, other)]
        plans = [rounded(basis, weights / weights.sum() * 12.0, 1).tolist() for basis in bases]
        assert plans[0] == plans[1]


@pytest.mark.parametrize("name", REGULAR)
def test_the_arms_of_an_audit_are_the_same(name: str) -> None:
    x = REGULAR[name]
    for seed in range(10):
        arms = [
            audit_arms(Problem.of(each, m=3, sigma=1.0), 60).tolist()
            for each in (x, rounded_otherwise(x, seed))
        ]
        assert arms[0] == arms[1]


@pytest.mark.parametrize("name", REGULAR)
# Those that design plans. Gap-index algorithms call no library, and round alike everywhere.
@pytest.mark.parametrize("algorithm", ["Guess-and-verify", "pairs-in-doubt"])
def test_a_study_asks_for_the_same_arms(name: str, algorithm: str) -> None:
    x = REGULAR[name]
    means = x @ np.linspace(0.1, 0.4, x.shape[1])
    settings: dict[str, Any] = {"algorithm": algorithm}
    if algorithm == "pairs-in-doubt":
        settings = {"algorithm": algorithm, "budget": 120}
    asked = []
    for seed in range(3):
        features = rounded_otherwise(x, seed) if seed else x
        study = Study(features, m=3, sigma=0.3, epsilon=0.05, seed=1, **settings)
        noise = np.random.default_rng(0)
        while not study.done and study.evaluations < 300:
            trial = study.ask()
            study.tell(trial, means[trial.arm] + 0.3 * noise.standard_normal())
        asked.append([trial.arm for trial in study.trials])
    assert asked[0] == asked[1] == asked[2]
