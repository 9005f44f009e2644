"""Playing on from where a study stands, as if the means were those given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlist.core.posterior import Posterior
from shortlist.core.random import standard_normal, uniform
from shortlist.core.rule import rule
from shortlist.rules.allocation import LAZY, NONE

if TYPE_CHECKING:
    from shortlist.algorithms.engine import Engine

MOST_SOLVED = 64  # arms: with more, solving w* on the way takes longer than all else


@rule("reward")
def normal(arm: int, parameters: np.ndarray, stream: np.ndarray) -> float:
    """Normal: the rows are (mean, σ)."""
    return parameters[0, arm] + parameters[1, arm] * standard_normal(stream)


@rule("reward")
def either(arm: int, parameters: np.ndarray, stream: np.ndarray) -> float:
    """One of two: the rows are (probability of the second, first, second)."""
    return parameters[2 if uniform(stream) < parameters[0, arm] else 1, arm]


def play_on(
    engine: Engine, posterior: Posterior, means: np.ndarray, seed: np.uint64, most: int
) -> tuple[int, bool, NDArray[np.int64]]:
    """Evaluations in all, whether it stopped, and the pulls."""
    parameters = np.vstack([means, engine.sigma / np.sqrt(engine.weights)])
    seeds = np.array([seed], np.uint64)
    runs = engine.replicate(normal, parameters, seeds, most, origin=posterior)
    return int(runs.samples[0]), bool(runs.stopped[0]), runs.pulls[0]


def round_cost(engine: Engine) -> float:
    """About how long a simulated round takes, in nanoseconds on the machine of README's figures."""
    arms, rank = engine.features.shape
    cells = arms * min(arms, engine.m + 16 + rank)
    if any({"mth_gaps", "design"} & each.needs for each in engine.rules.values()):
        cells += 8 * arms * arms
    if engine.allocation != NONE:
        cells += arms * rank * rank + engine.m * (arms - engine.m) * rank
    if engine.allocation == LAZY and arms > MOST_SOLVED:
        return math.inf
    return 300.0 + 1.2 * cells
