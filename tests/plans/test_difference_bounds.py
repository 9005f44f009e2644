"""Bounds on differences of means over several plans."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

import shortlist
from planned import MEANS, X
from shortlist import errors
from shortlist.designs.pairs import fitted, spreads, whitened
from shortlist.plans.difference_bounds import (
    MOST_ARMS,
    PRIOR_SHARE,
    DifferenceBounds,
    contrast_threshold,
    one_sided_level,
)
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem

# The bound


def test_the_level_of_a_one_sided_mixture_is_that_of_its_integral() -> None:
    for risk in (1e-6, 1e-3, 0.05, 0.3, 0.7):
        for ratio in (0.01, 1.0, 30.0, 1e4):
            C = float(contrast_threshold(one_sided_level(risk), ratio * PRIOR_SHARE))
            # In units with σ²ρ = 1: Q = ratio, M = C√Q, λ half-normal of variance 1.
            Q, M = ratio, C * np.sqrt(ratio)
            width = 1.0 / np.sqrt(1.0 + Q)
            peak = M / (1.0 + Q)
            value, _ = quad(
                lambda x, M=M, Q=Q: 2.0 * norm.pdf(x) * np.exp(x * M - x * x * Q / 2.0),
                max(0.0, peak - 30.0 * width),
                peak + 30.0 * width,
                points=[max(0.0, peak)],
                limit=200,
            )
            assert 1.0 / risk <= value * (1.0 + 1e-9)
            assert value <= 2.0 / risk
            if risk < 0.1:  # then next to nothing is given away
                assert value <= 1.07 / risk


def test_combined_estimates_of_equal_designs_are_those_of_all_data() -> None:
    rng = np.random.default_rng(0)
    task = ReducedProblem(X, 2, 0.6, 0.05, 0.0)
    pulls, differences = np.array([3, 2, 1, 4, 2]), DifferenceBounds.of(task)
    for _ in range(4):
        differences = differences.after(PlanResults(pulls, rng.standard_normal(5)))
    white = whitened(X, differences.results.pulls)
    means, variances = fitted(white, differences.results.sums), spreads(white)
    for j in range(5):
        np.testing.assert_allclose(differences.differences(j)[0], means - means[j], atol=1e-12)
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(1.0 / differences.information[off], variances[off])


def covered(scale: float, runs: int = 120) -> int:
    """In how many runs every bound that must hold did, at all looks, with widths so scaled."""
    rng = np.random.default_rng(7)
    task = ReducedProblem(X, 2, 0.6, 0.2, 0.0)
    order = np.argsort(-MEANS)
    best, others = order[:2], order[2:]
    gaps = MEANS[best][:, None] - MEANS[others]
    held = 0
    for _ in range(runs):
        differences, good = DifferenceBounds.of(task), True
        plan = np.ones(5, np.int64)
        for _ in range(25):
            sums = plan * MEANS + 0.6 * np.sqrt(plan) * rng.standard_normal(5)
            differences = differences.after(PlanResults(plan, sums))
            pairs = np.ix_(best, others)
            middle = differences.weighted[pairs] / differences.information[pairs]
            known = differences.information[pairs]
            C = contrast_threshold(differences.level, known / differences.first[pairs])
            width = scale * 0.6 * C / np.sqrt(known)
            good &= bool((gaps <= middle + width).all())
            # The next plan looks at all results so far: it chases whoever seems to lead.
            plan = 1 + 3 * differences.inside(differences.means())
        held += good
    return held


@pytest.mark.slow
def test_bounds_hold_at_all_looks_and_half_of_them_do_not() -> None:
    assert binom.cdf(covered(1.0), 120, 0.8) > 0.01
    assert binom.cdf(covered(0.5), 120, 0.8) < 1e-6


def test_arms_are_settled_as_counting_says() -> None:
    task = ReducedProblem(np.eye(4), 2, 1.0, 0.05, 0.0)
    pulls = np.full(4, 1000, np.int64)
    clear = DifferenceBounds.of(task).after(PlanResults(pulls, pulls * [4.0, 3.0, 2.0, 1.0]))
    assert clear.accepted.tolist() == [True, True, False, False]
    assert clear.rejected.tolist() == [False, False, True, True]
    assert clear.boundary(clear.inside(clear.means()))[2] <= 0.0
    open_ended = DifferenceBounds.of(task).after(PlanResults(pulls, pulls * [4.0, 2.0, 2.0, 1.0]))
    assert open_ended.accepted.tolist() == [True, False, False, False]
    assert open_ended.rejected.tolist() == [False, False, False, True]
    b, c, gap = open_ended.boundary(open_ended.inside(open_ended.means()))
    assert {b, c} == {1, 2}
    assert gap > 0.0


def test_too_many_arms_are_refused() -> None:
    features = np.random.default_rng(0).standard_normal((MOST_ARMS + 1, 2))
    with pytest.raises(errors.InvalidSetting, match="is beyond 4,000: use m-LinGapE"):
        shortlist.Study(features, 2, sigma=1.0, algorithm="Phased", audit=False)
