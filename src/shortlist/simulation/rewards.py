"""How a simulated arm answers a pull."""

from __future__ import annotations

import numpy as np

from shortlist.core.random import standard_normal, uniform
from shortlist.core.rule import rule


@rule("reward")
def gaussian(arm: int, parameters: np.ndarray, stream: np.ndarray) -> float:
    """Normal with mean ``parameters[0, arm]`` and standard deviation ``parameters[1, arm]``."""
    return parameters[0, arm] + parameters[1, arm] * standard_normal(stream)


@rule("reward")
def bernoulli(arm: int, parameters: np.ndarray, stream: np.ndarray) -> float:
    """1 with probability ``parameters[0, arm]``, else 0."""
    return 1.0 if uniform(stream) < parameters[0, arm] else 0.0


@rule("reward")
def recorded(arm: int, parameters: np.ndarray, stream: np.ndarray) -> float:
    """One of the arm's recorded rewards, ``parameters[:, arm]``, each as likely."""
    return parameters[int(uniform(stream) * parameters.shape[0]), arm]
