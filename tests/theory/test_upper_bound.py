"""The upper bounds of Theorem 2."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from shortlist.rules.thresholds import THRESHOLDS

import shortlist
from shortlist import theory
from shortlist.errors import InvalidSetting
from tests.theory.instances import ROWS


def test_upper_bounds_solve_their_equation() -> None:
    instance = shortlist.instances.classic(K=5, m=2, omega=0.7, sigma=0.3)
    bounds = theory.upper_bounds(instance, 0.01, epsilon=0.05, as_printed=True)
    constants = theory.constants(instance, epsilon=0.05)
    for name, u in bounds.items():
        if name.startswith("m-"):
            ridge, longest = (0.3 / 20) ** 2, math.sqrt(2.0)
            inside = 2 * math.log(100) + 4 * math.log(1 + (u + 1) * longest**2 / (ridge * 4))
            c, rest = math.sqrt(inside) + math.sqrt(ridge) / 0.3, 0.0
        else:
            c, rest = math.sqrt(2 * math.log(5 * 5 * u**4 / (4 * 0.01))), 5.0
            constants[name] *= 4 * 0.3**2
        assert u == pytest.approx(1.0 + constants[name] * c**2 + rest, rel=1e-9)


def test_upper_bounds_move_the_right_way() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0, sigma=0.5)
    usual = theory.upper_bounds(instance, 0.05)
    surer = theory.upper_bounds(instance, 0.001)
    looser = theory.upper_bounds(instance, 0.05, epsilon=1.2)
    louder = theory.upper_bounds(dataclasses.replace(instance, sigma=1.0), 0.05)
    vaguer = theory.upper_bounds(instance, 0.05, S=10.0)
    for name in ROWS:
        assert looser[name] < usual[name] < surer[name]
        assert louder[name] > 3.9 * usual[name]
        assert (vaguer[name] > usual[name]) == name.startswith("m-")
    heuristic = theory.upper_bounds(instance, 0.05, threshold="heuristic")
    assert all(heuristic[name] < usual[name] for name in ROWS)


def test_upper_bounds_hold_and_the_lower_bound_too() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=math.pi / 3, sigma=0.5)
    upper = theory.upper_bounds(instance, 0.05)
    lower = theory.lower_bound(instance, 0.05).samples
    names = ["LUCB", "UGapE", "m-LinGapE largest variance", "m-LinGapE optimized"]
    for row, name in zip(ROWS, names, strict=True):
        threshold = "frequentist" if row.startswith("m-") else "lucb1"
        results = shortlist.compare(
            name, instance, runs=100, threshold=threshold, seed=0, progress=False
        ).summary()
        assert lower < results["mean"].iloc[0]
        assert results["q95"].iloc[0] <= upper[row], name
    # Read as 2σ²Σ…, the table's row for LUCB would be no upper bound.
    assert (upper["LUCB"] - 5.0) / 4.0 < shortlist.compare(
        "LUCB", instance, runs=100, seed=0, progress=False
    ).summary()["mean"].iloc[0]


def test_the_printed_constant_of_the_optimized_rule_is_no_upper_bound() -> None:
    """Theorem 2 (ii) lacks the factor ‖w*‖₁ of Xu et al.: it shows where the slack of ε = 0 is gone."""
    instance = shortlist.instances.from_arrays(np.eye(4), means=[0.5] * 4, m=2, sigma=0.5)
    row = ["m-LinGapE(2)"]
    printed = theory.upper_bounds(instance, 0.05, epsilon=0.1, algorithms=row, as_printed=True)
    proven = theory.upper_bounds(instance, 0.05, epsilon=0.1, algorithms=row)
    samples = shortlist.compare(
        "m-LinGapE optimized",
        instance,
        runs=40,
        epsilon=0.1,
        threshold="frequentist",
        progress=False,
    ).frame["samples"]
    assert printed[row[0]] < samples.min()
    assert samples.max() < proven[row[0]]
    # Independent arms: w* = e_i − e_j, of weight 2.
    assert theory.constants(instance, epsilon=0.1, algorithms=row)[row[0]] == pytest.approx(100.0)


@pytest.mark.parametrize("name", ["self_normalized"])
def test_thresholds_that_look_at_the_pulls_are_refused(name: str) -> None:
    assert name in THRESHOLDS
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    with pytest.raises(InvalidSetting, match=f"{name}.*frequentist"):
        theory.upper_bounds(instance, 0.05, threshold=name)
