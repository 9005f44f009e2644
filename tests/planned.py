"""Problems and results for algorithms that proceed plan by plan."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import shortlist
from shortlist.catalog.registry import find_algorithm

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9], [-0.5, 0.4]])
THETA = np.array([1.0, 0.3])
MEANS = X @ THETA
SIGMA = 1.2
INSTANCE = shortlist.instances.from_arrays(X, theta=THETA, m=2, sigma=SIGMA)
# Some algorithms forget the features, and would need thousands of results for such noise.
QUIET = 0.6


def begin(name: str, **settings: Any) -> shortlist.Study:
    sigma = QUIET if name and is_classical(name) else SIGMA
    return shortlist.Study(
        X, **{"m": 2, "sigma": sigma, "seed": 1, "algorithm": name, **settings}, audit=False
    )


def result(trial: Any, sigma: float = SIGMA) -> float:
    return float(MEANS[trial.arm] + sigma * np.random.default_rng(trial.seed).standard_normal())


@cache
def is_classical(name: str) -> bool:
    return find_algorithm(name).bind(INSTANCE.problem(0.05, 0.0)).setting.classical
