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
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.engine.certified import Certified
from shortlist.engine.contract import Decision, Estimates, Gaps
from shortlist.engine.fits import Posterior
from shortlist.plans.design import TINY, rooted
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
    """A strategy that answers what ``SearchEngine`` asks of a search.

    ``question`` is about all arms, the strategy about those that are ``left``.
    """

    def __init__(self, question: Question, left: Integers, strategy: Strategy, seed: int) -> None:
        self.question, self.left, self.strategy, self.seed = question, left, strategy, seed
        self.told = 0  # results that it has been given

    @property
    def slots(self) -> Slots:
        """The evaluations of the plan, in the order in which they are asked for."""
        return Slots.anywhere(self.left[Slots.in_turn(self.strategy.plan).arms])

    def spread(self, values: Any, other: Any) -> NDArray[Any]:
        """Values of the arms that are left among those of all, where the others have ``other``."""
        among = np.full(self.question.arms, other, np.asarray(values).dtype)
        among[self.left] = values
        return among

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now."""
        return self.spread(self.strategy.inside, False)

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
        b, c = (NO_ARM if arm == NO_ARM else int(self.left[arm]) for arm in (now.b, now.c))
        return Boundary(b, c, 0.5 * float(now.threshold) ** 2, float(now.statistic))

    def copy(self) -> StrategySearch:
        """An independent copy."""
        twin = copy.copy(self)
        twin.strategy = self.strategy.copy()
        return twin

    def take(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Take in the results of the plan, and make the next one."""
        self.strategy.decide(np.searchsorted(self.left, arms), values, self.seed)
        self.told += len(arms)

    def advise(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Nothing: a strategy sees no results beyond its plan."""

    def widen(self, epsilon: float) -> None:
        """Judge with a larger ε; the plan stays."""
        self.question = replace(self.question, epsilon=max(epsilon, self.question.epsilon))


class StrategyEngine(SearchEngine):
    """A strategy on its problem; ``strategy`` makes it for the arms that are ``left``."""

    searches = False

    def __init__(
        self,
        *given: Any,
        strategy: Callable[[Integers], Strategy],
        left: Integers | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        self.strategy = strategy
        self.left = np.arange(self.question.arms) if left is None else left

    @cached_property
    def _first(self) -> Strategy:
        return self.strategy(self.left)

    @property
    def alone(self) -> bool:
        """Whether the stop compares the arms' own intervals."""
        return self._first.alone

    def _search(self, seed: int) -> Search:
        now = StrategySearch(self.question, self.left, self._first.copy(), seed)
        return cast(Search, now)  # it answers what is asked of it

    def among(self, arms: Integers) -> StrategyEngine:
        """The same where only these arms are left."""
        rest = self.features, self.noise, self.sigma, self.scale, self.aim
        out = np.ones(self.question.arms, np.bool_)
        out[arms] = False
        question = replace(self.question, out=out)
        return type(self)(question, *rest, strategy=self.strategy, left=arms)

    def threshold_at(self, time: float, log_det: float) -> float:
        """As the strategy has it."""
        return self._first.threshold_at(time)

    def estimates(self, posterior: Posterior, now: Progress) -> Estimates:
        """Least squares on all results of the arms that are left, and the strategy's intervals."""
        search, left = _of(now), self.left
        precision = posterior.pulls[left] / self.noise[left]
        averages = np.where(precision > 0.0, posterior.averages[left], 0.0)
        if len(left) == self.question.arms:
            means, variances = posterior.means, posterior.variances
        elif self.question.features is None:
            means, variances = averages, 1.0 / np.maximum(precision, TINY)
        else:
            white, _ = rooted(self.features[left], precision)
            means = white.T @ (white @ (precision * averages))
            variances = (white**2).sum(axis=0)
        ends = search.strategy.intervals()
        intervals = None
        if ends is not None:
            lower, upper = (search.spread(each, -np.inf) for each in ends)
            intervals = lower, upper
        return Estimates(search.spread(means, -np.inf), search.spread(variances, 0.0), intervals)

    def gaps(
        self, posterior: Posterior, now: Progress, decision: Decision, *, outside_only: bool = False
    ) -> Gaps:
        """Differences of means with their bounds, as the strategy has them; −∞ for retired arms."""
        search = _of(now)
        strategy, inside = search.strategy, search.strategy.inside
        to_b, to_c = (strategy.differences(int(each)) for each in (strategy.b, strategy.c))
        from_c = -to_c[0], -to_c[2], -to_c[1]
        chosen = (np.where(inside, *each) for each in zip(from_c, to_b, strict=True))
        return Gaps(decision.b, *(search.spread(each, -np.inf) for each in chosen))

    def projected(self, now: Progress, count: int, rng: np.random.Generator) -> None:
        """None: the widths of intervals tell."""

    def certified(self, posterior: Posterior, now: Progress, decision: Decision) -> Certified:
        """What the statistic says."""
        search = _of(now)
        inside, epsilon = search.strategy.inside, search.question.epsilon
        found = Certified.by_statistic(inside, epsilon, search.strategy.statistic)
        return found.among(self.left, self.question.arms)


def _of(now: Progress) -> StrategySearch:
    return cast(StrategySearch, now.search)
