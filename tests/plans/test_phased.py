"""Phased elimination: its plans, and what it proves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shortlist
from error_rates import shown_above, shown_below
from shortlist.plans.difference_bounds import contrast_threshold
from shortlist.plans.engine import PlanEngine
from shortlist.plans.phased import Phased, counts
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.simulation.instances import Instance
from shortlist.theory import lower_bound


def random_instance(seed: int, K: int, N: int, m: int, sigma: float = 0.5) -> Instance:
    """Unit-norm features and θ."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((K, N))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    return shortlist.instances.from_arrays(features, theta=theta, m=m, sigma=sigma)


def test_counts_span_and_follow_the_weights() -> None:
    rng = np.random.default_rng(2)
    features = rng.standard_normal((20, 6))
    weights = np.zeros(20)
    weights[:3] = 0.5, 0.3, 0.2
    pulls = counts(features, weights, 1000.0)
    assert pulls[:3].tolist() == [500, 300, 200]
    assert np.linalg.matrix_rank(features[pulls > 0]) == 6
    assert np.count_nonzero(pulls) == 6


# Phased elimination


class Recorded(Phased):
    """Remembers its plans."""

    def __init__(self, task: ReducedProblem) -> None:
        super().__init__(task)
        self.plans: list[np.ndarray] = []

    def decide(self, results: PlanResults, seed: int) -> None:
        self.plans = [*self.plans, self.plan]
        super().decide(results, seed)


def test_the_bounds_use_the_norms_that_the_pulls_really_have() -> None:
    instance = random_instance(3, 12, 4, 3)
    engine = PlanEngine(Recorded, ReducedProblem(instance.features, 3, 0.5, 0.05, 0.0))
    now, rng = engine.round(), np.random.default_rng(0)
    while not now.strategy.statistic <= 0.0:
        plan = now.strategy.plan
        sums = plan * instance.means + 0.5 * np.sqrt(plan) * rng.standard_normal(12)
        now.results = PlanResults(plan, sums)
        now.decide(0)
    assert len(now.strategy.plans) > 5
    information = np.zeros((12, 12))
    off = ~np.eye(12, dtype=bool)
    for plan in now.strategy.plans:
        inverse = np.linalg.inv((instance.features.T * plan) @ instance.features)
        away = instance.features[:, None] - instance.features
        information[off] += 1.0 / np.einsum("ijk,kl,ijl->ij", away, inverse, away)[off]
    used = now.strategy._differences.information
    np.testing.assert_allclose(used[off], information[off], rtol=1e-9)


def test_settled_arms_are_let_go() -> None:
    """Once the far arms are out, the pulls go where the near ones are told apart."""
    means = np.array([1.0, 0.9, 0.0, -0.1, -0.2, -0.3])
    engine = PlanEngine(Recorded, ReducedProblem(np.eye(6), 1, 0.5, 0.05, 0.0))
    now, rng = engine.round(), np.random.default_rng(0)
    while not now.strategy.statistic <= 0.0:
        plan = now.strategy.plan
        sums = plan * means + 0.5 * np.sqrt(plan) * rng.standard_normal(6)
        now.results = PlanResults(plan, sums)
        now.decide(0)
    first, last = now.strategy.plans[0], now.strategy.plans[-1]
    assert len(set(first.tolist())) == 1
    assert last[2:].max() <= 0.1 * last[:2].min()
    assert now.strategy._differences.rejected[2:].all()
    assert now.strategy._differences.accepted[0]


def errors_of(instances: list[Instance], runs: int, delta: float, seed: int = 0) -> int:
    """Errors in so many runs, as many on each instance as on any other, give or take one."""
    return sum(
        int((~shortlist.compare("Phased", each, runs=len(share), delta=delta, seed=seed,
                                progress=False).frame["correct"]).sum())
        for each, share in zip(instances, np.array_split(range(runs), len(instances)), strict=True)
        if len(share)
    )  # fmt: skip


def hard_instances(count: int) -> list[Instance]:
    """Gaps so small that a wrong answer is easily given."""
    found, seed = [], 0
    while len(found) < count:
        seed += 1
        rng = np.random.default_rng(seed)
        K, N = int(rng.integers(3, 8)), int(rng.integers(2, 5))
        instance = random_instance(seed, K, N, int(rng.integers(1, K)))
        ordered = np.sort(instance.means)[::-1]
        if 0.001 < ordered[instance.m - 1] - ordered[instance.m] < 0.01:
            found.append(instance)
    return found


@pytest.mark.slow
def test_errors_stay_below_delta() -> None:
    instances = hard_instances(8)
    shown_below(0.1, lambda runs, seed: errors_of(instances, runs, 0.1, seed))


@pytest.mark.slow
def test_widths_cut_in_half_err_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(level: float, growth: Any) -> Any:
        return 0.5 * contrast_threshold(level, growth)

    monkeypatch.setattr("shortlist.plans.difference_bounds.contrast_threshold", narrow)
    instances = hard_instances(8)
    shown_above(0.1, lambda runs, seed: errors_of(instances, runs, 0.1, seed))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("K", "m", "omega", "most"),
    [(4, 2, np.pi / 6, 1500), (3, 1, 0.1, 1600), (4, 2, np.pi / 3, 112)],
)
def test_few_samples_on_the_classic_instances(K: int, m: int, omega: float, most: float) -> None:
    instance = shortlist.instances.classic(K=K, m=m, omega=omega)
    frame = shortlist.compare("Phased", instance, runs=30, progress=False).frame
    assert frame["stopped"].all()
    assert frame["samples"].mean() <= most
    assert frame["samples"].mean() >= lower_bound(instance, 0.05).samples


@pytest.mark.slow
def test_in_many_dimensions_a_fifth_of_the_samples_will_do() -> None:
    instance = random_instance(0, 60, 50, 5)
    phased = shortlist.compare("Phased", instance, runs=4, progress=False).frame
    assert phased["correct"].all()
    most = 5 * int(phased["samples"].mean())
    other = shortlist.compare(
        "m-LinGapE", instance, runs=2, threshold="frequentist", max_samples=most, progress=False
    ).frame
    assert not other["stopped"].any()


def test_two_arms_are_pulled_alike() -> None:
    instance = shortlist.instances.from_arrays(np.eye(2), means=[0.5, 0.0], m=1, sigma=1.0)
    frame = shortlist.compare("Phased", instance, runs=20, progress=False).frame
    pulls = np.array(frame["pulls"].tolist())
    assert np.abs(pulls[:, 0] - pulls[:, 1]).max() <= 0.1 * pulls.max()
