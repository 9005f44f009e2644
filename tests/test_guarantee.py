"""The product: every proven threshold keeps its promise, and the samples it costs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import shortlist

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import samples

DELTA = 0.05
RUNS = 200
INSTANCES = samples.random_instances(20)


@pytest.mark.parametrize("pair", samples.proven_pairs(), ids=" ".join)
def test_errors_stay_below_delta(pair: tuple[str, str]) -> None:
    wrong = samples.errors_of(pair, 20, RUNS, DELTA)
    assert len(wrong) == 20
    for errors in wrong:
        assert samples.improbability(errors, RUNS, DELTA) > 0.001
    assert samples.improbability(sum(wrong), RUNS * len(wrong), DELTA) > 0.01


def test_the_test_can_fail() -> None:
    def narrow(t, log_det, constants):  # type: ignore[no-untyped-def]
        return 0.5

    careless = shortlist.GIFA(threshold=narrow, name="careless")
    wrong = [
        int((~shortlist.compare(careless, i, runs=RUNS, progress=False).frame["correct"]).sum())
        for i in INSTANCES[:5]
    ]
    assert samples.improbability(sum(wrong), RUNS * 5, DELTA) < 1e-6


def test_instances_are_of_many_shapes() -> None:
    shapes = {(*instance.features.shape, instance.m) for instance in INSTANCES}
    assert len(shapes) >= 15
    assert {instance.m == 1 for instance in INSTANCES} == {True, False}


def test_samples_with_the_default_threshold() -> None:
    table = samples.default_samples(runs=500)
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
