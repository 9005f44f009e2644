"""Instances and settings for which there is no bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import theory
from shortlist.errors import InvalidFeatures, InvalidSetting, UnknownName
from tests.theory.instances import given_as

EVERY = [
    theory.constants,
    lambda instance: theory.upper_bounds(instance, 0.05),
    lambda instance: theory.lower_bound(instance, 0.05),
]


@pytest.mark.parametrize("ask", EVERY)
def test_instances_that_cannot_be_used(ask: Any) -> None:
    fine = np.array([0.9, 0.5, 0.5, 0.1])
    with pytest.raises(
        InvalidSetting, match=r"ranks 2 and 3 are equal up to rounding \(0.5 and 0.5\)"
    ):
        ask(given_as(np.eye(4), fine, 2))
    with pytest.raises(InvalidSetting, match="equal"):  # 0.1 + 0.2 and 0.3 differ by rounding
        ask(given_as(np.eye(3), [1.0, 0.1 + 0.2, 0.3], 2))
    ask(given_as(np.eye(4), fine, 1))
    for m in (0, 4, 1.5):
        with pytest.raises(InvalidSetting, match="m must be"):
            ask(given_as(np.eye(4), fine, m))  # type: ignore[arg-type]
    with pytest.raises(InvalidFeatures, match="not finite"):
        ask(given_as(np.eye(4), [0.9, np.nan, 0.5, 0.1], 1))
    with pytest.raises(InvalidFeatures, match="one per arm"):
        ask(given_as(np.eye(4), fine[:3], 1))
    with pytest.raises(InvalidSetting, match="sigma"):
        ask(given_as(np.eye(4), fine, 1, -1.0))


def test_equal_means_need_slack() -> None:
    instance = given_as(np.eye(4), [0.9, 0.5, 0.5, 0.1], 2)
    assert all(h > 0 for h in theory.constants(instance, epsilon=0.1).values())
    assert all(u < math.inf for u in theory.upper_bounds(instance, 0.05, epsilon=0.1).values())


@pytest.mark.parametrize("ask", EVERY[1:])
def test_means_must_be_linear(ask: Any) -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(InvalidSetting, match=r"not linear.*np\.eye"):
        ask(given_as(features, [1.0, 0.2, 0.1], 1))


def test_settings_that_cannot_be_used() -> None:
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    for delta in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(InvalidSetting, match="delta"):
            theory.lower_bound(instance, delta)
        with pytest.raises(InvalidSetting, match="delta"):
            theory.upper_bounds(instance, delta)
    for delta in (0.5, 0.95):
        with pytest.raises(InvalidSetting, match=r"0\.05"):
            theory.lower_bound(instance, delta)
    for tolerance in (0.0, 1e-9, 1.0, math.nan):
        with pytest.raises(InvalidSetting, match="tolerance"):
            theory.lower_bound(instance, tolerance=tolerance)
    with pytest.raises(InvalidSetting, match="epsilon"):
        theory.constants(instance, epsilon=-0.1)
    with pytest.raises(InvalidSetting, match="bound ‖θ‖"):
        theory.upper_bounds(instance, 0.05, S=0.5)
    with pytest.raises(UnknownName, match="m-LinGapE"):
        theory.constants(instance, algorithms=["LinGapE(2)"])
    with pytest.raises(UnknownName, match="lucb1"):
        theory.upper_bounds(instance, 0.05, threshold="lucb")
