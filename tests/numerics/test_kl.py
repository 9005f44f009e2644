"""Relative entropy, and the ends of intervals by it."""

from __future__ import annotations

import numpy as np
import pytest

from bisection import entropy, highest_by_bisection
from shortlist.numerics.kl import highest_mean, lowest_mean, relative_entropy


def test_relative_entropy_is_that_of_scipy() -> None:
    for p in (0.0, 1e-7, 0.2, 0.5, 1.0 - 1e-7, 1.0):
        for q in (1e-6, 0.2, 0.200001, 0.7, 1.0 - 1e-6):
            assert relative_entropy(p, q) == pytest.approx(entropy(p, q), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.003, 0.2, 0.5, 0.8, 0.997, 1.0 - 1e-6, 1.0])
@pytest.mark.parametrize("level", [1e-7, 1e-4, 0.01, 0.1, 0.7, 3.0, 30.0])
def test_the_ends_are_those_of_bisection(mean: float, level: float) -> None:
    high, low = highest_mean(mean, level), lowest_mean(mean, level)
    assert high - mean == pytest.approx(highest_by_bisection(mean, level) - mean, rel=2e-9)
    turned = highest_by_bisection(1.0 - mean, level)
    assert mean - low == pytest.approx(turned - (1.0 - mean), rel=2e-9)
    assert 0.0 <= low <= mean <= high <= 1.0


def test_the_ends_are_never_too_narrow() -> None:
    """They err outwards, but for the last digit of a number next to 1."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        mean, level = rng.random(), 10.0 ** rng.uniform(-6, 0.5)
        high, low = highest_mean(mean, level) + 4e-16, lowest_mean(mean, level) - 4e-16
        assert high >= 1.0 or entropy(mean, high) >= level - 1e-15
        assert low <= 0.0 or entropy(mean, low) >= level - 1e-15
