"""Means that are linear up to c: the quadratic programs, both stops, both limits, the guarantee."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear, minimize
from scipy.stats import binom
from typer.testing import CliRunner

import shortlist
from shortlist import MisLid, errors
from shortlist.arrays import NO_ARM
from shortlist.catalog.names import find_algorithm
from shortlist.cli.app import app
from shortlist.numerics.quadratic import nearest, workspace
from shortlist.plans.mislid import algorithm as mislid
from shortlist.plans.mislid.alternative import alternatives, closest, distance_bound, measure
from shortlist.plans.mislid.differences import Known, reliance
from shortlist.plans.mislid.evidence import SHARE, Evidence, mixture
from shortlist.plans.mislid.likelihood_ratio import LikelihoodRatio
from shortlist.plans.mislid.pair_bounds import PairBounds
from shortlist.plans.strategy import Task
from shortlist.problem import Problem
from shortlist.report.assumptions import assumptions
from shortlist.report.methods import methods
from shortlist.report.page import html
from shortlist.report.reading import Reading
from shortlist.report.settings import settings
from shortlist.simulation.instances import Instance

Draw = tuple[np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]


def lying(seed: int, K: int, N: int, m: int, c: float, sigma: float = 0.5) -> Instance:
    """Unit-norm features, and every mean off a linear function of them by c."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    means = features @ theta + c * rng.choice([-1.0, 1.0], K)
    return shortlist.instances.from_arrays(features, means=means, m=m, sigma=sigma)


LIE = 0.15
LIAR = lying(3, K=10, N=3, m=3, c=LIE, sigma=0.3)


