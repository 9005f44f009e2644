"""The test of linear means: its level, what it finds, and what it says it would have found."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.problem import Problem
from shortlist.study.insight.linearity import (
    LEVEL,
    OF_PLANS,
    Fit,
    Plans,
    Sample,
    Shapes,
    fixed_arms,
    lack_of_fit,
    share_of_test,
)

DOSE = np.linspace(0.0, 1.0, 30)


def problem_of(noise="σ", **given):
    sigma = {"σ": 0.2, "one": "estimate", "own": "estimate per arm", "range": "bounded"}[noise]
    if noise == "range":
        given["reward_range"] = (0, 1)
    return Problem.of(DOSE[:, None], 3, sigma=sigma, intercept=True, **given)


def test_all_shares_of_the_level_add_up_to_it():
    assert sum(map(share_of_test, range(100_000))) + OF_PLANS == pytest.approx(1.0, abs=1e-5)
    assert Shapes.of(problem_of()).shares.sum() == pytest.approx(1.0)


def test_shapes_are_what_linear_means_cannot_express():
    x = np.random.default_rng(0).normal(size=(40, 3))
    shapes = Shapes.of(Problem.of(x, 3, sigma=1.0, intercept=False))
    assert len(shapes.terms) == 6 + 3 + 1
    assert shapes.terms[-1] == ()  # a level
    assert np.abs(shapes.x.T @ shapes.columns).max() < 1e-10
    assert (shapes.columns**2).mean(axis=0) == pytest.approx(1.0)
    assert Shapes.of(Problem.of(np.eye(3), 1, sigma=1.0)).terms == []


def test_the_coefficient_is_that_of_least_squares():
    problem, rng = problem_of("one"), np.random.default_rng(0)
    arms = rng.integers(0, 30, 25)
    values = DOSE[arms] ** 2 + 0.1 * rng.normal(size=25)
    shapes = Shapes.of(problem)
    fit = lack_of_fit(problem, Sample.of(problem, arms, values), 0.01).fit
    for k in range(len(shapes.terms)):
        rows = np.column_stack([np.ones(25), DOSE[arms], shapes.columns[arms, k]])
        found, left = np.linalg.lstsq(rows, values, rcond=None)[:2]
        error = np.sqrt(left[0] / 22 * np.linalg.inv(rows.T @ rows)[2, 2])
        assert fit.estimates[k] == pytest.approx(found[2])
        assert fit.errors[k] == pytest.approx(error)
        assert fit.degrees[k] == 22


@pytest.mark.parametrize("noise", ["one", "own"])
def test_on_blocks_levels_do_not_matter(noise):
    problem, rng = problem_of(noise, blocks="random"), np.random.default_rng(0)
    arms, blocks = np.tile([0, 10, 20, 29], 6), np.repeat(np.arange(6), 4)
    values = DOSE[arms] + 0.1 * rng.normal(size=24)
    one, other = (
        lack_of_fit(problem, Sample.of(problem, arms, values + shift, blocks), 0.01)
        for shift in (0.0, 100.0 * rng.normal(size=6)[blocks])
    )
    assert one.p == pytest.approx(other.p)
    assert np.isfinite(one.fit.errors).all()
    assert (one.fit.degrees == (5 if noise == "own" else 24 - 7 - 1)).all()


@pytest.mark.parametrize("noise", ["σ", "one", "own"])
def test_the_misfit_that_is_stated_is_found_nine_times_in_ten(noise):
    problem, rng, found = problem_of(noise), np.random.default_rng(1), 0
    arms = np.repeat(fixed_arms(Shapes.of(problem), np.zeros(30), np.ones(30, bool), 8, 1), 5)
    square = Shapes.of(problem).columns[:, 0]
    said = lack_of_fit(problem, Sample.of(problem, arms, 0.2 * rng.normal(size=40)), LEVEL)
    size = said.detectable if noise == "σ" else 0.2
    for _ in range(200):
        values = DOSE[arms] + size * square[arms] + 0.2 * rng.normal(size=40)
        found += lack_of_fit(problem, Sample.of(problem, arms, values), LEVEL).rejected
    assert found >= 165


def test_an_exact_line_is_never_spoken_against():
    for size in (1e-12, 1.0, 1e12):
        for noise in ("σ", "one", "own"):
            problem = problem_of(noise)
            arms = np.repeat([0, 7, 15, 22, 29], 4)
            values = size * (1e3 + DOSE[arms])
            assert not lack_of_fit(problem, Sample.of(problem, arms, values), 0.01).rejected


def test_what_cannot_be_seen_is_not_said_to_be_found():
    problem = problem_of()
    verdict = lack_of_fit(problem, Sample.of(problem, np.array([0, 29]), np.ones(2)), 0.01)
    assert (verdict.rejected, verdict.detectable) == (False, np.inf)
    assert not lack_of_fit(
        problem, Sample.of(problem, np.zeros(0, int), np.zeros(0)), 0.01
    ).rejected


@pytest.mark.parametrize(("noise", "kind"), [("σ", "known"), ("one", "one"), ("own", "own")])
def test_plans_add_up_to_evidence_of_a_bend(noise, kind):
    problem, rng = problem_of(noise), np.random.default_rng(2)
    seen = []
    for bend in (0.0, 0.8):
        plans = Plans(problem, kind, 0.2)
        for _ in range(12):
            arms = np.repeat(rng.choice(30, 6, replace=False), 5)
            values = DOSE[arms] + bend * DOSE[arms] ** 2 + 0.2 * rng.normal(size=30)
            sample = Sample.of(problem, arms, values)
            plans.after(sample, np.full(len(sample.arms), 0.04))
        seen.append(plans.log_e)
    assert seen[0] < 2.0
    assert seen[1] > 3.0
    assert plans.shape == 0  # the square
    assert isinstance(lack_of_fit(problem, sample, 0.1).fit, Fit)
