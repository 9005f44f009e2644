"""Fit and curvature by the spread of each arm: seldom a warning where the means are linear."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import chdtrc
from scipy.stats import binom

from shortlist.noise.spread import Spread
from shortlist.study.insight.curvature import curvature
from shortlist.study.insight.own_spread import lack_of_fit, own_variances

RUNS = 400


def p_values(sigmas: np.ndarray, bend: float) -> np.ndarray:
    """Those of the fit and of the curvature, for five results of each arm."""
    rng, arms, found = np.random.default_rng(0), np.repeat(np.arange(len(sigmas)), 5), []
    for _ in range(RUNS):
        x = rng.normal(size=(len(sigmas), 2))
        means = x @ [1.0, -2.0] + bend * x[:, 0] ** 2
        values = means[arms] + sigmas[arms] * rng.standard_normal(len(arms))
        results = Spread.of(arms, values, np.ones(len(sigmas)))
        line = np.column_stack([np.ones(len(x)), x])
        fit = chdtrc(*reversed(lack_of_fit(line, results)))
        own = own_variances(results), results.degrees
        curve = curvature(x, np.sqrt(results.counts), results.means, own)
        assert curve is not None
        found.append([fit, min(1.0, curve.terms * chdtrc(1, curve.gain))])
    return np.array(found)


@pytest.mark.parametrize("small", [1.0, 0.01, 1e-4])
def test_linear_means_seldom_seem_not_to_be(small: float) -> None:
    sigmas = np.where(np.arange(12) < 2, small, 1.0)
    for p in p_values(sigmas, 0.0).T:
        assert binom.sf((p < 0.05).sum() - 1, RUNS, 0.05) > 1e-3
        assert binom.sf((p < 0.01).sum() - 1, RUNS, 0.015) > 1e-3  # Satterthwaite's is approximate


def test_curved_means_are_seen() -> None:
    fit, curve = p_values(np.full(40, 0.5), 0.5).T
    assert (fit < 1e-3).mean() > 0.5
    assert (curve < 1e-2).mean() > 0.9


def test_arms_without_noise_are_left_out() -> None:
    arms = np.repeat(np.arange(6), 3)
    results = Spread.of(arms, arms.astype(float), np.ones(6))
    line = np.column_stack([np.ones(6), np.arange(6.0)])
    assert lack_of_fit(line, results) == (0.0, 0.0)
    own = own_variances(results), np.full(6, 2.0)
    found = curvature(line[:, 1:], np.ones(6), results.means, own)
    assert found is not None
    assert found.gain == 0.0
