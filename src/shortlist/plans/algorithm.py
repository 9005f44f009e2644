"""Algorithms made of a strategy: name, threshold, and what the answer is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from shortlist.arrays import Reals
from shortlist.blocks import NO_BLOCKS
from shortlist.engine.algorithm import OWN, Algorithm, Parts, Procedure
from shortlist.errors import InvalidSetting
from shortlist.noise import Noise
from shortlist.noise.noise import ResultModel, SubGaussian
from shortlist.plans.engine import PlanEngine
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.problem import Problem
from shortlist.references import PAPER, Work
from shortlist.relation import Linear, Relation, relation_on
from shortlist.gifa.thresholds import AUTO
from shortlist.engine.threshold import ArmInterval, StrategyThreshold, ThresholdInputs


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
    results : ResultModel
        What the bounds are for: sub-Gaussian noise as it is stated, by default, or results in a range.
    interval : ArmInterval, optional
        What an arm's own interval is, where it is not the usual one.
    uses_noise : bool
        Whether the strategy uses a σ for every arm, and can begin with replicates from which σ is
        estimated; else it takes the largest σ for all arms, and σ must be known.
    engine : callable
        From the strategy and the reduced problem, what fills its plans with results.
    takes : tuple of str
        The kinds of blocks that it works with.
    most_arms : int, optional
        How many arms it takes at most; by default any number.
    beyond : str
        What to do where there are more.
    checks : bool
        Whether the strategy may refuse a problem. It is then made as soon as a study begins, else
        when it is first needed.
    uses_costs : bool
        Whether the plans minimise the cost of evaluations where that differs from arm to arm.
    in_range : Planned, optional
        The same algorithm for results that are only known to lie in a range; by default this one.
    own_sigma : Planned, optional
        The same for normal noise with a σ of its own for each arm, none of which is known; by default
        this one, with bounds on them.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.catalog.registry import find_algorithm
    >>> own = find_algorithm("Guess-and-verify (own results)")
    >>> procedure = own.bind(Problem.of(np.eye(3), 1, sigma=1.0))
    >>> procedure.proven, len(procedure.engine.setup.initial)
    (True, 3)
    >>> own.bind(procedure.problem, "frequentist")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: Guess-and-verify (own results) has no threshold that could be replaced: leave threshold=None, got 'frequentist'.
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
    results: ResultModel = field(default_factory=SubGaussian)
    interval: ArmInterval | None = None
    uses_noise: bool = False
    engine: Callable[[Callable[[ReducedProblem], Strategy], ReducedProblem], PlanEngine] = (
        PlanEngine
    )
    takes: tuple[str, ...] = (NO_BLOCKS.word,)
    most_arms: int | None = None
    beyond: str = "use m-LinGapE"
    checks: bool = True
    uses_costs: bool = False
    in_range: Planned | None = None
    own_sigma: Planned | None = None

    def __eq__(self, other: object) -> bool:
        """Whether both are made of the same parts, also where one is a copy of the other."""
        if type(other) is not type(self) or other.name != self.name:
            return False
        return other is self or all(
            _made_of(getattr(self, part.name)) == _made_of(getattr(other, part.name))
            for part in fields(self)
        )

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def settings(self) -> dict[str, Any]:
        """Its name: the strategy is the user's own code."""
        return {"name": self.name, "strategy": OWN}

    def with_threshold(self, problem: Problem, threshold: Any) -> tuple[Planned, None]:
        """The algorithm and None: its bounds are its own, for ``"auto"`` too."""
        if not (threshold is None or (isinstance(threshold, str) and threshold == AUTO)):
            own = self._suited(problem).threshold.name
            raise InvalidSetting(
                f"{self.name} uses its own bound ({own!r}), which cannot be "
                f"replaced: leave threshold=None, got {threshold!r}."
            )
        return self, None

    def _suited(self, problem: Problem) -> Planned:
        """The same algorithm for what is known about the noise."""
        return problem.noise.suited(self, self.in_range or self, self.own_sigma or self)

    def bind(self, problem: Problem, threshold: Any = None) -> Procedure:
        """The algorithm on a problem."""
        suited = self._suited(problem)
        if suited is not self:
            return suited.bind(problem, threshold)
        self.with_threshold(problem, threshold)
        problem.blocks.check_taken(self.name, self.takes)
        if self.only_m is not None and problem.m != self.only_m:
            raise InvalidSetting(
                f"{self.name} is defined for m = {self.only_m}, got m = {problem.m}."
            )
        if self.most_arms is not None and problem.arms > self.most_arms:
            raise InvalidSetting(
                f"{self.name} is for {self.most_arms:,} arms at most, got {problem.arms:,}: "
                f"{self.beyond}, or leave out arms that are known to be bad."
            )
        noise = self.results.noise(problem.noise, self.name)
        relation = self.relation(problem)
        looks = relation.uses_features or relation.guide
        features = problem.reduced if looks else np.eye(problem.arms)
        make = partial(self._parts, problem, noise, features)
        procedure = Procedure(self, problem, make, rebind=self.bind)
        # Where σ or costs lie very far apart there may be no first plan.
        if self.checks or problem.costs.stated or problem.relative_noise.min() < 1.0:
            _ = procedure.engine.setup  # makes the strategy
        return procedure

    def _parts(self, problem: Problem, noise: Noise, features: Reals) -> Parts:
        """What the procedure is made of."""
        classical = not self.relation(problem).uses_features
        setting = ThresholdInputs.of(
            problem, classical=classical, rank=features.shape[1], sigma=noise.sigma
        )
        given = problem.m, noise.sigma, problem.delta, problem.epsilon
        reduced = ReducedProblem(
            features,
            *given,
            stated=noise,
            limits=noise.limits_given(problem.minimizes),
            blocks=problem.blocks,
            listable=problem.listable,
        )
        if self.uses_noise:
            reduced = reduced._replace(noise=problem.relative_noise)
        if self.uses_costs:
            reduced = reduced._replace(costs=problem.costs.of_arms(problem.arms))
        relation = relation_on(problem, self.relation)
        return Parts(self.threshold, setting, relation, self.engine(self.strategy, reduced))


def _made_of(part: object) -> object:
    """What to compare of a part: a copy of a ``partial`` does not equal it.

    Examples
    --------
    >>> partial(int, base=2) == partial(int, base=2)
    False
    >>> _made_of(partial(int, base=2)) == _made_of(partial(int, base=2))
    True
    """
    return (part.func, part.args, part.keywords) if isinstance(part, partial) else part
