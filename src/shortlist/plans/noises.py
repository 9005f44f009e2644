"""How the noise is known: what follows for plans, for guesses, and which evidence suits.

One class each. Nothing here enters a proof, but for the evidence that is chosen: variances as they seem
decide how long it takes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.proof import intervals
from shortlist.proof.evidence import Evidence, Pairs
from shortlist.proof.increments import BlockBets, PlanBets, Student, SubGaussian
from shortlist.proof.intervals import Compared, Intervals
from shortlist.proof.pooled import PooledBets

TINY = 1e-300
OWN_SIZE = 0.3  # standard deviations: the distance for which intervals of single arms are narrowest


@dataclass(frozen=True, eq=False)
class Totals:
    """Numbers, sums and sums of squares of the results of every arm."""

    pulls: Integers
    sums: Reals
    squares: Reals

    @classmethod
    def none(cls, arms: int) -> Totals:
        """Of no result."""
        return cls(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms))

    def plus(self, arms: Integers, values: Reals) -> Totals:
        """With more results."""
        size = len(self.pulls)
        return Totals(
            self.pulls + np.bincount(arms, minlength=size),
            self.sums + np.bincount(arms, values, size),
            self.squares + np.bincount(arms, values**2, size),
        )

    @property
    def averages(self) -> Reals:
        """The average of each arm's results; 0 where there is none."""
        return self.sums / np.maximum(self.pulls, 1)

    def misses(self, means: Reals) -> Reals:
        """Σ (y − mean)² of every arm."""
        return np.maximum(self.squares - 2.0 * means * self.sums + self.pulls * means**2, 0.0)


class Pace(NamedTuple):
    """How long a plan is."""

    share: float  # of what seems to be lacking
    shortest: float  # of what was evaluated so far, at least


class Seen(Protocol):
    """A guess, as far as evidence is chosen by it."""

    question: Any  # a ``Question``, which asks a ``NoiseModel``
    total: Totals
    noise: Reals
    weights: Reals
    x: Reals | None


class NoiseModel(ABC):
    """How noise is known, and what follows of it.

    Attributes
    ----------
    few, first, shared : int
        How many results of an arm a plan has at least, how many the first one, and on how many blocks
        where differences are paired.
    own, linear : Pace
        How long plans are, by arms' own results and with features.
    alike : bool
        Whether σ of all arms is one, or known: least squares with a level for every block.
    separates : bool
        Whether an arm's own results alone tell of it and of its noise.
    pools : bool
        Whether own results of all plans count together, so that a plan may leave arms out.
    """

    few: ClassVar[int] = 1
    first: ClassVar[int] = 1
    shared: ClassVar[int] = 1
    own: ClassVar[Pace] = Pace(0.25, 0.02)
    linear: ClassVar[Pace] = Pace(0.25, 0.05)
    alike: ClassVar[bool] = False
    separates: ClassVar[bool] = True
    pools: ClassVar[bool] = False
    known: ClassVar[bool] = False
    vague: ClassVar[float] = 0.0  # results at the ends of a range that are added
    reach: ClassVar[float] = math.inf  # two means differ by no more

    @abstractmethod
    def variances(self, total: Totals, means: Reals, rank: int | None, m: int) -> Reals:
        """Of a result of every arm, as they seem. ``rank`` is that of the features that made the means."""

    def for_designs(self, noise: Reals, total: Totals, m: int) -> Reals:
        """The same as designs for own results should count them."""
        return noise

    def errors(self, total: Totals, own: Reals, count: int, rng: np.random.Generator) -> Reals:
        """Errors of arms' averages, drawn from a posterior."""
        return rng.standard_normal((count, len(own))) * np.sqrt(own)

    @abstractmethod
    def evidence(self, pairs: Pairs, sizes: Reals, seen: Seen) -> Evidence:
        """What suits: nothing yet, for pairs whose gaps seem to be of these sizes."""

    def intervals(self, total: Totals, *, linear: bool) -> Intervals | None:
        """What bounds every arm by itself, by later results than these; None if they say too little."""
        usual = self.variances(total, total.averages, None, 1)
        if not self.known and not total.misses(total.averages).any():
            return None
        kind = SubGaussian if self.known else Student  # by their own spread, also where σ is one
        return Compared(kind, OWN_SIZE * np.sqrt(usual))


@dataclass(frozen=True, eq=False)
class Known(NoiseModel):
    """σ-sub-Gaussian noise of known σ, one of every arm."""

    alike: ClassVar[bool] = True
    known: ClassVar[bool] = True

    sigma: Reals

    def variances(self, total: Totals, means: Reals, rank: int | None, m: int) -> Reals:
        """σ²."""
        return self.sigma**2

    def evidence(self, pairs: Pairs, sizes: Reals, seen: Seen) -> Evidence:
        """A mixture over the gap."""
        return SubGaussian(pairs, sizes)


