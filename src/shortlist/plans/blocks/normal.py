"""Guess and verify on common blocks that are drawn afresh, where differences within blocks are normal.

The simulator's seed, or a patient, is a block. The difference of two arms on it is normal with a mean and
a variance of its own for each pair, neither of which is known; nothing else is assumed of results on one
block. A pair is tested by the likelihood of its differences, as in ``plans.bets.normal``: with n blocks
that both arms have seen since a set was named, d the mean difference plus s, u the mean squared distance
from it, and p the price of having predicted them by earlier blocks,

    ln E = n/2 ln(1 + d²/u) − p        (−p, if d is below 0)

ever reaches ln(1/r) with probability at most r if the mean of the difference is −s or less. Guesses, plans
and shares of δ are those of ``plans.blocks.paired``; the proof is in docs/proofs.md ("Common blocks").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from shortlist.advice import setting
from shortlist.arrays import Integers, Reals
from shortlist.errors import InvalidSetting
from shortlist.noise.estimated import NormalWithinBlocks, rounding_of
from shortlist.plans.bets.normal import Moments, off_by, price
from shortlist.plans.blocks.paired import COMMON_BLOCKS, Bets, CommonBlocks
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.thresholds import ArmInterval, StrategyThreshold

ROUNDING_UP = 1e-9  # so that a bound is itself a slack at which the pair has passed
UNIT = 4.0  # times the noise of the noisiest arm: what stands for a range where plans are made


def moments_of(arms: int, some: Integers, table: Reals) -> Moments:
    """Of the differences b − c of every pair of some arms, on the blocks of a plan.

    Examples
    --------
    >>> two = moments_of(2, np.array([0, 1]), np.array([[1.0, 4.0], [0.0, 1.0]]))
    >>> two.means.tolist(), two.squares.tolist()
    ([[0.0, 2.0], [-2.0, 0.0]], [[0.0, 2.0], [2.0, 0.0]])
    """
    found, here = Moments(*np.zeros((3, arms, arms))), np.ix_(some, some)
    average = table.mean(axis=1)
    away = table - average[:, None]
    found.pulls[here] = table.shape[1]
    found.means[here] = average[:, None] - average
    # One row after the other: products of results would lose what nearly equal arms differ by.
    for row, own in zip(some.tolist(), away, strict=True):
        found.squares[row, some] = ((own - away) ** 2).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class Differences(Bets):
    """ln E of every pair by the likelihood of its differences since ``prior``.

    The latest is known for every slack; the largest so far is kept for some.
    """

    prior: Moments
    since: Moments
    off: float = 0.0  # by how much a difference may be off through rounding

    @classmethod
    def after_blocks(cls, prior: Moments, slacks: Reals) -> Differences:
        """With predictions by these blocks, and none since."""
        shape = prior.pulls.shape
        nothing = np.full((len(slacks), *shape), -np.inf)
        return cls(slacks, nothing, nothing, prior, Moments(*np.zeros((3, *shape))))

    def with_blocks(self, more: Moments, off: float) -> Differences:
        """With the blocks of one more plan."""
        after = replace(self, since=self.since + more, off=off)
        now = np.array([after.log_evidence(slack) for slack in self.slacks.tolist()])
        return replace(after, now=now, largest=np.maximum(self.largest, now))

    def log_evidence(self, slack: float) -> Reals:
        """The logarithm of E at a slack; −∞ where there is nothing yet."""
        paid, spread = self._terms
        apart = np.maximum(self.since.means + slack - self.off, 0.0)
        known = np.isfinite(paid)
        grown = 0.5 * self.since.pulls * np.log1p(apart**2 / spread)
        return np.where(known, grown - np.where(known, paid, 0.0), -np.inf)

    def evidence(self, slack: float) -> Reals:
        """The largest logarithm of 1/r with which every pair has passed at a slack."""
        return np.maximum(super().evidence(slack), self.log_evidence(slack))

    @property
    def _terms(self) -> tuple[Reals, Reals]:
        paid = np.maximum(price(self.prior, self.since), 0.0) + off_by(self.since.pulls)
        spread = self.since.spread_squares / np.maximum(self.since.pulls, 1.0)
        return paid, np.where(np.isfinite(paid), np.maximum(spread, self.off**2), 1.0)

    def latest(self, level: float) -> Reals:
        """The most by which c is better than b, with E at e^level by the latest evidence."""
        paid, spread = self._terms
        known = np.isfinite(paid)
        grown = (level + np.where(known, paid, 0.0)) / np.maximum(self.since.pulls, 1.0)
        width = np.sqrt(spread * np.expm1(np.minimum(2.0 * grown, 700.0)))
        up = ROUNDING_UP * (width + np.abs(self.since.means))
        return np.where(known, width - self.since.means + self.off + up, np.inf)

    def bounds(self, level: float) -> Reals:
        """The least slack at which every pair has passed with 1/r = e^level; infinite if at none."""
        return np.minimum(super().bounds(level), np.maximum(self.latest(level), 0.0))


class NormalBlocks(CommonBlocks):
    """Common blocks where differences within blocks are normal: they are tested by likelihoods."""

    _most = math.inf
    _pairs: Differences

    def __init__(self, problem: ReducedProblem) -> None:
        if problem.blocks.number is not None:
            raise InvalidSetting(
                "the results of a pool are fixed numbers, and not normal: with a pool write "
                f"{setting('sigma', 'bounded')} and {setting('reward_range', ('low', 'high'))}."
            )
        arms = len(problem.features)
        self._all = Moments(*np.zeros((3, arms, arms)))  # of all blocks so far
        super().__init__(problem._replace(limits=(0.0, 1.0)))
        self._largest = 0.0  # absolute value of a result so far

    def decide(self, results: PlanResults, seed: int) -> None:
        """Weigh the new results, and make the next plan.

        The unit is that of the first plan: no result of a later block has a part in it.
        """
        if self._seen.blocks == 0:
            noisiest = float(results.values.reshape(len(self._blocks), -1).std(axis=0).max())
            unit = UNIT * noisiest if noisiest > 0.0 else 1.0
            self._wanted, self._slack, self._first_slack = (
                slack * self._width / unit
                for slack in (self._wanted, self._slack, self._first_slack)
            )
            self._width = unit
        super().decide(results, seed)

    def _no_bets(self, least: float = 0.0) -> Differences:
        """No evidence yet, with predictions by all blocks so far."""
        return Differences.after_blocks(
            self._all, np.unique([least, max(least, self._first_slack)])
        )

    def _take(self, results: Reals) -> None:
        everything, known = self._results(results)
        more = Moments(*np.zeros((3, len(self.plan), len(self.plan))))
        alike, of = np.unique(known, axis=1, return_inverse=True)  # blocks with the same arms
        for place, takes in enumerate(alike.T):
            arms = np.flatnonzero(takes)
            table = everything[np.ix_(arms, np.flatnonzero(of.ravel() == place))]
            more = more + moments_of(len(self.plan), arms, table)
        self._all = self._all + more
        self._largest = max(self._largest, float(np.abs(everything[known]).max()))
        off = float(rounding_of(self._largest))
        if self._seen.blocks == 0:
            self._pairs = self._no_bets()
        else:
            self._pairs = self._pairs.with_blocks(more, off)
        self._namings = tuple(
            each._replace(bets=cast(Differences, each.bets).with_blocks(more, off))
            for each in self._namings
        )
        self._note(everything, known)

    @property
    def _bounds(self) -> Reals:
        """The most by which c is better than b, of each pair by itself, with the latest evidence."""
        found = self._pairs.latest(self._level)
        for each in self._named(self.inside):
            found = np.minimum(found, cast(Differences, each.bets).latest(-math.log(each.risk)))
        return self._width * found

    @property
    def adjusts(self) -> bool:
        """What all arms of a block share is taken away."""
        return True

    def estimates(self, means: Reals, variances: Reals) -> tuple[Reals, Reals]:
        """As if every arm had been evaluated on all blocks whose turn is over."""
        if not self._seen.blocks:
            return means, variances
        residuals, effects = self._seen.residuals
        pulls = np.maximum(self._seen.pulls, 1)
        adjusted = residuals.sum(axis=1) / pulls + effects.mean()
        return self._low + self._width * adjusted, 1.0 / pulls

    def intervals(self) -> tuple[Reals, Reals]:
        """None: only differences within blocks are assumed to be normal."""
        nothing = np.full(len(self.plan), np.inf)
        return -nothing, nothing


PAIRED_LIKELIHOODS = StrategyThreshold(
    "paired_likelihoods",
    "ln(1/share) that the likelihood of differences within blocks must reach, for one pair.",
    "after Karnin 2016 and Wasserman, Ramdas and Balakrishnan 2020; proof: docs/proofs.md of shortlist",
    coverage="Arms by themselves have no bounds: only differences within blocks are known to be normal.",
)
ALGORITHMS = {
    "Common blocks": replace(
        COMMON_BLOCKS,
        own_sigma=replace(
            COMMON_BLOCKS,
            strategy=NormalBlocks,
            threshold=PAIRED_LIKELIHOODS,
            works=("karnin", "wasserman"),
            interval=ArmInterval("no bounds", "none", "no bounds"),
            results=NormalWithinBlocks(),
            uses_noise=True,
            checks=True,
        ),
    ),
}
