"""A plan and its results: what was fixed before them, and what they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.proof.contrasts import Contrasts, Linear, Own, Paired, Within, sums_of


@dataclass(frozen=True, eq=False)
class Plan:
    """The results of one plan; all but ``values`` was fixed before the first of them.

    Parameters
    ----------
    arms : array of int
        The arm of every result. A result that failed is left out.
    values : array
        The results; the largest mean is sought. Results in a range are scaled to [0, 1].
    noise : array, K
        The variance of one result of every arm, as it seemed before.
    expected : array, K
        The mean of every arm, as it seemed before. Bets alone use it.
    features : array, K × r, optional
        What means are linear in, where this is relied on. Columns should be near orthogonal;
        their scales do not matter.
    blocks : array of int, optional
        The block of every result. Results of a block share what is unknown.
    paired : bool
        Whether every block gives one difference, as the noise of arms differs, rather than a level
        to least squares.
    evidence : bool
        False for results that nobody asked for: they only guide.

    Examples
    --------
    >>> import numpy as np
    >>> arms, values = np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 0.0, 0.5])
    >>> plan = Plan(arms, values, noise=np.ones(3), expected=np.zeros(3))
    >>> plan.pulls
    array([2, 2, 0])
    >>> plan.contrasts.estimates(np.array([0, 0]), np.array([1, 2]))
    (array([1.25, 0.  ]), array([1., 0.]))
    """

    arms: Integers
    values: Reals
    noise: Reals
    expected: Reals
    features: Reals | None = None
    blocks: Integers | None = None
    paired: bool = False
    evidence: bool = True

    @cached_property
    def pulls(self) -> Integers:
        """The number of results of every arm."""
        return np.bincount(self.arms, minlength=len(self.noise))

    @cached_property
    def sums(self) -> Reals:
        """The sum of the results of every arm."""
        return sums_of(self.arms, self.values, len(self.noise))

    @cached_property
    def contrasts(self) -> Contrasts:
        """What the plan says of pairs of arms."""
        if self.blocks is not None:
            kind = Paired if self.paired else Within
            return kind(self.arms, self.values, self.noise, self.blocks, self.features)
        if self.features is not None:
            return Linear(self.arms, self.values, self.noise, self.features)
        return Own(self.arms, self.values, self.noise)

    def among(self, arms: int) -> Plan:
        """The same plan where more arms were added after it."""
        more = arms - len(self.noise)
        if not more:
            return self
        noise, expected = (np.append(each, np.ones(more)) for each in (self.noise, self.expected))
        x = self.features
        if x is not None:
            x = np.vstack([x, np.zeros((more, x.shape[1]))])
        return replace(self, noise=noise, expected=expected, features=x)

    def corrected(self, place: int, value: float) -> Plan:
        """The same plan with another value of one result. What was decided stays."""
        values = self.values.copy()
        values[place] = value
        return replace(self, values=values)
