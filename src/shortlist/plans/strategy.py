"""What a strategy is given (``ReducedProblem``) and must provide (``Strategy``)."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.blocks import NO_BLOCKS, Blocks
from shortlist.engine.certified import Certified
from shortlist.noise import Noise
from shortlist.plans.results import PlanResults


class ReducedProblem(NamedTuple):
    """What a strategy is given; nothing of it is learnt from rewards.

    Attributes
    ----------
    features : array, K × rank
        Features in a basis of their row space.
    m, sigma, delta, epsilon
        The problem's.
    noise : array, K, optional
        (σ_a/σ)² of every arm, for a strategy that uses it; the others take σ for all.
    costs : array, K, optional
        What a pull of each arm costs, for a strategy that uses it; the others minimise pulls.
    first : array of int, K, optional
        The first plan, where σ is estimated from its results; else the strategy makes its own.
    listable : array of bool, K, optional
        Whether each arm may be listed; by default all may.
    stated : Noise, optional
        What is known of the noise, as the algorithm takes it; None where σ is all.
    blocks : Blocks
        What results share.
    limits : tuple of float
        The least and the largest result that the strategy can be given.
    """

    features: Reals
    m: int
    sigma: float
    delta: float
    epsilon: float
    noise: Reals | None = None
    first: Integers | None = None
    costs: Reals | None = None
    stated: Noise | None = None
    blocks: Blocks = NO_BLOCKS
    listable: Mask | None = None
    limits: tuple[float, float] = (-math.inf, math.inf)

    @property
    def noise_of_arms(self) -> Reals:
        """(σ_a/σ)² of every arm, 1 where nothing else is known."""
        return np.ones(len(self.features)) if self.noise is None else self.noise

    @property
    def cost_of_arms(self) -> Reals:
        """What a pull of each arm costs, 1 where nothing else is known."""
        return np.ones(len(self.features)) if self.costs is None else self.costs

    @property
    def may_be_listed(self) -> Mask:
        """Whether each arm may be listed."""
        return np.ones(len(self.features), np.bool_) if self.listable is None else self.listable

    def best_of(self, means: Reals) -> Mask:
        """The m arms of largest mean of those that may be listed; among equal ones the first."""
        return best_of(np.where(self.may_be_listed, means, -np.inf), self.m)


class Strategy(ABC):
    """What an algorithm remembers and wants, plan by plan.

    It is a function of the results of its plans, in order, and of nothing else, so that a stored
    study can be replayed. For every plan it is given the first ``plan[a]`` results of each arm a
    that came in after the plan was made, whether they were asked for or not. It never sees results
    beyond these, so the design of each plan was fixed before any of its rewards was told.

    A strategy replaces its arrays and never writes into them, so that a copy costs nothing. It
    computes first and assigns last, so that an exception on the way, such as Ctrl-C, leaves it as
    it was, and no result counts twice.

    Attributes
    ----------
    plan : array of int, K
        How many pulls of each arm are wanted now. The first plan must span the features.
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
    keeps_values : bool
        Whether it is given every single result of a plan, not only their numbers and sums.
    counts_all : bool
        Whether it is also given results of blocks beyond its plan that come before that is complete.
    tests_linearity : bool
        Whether it tests by itself, with every plan, that the means are linear.
    """

    plan: Integers
    inside: Mask
    b: int = NO_ARM
    c: int = NO_ARM
    threshold: float = math.inf
    statistic: float = math.inf
    alone: bool = False
    keeps_values: bool = False
    counts_all: bool = False
    tests_linearity: bool = False

    @abstractmethod
    def decide(self, results: PlanResults, seed: int) -> None:
        """Take in the plan's results, and make the next plan.

        There is a next plan even where the statistic has fallen to ε: a study may be reopened.
        """

    def stops(self, epsilon: float) -> bool:
        """Whether the last decision ends the search."""
        return self.statistic <= epsilon

    @abstractmethod
    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with their lower and upper bounds."""

    @abstractmethod
    def threshold_at(self, time: float) -> float:
        """About what C will be after ``time`` results."""

    def intervals(self) -> tuple[Reals, Reals] | None:
        """Every arm's own interval, where it is another than μ̂ ± Cσ√(xᵀV⁻¹x)."""
        return None

    def certified(self, epsilon: float) -> Certified:
        """What is certain of the arms inside; by default what the statistic says."""
        return Certified.by_statistic(self.inside, epsilon, self.statistic)

    def widen(self, epsilon: float) -> None:  # noqa: B027
        """Judge the results so far, and those to come, with a larger ε; the plan stays.

        By default nothing is done: the statistic does not depend on ε.
        """

    def suppose(self, means: Reals) -> None:  # noqa: B027
        """Go on as if the plan's results had come out at their means, without a stop.

        It is called only where a whole plan is pending and still more is to be evaluated. By
        default the same plan is repeated.
        """

    @property
    def against_linear(self) -> float:
        """The largest ln E so far against linear means, for ``tests_linearity``."""
        return -math.inf

    @property
    def noise_seen(self) -> Reals | None:
        """(σ_a/σ)² of every arm as results have shown it; None where it is what is stated."""
        return None

    def projected(self, count: int, rng: np.random.Generator) -> Reals | None:
        """About how many results it still takes, for means drawn ``count`` times.

        None where the widths of intervals tell.
        """
        return None

    @property
    def adjusts(self) -> bool:
        """Whether without features too ``estimates`` are others than the arms' own averages."""
        return False

    def estimates(self, means: Reals, variances: Reals) -> tuple[Reals, Reals]:
        """Means, and variances in units of σ²; by default those of least squares on all results."""
        return means, variances

    def no_results(self) -> PlanResults:
        """No result of the plan yet."""
        room = int(self.plan.sum()) if self.keeps_values else 0
        return PlanResults.none(len(self.plan), room)

    def arrange(self, seed: int) -> None:  # noqa: B027
        """Put the first plan into an order that depends on the seed, if any does."""

    def next_arm(self, missing: Integers) -> int:
        """The arm to pull next, where the plan lacks so many results of each.

        By default the one of which the largest share is missing, so that every part is like the
        whole.
        """
        return int(np.argmax(missing / np.maximum(self.plan, 1)))

    def copy(self) -> Self:
        """An independent copy."""
        return copy.copy(self)


def best_of(means: Reals, m: int) -> Mask:
    """The m arms of largest mean; among equal ones the first."""
    inside = np.zeros(len(means), np.bool_)
    inside[np.argsort(-means, kind="stable")[:m]] = True
    return inside
