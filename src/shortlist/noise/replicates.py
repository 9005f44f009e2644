"""The results of the initial pulls, and what of them differs by noise alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_BLOCK, Integers, Mask, Reals


class FirstResults(NamedTuple):
    """The first results of a study, in order, as the noise is given them.

    Attributes
    ----------
    arms, blocks : array of int
        The arm and the block of each.
    values : array
        Their values.
    ends : array of bool
        Whether a plan may end with each: not while others of its block are under way.
    wanted : array of int, K
        How many initial pulls there are of each arm.
    """

    arms: Integers
    blocks: Integers
    values: Reals
    ends: Mask
    wanted: Integers

    @property
    def of_each(self) -> list[list[float]] | None:
        """As many results of each arm as are wanted; None while one is missing."""
        return first_of_each(self.arms, self.values, self.wanted)

    @property
    def of_first_plan(self) -> FirstResults | None:
        """The results of the first plan, with those of blocks beyond it; None before all are in.

        Examples
        --------
        >>> arms, ends = np.array([0, 1, 0, 1]), np.array([True, False, True, True])
        >>> first = FirstResults(arms, np.zeros(4, int), np.arange(4.0), ends, np.array([1, 1]))
        >>> first.of_first_plan.arms.tolist()
        [0, 1, 0]
        """
        if (np.bincount(self.arms, minlength=len(self.wanted)) < self.wanted).any():
            return None
        beyond = earlier_of_same(self.arms) - self.wanted[self.arms]
        last = int(np.flatnonzero(beyond == -1)[-1])
        after = np.flatnonzero(self.ends[last:])
        if not len(after):
            return None
        counts = (beyond < 0) | (self.blocks != NO_BLOCK)
        counts[last + int(after[0]) + 1 :] = False
        cells = self.arms[counts], self.blocks[counts], self.values[counts]
        return FirstResults(*cells, self.ends[counts], self.wanted)

    @property
    def spread_within(self) -> tuple[float, int]:
        """Their sum of squares about a level of every block and a mean of every arm, and its degrees.

        Examples
        --------
        >>> cells = np.array([0, 1, 0, 1]), np.array([0, 0, 7, 7]), np.array([1.0, 2.0, 5.0, 7.0])
        >>> squares, degrees = FirstResults(*cells, np.ones(4, bool), np.ones(2, int)).spread_within
        >>> round(squares, 9), degrees
        (0.25, 1)
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        _, arms = np.unique(self.arms, return_inverse=True)
        _, blocks = np.unique(self.blocks, return_inverse=True)
        count, sizes = int(arms.max()) + 1, np.bincount(blocks)
        shown = np.zeros((len(arms), count))
        shown[np.arange(len(arms)), arms] = 1.0
        table = np.zeros((len(sizes), count))
        np.add.at(table, (blocks, arms), 1.0)
        left = self.values - (np.bincount(blocks, self.values) / sizes)[blocks]
        shown -= (table / sizes[:, None])[blocks]
        left -= shown @ np.linalg.lstsq(shown, left, rcond=None)[0]
        # What the means of arms and the levels of blocks leave: levels that no arm connects are one more.
        joined = coo_array((np.ones(len(arms)), (arms, count + blocks)), (count + len(sizes),) * 2)
        parts, _ = connected_components(joined, directed=False)
        return math.fsum(left**2), len(arms) - count - len(sizes) + int(parts)


def first_of_each(
    arms: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64]
) -> list[list[float]] | None:
    """The first ``wanted`` results of each arm, in order; None while one is missing.

    Examples
    --------
    >>> first_of_each(np.array([0, 1, 0, 0]), np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 1]))
    [[1.0, 3.0], [2.0]]
    """
    if (np.bincount(arms, minlength=len(wanted)) < wanted).any():
        return None
    return [values[arms == a][: wanted[a]].tolist() for a in np.flatnonzero(wanted)]


def earlier_of_same(arms: Integers) -> Integers:
    """For each of some pulls, how many earlier ones are of the same arm.

    Examples
    --------
    >>> earlier_of_same(np.array([1, 0, 1, 1])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(arms, kind="stable")
    ranked = arms[order]
    earlier = np.empty(len(arms), np.int64)
    earlier[order] = np.arange(len(arms)) - np.searchsorted(ranked, ranked, side="left")
    return earlier
