"""What algorithms that proceed plan by plan have in common, and one made of a strategy of one's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shortlist.arrays import Reals
from shortlist.engine.algorithm import OWN, Algorithm, Parts, Procedure
from shortlist.engine.references import PAPER, Work
from shortlist.engine.relation import Linear, Relation, relation_on
from shortlist.engine.threshold import StrategyThreshold, ThresholdInputs
from shortlist.errors import InvalidSetting
from shortlist.gifa.thresholds import AUTO
from shortlist.guarantee import BudgetClaim, Claim, no_guarantee
from shortlist.noise import Noise
from shortlist.plans.question import Question
from shortlist.plans.search_engine import SearchEngine
from shortlist.plans.strategy import Strategy, StrategyEngine
from shortlist.problem import Problem


class ByPlans(Algorithm):
    """An algorithm that proceeds plan by plan, with a threshold of its own."""

    relation: Callable[[Problem], Relation]  # of the means to the features, if these are any use

    @property
    def procedure(self) -> type[Procedure]:
        """What it is on a problem."""
        return Procedure

    def with_threshold(self, problem: Problem, threshold: Any) -> tuple[Algorithm, None]:
        """The algorithm and None: what its evidence must reach is its own."""
        if not (threshold is None or (isinstance(threshold, str) and threshold == AUTO)):
            raise InvalidSetting(
                f"{self.name} uses a bound of its own, which cannot be replaced: leave threshold=None, "
                f"got {threshold!r}."
            )
        return self, None

    def bind(self, problem: Problem, threshold: Any = None) -> Procedure:
        """The algorithm on a problem."""
        self.with_threshold(problem, threshold)
        problem.blocks.check_taken(self.name, self.takes)
        self.check(problem)
        self.results.noise(problem.noise, self.name)
        return self.procedure(self, problem, partial(self._parts, problem), rebind=self.bind)

    def check(self, problem: Problem) -> None:
        """Raise where the problem does not suit it."""

    @abstractmethod
    def bound(self, problem: Problem) -> StrategyThreshold:
        """What its evidence must reach, in words."""

    @abstractmethod
    def engine(self, problem: Problem, features: Reals, noise: Noise) -> SearchEngine:
        """What makes plans; ``features`` are those in use, the identity where there are none."""

    def _parts(self, problem: Problem) -> Parts:
        """What a procedure is made of."""
        noise = self.results.noise(problem.noise, self.name)
        relation = relation_on(problem, self.relation)
        features = problem.reduced if relation.uses_features else np.eye(problem.arms)
        setting = ThresholdInputs.of(
            problem, classical=not relation.uses_features, rank=features.shape[1], sigma=noise.scale
        )
        engine = self.engine(problem, features, noise)
        return Parts(self.bound(problem), setting, relation, engine)


@dataclass(frozen=True)
class OnBudget(Procedure):
    """An algorithm that ends with a budget, on a problem."""

    algorithm: Any

    @property
    def claim(self) -> Claim:
        """That nothing is claimed beforehand; what is known of the answer the algorithm says."""
        statement, extends = no_guarantee(self.algorithm.budget), self.algorithm.on_budget(self)
        return BudgetClaim(**{**vars(super().claim), "statement": statement, "extends": extends})


@dataclass(frozen=True, kw_only=True)
class Planned(ByPlans):
    """An algorithm made of a strategy of one's own.

    Parameters
    ----------
    strategy : callable
        Called with a ``Question``; returns a ``Strategy`` that has seen no results. A class, or a
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
        ``shortlist.engine.relation``, by default ``Linear``. With ``Unrelated`` a strategy is given no features.
    uses_costs : bool
        Whether the plans minimise the cost of evaluations where that differs from arm to arm.
    """

    strategy: Callable[[Question], Strategy]
    threshold: StrategyThreshold
    name: str
    summary: str = ""
    works: tuple[str | Work, ...] = (PAPER,)
    adapted: bool = False
    unproven: tuple[str, ...] = ()
    extends: str = ""
    only_m: int | None = None
    relation: Callable[[Problem], Relation] = Linear
    uses_costs: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Its name: the strategy is the user's own code."""
        return {"name": self.name, "strategy": OWN}

    def check(self, problem: Problem) -> None:
        """Raise where it is not defined for m."""
        if self.only_m is not None and problem.m != self.only_m:
            raise InvalidSetting(
                f"{self.name} is defined for m = {self.only_m}, got m = {problem.m}."
            )

    def bound(self, problem: Problem) -> StrategyThreshold:
        """As it was given."""
        return self.threshold

    def engine(self, problem: Problem, features: Reals, noise: Noise) -> SearchEngine:
        """The strategy, which fills its plans."""
        uses = relation_on(problem, self.relation).uses_features
        question = Question.plain(problem, features if uses else None)
        rest = features, problem.relative_noise, noise.scale
        return StrategyEngine(question, *rest, strategy=partial(self.strategy, question))
