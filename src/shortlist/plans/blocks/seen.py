"""What was seen of the arms on blocks, and the order in which blocks have their turn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shortlist.arrays import Integers, Mask, Reals

OWN_SPREAD = 0.25  # variance of a result of which nothing is known, in units of the range
LEAST_SPREAD = 1e-4
SPREAD_COUNTS = 4.0  # blocks that the average variance of all pairs counts as, for one pair
SALT = 0x6F726465


@dataclass(frozen=True, eq=False)
class Tally:
    """What some blocks say of every arm, and of every pair on those with both.

    Attributes
    ----------
    blocks : int
        How many blocks.
    pulls, sums : array, K
        The numbers of results and their sums.
    both, sums_with, squares : array, K × K
        Of the blocks with both arms: their number, the sum of the results of b, and of the squared
        differences.
    """

    blocks: int
    pulls: Integers
    sums: Reals
    both: Reals
    sums_with: Reals
    squares: Reals

    @classmethod
    def none(cls, arms: int) -> Tally:
        """Of no block."""
        table = np.zeros((arms, arms))
        return cls(0, np.zeros(arms, np.int64), np.zeros(arms), table, table, table)

    def plus(self, values: Reals, known: Mask) -> Tally:
        """With more blocks: results of every arm, 0 where there is none, and where there is one."""
        return self._changed(values, known, 1)

    def less(self, values: Reals, known: Mask) -> Tally:
        """Without some of the blocks."""
        return self._changed(values, known, -1)

    def _changed(self, values: Reals, known: Mask, sign: int) -> Tally:
        arms = np.flatnonzero(known.any(axis=1))
        here, some, there = np.ix_(arms, arms), values[arms], known[arms].astype(np.float64)
        both, sums_with, squares = self.both.copy(), self.sums_with.copy(), self.squares.copy()
        own = some**2 @ there.T
        both[here] += sign * (there @ there.T)
        sums_with[here] += sign * (some @ there.T)
        squares[here] += sign * (own + own.T - 2.0 * some @ some.T)
        return Tally(
            self.blocks + sign * known.shape[1],
            self.pulls + sign * known.sum(axis=1),
            self.sums + sign * values.sum(axis=1),
            both,
            sums_with,
            squares,
        )

    @property
    def differences(self) -> Reals:
        """What d sums up to over the blocks with both arms."""
        return self.sums_with - self.sums_with.T


@dataclass(frozen=True, eq=False)
class Order:
    """Blocks in the order of their turns: those of a pool as drawn, others by their numbers.

    Attributes
    ----------
    drawn : array or None
        All blocks of a pool; None where there is no end of them.
    past : Tally
        Of the blocks whose turn is over.
    """

    drawn: Integers | None
    past: Tally

    @classmethod
    def of(cls, arms: int, size: float, seed: int, *numbers: int) -> Order:
        """The order of these numbers in a study; each is independent of the others."""
        drawn = None
        if math.isfinite(size):
            drawn = np.random.default_rng([seed, SALT, *numbers]).permutation(int(size))
        return cls(drawn, Tally.none(arms))

    def ahead(self, first: int, count: int) -> Integers:
        """So many blocks, from the one that comes ``first`` places from now; fewer at the end."""
        start = self.past.blocks + first
        if self.drawn is None:
            return np.arange(start, start + count)
        return self.drawn[start : start + count]

    def turns_until(self, blocks: Integers) -> int:
        """How many turns there are to the last of some blocks, from the beginning of the order."""
        places = blocks if self.drawn is None else np.argsort(self.drawn)[blocks]
        return int(places.max(initial=-1)) + 1

    def after(self, values: Reals, known: Mask) -> Order:
        """When the turn of more blocks is over, with what is known of every arm on them."""
        return replace(self, past=self.past.plus(values, known))


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of every arm on every block, in units of the range.

    Attributes
    ----------
    numbers : array
        The blocks with a result.
    values : array, K × such blocks
        The results; 0 where there is none.
    known : array of bool, K × such blocks
        Where there is one.
    tally : Tally
        Of all these blocks.
    """

    numbers: Integers
    values: Reals
    known: Mask
    tally: Tally

    @classmethod
    def none(cls, arms: int) -> Seen:
        """Before any block."""
        start = np.zeros((arms, 0)), np.zeros((arms, 0), np.bool_)
        return cls(np.zeros(0, np.int64), *start, Tally.none(arms))

    @property
    def blocks(self) -> int:
        """On how many blocks there is a result."""
        return len(self.numbers)

    @property
    def pulls(self) -> Integers:
        """The number of results of every arm."""
        return self.tally.pulls

    def on(self, blocks: Integers) -> tuple[Reals, Mask]:
        """The results of every arm on some blocks, 0 where there is none, and where there is one."""
        values = np.zeros((len(self.values), len(blocks)))
        known = np.zeros(values.shape, np.bool_)
        columns, here = self._columns(blocks)
        values[:, here], known[:, here] = self.values[:, columns], self.known[:, columns]
        return values, known

    def _columns(self, blocks: Integers) -> tuple[Integers, Integers]:
        """Where blocks with a result stand, and which of the given ones these are."""
        by_number = np.argsort(self.numbers)
        place = np.searchsorted(self.numbers, blocks, sorter=by_number)
        inside = np.flatnonzero(place < self.blocks)
        columns = by_number[place[inside]]
        is_here = self.numbers[columns] == blocks[inside]
        return columns[is_here], inside[is_here]

    def after(self, blocks: Integers, values: Reals, known: Mask) -> Seen:
        """With all that is known of every arm on these blocks now."""
        columns, here = self._columns(blocks)
        tally = self.tally
        if len(here):
            tally = tally.less(self.values[:, columns], self.known[:, columns])
        new = np.setdiff1d(np.arange(len(blocks)), here)
        all_values, all_known = self.values.copy(), self.known.copy()
        all_values[:, columns], all_known[:, columns] = values[:, here], known[:, here]
        return Seen(
            np.concatenate([self.numbers, blocks[new]]),
            np.hstack([all_values, values[:, new]]),
            np.hstack([all_known, known[:, new]]),
            tally.plus(values, known),
        )

    @cached_property
    def gaps(self) -> Reals:
        """The mean difference of every pair on the blocks with both."""
        return self.tally.differences / np.maximum(self.tally.both, 1.0)

    @cached_property
    def variances(self) -> Reals:
        """The variances of single differences, drawn towards their average over all pairs."""
        both = self.tally.both
        count = np.maximum(both, 1.0)
        spread = np.maximum(self.tally.squares / count - self.gaps**2, 0.0)
        spread = spread * count / np.maximum(count - 1.0, 1.0)
        known = both * (both > 1.0) * ~np.eye(len(count), dtype=np.bool_)
        average = (known * spread).sum() / known.sum() if known.any() else OWN_SPREAD
        prior = max(float(average), LEAST_SPREAD)
        return np.asarray((count * spread + SPREAD_COUNTS * prior) / (count + SPREAD_COUNTS))

    def errors(self, blocks: float) -> Reals:
        """The standard errors of the mean differences, of a pool of so many blocks."""
        count = np.maximum(self.tally.both, 1.0)
        left = np.maximum(1.0 - count / blocks, 1e-9)
        return np.sqrt(self.variances * left / count)

    @property
    def residuals(self) -> tuple[Reals, Reals]:
        """Results less the effect of their block (0 where there is none), and these effects.

        The effect of a block is the mean of the arms that were evaluated on all blocks, or most.
        """
        core = self.pulls == self.pulls.max()
        counts = self.known[core].sum(axis=0)
        effects = self.values.sum(axis=0) / np.maximum(self.known.sum(axis=0), 1)
        effects = np.where(counts, self.values[core].sum(axis=0) / np.maximum(counts, 1), effects)
        return np.where(self.known, self.values - effects, 0.0), effects