def draw(seed: int, c: float | None = None) -> Draw:
    """Features, c, weights, means that are linear up to c, and who of them is inside."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(4, 14))
    rank = int(rng.integers(1, min(K, 6)))
    features = rng.standard_normal((K, rank))
    if c is None:
        c = float(10.0 ** rng.uniform(-3, 1))
    weights = 10.0 ** rng.uniform(-2, 2, K)
    eta = np.clip(rng.uniform(-1.7, 1.7, K), -1.0, 1.0)  # many at the bounds
    means = features @ rng.standard_normal(rank) + c * eta
    inside = np.zeros(K, np.bool_)
    inside[np.argsort(-means)[: rng.integers(1, K)]] = True
    return features, c, weights, means, inside


def pairs(inside: np.ndarray) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i in np.flatnonzero(inside) for j in np.flatnonzero(~inside)]


# The quadratic programs


@pytest.mark.parametrize("seed", range(20))
def test_the_estimate_is_that_of_bounded_least_squares(seed: int) -> None:
    features, c, weights, means, _ = draw(seed)
    rng = np.random.default_rng(seed + 1000)
    target = means + rng.standard_normal(len(means))
    work = workspace(*features.shape)
    value = nearest(features, c, weights, target, NO_ARM, NO_ARM, 0.0, work)
    root = np.sqrt(weights)
    rank, K = features.shape[1], len(means)
    free, box = np.full(rank, np.inf), np.full(K, c)
    scipys = lsq_linear(
        root[:, None] * np.hstack([features, np.eye(K)]),
        root * target,
        bounds=(np.concatenate([-free, -box]), np.concatenate([free, box])),
        tol=1e-14,
        max_iter=2000,
    )
    assert value <= scipys.cost * (1.0 + 1e-9) + 1e-12
    assert value == pytest.approx(scipys.cost, rel=1e-5, abs=1e-9)
    # What is left over is orthogonal to the features: the normal equations of the free θ.
    left = weights * (target - work.means)
    scale = np.abs(features * (weights * target)[:, None]).sum()
    assert np.abs(features.T @ left).max() <= 1e-9 * scale


@pytest.mark.parametrize("seed", range(25))
def test_an_alternative_is_that_of_a_general_solver(seed: int) -> None:
    features, c, weights, means, inside = draw(seed)
    weights = np.clip(weights, 0.1, 10.0)
    c = min(c, 2.0)
    rank, K = features.shape[1], len(means)
    i, j = pairs(inside)[0]
    gap = -0.1 if seed % 3 == 0 else 0.0
    work = workspace(K, rank)
    value = nearest(features, c, weights, means, i, j, gap, work)
    assert work.means[i] - work.means[j] == pytest.approx(gap, abs=1e-7)
    both = np.hstack([features, np.eye(K)])
    row = both[i] - both[j]

    def cost(z: np.ndarray) -> float:
        return 0.5 * float((weights * (means - both @ z) ** 2).sum())

    def slope(z: np.ndarray) -> np.ndarray:
        return -both.T @ (weights * (means - both @ z))

    scipys = minimize(
        cost,
        np.zeros(rank + K),
        jac=slope,
        method="SLSQP",
        bounds=[(None, None)] * rank + [(-c, c)] * K,
        constraints={"type": "eq", "fun": lambda z: row @ z - gap, "jac": lambda z: row},
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    assert scipys.status in (0, 8)  # 8: no step is any better, as far as it can see
    assert value == pytest.approx(scipys.fun, rel=1e-5, abs=1e-9)


def off_linear(features: np.ndarray, means: np.ndarray) -> float:
    """How far the means are from the nearest linear function of the features, at their farthest."""
    K, rank = features.shape
    ones = -np.ones((K, 1))
    solved = linprog(
        np.append(np.zeros(rank), 1.0),
        A_ub=np.vstack([np.hstack([features, ones]), np.hstack([-features, ones])]),
        b_ub=np.concatenate([means, -means]),
        bounds=[(None, None)] * (rank + 1),
    )
    return float(solved.fun)


@pytest.mark.parametrize("seed", range(60))
def test_alternatives_are_optimal_by_duality(seed: int) -> None:
    """The multipliers make an s whose dual value is the distance: nothing can be nearer."""
    features, c, weights, means, inside = draw(seed)
    if seed % 4 == 0:
        weights = weights**3  # from 1e-6 to 1e6
    slack = 0.2 if seed % 2 else 0.0
    i, j = pairs(inside)[seed % len(pairs(inside))]
    work = workspace(*features.shape)
    value = nearest(features, c, weights, means, i, j, -slack, work)
    assert work.price[0] >= 0.0
    s = weights * (means - work.means) / work.price[0]
    own = np.zeros(len(means))
    own[i], own[j] = 1.0, -1.0
    over = s - own
    gram = (features.T * weights) @ features
    over -= weights * (features @ np.linalg.solve(gram, features.T @ over))
    s = own + over
    dual = max(s @ means + slack - c * np.abs(over).sum(), 0.0) ** 2 / (s * s / weights).sum() / 2.0
    assert value == pytest.approx(dual, rel=1e-5)
    assert dual <= value * (1.0 + 1e-9)
    assert off_linear(features, work.means) <= c * (1.0 + 1e-6) + 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_the_closest_of_all_pairs_is_found_without_solving_them_all(seed: int) -> None:
    features, c, weights, means, inside = draw(seed)
    slack = 0.1 if seed % 2 else 0.0
    found = alternatives(*features.shape)
    value = closest(features, c, weights, means, inside, slack, found)
    work, values = workspace(*features.shape), {}
    for i, j in pairs(inside):
        values[i, j] = nearest(features, c, weights, means, i, j, -slack, work)
    assert value == pytest.approx(min(values.values()), rel=1e-9)
    measure(features, weights, means, found.rivals)
    for (i, j), each in values.items():
        assert distance_bound(c, means, i, j, slack, found.rivals) <= each * (1.0 + 1e-7)


def test_few_pairs_are_solved() -> None:
    solved = []
    for seed in range(30):
        features, c, weights, means, inside = draw(seed)
        found = alternatives(*features.shape)
        closest(features, c, weights, means, inside, 0.0, found)
        solved.append(np.isinf(found.rivals.bounds).sum())
    assert np.mean(solved) < 2.0


def test_arms_without_weight_do_no_harm() -> None:
    features, c, weights, means, inside = draw(5)
    weights[np.arange(len(weights)) % 2 == 0] = 0.0
    found = alternatives(*features.shape)
    assert np.isfinite(closest(features, c, weights, means, inside, 0.0, found))
    assert np.isfinite(found.means).all()


# Both limits


def linear_answer(
    features: np.ndarray, weights: np.ndarray, means: np.ndarray, inside: np.ndarray
) -> tuple[float, np.ndarray]:
    """READING's closed form: min g²/(2‖y‖²) in the norm of V(w)⁻¹, and the λ that attains it."""
    inverse = np.linalg.inv((features.T * weights) @ features)
    best = (np.inf, means)
    for i, j in pairs(inside):
        y = features[i] - features[j]
        square, gap = y @ inverse @ y, means[i] - means[j]
        if gap**2 / (2 * square) < best[0]:
            best = gap**2 / (2 * square), means - gap / square * features @ inverse @ y
    return best


