"""The constants of Table 2, and w* for all pairs."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import shortlist
from shortlist import theory
from shortlist.designs import direction as designs
from tests.theory.instances import linear

PUBLISHED = Path(os.environ.get("SHORTLIST_PUBLISHED", "")) / "random_instance_N5_K10.csv"


needs_published = pytest.mark.skipif(
    "SHORTLIST_PUBLISHED" not in os.environ or not PUBLISHED.exists(),
    reason="the published instance is not at hand (set SHORTLIST_PUBLISHED)",
)


def together(features: np.ndarray) -> np.ndarray:
    return np.vstack([weights for _, _, weights in designs.all_weights(features)])


def one_by_one(features: np.ndarray) -> np.ndarray:
    pairs = itertools.combinations(range(len(features)), 2)
    return np.array([designs.lightest_weights(features, b, c) for b, c in pairs])


@pytest.mark.parametrize(("K", "N"), [(4, 1), (6, 2), (10, 5), (9, 8), (20, 10), (5, 5)])
def test_all_designs_are_those_of_one_pair_after_the_other(K: int, N: int) -> None:
    features = np.random.default_rng(K * N).standard_normal((K, N))
    np.testing.assert_allclose(together(features), one_by_one(features), atol=1e-7)
    pairs = [(b, c) for b, c, _ in designs.all_weights(features)]
    named = np.hstack(pairs).T.tolist()
    assert [tuple(pair) for pair in named] == list(itertools.combinations(range(K), 2))


@pytest.mark.parametrize("seed", range(6))
def test_all_designs_are_as_light_where_the_lightest_is_not_unique(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = np.vstack([np.eye(3), rng.integers(-1, 2, (5, 3))]).astype(float)
    found, alone = together(features), one_by_one(features)
    np.testing.assert_allclose(found @ features, alone @ features, atol=1e-9)
    np.testing.assert_allclose(np.abs(found).sum(axis=1), np.abs(alone).sum(axis=1), atol=1e-9)


def test_all_designs_survive_bad_scales() -> None:
    rng = np.random.default_rng(3)
    features = rng.standard_normal((9, 4)) * 10.0 ** rng.uniform(-4, 4, (9, 1))
    pairs = itertools.combinations(range(9), 2)
    for (b, c), weights in zip(pairs, together(features), strict=True):
        made = features.T @ weights
        np.testing.assert_allclose(
            made, features[b] - features[c], atol=1e-7 * np.abs(features).max()
        )
        assert np.abs(weights).sum() <= 2.0 + 1e-9  # e_b − e_c is always there


def test_constants_are_those_of_table_2() -> None:
    rng = np.random.default_rng(1)
    features, m, sigma, eps = rng.standard_normal((7, 3)), 3, 0.7, 0.2
    instance = linear(features, rng.standard_normal(3), m, sigma)
    mu = np.sort(instance.means)[::-1]
    gap = [a - mu[m] if a >= mu[m - 1] else mu[m - 1] - a for a in instance.means]
    wide = [max(eps, (eps + g) / 3) for g in gap]
    heaviest = np.zeros(7)
    for i, j in itertools.combinations(range(7), 2):
        w = np.abs(designs.lightest_weights(features, i, j))
        heaviest = np.maximum(heaviest, w / max(wide[i], wide[j]) ** 2)
    expected = {
        "LUCB": 2 * sum(max(eps / 2, g) ** -2 for g in gap),
        "UGapE": 2 * sum(max(eps, (eps + g) / 2) ** -2 for g in gap),
        "m-LinGapE(1)": 4 * sigma**2 * sum(g**-2 for g in wide),
        "m-LinGapE(2)": sigma**2 * heaviest.sum(),
    }
    assert theory.constants(instance, epsilon=eps) == pytest.approx(expected, rel=1e-9)
    once = theory.constants(instance, epsilon=eps, sigma=1.0)
    assert once["m-LinGapE(1)"] == pytest.approx(expected["m-LinGapE(1)"] / sigma**2)
    assert once["LUCB"] == pytest.approx(expected["LUCB"])


def test_only_the_rows_asked_for_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("shortlist.theory.complexity.all_weights")
    instance = shortlist.instances.random(K=9, N=3, m=2, seed=0)
    assert list(theory.constants(instance, algorithms=["UGapE"])) == ["UGapE"]
    with pytest.raises(NameError):
        theory.constants(instance)


def test_independent_features_make_a_quarter() -> None:
    """With w* = e_i − e_j, H(m-LinGapE(2)) is a quarter of H(m-LinGapE(1))."""
    values = theory.constants(shortlist.instances.random(K=6, N=9, m=2, seed=4))
    assert values["m-LinGapE(2)"] == pytest.approx(values["m-LinGapE(1)"] / 4.0)


def test_constants_at_epsilon_0_are_multiples_of_each_other() -> None:
    values = theory.constants(shortlist.instances.random(K=6, N=3, m=2, seed=4), sigma=0.3)
    assert values["UGapE"] == pytest.approx(4.0 * values["LUCB"])
    assert values["m-LinGapE(1)"] == pytest.approx(18.0 * 0.3**2 * values["LUCB"])


@needs_published
@pytest.mark.parametrize(
    ("m", "ugape", "m_lingape"), [(3, 5047.76, 4545.97), (8, 27622.18, 32124.01)]
)
def test_constants_of_the_published_instance(m: int, ugape: float, m_lingape: float) -> None:
    features = np.loadtxt(PUBLISHED).T
    values = theory.constants(linear(features, np.eye(5)[0], m))
    # The print cuts 5047.7656 off where it should round.
    assert values["UGapE"] == pytest.approx(ugape, abs=0.01)
    assert values["m-LinGapE(2)"] == pytest.approx(m_lingape, abs=0.005)


def count_of_table_4(K: int, N: int, instances: int) -> int:
    smaller = 0
    for seed in range(instances):
        instance = shortlist.instances.random(K=K, N=N, m=K // 3 + 1, seed=seed, sigma=1.0)
        values = theory.constants(instance, algorithms=["UGapE", "m-LinGapE(2)"])
        smaller += values["m-LinGapE(2)"] <= values["UGapE"]
    return smaller


@pytest.mark.slow
@pytest.mark.parametrize(
    ("K", "N", "published"), [(10, 5, 0.2995), (20, 10, 0.0095), (30, 15, 0.0005)]
)
def test_counts_of_table_4(K: int, N: int, published: float) -> None:
    instances = {10: 100, 20: 10, 30: 2}[K]
    low, high = binom.interval(0.999, instances, published)
    assert low <= count_of_table_4(K, N, instances) <= max(high, 1)


@pytest.mark.parametrize(("K", "N"), [(10, 10), (10, 20), (20, 40)])
def test_counts_of_table_4_are_0_without_structure(K: int, N: int) -> None:
    assert count_of_table_4(K, N, 50) == 0
