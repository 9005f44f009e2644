"""Evidence: what the results since a naming say against a pair of arms being in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.proof.plan import Plan


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs that a naming is about: b of some ``rows`` of arms, c of all K arms.

    Pairs of an arm with itself have a place too, and never any evidence.

    Examples
    --------
    >>> pairs = Pairs(np.array([2, 5]), 8)
    >>> pairs.place(np.array([5, 2]), np.array([3, 0]))
    array([11,  0])
    """

    rows: Integers
    K: int

    @property
    def b(self) -> Integers:
        """The first arm of every pair."""
        return np.repeat(self.rows, self.K)

    @property
    def c(self) -> Integers:
        """The second arm of every pair."""
        return np.tile(np.arange(self.K), len(self.rows))

    def __len__(self) -> int:
        return len(self.rows) * self.K

    @cached_property
    def row_of(self) -> Integers:
        """The row of every arm; −1 if it has none."""
        found = np.full(self.K, -1)
        found[self.rows] = np.arange(len(self.rows))
        return found

    def has(self, b: Integers, c: Integers) -> Mask:
        """Whether these are pairs of the naming; arms may have been added since."""
        known = np.maximum(b, c) < self.K
        known[known] = self.row_of[b[known]] >= 0
        return known

    def place(self, b: Integers, c: Integers) -> Integers:
        """Where pairs are in tables."""
        return self.row_of[b] * self.K + c


class Evidence(Protocol):
    """Evidence that μ_b > μ_c − slack, by the plans since it began.

    What every class shows: if the truth is μ_b = μ_c − g, then exp(log_e(b, c, g)) is at most a
    non-negative supermartingale that begins at 1. So it ever reaches 1/r with a probability of at most
    r (Ville), however arms and lengths of a plan were chosen in view of the plans before it.

    Any slack may be chosen afterwards. ln E of the same results grows with the slack, and nothing
    in it was chosen for one slack alone: an ε below g at which E reaches 1/r is an event of the
    supermartingale at g, whoever chooses ε, and in view of what. This holds exactly for all classes:
    `SubGaussian` bets with λ > 0 only, `PlanBets` and `BlockBets` have stakes that are never negative
    and costs without the slack, `Student`'s T₊ grows with it, `PooledBets` says why itself.

    An evidence is a function of what its constructor was given and of the plans since. ``after``
    replaces arrays and changes none, so that a copy made before is a blank one.
    """

    pairs: Pairs

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        ...

    def log_e(self, b: Integers, c: Integers, slack: float | Reals) -> Reals:
        """The logarithm of E, of μ_b > μ_c − slack; −∞ if nothing is known of a pair."""
        ...