def classical_answer(
    weights: np.ndarray, means: np.ndarray, inside: np.ndarray
) -> tuple[float, np.ndarray]:
    """The two arms meet at their weighted mean, and the others stay."""
    best = (np.inf, means)
    for i, j in pairs(inside):
        value = (means[i] - means[j]) ** 2 / (2 * (1 / weights[i] + 1 / weights[j]))
        if value < best[0]:
            moved = means.copy()
            moved[[i, j]] = np.average(means[[i, j]], weights=weights[[i, j]])
            best = value, moved
    return best


@pytest.mark.parametrize("seed", range(20))
def test_without_misspecification_alternatives_are_linear(seed: int) -> None:
    features, c, weights, means, inside = draw(seed, c=0.0)
    found = alternatives(*features.shape)
    value, moved = linear_answer(features, weights, means, inside)
    assert closest(features, c, weights, means, inside, 0.0, found) == pytest.approx(value)
    np.testing.assert_allclose(found.means, moved, atol=1e-7)
    for tiny in (1e-9, 1e-11, 1e-14, 5e-324):
        closely = closest(features, tiny, weights, means, inside, 0.0, found)
        assert closely == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_with_any_misspecification_alternatives_are_classical(seed: int) -> None:
    features, _, weights, means, inside = draw(seed, c=1.0)
    found = alternatives(*features.shape)
    value, moved = classical_answer(weights, means, inside)
    for c in (1e2, 1e6):
        assert closest(features, c, weights, means, inside, 0.0, found) == pytest.approx(value)
        np.testing.assert_allclose(found.means, moved, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_more_misspecified_the_closer(seed: int) -> None:
    features, _, weights, means, inside = draw(seed, c=0.0)
    found = alternatives(*features.shape)
    values = [
        closest(features, c, weights, means, inside, 0.0, found) for c in (0, 1e-4, 0.01, 0.1, 1, 9)
    ]
    assert all(b <= a * (1.0 + 1e-9) for a, b in pairwise(values))
    assert values[-1] < values[0]


def evidence(kind: Any, instance: Instance, c: float, pulls: np.ndarray, seed: int = 0) -> Evidence:
    rng = np.random.default_rng(seed)
    task = Task(instance.features, instance.m, instance.sigma, 0.05, 0.0)
    noise = instance.sigma * np.sqrt(pulls) * rng.standard_normal(len(pulls))
    made: Evidence = kind.of(task, c, 10).after(pulls, pulls * instance.means + noise)
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
        C = math.sqrt(2.0 * mixture(math.log(20.0), known))
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
            C = math.sqrt(2.0 * mixture(math.log(20.0), pulls / 10))
            Z, _ = classical_answer(pulls, now.means, inside)
            assert at.threshold == pytest.approx(C)
            assert (at.statistic <= 0.0) == (Z / LIAR.sigma**2 >= C**2 / 2.0)
        else:
            rho = SHARE * 10
            bounds = []
            for b, i in pairs(inside):
                L = math.log(20.0 * 21) + 0.5 * np.log1p(pulls[[b, i]] / rho).sum()
                v = ((1 + rho / pulls) / pulls)[[b, i]].sum()
                gap = now.means[i] - now.means[b]
                bounds.append(gap + LIAR.sigma * math.sqrt(2 * L * v))
            assert at.statistic == pytest.approx(max(bounds))


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["pairs", "glr"])
def test_a_misspecification_may_be_as_small_or_large_as_numbers_are(stop: Any) -> None:
    pulls = {
        c: shortlist.compare(
            MisLid(misspecification=c, stop=stop), LIAR, runs=3, progress=False
        ).frame["pulls"].tolist()
        for c in (0.0, 5e-324, 1e-200, 50.0, 1e12, 1e308)
    }  # fmt: skip
    assert pulls[50.0] == pulls[1e12] == pulls[1e308]
    for tiny in (5e-324, 1e-200):  # half of δ is kept for the other bound, so not quite the same
        ratio = np.sum(pulls[tiny]) / np.sum(pulls[0.0])
        assert 0.9 < ratio < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["pairs", "glr"])
