"""What is certain at any moment, before a stop and after it.

Let B_cb, at all times at once, bound μ_c − μ_b for every c of the m best arms and every b that is
not: *good* bounds. Then for the m arms J that would be answered now, all of this holds at once, at no
price (docs/proofs.md, "At any moment"):

    J is right up to the largest B_cb of b in J and c outside;
    b is among the m best, up to ε, if B_cb ≤ ε for all c outside;
    c is not needed, up to ε, if B_cb ≤ ε for all b in J.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Mask, Reals


class Certified(NamedTuple):
    """What is certain of the m arms that would be answered now.

    Attributes
    ----------
    epsilon : float
        The least slack at which they are certified; infinite where there is none.
    inside : array of bool, K
        Arms of them that are among the m best: fewer than m arms are better by more than ε.
    outside : array of bool, K
        Others that are not needed: at least m arms are no worse than each, up to ε.
    open_inside, open_outside : array of bool, K
        If the m arms are wrong, the worst of them is one of the first, and the best of the others
        is one of the second.
    """

    epsilon: float
    inside: Mask
    outside: Mask
    open_inside: Mask
    open_outside: Mask

    @classmethod
    def by_pairs(
        cls,
        listed: Mask,
        epsilon: float,
        passed: Mask,
        of_listed: Mask | None = None,
        of_others: Mask | None = None,
        others: Mask | None = None,
    ) -> Certified:
        """What pairs say: those that passed, and those that say something of each arm by itself.

        All have a row for each arm of ``listed`` and a column for each of the ``others``, in order; by
        default these are all that are not listed, and pairs that passed say something of each of their
        arms. ``epsilon`` is the least slack of all. Arms of neither kind are not needed.

        Examples
        --------
        >>> listed = np.array([True, True, False, False])
        >>> now = Certified.by_pairs(listed, 0.3, np.array([[True, True], [False, True]]))
        >>> [np.flatnonzero(each).tolist() for each in now[1:]]
        [[0], [3], [1], [2]]
        """
        of_listed = passed if of_listed is None else of_listed
        of_others = passed if of_others is None else of_others
        others = ~listed if others is None else others
        everywhere = bool(passed.all())  # then the whole list is certified
        found = [np.zeros(len(listed), np.bool_) for _ in range(4)]
        inside, outside, open_inside, open_outside = found
        inside[listed] = everywhere | of_listed.all(axis=1)
        outside[:] = ~(listed | others)
        outside[others] = everywhere | of_others.all(axis=0)
        open_inside[listed] = ~passed.all(axis=1)
        open_outside[others] = ~passed.all(axis=0)
        return cls(max(epsilon, 0.0), *found)

    @classmethod
    def by_bounds(cls, listed: Mask, bounds: Reals, epsilon: float, least: float) -> Certified:
        """What good bounds B_cb say, in the rows of b and the columns of c.

        ``least`` is another slack at which the list is certified. It says nothing of arms outside:
        one may be better than an arm of the list by more, as long as fewer than m are.

        Examples
        --------
        >>> listed = np.array([False, True, False])
        >>> now = Certified.by_bounds(listed, np.array([[0.1, -0.2]]), 0.0, math.inf)
        >>> now.epsilon, now.outside.tolist()
        (0.1, [False, False, True])
        >>> now = Certified.by_bounds(listed, np.array([[0.1, -0.2]]), 0.0, 0.0)
        >>> [np.flatnonzero(each).tolist() for each in now[1:]]
        [[1], [2], [], []]
        """
        found = cls.by_pairs(listed, min(float(bounds.max()), least), bounds <= epsilon)
        if found.epsilon > epsilon:
            return found
        nothing = np.zeros(len(listed), np.bool_)
        return found._replace(inside=listed.copy(), open_inside=nothing, open_outside=nothing)

    @classmethod
    def by_statistic(cls, listed: Mask, epsilon: float, statistic: float) -> Certified:
        """What a statistic says that no B_cb exceeds: all, or nothing of single arms."""
        shape = int(listed.sum()), int((~listed).sum())
        bounds = np.broadcast_to(np.float64(statistic), shape)
        return cls.by_bounds(listed, bounds, epsilon, math.inf)
