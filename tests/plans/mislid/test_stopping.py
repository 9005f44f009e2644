"""When MisLid stops, and what the proof says of its bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from nearly_linear import LIAR, LIE, classical_answer, draw, linear_answer, pairs
from shortlist.numerics.quadratic import nearest_to, workspace
from shortlist.plans.mislid.alternative import model_weight
from shortlist.plans.mislid.stopping import (
    PRIOR_SHARE,
    Known,
    LikelihoodRatio,
    PairBounds,
    StoppingBounds,
    noise_bound,
)
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.simulation.instances import Instance


def evidence(
    kind: Any, instance: Instance, c: float, pulls: np.ndarray, seed: int = 0
) -> StoppingBounds:
    rng = np.random.default_rng(seed)
    task = ReducedProblem(instance.features, instance.m, instance.sigma, 0.05, 0.0)
    noise = instance.sigma * np.sqrt(pulls) * rng.standard_normal(len(pulls))
    made: StoppingBounds = kind.of(task, c, 10).after(
        PlanResults(pulls, pulls * instance.means + noise)
    )
    return made


@pytest.mark.parametrize("kind", [PairBounds, LikelihoodRatio])
def test_without_misspecification_the_stop_is_the_linear_one(kind: Any) -> None:
    """The same statistic, the same threshold: Z > C²/2 with the mixture in rank X dimensions."""
    x, sigma = LIAR.features, LIAR.sigma
    for factor in (1, 5, 40, 300):
        pulls = factor * np.array([10, 12, 17, 10, 30, 11, 10, 25, 16, 10])
        now = evidence(kind, LIAR, 0.0, pulls)
        inside = now.inside()
        at = now.boundary(inside)
        gram, first = (x.T * pulls) @ x, 10 * x.T @ x
        known = np.linalg.eigvals(np.linalg.solve(first, gram)).real
        C = math.sqrt(2.0 * noise_bound(math.log(20.0), known))
        fitted = x @ np.linalg.solve(gram, x.T @ (pulls * now.known.averages))
        Z, _ = linear_answer(x, pulls, fitted, inside)
        np.testing.assert_allclose(now.means, fitted, atol=1e-9)
        assert at.threshold == pytest.approx(C)
        assert (at.statistic <= 0.0) == (Z / sigma**2 >= C**2 / 2.0)


@pytest.mark.parametrize(("kind", "c"), [(PairBounds, 2.0), (LikelihoodRatio, 2.0)])
def test_with_any_misspecification_the_stop_is_a_classical_one(kind: Any, c: float) -> None:
    for factor in (1, 3, 10, 100):
        pulls = factor * np.array([10, 12, 17, 10, 30, 11, 10, 25, 16, 10])
        now = evidence(kind, LIAR, c, pulls)
        inside = now.inside()
        at = now.boundary(inside)
        np.testing.assert_allclose(now.means, now.known.averages)
        if kind is LikelihoodRatio:
            C = math.sqrt(2.0 * noise_bound(math.log(20.0), pulls / 10))
            Z, _ = classical_answer(pulls, now.means, inside)
            assert at.threshold == pytest.approx(C)
            assert (at.statistic <= 0.0) == (Z / LIAR.sigma**2 >= C**2 / 2.0)
        else:
            rho = PRIOR_SHARE * 10
            bounds = []
            for b, i in pairs(inside):
                L = math.log(20.0 * 21) + 0.5 * np.log1p(pulls[[b, i]] / rho).sum()
                v = ((1 + rho / pulls) / pulls)[[b, i]].sum()
                gap = now.means[i] - now.means[b]
                bounds.append(gap + LIAR.sigma * math.sqrt(2 * L * v))
            assert at.statistic == pytest.approx(max(bounds))


# What the proof says


@pytest.mark.parametrize("seed", range(25))
def test_the_estimate_is_as_near_as_the_proof_says(seed: int) -> None:
    features, c, pulls, means, _ = draw(seed)
    rng = np.random.default_rng(seed)
    averages = means + rng.standard_normal(len(means)) / np.sqrt(pulls)
    work = workspace(features)
    nearest_to(averages, pulls, c, work)

    def square(v: np.ndarray) -> float:
        return float((pulls * v * v).sum())

    gram = (features.T * pulls) @ features
    noise = features @ np.linalg.solve(gram, features.T @ (pulls * (averages - means)))
    far = square(work.means - means)
    assert far <= square(averages - means) * (1.0 + 1e-6)
    assert far <= (square(noise) + 4.0 * c * c * pulls.sum()) * (1.0 + 1e-6)


def test_reliance_is_what_the_estimate_owes_to_the_model() -> None:
    now = evidence(PairBounds, LIAR, LIE, np.arange(10, 20))
    x, pulls = LIAR.features, np.arange(10, 20)
    inverse = np.linalg.inv((x.T * pulls) @ x)
    s = pulls * (x @ inverse @ (x[2] - x[7]))
    own = np.zeros(10)
    own[2], own[7] = 1.0, -1.0
    np.testing.assert_allclose(x.T @ s, x[2] - x[7], atol=1e-12)
    assert model_weight(now.known.pulls, now.known.gram, 2, 7) == pytest.approx(
        np.abs(s - own).sum()
    )
    single = pulls * (x @ inverse @ x[2])
    single[2] -= 1.0
    assert model_weight(now.known.pulls, now.known.gram, 2, -1) == pytest.approx(
        np.abs(single).sum()
    )
    assert isinstance(now.known, Known)


def covered(kind: Any, scale: float, c: float, runs: int) -> int:
    """In how many runs all bounds on differences that matter held at all looks, so scaled."""
    rng = np.random.default_rng(11)
    instance = LIAR
    task = ReducedProblem(instance.features, instance.m, instance.sigma, 0.2, 0.0)
    best = np.argsort(-instance.means)[:3]
    others = np.setdiff1d(np.arange(10), best)
    held = 0
    for _ in range(runs):
        now = kind.of(task, c, 10)
        pulls, sums, good = np.zeros(10, np.int64), np.zeros(10), True
        plan = np.full(10, 10, np.int64)
        for _ in range(6):
            noise = instance.sigma * np.sqrt(plan) * rng.standard_normal(10)
            pulls, sums = pulls + plan, sums + plan * instance.means + noise
            now = now.after(PlanResults(pulls, sums))
            at = now.boundary(now.inside())
            for j in (int(at.b), int(at.c)):
                middle, lower, upper = now.differences(j, at)
                true = instance.means - instance.means[j]
                matter = others if j in best else best
                low = middle - scale * (middle - lower)
                high = middle + scale * (upper - middle)
                good &= bool((low <= true + 1e-12)[matter].all())
                good &= bool((true - 1e-12 <= high)[matter].all())
            plan = 1 + (pulls * now.inside()) // 2  # chases whoever seems to lead
        held += good
    return held


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PairBounds, LikelihoodRatio])
def test_bounds_hold_at_all_looks_and_others_do_not(kind: Any) -> None:
    runs = 60 if kind is PairBounds else 12  # the likelihood ratio solves programs for each bound
    assert binom.cdf(covered(kind, 1.0, LIE, runs), runs, 0.8) > 0.01
    assert binom.cdf(covered(kind, 1.0, 0.0, 12), 12, 0.8) < 1e-6  # a c that is too small
    if kind is PairBounds:
        assert binom.cdf(covered(kind, 0.2, LIE, 30), 30, 0.8) < 1e-6  # a width that is


def test_the_ellipsoid_needs_what_c_adds_to_it() -> None:
    """With many arms and one feature most of the distance is η's, and β_lin alone has no room."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, (40, 1))
    task = ReducedProblem(x, 2, 1.0, 0.05, 0.0)
    held = enough = 0
    for _ in range(100):
        means = x[:, 0] + 0.2 * rng.choice([-1.0, 1.0], 40)
        now = LikelihoodRatio.of(task, 0.2, 5)
        pulls = np.full(40, 10)
        sums = pulls * means + np.sqrt(pulls) * rng.standard_normal(40)
        now = now.after(PlanResults(pulls, sums))
        far = float((pulls * (now.means - means) ** 2).sum())
        held += far <= now.threshold_at(now.known.pulls) ** 2
        enough += far <= 2.0 * noise_bound(now.linear, now.information(now.known.pulls))
        linear, unstructured = now._squares(now.known.pulls)
        assert linear < unstructured  # so it is the linear bound that is tested
    assert binom.cdf(held, 100, 0.95) > 0.01
    assert enough < 50


@pytest.mark.parametrize("kind", [PairBounds, LikelihoodRatio])
def test_risk_is_shared_and_never_more_than_delta(kind: Any) -> None:
    task = ReducedProblem(LIAR.features, 3, 0.3, 0.05, 0.0)
    union = 21 if kind is PairBounds else 1
    for c, parts in ((0.0, 1), (0.01, 2), (0.05, 2), (10.0, 1)):
        made = kind.of(task, c, 10)
        other = made.two_arms if kind is PairBounds else made.unstructured
        risks = [math.exp(-made.linear), union * math.exp(-other)]
        assert sum(risks) == pytest.approx(0.05)
        assert sum(risk > 0 for risk in risks) == parts
