"""A problem with a fixed budget, its results, and strategies that spend a budget on results."""

from __future__ import annotations

from typing import Any

import numpy as np
from shortlist.plans.budget import BudgetStrategy
from shortlist.plans.results import PlanResults

import shortlist

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9], [-0.5, 0.4]])
MEANS = X @ [1.0, 0.3]


def begin(budget: Any = 40, **settings: Any) -> shortlist.Study:
    given = {"m": 2, "sigma": 0.6, "seed": 1, "budget": budget, "intercept": False, **settings}
    return shortlist.Study(X, **given)


def result(trial: Any) -> float:
    return float(MEANS[trial.arm] + 0.6 * np.random.default_rng(trial.seed).standard_normal())


def play(strategy: BudgetStrategy, means: Any, seed: int = 3) -> BudgetStrategy:
    """Spend the budget on results with σ = 0.5."""
    generator = np.random.default_rng(seed)
    while not strategy.spent:
        noise = 0.5 * np.sqrt(strategy.plan) * generator.standard_normal(len(strategy.plan))
        sums = strategy.plan * np.asarray(means) + noise
        strategy.decide(PlanResults(strategy.plan, sums), seed)
    return strategy