def test_with_any_misspecification_features_do_not_matter(stop: Any) -> None:
    """Other features, the same pulls, run by run; and without any, as many but for ties."""
    frames = []
    for features in (LIAR.features, lying(99, K=10, N=6, m=3, c=0.0).features, np.eye(10)):
        instance = shortlist.instances.from_arrays(
            features, means=LIAR.means, m=3, sigma=LIAR.sigma
        )
        algorithm = MisLid(misspecification=50.0, stop=stop)
        frames.append(shortlist.compare(algorithm, instance, runs=8, progress=False).frame)
    here, other, none = frames
    assert here["pulls"].tolist() == other["pulls"].tolist()
    ratio = none["samples"].mean() / here["samples"].mean()
    assert 0.8 < ratio < 1.25
    shares = [np.array(f["pulls"].tolist()).sum(axis=0) / f["samples"].sum() for f in frames]
    np.testing.assert_allclose(shares[0], shares[2], atol=0.04)


@pytest.mark.slow
def test_without_misspecification_pulls_are_shared_as_by_lingame() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5)
    shares = {}
    for name, algorithm in (("ours", MisLid(misspecification=0.0)), ("theirs", "LinGame")):
        frame = shortlist.compare(algorithm, instance, runs=10, progress=False).frame
        pulls = np.array(frame["pulls"].tolist()).sum(axis=0)
        shares[name] = pulls / pulls.sum()
    np.testing.assert_allclose(shares["ours"], shares["theirs"], atol=0.07)
    assert np.ptp(shares["ours"]) > 0.2


# What the proof says


@pytest.mark.parametrize("seed", range(25))
def test_the_estimate_is_as_near_as_the_proof_says(seed: int) -> None:
    features, c, pulls, means, _ = draw(seed)
    rng = np.random.default_rng(seed)
    averages = means + rng.standard_normal(len(means)) / np.sqrt(pulls)
    work = workspace(*features.shape)
    nearest(features, c, pulls, averages, NO_ARM, NO_ARM, 0.0, work)

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
    assert reliance(now.known, 2, 7) == pytest.approx(np.abs(s - own).sum())
    single = pulls * (x @ inverse @ x[2])
    single[2] -= 1.0
    assert reliance(now.known, 2, -1) == pytest.approx(np.abs(single).sum())
    assert isinstance(now.known, Known)


def covered(kind: Any, scale: float, c: float, runs: int) -> int:
    """In how many runs all bounds on differences that matter held at all looks, so scaled."""
    rng = np.random.default_rng(11)
    instance = LIAR
    task = Task(instance.features, instance.m, instance.sigma, 0.2, 0.0)
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
            now = now.after(pulls, sums)
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
    runs = 60 if kind is PairBounds else 20  # the likelihood ratio solves programs for each bound
    assert binom.cdf(covered(kind, 1.0, LIE, runs), runs, 0.8) > 0.01
    assert binom.cdf(covered(kind, 1.0, 0.0, runs), runs, 0.8) < 1e-6  # a c that is too small
    if kind is PairBounds:
        assert binom.cdf(covered(kind, 0.2, LIE, runs), runs, 0.8) < 1e-6  # a width that is


