"""The product: every proven threshold keeps its promise, and the samples it costs."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import samples
import shortlist
from error_rates import shown_below
from shortlist.catalog.registry import find_algorithm
from shortlist.simulation.instances import Instance

DELTA = 0.05
RUNS = 200
INSTANCES = samples.random_instances(20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "pair"),
    [(number % 7, pair) for number, pair in enumerate(samples.proven_pairs())],
    ids=lambda each: each if isinstance(each, int) else " ".join(each),
)
def test_errors_stay_below_delta(part: int, pair: tuple[str, str]) -> None:
    """On three of the instances, of all shapes, by turns; benchmarks/samples.py takes all of them."""
    instances = samples.random_instances(20, find_algorithm(pair[0]).only_m)
    assert len(instances) == 20
    for k, instance in list(enumerate(instances))[part::7]:
        shown_below(
            DELTA,
            lambda runs, seed: samples.errors_in(pair, instance, runs, DELTA, seed * 1000 + k),  # noqa: B023
        )


def test_the_test_can_fail() -> None:
    def narrow(t, log_det, known):  # type: ignore[no-untyped-def]
        return 0.5

    careless = shortlist.GIFA(threshold=narrow, name="careless")

    def errors_in(instance: Instance, runs: int, seed: int) -> int:
        frame = shortlist.compare(careless, instance, runs=runs, seed=seed, progress=False).frame
        return int((~frame["correct"]).sum())

    wrong = [errors_in(instance, RUNS, 0) for instance in INSTANCES[:5]]
    assert samples.improbability(sum(wrong), RUNS * 5, DELTA) < 1e-6
    with pytest.raises(AssertionError, match=r"not shown to be below 0\.05"):
        shown_below(DELTA, partial(errors_in, INSTANCES[int(np.argmax(wrong))]))


@pytest.mark.parametrize(("rate", "shown"), [(0.05, 5), (0.005, 95)])
def test_a_rate_is_shown_to_be_below_a_bound_as_often_as_said(rate: float, shown: int) -> None:
    """Of 100: at the bound itself by mistake at most 5 are; at a tenth of it nearly all are."""
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(1000):
        with suppress(AssertionError):
            shown_below(DELTA, lambda runs, seed: int(rng.binomial(runs, rate)))
            count += 1
    assert (count <= 10 * shown + 20) if rate == DELTA else (count >= 10 * shown)


def test_instances_are_of_many_shapes() -> None:
    shapes = {(*instance.features.shape, instance.m) for instance in INSTANCES}
    assert len(shapes) >= 15
    assert {instance.m == 1 for instance in INSTANCES} == {True, False}


@pytest.mark.slow
def test_samples_with_the_default_threshold() -> None:
    table = samples.default_samples(runs=200)
    print(table.to_string(index=False))
    assert (table["mean"] <= table["asked"]).all()
    assert (table["mean"] < table["published"]).all()
    assert (table["errors"] == 0).all()


def test_bernoulli_rewards_with_half_a_range_for_sigma() -> None:
    instance = shortlist.instances.from_arrays(
        np.eye(4), means=[0.8, 0.6, 0.3, 0.2], m=2, sigma=0.5, noise="bernoulli"
    )
    summary = shortlist.compare(
        ["LUCB", "UGapE", "m-LinGapE"], instance, runs=RUNS, progress=False
    ).summary()
    assert (summary["error_low"] <= DELTA).all()
