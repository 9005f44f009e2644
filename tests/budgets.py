"""A problem with a fixed budget, its results, and strategies that spend a budget on results."""

from __future__ import annotations

from typing import Any

import numpy as np

import shortlist
from shortlist.plans.noises import Known
from shortlist.plans.pairs_in_doubt import PairsInDoubtStrategy
from shortlist.plans.question import Question

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9], [-0.5, 0.4]])
MEANS = X @ [1.0, 0.3]


def begin(budget: Any = 40, **settings: Any) -> shortlist.Study:
    given = {"m": 2, "sigma": 0.6, "seed": 1, "budget": budget, "intercept": False, **settings}
    return shortlist.Study(X, **given)


def result(trial: Any) -> float:
    return float(MEANS[trial.arm] + 0.6 * np.random.default_rng(trial.seed).standard_normal())


def spending(
    features: Any, m: int, *, budget: int, sigma: float = 0.5, epsilon: float = 0.0
) -> PairsInDoubtStrategy:
    """A strategy before its first result."""
    x = np.asarray(features, np.float64)
    arms = len(x)
    return PairsInDoubtStrategy(
        Question(
            arms=arms,
            m=m,
            noise=Known(np.full(arms, sigma)),
            delta=0.05,
            epsilon=epsilon,
            costs=np.ones(arms),
            out=np.zeros(arms, np.bool_),
            features=None if np.array_equal(x, np.eye(arms)) else x,
            budget=budget,
        )
    )


def at(pulls: Any, means: Any) -> tuple[Any, Any]:
    """Results that all came out at their means."""
    arms = np.repeat(np.arange(len(pulls)), pulls)
    return arms, np.asarray(means)[arms]


def play(
    strategy: PairsInDoubtStrategy, means: Any, generator: np.random.Generator | None = None
) -> PairsInDoubtStrategy:
    """Spend the budget on results with σ = 0.5."""
    generator = generator or np.random.default_rng(3)
    while strategy.plan.any():
        arms, values = at(strategy.plan, means)
        strategy.decide(arms, values + 0.5 * generator.standard_normal(len(arms)), 0)
    return strategy
