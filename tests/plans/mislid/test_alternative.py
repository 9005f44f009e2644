"""The closest alternative of means that are linear up to c."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nearly_linear import classical_answer, draw, linear_answer, pairs
from shortlist.numerics.quadratic import nearest_to, workspace
from shortlist.plans.mislid.alternative import alternatives, closest, distance_bound, fit_weighted


@pytest.mark.parametrize("seed", range(30))
def test_the_closest_of_all_pairs_is_found_without_solving_them_all(seed: int) -> None:
    features, c, weights, means, inside = draw(seed)
    slack = 0.1 if seed % 2 else 0.0
    found = alternatives(features)
    value = closest(c, weights, means, inside, slack, found)
    work, values = workspace(features), {}
    for i, j in pairs(inside):
        values[i, j] = nearest_to(means, weights, c, work, (i, j, -slack))
    assert value == pytest.approx(min(values.values()), rel=1e-9)
    fit_weighted(features, weights, means, found.fit)
    for (i, j), each in values.items():
        assert distance_bound(c, means, i, j, slack, found.fit) <= each * (1.0 + 1e-7)


def test_few_pairs_are_solved() -> None:
    solved = []
    for seed in range(30):
        features, c, weights, means, inside = draw(seed)
        found = alternatives(features)
        closest(c, weights, means, inside, 0.0, found)
        solved.append(np.isinf(found.fit.bounds).sum())
    assert np.mean(solved) < 2.0


def test_arms_without_weight_do_no_harm() -> None:
    features, c, weights, means, inside = draw(5)
    weights[np.arange(len(weights)) % 2 == 0] = 0.0
    found = alternatives(features)
    assert np.isfinite(closest(c, weights, means, inside, 0.0, found))
    assert np.isfinite(found.means).all()


@pytest.mark.parametrize("seed", range(20))
def test_without_misspecification_alternatives_are_linear(seed: int) -> None:
    features, c, weights, means, inside = draw(seed, c=0.0)
    found = alternatives(features)
    value, moved = linear_answer(features, weights, means, inside)
    assert closest(c, weights, means, inside, 0.0, found) == pytest.approx(value)
    np.testing.assert_allclose(found.means, moved, atol=1e-7)
    for tiny in (1e-9, 1e-11, 1e-14, 5e-324):
        closely = closest(tiny, weights, means, inside, 0.0, found)
        assert closely == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_with_any_misspecification_alternatives_are_classical(seed: int) -> None:
    features, _, weights, means, inside = draw(seed, c=1.0)
    found = alternatives(features)
    value, moved = classical_answer(weights, means, inside)
    for c in (1e2, 1e6):
        assert closest(c, weights, means, inside, 0.0, found) == pytest.approx(value)
        np.testing.assert_allclose(found.means, moved, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_more_misspecified_the_closer(seed: int) -> None:
    features, _, weights, means, inside = draw(seed, c=0.0)
    found = alternatives(features)
    values = [closest(c, weights, means, inside, 0.0, found) for c in (0, 1e-4, 0.01, 0.1, 1, 9)]
    assert all(b <= a * (1.0 + 1e-9) for a, b in pairwise(values))
    assert values[-1] < values[0]
