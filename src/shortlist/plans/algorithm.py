"""Algorithms made of a strategy: name, threshold, and what the answer is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.arrays import Integers
from shortlist.engine.algorithm import OWN, Algorithm
from shortlist.engine.algorithm_on_problem import AlgorithmOnProblem
from shortlist.errors import InvalidSetting
from shortlist.noise import Noise, rounds_for
from shortlist.plans.engine import PlanEngine
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.problem import Problem
from shortlist.references import PAPER, Work
from shortlist.relation import Linear, Relation, relation_on
from shortlist.rules.thresholds import StrategyThreshold, ThresholdInputs


@dataclass(frozen=True, kw_only=True)
class Planned(Algorithm):
    """An algorithm that proceeds plan by plan.

    Parameters
    ----------
    strategy : callable
        Called with a ``ReducedProblem``; returns a strategy that has seen no results. A class, or a
        function that can be pickled.
    threshold : StrategyThreshold
        How wide the strategy's bounds are, and the source of the proof. It belongs to the strategy
        and cannot be replaced.
    name, summary : str
        For tables.
    works : tuple of str or Work
        What to cite, the work that introduced it first.
    adapted : bool
        Whether it differs from what was published there.
    unproven : tuple of str
        Why no theorem covers the answer; empty if one does.
    extends : str
        How it goes beyond its theorem; empty if the theorem covers it.
    only_m : int, optional
        The only m it is defined for.
    relation : callable
        From the problem, what is assumed of how the means depend on the features: a class of
        ``shortlist.relation``, by default ``Linear``.
    reward_range : tuple of float, optional
        The range of all results. The bound then depends on it, and σ is not used.
    interval_words : str
        The formula of an arm's own interval, where it is not the usual one.
    uses_noise : bool
        Whether the strategy uses a σ for every arm, and can begin with replicates from which σ is
        estimated; else it takes the largest σ for all arms, and σ must be known.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.catalog.registry import find_algorithm
    >>> uniform = find_algorithm("Uniform")
    >>> bound = uniform.bind(Problem.of(np.eye(3), 1, sigma=1.0))
    >>> bound.proven, bound.engine.setup.initial.tolist()
    (True, [0, 1, 2])
    >>> uniform.bind(bound.problem, "frequentist")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: Uniform uses its own bound ('contrast_mixture'), which cannot be replaced: leave threshold=None, got 'frequentist'.
    """

    strategy: Callable[[ReducedProblem], Strategy]
    threshold: StrategyThreshold
    name: str
    summary: str = ""
    works: tuple[str | Work, ...] = (PAPER,)
    adapted: bool = False
    unproven: tuple[str, ...] = ()
    extends: str = ""
    only_m: int | None = None
    relation: Callable[[Problem], Relation] = Linear
    reward_range: tuple[float, float] | None = None
    interval_words: str = ""
    uses_noise: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Its name: the strategy is the user's own code."""
        return {"name": self.name, "strategy": OWN}

    def bind(self, problem: Problem, threshold: Any = None) -> AlgorithmOnProblem:
        """The algorithm on a problem."""
        if threshold is not None:
            raise InvalidSetting(
                f"{self.name} uses its own bound ({self.threshold.name!r}), which cannot be "
                f"replaced: leave threshold=None, got {threshold!r}."
            )
        if self.only_m is not None and problem.m != self.only_m:
            raise InvalidSetting(
                f"{self.name} is defined for m = {self.only_m}, got m = {problem.m}."
            )
        if problem.noise.is_estimated and not self.uses_noise:
            raise InvalidSetting(
                f"{self.name} makes plans of its own, without the replicates that "
                f"sigma={problem.noise.kind!r} needs: give a number for sigma, or another "
                "algorithm, such as Guess-and-verify."
            )
        sigma = problem.sigma
        if self.reward_range is not None:
            (low, high), told = self.reward_range, problem.noise.range
            if told is not None and not (low <= told[0] and told[1] <= high):
                raise InvalidSetting(
                    f"{self.name} is for results from {low:g} to {high:g}, got "
                    f"reward_range=({told[0]:g}, {told[1]:g}): scale the results, or take an "
                    "algorithm that uses σ (LUCB, Racing)."
                )
            sigma = (high - low) / 2.0  # in place of σ, to project how long a study takes
        delta = problem.noise.left_of(problem.delta)
        relation = self.relation(problem)
        looks = relation.uses_features or relation.guide
        features = problem.reduced if looks else np.eye(problem.arms)
        setting = ThresholdInputs.of(
            problem, classical=not relation.uses_features, rank=features.shape[1], sigma=sigma
        )
        reduced = ReducedProblem(features, problem.m, sigma, delta, problem.epsilon)
        if self.uses_noise:
            reduced = reduced._replace(noise=problem.relative_noise)
        if problem.noise.is_estimated:
            reduced = reduced._replace(first=self._replicates(reduced, problem.noise))
        return AlgorithmOnProblem(
            self.name,
            problem,
            self.threshold,
            setting,
            relation_on(problem, self.relation),
            PlanEngine(self.strategy, reduced),
            list(self.unproven),
            extends=self.extends,
            reward_range=self.reward_range,
            interval_words=self.interval_words,
            method=self.method,
            cited=tuple(self.cited),
            rebind=self.bind if problem.noise.is_estimated else None,
        )

    def _replicates(self, reduced: ReducedProblem, noise: Noise) -> Integers:
        """The first plan from which σ is estimated: the same before σ is known and after."""
        if noise.kind == "estimate per arm":
            return np.full(len(reduced.features), noise.degrees + 1)
        plan = self.strategy(reduced).plan
        return plan * rounds_for(noise.degrees, np.repeat(np.arange(len(plan)), plan))
