"""Reward models: what a simulated arm answers to a pull."""

from __future__ import annotations

import numpy as np

from shortlist.numerics.random import seed_stream, standard_normal, uniform
from shortlist.rules.rule import Rule, rule


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


def first_rewards(reward: Rule, parameters: np.ndarray, seed: int, arms: np.ndarray) -> np.ndarray:
    """The rewards that the compiled loop draws in a run of this seed that begins with these arms.

    Examples
    --------
    >>> first_rewards(gaussian, np.array([[1.0, 2.0], [0.1, 0.1]]), 0, np.array([0, 1])).round(1)
    array([1. , 1.9])
    """
    stream = np.zeros(4, np.uint64)
    with np.errstate(over="ignore"):
        seed_stream(np.uint64(seed), stream)
        return np.array([reward(int(arm), parameters, stream) for arm in arms])
