"""Playing on from where a study stands, as if the means were those given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlist.core.posterior import Posterior
from shortlist.core.random import standard_normal, uniform
from shortlist.core.rule import rule
from shortlist.rules.game import NONE

if TYPE_CHECKING:
    from shortlist.algorithms.engine import Engine


@rule("reward")
def told_then_drawn(arm: int, parameters: np.ndarray, stream: np.ndarray) -> float:
    """So many times the average told, then normal: the rows are (times left, average, mean, σ)."""
    if parameters[0, arm] > 0.0:
        parameters[0, arm] -= 1.0
        return parameters[1, arm]
    return parameters[2, arm] + parameters[3, arm] * standard_normal(stream)


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
    # Told results enter as initial pulls, each at the mean of its arm: the posterior is the same.
    pulls = posterior.pulls
    onward = replace(engine, initial=np.repeat(np.arange(len(pulls)), pulls))
    averages = posterior.state.sums / np.maximum(pulls, 1)
    parameters = np.vstack([pulls, averages, means, np.full(len(pulls), engine.sigma)])
    runs = onward.replicate(told_then_drawn, parameters, np.array([seed], np.uint64), most)
    return int(runs.samples[0]), bool(runs.stopped[0]), runs.pulls[0]


def round_cost(engine: Engine) -> float:
    """About how long a simulated round takes, in nanoseconds on the machine of README's figures."""
    arms, rank = engine.features.shape
    cells = arms * min(arms, engine.m + 16 + rank)
    if any({"mth_gaps", "design"} & each.needs for each in engine.rules.values()):
        cells += 8 * arms * arms
    if engine.allocation != NONE:
        cells += arms * rank * rank + engine.m * (arms - engine.m) * rank
    return 300.0 + 1.2 * cells