class Unknown(NoiseModel):
    """Normal noise with a σ of its own for every arm, that nobody knows."""

    few = 4  # of which one takes the mean: 6 or 8 took more results in all
    first = 4
    shared = 6

    def variances(self, total: Totals, means: Reals, rank: int | None, m: int) -> Reals:
        """By arms' own results, drawn to what is usual."""
        degrees = np.maximum(total.pulls - 1.0, 0.0)
        own = total.misses(total.averages) / np.maximum(degrees, 1.0)
        if not own.any():
            return np.ones(len(own))
        own = np.maximum(own, 1e-12 * own.max())
        usual = math.exp(float(np.log(own[degrees > 0.0]).mean()))
        shared = 4.0 if rank else 1.0
        return np.asarray((degrees * own + shared * usual) / (degrees + shared))

    def errors(self, total: Totals, own: Reals, count: int, rng: np.random.Generator) -> Reals:
        """Student's, by the degrees of freedom of each arm."""
        degrees = np.maximum(total.pulls - 1.0, 1.0)
        return np.asarray(rng.standard_t(degrees, (count, len(degrees))) * np.sqrt(own))

    def evidence(self, pairs: Pairs, sizes: Reals, seen: Seen) -> Evidence:
        """Student's statistics by each arm's own spread."""
        return Student(pairs, sizes)


class Common(NoiseModel):
    """Normal noise with one σ that nobody knows."""

    few = 2
    first = 2
    shared = 6
    alike = True
    separates = False

    def variances(self, total: Totals, means: Reals, rank: int | None, m: int) -> Reals:
        """By the results of all arms."""
        left = float(total.misses(total.averages).sum())
        degrees = float(np.maximum(total.pulls - 1.0, 0.0).sum())
        return np.full(len(means), max(left / degrees, 1e-12) if left > 0.0 else 1.0)

    def evidence(self, pairs: Pairs, sizes: Reals, seen: Seen) -> Evidence:
        """Student's statistics by all that the fit of a plan leaves."""
        return Student(pairs, sizes, alike=True)


class InRange(NoiseModel):
    """Results in [0, 1], whatever the distribution.

    Variances are a share of what coins of that mean have.
    """

    own = Pace(0.07, 0.01)
    linear = Pace(0.12, 0.05)
    pools = True
    vague = 0.5
    reach = 1.0

    def shares(self, total: Totals, means: Reals, rank: int | None) -> tuple[Reals, Reals]:
        """Variances over what coins of that mean have, and the latter."""
        pulls, shared = total.pulls, 20.0 if rank else 2.0
        near = np.clip(means, 0.02, 0.98) if rank else (total.sums + 0.5) / (pulls + 1.0)
        most, left = near * (1.0 - near), total.misses(means)
        if rank:
            free = pulls * max(0.2, 1.0 - rank / max(pulls.sum(), 1))
        else:
            free = np.maximum(pulls - 1.0, 0.0)
        allowed = free * (most if rank else means * (1.0 - means))
        usual = min(1.0, float((left.sum() + most.mean()) / (allowed.sum() + most.mean())))
        share = (left + shared * usual * most) / (allowed + shared * most)
        return np.minimum(1.0, share), most

    def variances(self, total: Totals, means: Reals, rank: int | None, m: int) -> Reals:
        """Without features at the end of an interval of the mean towards the boundary."""
        share, most = self.shares(total, means, rank)
        if not rank:
            near, some = (total.sums + 0.5) / (total.pulls + 1.0), np.maximum(total.pulls, 1.0)
            edge = np.sort(near)[::-1][m - 1 : m + 1].mean()
            away = 2.0 * np.sqrt(share * most / some) + 2.0 * share / some
            to = np.where(near < edge, np.minimum(edge, near + away), np.maximum(edge, near - away))
            most = np.maximum(most, to * (1.0 - to))
        return np.clip(share * most, 1e-6, 0.25)

    def for_designs(self, noise: Reals, total: Totals, m: int) -> Reals:
        """With what the range costs: arms far from the boundary need more than by their variances."""
        means = (total.sums + 0.5) / (total.pulls + 1.0)
        edge = np.sort(means)[::-1][m - 1 : m + 1].mean()
        return np.asarray(noise + 0.15 * np.abs(means - edge))

    def errors(self, total: Totals, own: Reals, count: int, rng: np.random.Generator) -> Reals:
        """Of Beta distributions."""
        means = np.clip(total.averages, 0.0, 1.0)
        worth = total.pulls / self.shares(total, means, None)[0]
        drawn = rng.beta(means * worth + 0.5, (1.0 - means) * worth + 0.5, (count, len(means)))
        return np.asarray(drawn - means)

    def intervals(self, total: Totals, *, linear: bool) -> Intervals | None:
        """By bets; with features by half the range."""
        arms = len(total.pulls)
        if linear:
            return Compared(SubGaussian, np.full(arms, 0.5 * OWN_SIZE), 0.25)
        return intervals.InRange(arms)

    def evidence(self, pairs: Pairs, sizes: Reals, seen: Seen) -> Evidence:
        """Bets: on blocks, on plans where features count, on all own results together."""
        if seen.question.paired:
            return BlockBets(pairs, sizes)
        if seen.x is not None:
            return PlanBets(pairs, sizes)
        means = (seen.total.sums + 0.5) / (seen.total.pulls + 1.0)
        share = np.log(seen.noise * seen.question.costs / np.maximum(seen.weights, 1e-9))
        return PooledBets(pairs, sizes, means, seen.noise, share, seen.question.epsilon)