def test_the_ellipsoid_needs_what_c_adds_to_it() -> None:
    """With many arms and one feature most of the distance is η's, and β_lin alone has no room."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, (40, 1))
    task = Task(x, 2, 1.0, 0.05, 0.0)
    held = enough = 0
    for _ in range(100):
        means = x[:, 0] + 0.2 * rng.choice([-1.0, 1.0], 40)
        now = LikelihoodRatio.of(task, 0.2, 5)
        pulls = np.full(40, 10)
        now = now.after(pulls, pulls * means + np.sqrt(pulls) * rng.standard_normal(40))
        far = float((pulls * (now.means - means) ** 2).sum())
        held += far <= now.threshold_at(now.known.pulls) ** 2
        enough += far <= 2.0 * mixture(now.linear, now.dimensions(now.known.pulls))
        linear, unstructured = now._squares(now.known.pulls)
        assert linear < unstructured  # so it is the linear bound that is tested
    assert binom.cdf(held, 100, 0.95) > 0.01
    assert enough < 50


@pytest.mark.parametrize("kind", [PairBounds, LikelihoodRatio])
def test_risk_is_shared_and_never_more_than_delta(kind: Any) -> None:
    task = Task(LIAR.features, 3, 0.3, 0.05, 0.0)
    union = 21 if kind is PairBounds else 1
    for c, parts in ((0.0, 1), (0.01, 2), (0.05, 2), (10.0, 1)):
        made = kind.of(task, c, 10)
        other = made.alone if kind is PairBounds else made.unstructured
        risks = [math.exp(-made.linear), union * math.exp(-other)]
        assert sum(risks) == pytest.approx(0.05)
        assert sum(risk > 0 for risk in risks) == parts


# The guarantee


def errs(algorithm: Any, runs: int, instance: Instance = LIAR) -> int:
    results = shortlist.compare(algorithm, instance, runs=runs, seed=1, progress=False)
    assert results.frame["stopped"].all()
    return int((~results.frame["correct"]).sum())


@pytest.mark.slow
def test_where_a_linear_algorithm_errs_mislid_does_not() -> None:
    runs = 24
    for linear in ("m-LinGapE", MisLid(misspecification=0.0)):
        assert binom.sf(errs(linear, runs) - 1, runs, 0.05) < 1e-6
    for honest in (
        MisLid(misspecification=LIE),
        MisLid(misspecification=2 * LIE),
        MisLid(misspecification=LIE, stop="glr"),
    ):
        assert binom.sf(errs(honest, runs) - 1, runs, 0.05) > 0.01


@pytest.mark.slow
def test_on_other_instances_it_does_not_err_either() -> None:
    """Random ones, a few runs of each, whose boundary is at least as wide as the lie."""
    wrong = runs = 0
    for seed in range(30):
        instance = lying(seed, K=8, N=2, m=2, c=0.08, sigma=0.3)
        ordered = np.sort(instance.means)
        if ordered[-2] - ordered[-3] > 0.08:
            wrong += errs(MisLid(misspecification=0.08), 4, instance)
            runs += 4
    assert runs >= 50
    assert binom.sf(wrong - 1, runs, 0.05) > 0.01


def test_a_little_misspecification_costs_little() -> None:
    """Between the linear and the classical problem the evaluations grow with c."""
    instance = lying(0, K=16, N=3, m=4, c=0.01, sigma=0.3)
    means = [
        shortlist.compare(MisLid(misspecification=c), instance, runs=10, progress=False)
        .frame["samples"]
        .mean()
        for c in (0.0, 0.01, 10.0)
    ]
    assert means[0] <= 1.1 * means[1]
    assert means[1] <= 0.6 * means[2]


def test_slack_is_used() -> None:
    loose = shortlist.compare(
        MisLid(misspecification=LIE), LIAR, runs=10, epsilon=0.3, progress=False
    ).frame
    strict = shortlist.compare(MisLid(misspecification=LIE), LIAR, runs=10, progress=False).frame
    assert loose["correct"].all()
    assert loose["samples"].mean() < 0.7 * strict["samples"].mean()


# In a study


def begin(c: float = LIE, **settings: Any) -> shortlist.Study:
    return shortlist.Study(
        LIAR.features,
        3,
        **{"sigma": 0.3, "seed": 1, "algorithm": MisLid(misspecification=c), **settings},
        audit=False,
    )


def result(trial: Any) -> float:
    noise = np.random.default_rng(trial.seed).standard_normal()
    return float(LIAR.means[trial.arm] + 0.3 * noise)


def test_a_stored_study_knows_its_misspecification(tmp_path: Path) -> None:
    study = begin(0.1 + 0.2, storage=tmp_path / "study.db")
    study.run(result, progress=False, max_evaluations=140)
    loaded = shortlist.Study.load(tmp_path / "study.db")
    assert loaded.bound.name == "MisLid (c = 0.3)"
    assert loaded.bound.misspecification == 0.1 + 0.2
    assert loaded.statistic == study.statistic
    memory = begin(0.1 + 0.2)
    memory.run(result, progress=False, max_evaluations=140)
    assert [t.arm for t in loaded.ask(30)] == [t.arm for t in memory.ask(30)]
    with pytest.raises(errors.StudyMismatch, match=r"MisLid .*0\.2"):
        begin(0.2, storage=tmp_path / "study.db")
    with pytest.raises(errors.StudyMismatch, match="glr"):
        begin(storage=tmp_path / "study.db", algorithm=MisLid(misspecification=LIE, stop="glr"))
    again = shortlist.Study.load(
        tmp_path / "study.db", algorithm=MisLid(misspecification=0.1 + 0.2)
    )
    assert again.evaluations == 140


def test_what_a_study_shows_is_the_estimate_with_its_bounds() -> None:
    study = begin()
    study.run(result, progress=False)
    table = study.table()
    averages = [
        np.mean([t.value for t in study.trials if t.arm == a and t.value is not None])
        for a in range(10)
    ]
    # Means by least squares would be off by the lie; the estimate is not.
    assert np.abs(table["mean"] - averages).max() < 0.5 * LIE
    assert np.abs(study.posterior.means - averages).max() > LIE
    assert (table["lower"] <= LIAR.means).all()
    assert (LIAR.means <= table["upper"]).all()
    assert set(study.shortlist) == {str(a) for a in np.argsort(-LIAR.means)[:3]}


@pytest.mark.parametrize("stop", ["pairs", "glr"])
def test_the_stop_is_where_the_gap_of_its_pair_ends(stop: Any) -> None:
    study = begin(2 * LIE, algorithm=MisLid(misspecification=2 * LIE, stop=stop), epsilon=0.3)
    study.run(result, progress=False)
    last = study.history().last
    assert last is not None
    assert last.table["gap_upper"].iloc[last.c] == study.statistic <= 0.3
    assert last.table.loc[~last.table["in_shortlist"], "gap_upper"].max() == study.statistic
    assert (last.table["gap_lower"] <= last.table["gap"]).all()
    assert (last.table["gap"] <= last.table["gap_upper"]).all()


@pytest.mark.slow
def test_guarantee_and_reports_name_c() -> None:
    study = begin()
    words = study.bound.guarantee()
    assert words.startswith("Proven: with probability at least 0.95")
    assert "no mean is further than c = 0.15 from linear in the features" in words
    assert "within c = 0.15 of θ·x" in dict(assumptions(study))["Model"]
    assert dict(settings(study))["Misspecification, c"] == "0.15"
    written = methods(Reading(study))
    assert "linear in them to within c = 0.15" in written
    assert "Tirinzoni" in written
    page = html(study)
    for words in ("MisLid (c = 0.15)", "further than c = 0.15", "Misspecification, c"):
        assert words in page


def test_the_guarantee_names_the_noise_as_it_was_told() -> None:
    bounded = begin(sigma="bounded", reward_range=(-3.0, 3.0)).bound
    assert "provided all results lie in that range" in bounded.guarantee()
    assert "c = 0.15 from linear" in bounded.guarantee()
    each = begin(sigma=[0.1] * 9 + [0.3]).bound
    assert each.proven
    assert each.engine.setup.sigma == 0.3  # the largest holds for all
    with pytest.raises(errors.InvalidSetting, match="sigma='estimate'"):
        begin(sigma="estimate")


def test_health_tests_c_and_not_linearity() -> None:
    for c, level in ((LIE, "fine"), (0.01, "warning")):
        study = begin(c)
        noise = np.random.default_rng(0)
        for k in range(600):
            value = LIAR.means[k % 10] + 0.3 * noise.standard_normal()
            study.tell(arm=k % 10, value=float(value))
        fit = {finding.name: finding for finding in study.health()}["fit"]
        assert fit.level == level
        assert f"c = {c:g}" in fit.words


def test_with_as_many_features_as_arms_nothing_is_assumed() -> None:
    rng = np.random.default_rng(0)
    square = rng.standard_normal((5, 5))
    instance = shortlist.instances.from_arrays(
        square, means=[1.0, 0.6, 0.2, 0.1, 0.0], m=2, sigma=0.3
    )
    frames = [
        shortlist.compare(MisLid(misspecification=c), instance, runs=5, progress=False).frame
        for c in (0.0, 5.0)
    ]
    assert frames[0]["pulls"].tolist() == frames[1]["pulls"].tolist()


@pytest.mark.parametrize("c", [-0.1, math.inf, math.nan, 10**400, "0.1", True, None, [0.1]])
def test_a_misspecification_is_a_number(c: Any) -> None:
    with pytest.raises(errors.InvalidSetting, match="misspecification must be a number, 0 or more"):
        MisLid(misspecification=c)


def test_other_words_are_refused_with_reasons() -> None:
    with pytest.raises(errors.InvalidSetting, match=r"shortlist\.MisLid\(misspecification=…\)"):
        find_algorithm("MisLid")
    with pytest.raises(errors.UnknownName, match="stop"):
        MisLid(misspecification=0.1, stop="never")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidSetting, match="takes no other"):
        begin(threshold="frequentist")
    assert MisLid(misspecification=1) == MisLid(misspecification=np.float64(1.0))


def test_more_arms_than_tables_are_kept_for_are_refused() -> None:
    features = np.random.default_rng(0).standard_normal((mislid.MOST + 1, 2))
    with pytest.raises(errors.InvalidSetting, match="is beyond 4,000: use m-LinGapE"):
        shortlist.Study(features, 2, sigma=1.0, algorithm=MisLid(misspecification=0.1), audit=False)


def test_auto_leaves_it_its_own_threshold() -> None:
    assert begin(threshold="auto").bound.threshold.name == "misspecified_pairs"


def test_first_pulls_are_fewer_where_arms_are_many() -> None:
    for K, first in ((5, 10), (20, 10), (40, 5), (500, 1)):
        rng = np.random.default_rng(K)
        problem = Problem.of(rng.standard_normal((K, 3)), 2, sigma=1.0)
        wanted = MisLid(misspecification=0.1).bind(problem).engine.setup.wanted
        assert wanted.tolist() == [first] * K
    assert mislid.FIRST == 10


def test_a_screen_file_takes_a_misspecification(tmp_path: Path) -> None:
    rows = [f"arm{a},{x},{y},{z}" for a, (x, y, z) in enumerate(LIAR.features)]
    (tmp_path / "features.csv").write_text("name,x,y,z\n" + "\n".join(rows))
    base = 'features = "features.csv"\nm = 3\nsigma = 0.3\nseed = 1\n'
    screen = tmp_path / "screen.toml"
    screen.write_text(base + "misspecification = 0.15\n")
    made = CliRunner().invoke(app, ["new", str(screen)])
    assert made.exit_code == 0, made.output
    assert "MisLid (c = 0.15)" in made.output
    assert shortlist.Study.load(tmp_path / "screen.db").bound.name == "MisLid (c = 0.15)"
    screen.write_text(base + 'misspecification = 0.15\nalgorithm = "LUCB"\n')
    refused = CliRunner().invoke(app, ["new", str(screen)])
    assert refused.exit_code != 0
    for bad in ("-0.1", "inf", "nan", "true", '"0.1"'):
        screen.write_text(base + f'name = "bad"\nmisspecification = {bad}\n')
        refused = CliRunner().invoke(app, ["new", str(screen)])
        assert refused.exit_code == 2, bad
        assert "misspecification must be a number" in " ".join(refused.output.split())
    screen.write_text(base + 'name = "bad"\nalgorithm = "MisLid"\n')
    refused = CliRunner().invoke(app, ["new", str(screen)])
    assert "misspecification = …" in " ".join(refused.output.split())


def test_the_list_of_algorithms_names_it() -> None:
    listed = CliRunner().invoke(app, ["algorithms"]).output
    assert f"{MisLid.summary}\n" in listed
