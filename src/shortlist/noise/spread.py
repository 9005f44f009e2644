"""Results of the same arm: how far they spread, and p-values in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Reals

ALPHA, HINT = 0.001, 0.05  # below the one, a p-value is a warning; below the other, worth a word
LEAST_P = 1e-300  # smaller ones are rounded to 0
LEAST_DEGREES = 1e-6  # of freedom: fewer are rounding
ADAPTIVE = "As the results chose what was evaluated, the p-value is approximate."

Level = Literal["fine", "untested", "note", "warning"]
# What a check found: how grave it is, a sentence, what it means, and more for those who can use it.
Found = tuple[Level, str, str, *tuple[str, ...]]


def p_value(p: float, digits: int = 2) -> str:
    """A p-value in words; one that is too small for a number is not 0.

    Examples
    --------
    >>> p_value(0.0123), p_value(0.0)
    ('p = 0.012', 'p < 1e-300')
    """
    return f"p = {p:.{digits}g}" if p >= LEAST_P else f"p < {LEAST_P:g}"


@dataclass(frozen=True)
class Spread:
    """The results of every arm that has any: how many, their mean, their sum of squares about it.

    Squares are in units of the arm's noise, (σ_a/σ)², and ``weights`` are counts in these units. In these
    units the squares of an arm are ``degrees`` times σ² on average: one for each of its results but one,
    and less where levels of blocks were fitted beside the means.

    Examples
    --------
    >>> arms, values = np.array([0, 2, 0]), np.array([1.0, 5.0, 3.0])
    >>> spread = Spread.of(arms, values, np.ones(3))
    >>> spread.arms.tolist(), spread.squares.tolist(), spread.replicates, spread.shows_noise.tolist()
    ([0, 2], [2.0, 0.0], 1, [True, False])
    """

    arms: NDArray[np.int64]
    counts: Reals
    means: Reals
    squares: Reals
    noise: Reals
    degrees: Reals

    @classmethod
    def of(
        cls,
        told: NDArray[np.int64],
        values: Reals,
        relative: Reals,
        taken: Reals | None = None,
    ) -> Spread:
        """The spread of results, each with its arm, where ``relative`` is (σ_a/σ)² of every arm.

        ``taken`` is how many degrees of freedom of every arm were fitted beside its mean.
        """
        every = np.bincount(told, minlength=len(relative))
        means = np.bincount(told, values, len(relative)) / np.maximum(every, 1)
        squares = np.bincount(told, (values - means[told]) ** 2, len(relative))
        arms = np.flatnonzero(every)
        noise = relative[arms]
        beside = np.zeros(len(every)) if taken is None else taken
        counts = every[arms].astype(float)
        return cls(
            arms, counts, means[arms], squares[arms] / noise, noise, counts - 1.0 - beside[arms]
        )

    @property
    def shows_noise(self) -> NDArray[np.bool_]:
        """Whether the results of each arm say something of its noise."""
        return self.degrees > LEAST_DEGREES

    @property
    def weights(self) -> Reals:
        """How much the mean of each arm counts."""
        return self.counts / self.noise

    @property
    def replicates(self) -> int:
        """The degrees of freedom of the spread within arms."""
        return round(float(self.degrees.sum()))

    @property
    def total(self) -> float:
        """The sum of all squares."""
        return float(self.squares.sum())

    @property
    def deviation(self) -> float:
        """The standard deviation within arms, of which there must be replicates."""
        return math.sqrt(self.total / self.replicates)

    @property
    def rounding(self) -> float:
        """The variance by which results without noise miss a model that is right, at most."""
        return max(1e-24 * float((self.weights * self.means**2).sum()), 1e-300)

    @property
    def within(self) -> float:
        """The variance within arms, of which there must be replicates; no less than rounding."""
        return max(self.total / self.replicates, self.rounding)
