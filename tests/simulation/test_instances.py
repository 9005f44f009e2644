"""Instances and their rewards."""

from __future__ import annotations

import numpy as np
import pytest

import shortlist


def test_classic_instance() -> None:
    instance = shortlist.instances.classic(K=5, m=2, omega=0.3, sigma=0.7)
    expected = [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [np.cos(0.3), 0, np.sin(0.3), 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(instance.features, expected)
    np.testing.assert_allclose(instance.means, [1, 1, np.cos(0.3), 0, 0])
    assert instance.S == 1.0
    assert instance.sigma == 0.7


def test_random_instance_has_unit_spectral_norm() -> None:
    instance = shortlist.instances.random(K=12, N=4, m=3, seed=2)
    assert np.linalg.norm(instance.features, 2) == pytest.approx(1.0)
    np.testing.assert_allclose(instance.means, instance.features[:, 0])


def test_theta_norm_is_known_only_where_the_means_are_linear() -> None:
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    make = shortlist.instances.from_arrays
    assert pytest.approx(5.0) == make(features, means=[3, 4, 7], m=1, sigma=1.0).S
    assert make(features, means=[3, 4, 0], m=1, sigma=1.0).S is None


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_rewards_have_the_means_they_claim(noise: str) -> None:
    means = np.array([0.2, 0.5, 0.9])
    instance = shortlist.instances.from_arrays(np.eye(3), means=means, m=1, sigma=0.4, noise=noise)
    draws = np.array([[instance.draw(a, seed) for seed in range(4000)] for a in range(3)])
    np.testing.assert_allclose(draws.mean(axis=1), means, atol=0.03)
    if noise == "bernoulli":
        assert set(np.unique(draws)) == {0.0, 1.0}
    else:
        np.testing.assert_allclose(draws.std(axis=1), 0.4, atol=0.02)


@pytest.mark.slow
def test_recorded_rewards_are_drawn_evenly() -> None:
    table = np.array([[0.0, 10.0], [1.0, 20.0], [2.0, 40.0]])
    instance = shortlist.instances.recorded(np.eye(2), table, m=1, sigma=5.0)
    draws = [instance.draw(1, seed) for seed in range(6000)]
    values, counts = np.unique(draws, return_counts=True)
    assert values.tolist() == [10.0, 20.0, 40.0]
    np.testing.assert_allclose(counts / 6000, 1 / 3, atol=0.03)
    frame = shortlist.compare("LUCB", instance, runs=5, progress=False).frame
    assert frame["correct"].all()
