"""Questions for a search, and results for its plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.plans.noises import Common, InRange, Known, NoiseModel, Unknown
from shortlist.plans.question import Question, Shared
from shortlist.plans.search import Search

MEANS = np.array([0.9, 0.8, 0.4, 0.35, 0.3, 0.2])
SIGMA = 0.15
FEATURES = np.column_stack([MEANS, np.ones(len(MEANS))])
NOISES: dict[str, NoiseModel] = {
    "known": Known(np.full(len(MEANS), SIGMA)),
    "common": Common(),
    "unknown": Unknown(),
    "range": InRange(),
}
SHARED = {"nothing": None, "cells": Shared(), "plates": Shared(requested=True)}


def question(noise: str = "known", shared: str = "nothing", **changes: Any) -> Question:
    """The two best of six."""
    arms = len(MEANS)
    given: dict[str, Any] = {
        **{"arms": arms, "m": 2, "noise": NOISES[noise], "delta": 0.05, "epsilon": 0.02},
        **{"costs": np.ones(arms), "out": np.zeros(arms, bool), "shared": SHARED[shared]},
    }
    return Question(**{**given, **changes})


def measuring(seed: int, means: Reals = MEANS) -> Callable[[Integers, Integers], Reals]:
    """Results in [0, 1] of arms on blocks, each with a level of its own."""
    rng, levels = np.random.default_rng(seed), dict[int, float]()

    def measure(arms: Integers, blocks: Integers) -> Reals:
        lifts = [0.0 if b < 0 else levels.setdefault(b, rng.normal(0.0, 0.02)) for b in blocks]
        return np.clip(means[arms] + lifts + SIGMA * rng.normal(size=len(arms)), 0.0, 1.0)

    return measure


def placed(search: Search, plate: int = 12) -> tuple[Integers, Integers]:
    """The evaluations of the plan; those on plates are asked for a plate at a time."""
    arms, blocks = search.slots.arms, search.slots.blocks
    shared = search.question.shared
    if shared is not None and shared.requested:
        blocks = search.next_block + np.arange(len(arms)) // plate
    return arms, blocks


def plan_in(search: Search, measure: Callable[[Integers, Integers], Reals]) -> None:
    """Tell the results of one plan."""
    arms, blocks = placed(search)
    search.take(arms, blocks, measure(arms, blocks))


def to_the_stop(
    search: Search, measure: Callable[[Integers, Integers], Reals], most: int = 200
) -> Search:
    """Tell results until the answer is proven."""
    for _ in range(most):
        if search.stopped:
            break
        plan_in(search, measure)
    return search


def state(search: Search) -> tuple[Any, ...]:
    """What a search is, to be compared."""
    peaks = [each.peak.tolist() for each in search.namings]
    risks = [each.risks for each in search.namings]
    plans = [(p.arms.tolist(), p.values.tolist(), p.evidence) for p in search.record]
    slots = search.slots.arms.tolist(), search.slots.blocks.tolist()
    return slots, plans, risks, peaks, search.inside.tolist(), search.stopped, search.named
