"""Evidence that a mean over a pool is at most a bar: one number a question, in a random order.

The numbers of a row (results of an arm, or differences of two arms) on the N questions of a pool are
fixed, whatever they are, and at most 1. At a naming some are known. The rest is taken in an order that is
drawn then, uniformly and independently of all else. Proof: docs/proofs.md, "Pools".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.proof.increments import CLIP, ROUNDING, log_sum
from shortlist.proof.naming import REST, SHARES, entry_of

#: Bets: parts of the largest that keeps wealth positive, each with how much of the control is subtracted.
PARTS, SLOPES = (each.ravel() for each in np.meshgrid([0.1, 0.3, 0.6, 0.95], [0.0, 0.3, 0.6, 0.9]))
LARGEST, RUINED = 50.0, -1e9  # a stake; ln of a wealth that is lost
#: Of the search for the least bar: how near it ends.
NEAR = 1e-6


def share_at(naming: int, moves: int) -> float:
    """The share of δ of a naming that was moved so many times: all of them add up to 1.

    It is fixed for every pair of numbers beforehand, so that who chooses what comes next cannot choose
    between shares.

    Examples
    --------
    >>> share_at(0, 0), share_at(0, 1), share_at(1, 0)
    (0.85, 0.09, 0.03)
    """
    diagonal = naming + moves
    return entry_of(SHARES, REST, diagonal * (diagonal + 1) // 2 + naming)


class Bets(NamedTuple):
    """The bets on some numbers of a row: what is known before each of them, and the number.

    A bar θ has h = θ · ``share`` − ``past``, and the factor of a bet is 1 + λ(h − u).
    """

    stakes: Reals  # λ, numbers × bets
    share: Reals
    past: Reals
    numbers: Reals  # u, numbers × bets
    highest: Reals  # that u may be

    def log_wealth(self, bar: float, start: Reals) -> Reals:
        """Of every bet after every number; none is left where a factor might have been 0 or less."""
        h = (bar * self.share - self.past)[:, None]
        safe = self.stakes * (self.highest - h) < 1.0
        gains = np.log(np.where(safe, 1.0 + self.stakes * (h - self.numbers), 1.0))
        gains[~safe] = RUINED
        return np.asarray(start + np.cumsum(gains, axis=0))


class Refutation:
    """Wealth against "the mean of a row is above θ", for every θ at once.

    Let S be the sum of all that is known before the next number in the order, R the questions that are
    left, and h = (θN − S)/|R|: under the null the mean of the rest is above h. The next number y has that
    mean, and so has u = y − β(k − k̄), where the control k is known on all questions and k̄ is its mean
    over R. So 1 + λ(h − u) has a mean of at most 1, for every λ ≥ 0 and β that depend on the past only
    and keep it positive. λ does not depend on θ: wealth grows with θ, and holds for whichever is chosen.

    Arrays are replaced and never changed: a copy costs nothing.

    Parameters
    ----------
    order : array of int
        The questions that were not known at the naming, in the order that was drawn.
    seen : array of int
        Those that were. What bets would have won on them decides how the first wealth is shared out.
    bar : float
        A bar as it seemed then. It decides only how large bets are.
    """

    def __init__(self, order: Integers, seen: Integers, bar: float) -> None:
        self.order, self.seen, self.bar = order, seen, bar
        self.blank()

    def blank(self) -> None:
        """Before the first number."""
        self.done, self.peak, self._at = 0, 0.0, math.nan
        self._wealth: Reals | None = None

    def after(self, row: Reals, known: Mask, control: Reals, bar: float) -> None:
        """Take in what is known by now, in the order; what came early waits for its turn."""
        if bar != self._at:
            self.blank()
            self._at = bar
        rest = known[self.order[self.done :]]
        until = self.done + (len(rest) if rest.all() else int(np.argmin(rest)))
        if until > self.done:
            start = self._shared_out(row, control) if self._wealth is None else self._wealth
            wealth = self._bets(row, control, self.done, until).log_wealth(bar, start)
            self.peak = max(self.peak, float(log_sum(wealth).max()) - ROUNDING)
            self._wealth, self.done = wealth[-1], until

    def _shared_out(self, row: Reals, control: Reals) -> Reals:
        """Logarithms of the parts of the first wealth, which add up to 1."""
        even = np.full(len(PARTS), -math.log(len(PARTS)))
        if not len(self.seen):
            return even
        nothing = self.seen[:0]
        told = bets_on(row, control, nothing, self.seen, self.bar).log_wealth(self.bar, even)[-1]
        return np.asarray(told - log_sum(told))

    def _bets(self, row: Reals, control: Reals, begin: int, end: int) -> Bets:
        past = np.concatenate([self.seen, self.order[:begin]])
        return bets_on(row, control, past, self.order[begin:end], self.bar)

    def least_bar(self, row: Reals, control: Reals, level: float, low: float, high: float) -> float:
        """The least bar between two that ln E reached ``level`` at; ``high`` where there is none."""
        if not self.done:
            return high
        bets, start = self._bets(row, control, 0, self.done), self._shared_out(row, control)

        def reached(bar: float) -> bool:
            return float(log_sum(bets.log_wealth(bar, start)).max()) - ROUNDING >= level

        if not reached(high):
            return high
        while high - low > NEAR:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high


def bets_on(row: Reals, control: Reals, past: Integers, now: Integers, bar: float) -> Bets:
    """The bets on some numbers, one after the other, where those of ``past`` are known before."""
    y, k = row[now], control[now]
    left = len(row) - len(past) - np.arange(len(now))
    sums = (row[past].sum() + np.cumsum(y) - y) / left
    rest = (control.sum() - control[past].sum() - np.cumsum(k) + k) / left
    share = len(row) / left
    highest = 1.0 - SLOPES * (control.min() - rest)[:, None]
    room = np.maximum(highest - (bar * share - sums)[:, None], 1e-6)
    stakes = PARTS * np.minimum(CLIP / room, LARGEST)
    return Bets(stakes, share, sums, y[:, None] - SLOPES * (k - rest)[:, None], highest)
