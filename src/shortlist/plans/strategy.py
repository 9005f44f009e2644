"""A strategy of one's own: what it must provide, and how it fills its plans."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.engine.certified import Certified
from shortlist.engine.contract import Decision, Estimates, Gaps
from shortlist.engine.fits import Posterior
from shortlist.plans.question import Question
from shortlist.plans.search import Boundary, Search
from shortlist.plans.search_engine import Progress, SearchEngine
from shortlist.plans.slots import Slots


class Strategy(ABC):
    """What an algorithm of one's own remembers and wants, plan by plan.

    It is made from a ``Question``, and is a function of the results of its plans, in order, and of
    nothing else, so that a stored study can be replayed. For every plan it is given the first
    ``plan[a]`` results of each arm a that came in after the plan was made, whether they were asked for
    or not. It never sees results beyond these, so the design of each plan was fixed before any of its
    rewards was told.

    A strategy replaces its arrays and never writes into them, so that a copy costs nothing.

    Attributes
    ----------
    plan : array of int, K
        How many results of each arm are wanted now. The first plan must span the features.
    inside : array of bool, K
        The m arms that would be answered now.
    b, c : int
        The pair at the boundary: b is inside, c is not.
    threshold : float
        C of the last decision.
    statistic : float
        An upper bound on how much better c is than b; the search stops when it is at most ε.
    alone : bool
        Whether the stop compares the arms' own intervals, not differences of two means.
    """

    plan: Integers
    inside: Mask
    b: int = NO_ARM
    c: int = NO_ARM
    threshold: float = math.inf
    statistic: float = math.inf
    alone: bool = False

    @abstractmethod
    def decide(self, arms: Integers, values: Reals, seed: int) -> None:
        """Take in the plan's results, in the order in which they came, and make the next plan.

        There is a next plan even where the statistic has fallen to ε: a study may be reopened.
        ``seed`` is that of the study, for ties.
        """

    @abstractmethod
    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with their lower and upper bounds."""

    @abstractmethod
    def threshold_at(self, time: float) -> float:
        """About what C will be after ``time`` results."""

    def intervals(self) -> tuple[Reals, Reals] | None:
        """Every arm's own interval, where it is another than μ̂ ± Cσ√(xᵀV⁻¹x)."""
        return None

    def copy(self) -> Self:
        """An independent copy."""
        return copy.copy(self)


class StrategySearch:
    """A strategy that answers what ``SearchEngine`` asks of a search."""

    def __init__(self, question: Question, strategy: Strategy, seed: int) -> None:
        self.question, self.strategy, self.seed = question, strategy, seed
        self.told = 0  # results that it has been given

    @property
    def slots(self) -> Slots:
        """The evaluations of the plan, in the order in which they are asked for."""
        return Slots.in_turn(self.strategy.plan)

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now."""
        return self.strategy.inside

    @property
    def stopped(self) -> bool:
        """Whether the last decision ends the search: a budget ends when it is spent."""
        if self.question.budget < math.inf:
            return self.told >= self.question.budget
        return self.strategy.statistic <= self.question.epsilon

    @property
    def boundary(self) -> Boundary:
        """The pair at the boundary."""
        now = self.strategy
        level, statistic = 0.5 * float(now.threshold) ** 2, float(now.statistic)
        return Boundary(int(now.b), int(now.c), level, statistic)

    def copy(self) -> StrategySearch:
        """An independent copy."""
        twin = copy.copy(self)
        twin.strategy = self.strategy.copy()
        return twin

    def take(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Take in the results of the plan, and make the next one."""
        self.strategy.decide(arms, values, self.seed)
        self.told += len(arms)

    def advise(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Nothing: a strategy sees no results beyond its plan."""

    def widen(self, epsilon: float) -> None:
        """Judge with a larger ε; the plan stays."""
        self.question = replace(self.question, epsilon=max(epsilon, self.question.epsilon))


class StrategyEngine(SearchEngine):
    """A strategy on its problem; ``strategy`` makes it."""

    searches = False

    def __init__(self, *given: Any, strategy: Callable[[], Strategy], **more: Any) -> None:
        super().__init__(*given, **more)
        self.strategy = strategy

    @cached_property
    def _first(self) -> Strategy:
        return self.strategy()

    @property
    def alone(self) -> bool:
        """Whether the stop compares the arms' own intervals."""
        return self._first.alone

    def _search(self, seed: int) -> Search:
        now = StrategySearch(self.question, self._first.copy(), seed)
        return cast(Search, now)  # it answers what is asked of it

    def threshold_at(self, time: float, log_det: float) -> float:
        """As the strategy has it."""
        return self._first.threshold_at(time)

    def estimates(self, posterior: Posterior, now: Progress) -> Estimates:
        """Least squares on all results, and the strategy's intervals."""
        return Estimates(posterior.means, posterior.variances, strategy_of(now).intervals())

    def gaps(
        self, posterior: Posterior, now: Progress, decision: Decision, *, outside_only: bool = False
    ) -> Gaps:
        """Differences of means with their bounds, as the strategy has them."""
        strategy = strategy_of(now)
        to_b, to_c = (strategy.differences(each) for each in (decision.b, decision.c))
        from_c = -to_c[0], -to_c[2], -to_c[1]
        chosen = (np.where(strategy.inside, *each) for each in zip(from_c, to_b, strict=True))
        return Gaps(decision.b, *chosen)

    def projected(self, now: Progress, count: int, rng: np.random.Generator) -> None:
        """None: the widths of intervals tell."""

    def certified(self, posterior: Posterior, now: Progress, decision: Decision) -> Certified:
        """What the statistic says."""
        strategy, epsilon = strategy_of(now), now.search.question.epsilon
        return Certified.by_statistic(strategy.inside, epsilon, strategy.statistic)


def strategy_of(now: Progress) -> Strategy:
    """The strategy that makes the plans."""
    return cast(StrategySearch, now.search).strategy
