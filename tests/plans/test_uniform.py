"""Uniform sampling."""

from __future__ import annotations

import shortlist
from planned import INSTANCE, X
from shortlist.catalog.registry import find_algorithm
from shortlist.plans.engine import PlanEngine
from shortlist.plans.strategy import ReducedProblem
from shortlist.plans.uniform import Uniform


def test_uniform_is_uniform() -> None:
    assert isinstance(
        find_algorithm("Uniform").bind(INSTANCE.problem(0.05, 0.0)).engine, PlanEngine
    )
    frame = shortlist.compare("Uniform", INSTANCE, runs=20, progress=False).frame
    assert all(len(set(pulls)) == 1 for pulls in frame["pulls"])
    strategy = Uniform(ReducedProblem(X, 2, 0.6, 0.05, 0.0))
    assert strategy.plan.tolist() == [1] * 5
