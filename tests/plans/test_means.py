"""Differences of two means from the results of plans."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.plans.arm_bounds import ROUNDING
from shortlist.plans.means import LinearMeans
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem


@pytest.mark.parametrize("smallest", [1.0, 1e-2, 1e-4])
def test_fitted_differences_have_their_digits_however_far_apart_the_sigmas(smallest: float) -> None:
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(50):
        features, theta = rng.normal(size=(6, 3)), rng.normal(size=3)
        noise = np.where(rng.random(6) < 0.5, smallest, 1.0) ** 2
        noise[0] = 1.0
        means, pulls = features @ theta, rng.integers(31, 60, size=6)
        problem = ReducedProblem(features, 1, 1.0, 0.05, 0.0, noise=noise)
        fit = LinearMeans(problem).fit(PlanResults.at(pulls, means))
        off = np.abs((fit.means[:, None] - fit.means) - (means[:, None] - means))
        worst = max(worst, float(off.max() / np.abs(means).max()))
    assert worst < 10.0 * ROUNDING
