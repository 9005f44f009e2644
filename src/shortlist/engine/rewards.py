"""What simulated arms answer to a pull."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.engine.seeds import generator_of


class Rewards(Protocol):
    """How results are drawn: of a run, numbers that do not depend on the arms, then their values.

    The n-th number of a run belongs to its n-th pull, so that a run is the same among any others.
    """

    @property
    def limits(self) -> tuple[float, float] | None:
        """Where results lie; None where that is not known."""

    def draws(self, generator: np.random.Generator, count: int) -> Reals:
        """The next numbers of a run."""

    def values(self, arms: Integers, draws: Reals) -> Reals:
        """The results of arms, with a number for each."""


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal results.

    Examples
    --------
    >>> normal = Normal(np.array([1.0, 5.0]), np.array([0.1, 0.1]))
    >>> normal.values(np.array([0, 1]), np.array([0.0, 1.0])).tolist()
    [1.0, 5.1]
    """

    means: Reals
    sigmas: Reals

    limits = (-np.inf, np.inf)

    def draws(self, generator: np.random.Generator, count: int) -> Reals:
        """Standard normal numbers."""
        return generator.standard_normal(count)

    def values(self, arms: Integers, draws: Reals) -> Reals:
        """The means and σ times the numbers."""
        return self.means[arms] + self.sigmas[arms] * draws


@dataclass(frozen=True, eq=False)
class Coins:
    """Results 1, with the probability of each arm, or 0."""

    means: Reals

    limits = (0.0, 1.0)

    def draws(self, generator: np.random.Generator, count: int) -> Reals:
        """Uniform numbers."""
        return generator.random(count)

    def values(self, arms: Integers, draws: Reals) -> Reals:
        """Whether the numbers are below the means."""
        return (draws < self.means[arms]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Recorded:
    """One of the arm's recorded results, each as likely: ``table`` has a column for each arm."""

    table: Reals

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest."""
        return float(self.table.min()), float(self.table.max())

    def draws(self, generator: np.random.Generator, count: int) -> Reals:
        """Uniform numbers."""
        return generator.random(count)

    def values(self, arms: Integers, draws: Reals) -> Reals:
        """Rows by the numbers."""
        rows = (draws * len(self.table)).astype(np.int64)
        return np.asarray(self.table[rows, arms])


def drawer(rewards: Rewards, seed: int) -> Callable[[Integers], Reals]:
    """A function that gives the next results of the run of a seed: of some arms, in order.

    Examples
    --------
    >>> draw = drawer(Normal(np.array([1.0, 2.0]), np.array([0.1, 0.1])), 0)
    >>> draw(np.array([0, 1])).round(1).tolist()
    [1.0, 2.0]
    """
    generator = generator_of(seed)
    return lambda arms: rewards.values(arms, rewards.draws(generator, len(arms)))
