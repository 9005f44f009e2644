"""Guess the m best arms and verify the guess, on blocks that all arms in doubt share.

Results lie in a range, here [0, 1]. Blocks come in an order that no result depends on: that of a
pool of N blocks is drawn from the study's seed, and where blocks are drawn afresh N is infinite. A
plan takes some arms and the next blocks, all of them before any of its results is known.

**The test of a pair.** Let d be the result of b less that of c on a block, and s ≥ 0. The null is
that the mean of d is −s or less. After t blocks, let S_a be the sum of the results of arm a and n_a
their number. Where a result is missing b has at least 0 and c at most 1, so d sums up to at least
L = S_b − S_c − (t − n_c) over these blocks. The next block is any of the other N − t, and under the null
the mean of d over them is at most

    g = (−sN − L)/(N − t)        (−s, if there is no end of blocks).

If both arms are evaluated on it, 1 + λ(d − g) has mean at most 1 for every λ in [0, 1/(1 + g)) that
was chosen before. So the product of these, E, ever reaches 1/r with probability at most r (Ville).
Where L − (N − t) ≥ −sN the null is impossible, and the pair is decided exactly.

**Shares of δ.** A set J of m arms that is *named* is right if every pair of b in J and c outside
passes with the results since, at s = ε: no union over pairs (as in ``guess_and_verify``). Before that,
and beside it, every pair is tested from the first block on, at s = 0 and at s = ε, with a union over
m(K − m) pairs. An arm that m others have passed by the tests at s = 0 is *out*: it is none of the m
best, and needs no further test with any arm.

Neither the guess, nor λ, nor the arms and the length of a plan enter the proof, which is in
docs/proofs.md ("Common blocks").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.blocks import Cell
from shortlist.engine.certified import Certified
from shortlist.errors import InvalidSetting
from shortlist.noise.bounded import WithinBlocks
from shortlist.plans.algorithm import Planned
from shortlist.plans.blocks.engine import CellEngine, CellStrategy
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, best_of
from shortlist.relation import Unrelated
from shortlist.rules.thresholds import ArmInterval, StrategyThreshold

# Shares of δ, one for each time that a set is named; the rest is for the pairs without one.
SHARES = (0.6, 0.1, 0.05)
LIKELY, LIKELY_AGAIN = 0.6, 0.5  # chance that the guess is right at which it is named
SAVING = 0.9  # a set is named again if the hardest pair then needs less than this share
FIRST = 4  # blocks of the first plan
GROWTH = 0.01  # of the blocks so far, in a plan: longer ones go on after pairs have passed
CLIP = 0.9  # of the largest λ that keeps E above 0
HALF_WIDTH = 0.5  # standard errors: a mean difference below is taken for that
DRAWS = 300
GROUPS = 512  # of blocks: more are not drawn one by one
# Standard errors: before a set is named, pairs further apart are not evaluated for. The first at the
# beginning, and what it rises by until the end of the pool: there it costs to have left blocks out.
APART, APART_RISES, APART_MOST = 2.0, 20.0, 6.0
MOST_ARMS = 2000  # some tables have a row and a column for each
ROUNDING = 1e-12  # of a mean
OWN_SPREAD = 0.25  # variance of a result of which nothing is known, in units of the range
LEAST_SPREAD = 1e-4
SPREAD_COUNTS = 4.0  # blocks that the average variance of all pairs counts as, for one pair
SALT = 0x6F726465
MOST_LEFT = 1e9

PAIRED_BETS = StrategyThreshold(
    "paired_bets",
    "ln(1/share) that the wealth of bets on differences within blocks must reach, for one pair.",
    "after Karnin 2016; proof: docs/proofs.md of shortlist",
    coverage="Each bound takes every result that is missing at the end of its range: it is certain.",
)
INTERVAL = ArmInterval(
    "(S + low·(N − n))/N to (S + high·(N − n))/N",
    "from (S + low·(N − n))/N to (S + high·(N − n))/N, with S the sum of its n results, N the number "
    "of blocks and [low, high] the range of the results",
    "what the missing results allow",
)


@dataclass(frozen=True, eq=False)
class Bets:
    """The logarithm of E of every pair (b in rows, c in columns), now and at its largest."""

    now: Reals
    largest: Reals

    @classmethod
    def none(cls, arms: int) -> Bets:
        """Before any block."""
        return cls(np.zeros((arms, arms)), np.full((arms, arms), -np.inf))

    def after(self, arms: Integers, gains: Reals) -> Bets:
        """With more blocks, on which these arms were evaluated; what each block adds to ln E."""
        here = np.ix_(arms, arms)
        now, largest = self.now.copy(), self.largest.copy()
        peak = now[here] + np.cumsum(gains, axis=0).max(axis=0)
        now[here] += gains.sum(axis=0)
        largest[here] = np.maximum(largest[here], peak)
        return Bets(now, largest)


class Naming(NamedTuple):
    """A set that was named, its share of δ, and the evidence since, at a slack s."""

    inside: bytes
    risk: float
    slack: float
    bets: Bets


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of every arm, in the order of the blocks and in units of the range.

    Attributes
    ----------
    values : array, K × blocks so far
        The results; 0 where there is none.
    known : array of bool, K × blocks so far
        Where there is one.
    pulls, sums : array, K
        Their numbers and sums.
    both, sums_with, squares : array, K × K
        Of the blocks with both arms: their number, the sum of the results of b, and of the squared
        differences.
    """

    values: Reals
    known: Mask
    pulls: Integers
    sums: Reals
    both: Reals
    sums_with: Reals
    squares: Reals

    @classmethod
    def none(cls, arms: int) -> Seen:
        """Before any block."""
        table = np.zeros((arms, arms))
        start = np.zeros((arms, 0)), np.zeros((arms, 0), np.bool_)
        return cls(*start, np.zeros(arms, np.int64), np.zeros(arms), table, table, table)

    @property
    def blocks(self) -> int:
        """How many blocks were taken."""
        return self.values.shape[1]

    def after(self, arms: Integers, results: Reals) -> Seen:
        """With these arms on the next blocks, a row for each arm."""
        count, here = results.shape[1], np.ix_(arms, arms)
        values, known = np.zeros((2, len(self.pulls), count))
        values[arms], known[arms] = results, 1.0
        both, sums_with, squares = self.both.copy(), self.sums_with.copy(), self.squares.copy()
        both[here] += count
        sums_with[here] += results.sum(axis=1)[:, None]
        own = np.einsum("ij,ij->i", results, results)
        squares[here] += np.maximum(own[:, None] + own - 2.0 * results @ results.T, 0.0)
        return Seen(
            np.hstack([self.values, values]),
            np.hstack([self.known, known > 0.0]),
            self.pulls + (known > 0.0).sum(axis=1),
            self.sums + values.sum(axis=1),
            both,
            sums_with,
            squares,
        )

    def filled(self, arms: Integers, places: Integers, results: Reals) -> Seen:
        """With results on blocks that were taken before: they are of no use to bets."""
        values, known = self.values.copy(), self.known.copy()
        values[arms, places], known[arms, places] = results, True
        pulls, sums = known.sum(axis=1), values.sum(axis=1)
        return replace(self, values=values, known=known, pulls=pulls, sums=sums)

    @property
    def gaps(self) -> Reals:
        """The mean difference of every pair on the blocks with both."""
        return (self.sums_with - self.sums_with.T) / np.maximum(self.both, 1.0)

    @property
    def variances(self) -> Reals:
        """The variances of single differences, drawn towards their average over all pairs."""
        count = np.maximum(self.both, 1.0)
        spread = np.maximum(self.squares / count - self.gaps**2, 0.0)
        spread = spread * count / np.maximum(count - 1.0, 1.0)
        known = self.both * (self.both > 1.0) * ~np.eye(len(count), dtype=np.bool_)
        average = (known * spread).sum() / known.sum() if known.any() else OWN_SPREAD
        prior = max(float(average), LEAST_SPREAD)
        return np.asarray((count * spread + SPREAD_COUNTS * prior) / (count + SPREAD_COUNTS))

    def errors(self, blocks: float) -> Reals:
        """The standard errors of the mean differences, of a pool of so many blocks."""
        count = np.maximum(self.both, 1.0)
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


class CommonBlocks(CellStrategy):
    """Plans of arms on common blocks, to guess the m best and to verify the guess."""

    def __init__(self, problem: ReducedProblem, shares: tuple[float, ...] = SHARES) -> None:
        arms = len(problem.features)
        if arms > MOST_ARMS:
            raise InvalidSetting(
                f"common blocks are for {MOST_ARMS:,} arms at most, got {arms:,}: leave out arms that "
                "are known to be bad, or leave out blocks."
            )
        self._problem, self._shares = problem, shares
        self._low, high = problem.limits
        self._width = high - self._low
        # s of the answer, of the tests and plans to come, and of the tests of all pairs.
        self._wanted = self._slack = self._first_slack = problem.epsilon / self._width
        self._wider_from = 0  # blocks: as many were begun when ε was made larger
        self._size = math.inf if problem.blocks.number is None else float(problem.blocks.number)
        pairs = problem.m * (arms - problem.m)
        left = 1.0 - sum(shares)
        # Both kinds of tests of all pairs have half of it; at ε = 0 they are one.
        self._level = -math.log(left * problem.delta / (pairs * (1 if self._slack == 0.0 else 2)))
        self._seen = Seen.none(arms)
        self._strict = self._lenient = Bets.none(arms)
        self._namings: tuple[Naming, ...] = ()
        self.out = np.zeros(arms, np.bool_)
        self._order: Integers | None = None
        self.inside = np.zeros(arms, np.bool_)
        self._arms = np.arange(arms)
        self._count = int(min(FIRST, self._size))
        self._holes: tuple[Integers, Integers] | None = None
        self.plan = np.full(arms, self._count)
        self.cells: list[Cell] = []

    # The order of the blocks

    def begin(self, seed: int) -> None:
        """Draw the order of a pool; where blocks are drawn afresh they come by their numbers."""
        if self._order is not None:
            return
        self._order = np.zeros(0, np.int64)
        if math.isfinite(self._size):
            self._order = np.random.default_rng([seed, SALT]).permutation(int(self._size))
        self.cells = self._planned()

    def _block(self, place: int) -> int:
        assert self._order is not None
        return int(self._order[place]) if math.isfinite(self._size) else place

    def _planned(self) -> list[Cell]:
        """The cells of the plan, block by block."""
        if self._holes is not None:
            pairs = zip(*self._holes, strict=True)
            return [Cell(int(arm), self._block(int(place))) for arm, place in pairs]
        first = self._seen.blocks
        places = range(first, first + self._count)
        return [Cell(int(arm), self._block(place)) for place in places for arm in self._arms]

    def beyond(self) -> Iterator[Cell]:
        """The same arms on the blocks that follow."""
        place = self._seen.blocks + (self._count if self._holes is None else 0)
        while place < self._size and len(self._arms):
            for arm in self._arms:
                yield Cell(int(arm), self._block(place))
            place += 1

    # Decisions

    def decide(self, results: PlanResults, seed: int) -> None:
        """Weigh the new results, and make the next plan."""
        after = self.copy()
        after._take((results.values - self._low) / self._width)
        after._judge(seed)
        vars(self).update(vars(after))

    def _take(self, values: Reals) -> None:
        if self._holes is not None:
            self._seen = self._seen.filled(*self._holes, values)
        else:
            table = values.reshape(self._count, len(self._arms)).T
            self._bet(table)
            self._seen = self._seen.after(self._arms, table)

    def _no_bets(self, slack: float) -> Bets:
        """No evidence yet, at a slack."""
        return Bets.none(len(self.inside))

    def _bet(self, table: Reals) -> None:
        """Let every pair of the plan bet on its blocks, one after the other."""
        seen, arms = self._seen, self._arms
        here = np.ix_(arms, arms)
        gaps, variances = seen.gaps[here], seen.variances[here]
        least = HALF_WIDTH * np.sqrt(variances / np.maximum(seen.both[here], 1.0))
        at_least = seen.sums[arms, None] - seen.sums[arms] - (seen.blocks - seen.pulls[arms])
        slacks = {0.0, self._first_slack, *(each.slack for each in self._namings)}
        gains = {slack: np.zeros((table.shape[1], *variances.shape)) for slack in slacks}
        for place in range(table.shape[1]):
            left = self._size - seen.blocks - place
            d = table[:, place, None] - table[:, place]
            for slack, found in gains.items():
                edges = np.maximum(gaps + slack, least)
                found[place] = self._gains(d, edges, variances, at_least, left, slack)
            at_least = at_least + d
        self._strict = self._strict.after(arms, gains[0.0])
        self._lenient = self._lenient.after(arms, gains[self._first_slack])
        self._namings = tuple(
            each._replace(bets=each.bets.after(arms, gains[each.slack])) for each in self._namings
        )

    def _gains(
        self,
        d: Reals,
        edges: Reals,
        variances: Reals,
        at_least: Reals,
        left: float,
        slack: float,
    ) -> Reals:
        """ln(1 + λ(d − g)) of every pair on one block, with about the λ of fastest growth.

        In a pool the mean of the d to come exceeds g by N/(N − t) times the gap and s.
        """
        rise, null = 1.0, np.full_like(d, -slack)
        if math.isfinite(self._size):
            rise, null = self._size / left, (-slack * self._size - at_least) / left
        edge = edges * rise
        possible = (null > -1.0) & (null < 1.0)
        most = CLIP / np.where(possible, 1.0 + null, 1.0)
        bet = np.where(possible, np.minimum(edge / (variances + edge**2), most), 0.0)
        return np.log1p(bet * (d - null))

    def _judge(self, seed: int) -> None:
        """Find who is out, guess the m best, see which pairs have passed, and make the next plan."""
        seen = self._seen
        if seen.blocks >= self._wider_from:
            self._slack = self._wanted
        self._find_out()
        residuals, _ = seen.residuals
        means = residuals.sum(axis=1) / np.maximum(seen.pulls, 1)
        self.inside = self._guessed(np.where(self.out, -np.inf, means))
        margins, answered = self._margins(self.inside), self._margins(self.inside, self._wanted)
        stops = bool(answered.min(initial=np.inf) >= 0.0)
        if margins.min(initial=np.inf) < 0.0:  # at the old slack: a wider one may know what comes
            rng = np.random.default_rng([seed, int(seen.pulls.sum())])
            self._name(margins, residuals, rng)
            margins = self._margins(self.inside)
        self._make_plan(margins)
        self._find_boundary(answered, stops)

    @property
    def _certain(self) -> Reals:
        """The least that d can sum up to over all blocks, of every pair; −∞ without end."""
        seen = self._seen
        if not math.isfinite(self._size):
            return np.full(seen.both.shape, -np.inf)
        return seen.sums[:, None] - seen.sums - (self._size - seen.pulls)

    def _find_out(self) -> None:
        """Mark the arms that m others have passed."""
        passed = (self._strict.largest >= self._level) | (self._certain > self._off)
        np.fill_diagonal(passed, False)
        self.out = self.out | (passed.sum(axis=0) >= self._problem.m)

    @property
    def _off(self) -> float:
        """How far a sum over all blocks may be off by rounding."""
        return ROUNDING * self._size if math.isfinite(self._size) else 0.0

    def _others(self, inside: Mask) -> Integers:
        """The arms outside that are not out."""
        return np.flatnonzero(~inside & ~self.out)

    def _margins(self, inside: Mask, slack: float | None = None) -> Reals:
        """The logarithm of E less what it must reach, for b inside and c outside that is not out.

        Where a pair is certain up to a slack it has passed; by default that of tests to come.
        """
        here = np.ix_(np.flatnonzero(inside), self._others(inside))
        margins = self._lenient.largest[here] - self._level
        key = inside.tobytes()
        for each in self._namings:
            if each.inside == key:
                margins = np.maximum(margins, each.bets.largest[here] + math.log(each.risk))
        slack = self._slack if slack is None else slack
        return np.where(self._bounds_hold(self._certain[here], slack), np.inf, margins)

    def _bounds_hold(self, certain: Reals, slack: float) -> Mask:
        """Whether b is not below c by more than a slack, whatever the missing results are."""
        if not math.isfinite(self._size):
            return np.zeros(certain.shape, np.bool_)
        return np.asarray(certain >= -slack * self._size - self._off)

    def _is_named(self, inside: Mask) -> bool:
        """Whether a set was named, and is tested, at the slack of now."""
        key = inside.tobytes()
        return any(each.inside == key and each.slack == self._slack for each in self._namings)

    def _guessed(self, means: Reals) -> Mask:
        """The m arms of largest mean, or those named before if these seem to be verified sooner."""
        best, held = best_of(means, self._problem.m), self.inside
        if not self._is_named(held) or bool((held & self.out).any()):
            return best
        return held if self._work(held) < self._work(best) else best

    def _work(self, inside: Mask) -> float:
        """How many blocks the hardest pair of a set seems to need, if there were no end of them."""
        margins = self._margins(inside)
        here = np.ix_(np.flatnonzero(inside), self._others(inside))
        gaps, is_open = self._seen.gaps[here] + self._slack, margins < 0.0
        if not is_open.any():
            return 0.0
        if gaps[is_open].min() <= 0.0:
            return math.inf
        missing = -margins
        if not self._is_named(inside) and len(self._namings) < len(self._shares):
            missing = np.minimum(missing, -math.log(self._risk))
        return float((2.0 * missing * self._seen.variances[here] / gaps**2)[is_open].max())

    @property
    def _risk(self) -> float:
        """The share of δ of the set that is named next."""
        return self._problem.delta * self._shares[len(self._namings)]

    def _name(self, margins: Reals, residuals: Reals, rng: np.random.Generator) -> None:
        """Name the set inside now, where that is worth while."""
        from scipy.special import ndtr

        seen, inside = self._seen, self.inside
        if len(self._namings) == len(self._shares) or seen.blocks >= self._size:
            return
        least = LIKELY_AGAIN if self._namings else LIKELY
        if ndtr(self._apart(inside)[margins < 0.0].min()) < least:  # one pair alone is in doubt
            return
        if self._vote(residuals, rng) < least:
            return
        if self._is_named(inside):
            here = np.ix_(np.flatnonzero(inside), self._others(inside))
            gaps = np.maximum(
                seen.gaps[here] + self._slack, HALF_WIDTH * seen.errors(math.inf)[here]
            )
            costs = np.where(margins < 0.0, seen.variances[here] / gaps**2, 0.0)
            again = -math.log(self._risk) * costs.max()
            if again > SAVING * (-np.where(margins < 0.0, margins, 0.0) * costs).max():
                return
        named = Naming(inside.tobytes(), self._risk, self._slack, self._no_bets(self._slack))
        self._namings = (*self._namings, named)

    def _apart(self, inside: Mask) -> Reals:
        """By how many standard errors b inside is above c − ε."""
        here = np.ix_(np.flatnonzero(inside), self._others(inside))
        return (self._seen.gaps[here] + self._slack) / self._seen.errors(self._size)[here]

    def _vote(self, residuals: Reals, rng: np.random.Generator) -> float:
        """The share of draws of the means, by a bootstrap of blocks, in which the set is right."""
        seen, known = self._seen, self._seen.known.astype(np.float64)
        if seen.blocks > GROUPS:
            starts = np.linspace(0, seen.blocks, GROUPS, endpoint=False).astype(np.int64)
            residuals = np.add.reduceat(residuals, starts, axis=1)
            known = np.add.reduceat(known, starts, axis=1)
        pulls = np.maximum(seen.pulls, 1)
        means = residuals.sum(axis=1) / pulls
        weights = rng.standard_exponential((DRAWS, residuals.shape[1]))
        drawn = (weights @ residuals.T) / np.maximum(weights @ known.T, 1e-12) - means
        drawn += np.sqrt(0.5 * OWN_SPREAD / (pulls * (pulls + 2.0))) * rng.standard_normal(
            drawn.shape
        )
        drawn = means + math.sqrt(max(1.0 - seen.blocks / self._size, 0.0)) * drawn
        drawn[:, self.out] = -np.inf
        mth = np.partition(drawn, -self._problem.m, axis=1)[:, -self._problem.m]
        return float((drawn[:, self.inside].min(axis=1) >= mth - self._slack).mean())

    # Plans

    def _make_plan(self, margins: Reals) -> None:
        """The arms of open pairs on the next blocks, or on those that they lack of a used-up pool."""
        seen, inside = self._seen, self.inside
        wanted = margins < 0.0
        if wanted.any() and not self._is_named(inside) and len(self._namings) < len(self._shares):
            apart = self._apart(inside)
            rise = APART_RISES * seen.blocks / self._size
            most = max(min(APART + rise, APART_MOST), float(apart[wanted].min()) + 0.5)
            wanted = wanted & ((apart < most) | (seen.blocks >= self._size))
        chosen = np.zeros(len(inside), np.bool_)
        chosen[np.flatnonzero(inside)[wanted.any(axis=1)]] = True
        chosen[self._others(inside)[wanted.any(axis=0)]] = True
        if not chosen.any():  # it has stopped: this is for a study that is reopened
            chosen = ~self.out | (seen.blocks >= self._size)
        self._arms = np.flatnonzero(chosen)
        length = max(1, int(GROWTH * seen.blocks))
        self._count = int(min(length, self._size - seen.blocks))
        self._holes = None
        self.plan = np.where(chosen, self._count, 0)
        if self._count == 0:
            rows = [np.flatnonzero(~seen.known[arm])[:length] for arm in self._arms]
            arms = np.repeat(self._arms, [len(row) for row in rows])
            self._holes = arms, np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)
            self.plan = np.bincount(arms, minlength=len(inside))
        self.cells = self._planned()

    def _find_boundary(self, margins: Reals, stops: bool) -> None:
        """The pair b, c furthest from passing, and how much better c may be than b for certain."""
        arms, others = np.flatnonzero(self.inside), self._others(self.inside)
        if not len(others):
            others = np.flatnonzero(~self.inside)
            margins = np.full((len(arms), len(others)), np.inf)
        row, column = np.unravel_index(np.argmin(margins), margins.shape)
        self.b, self.c = int(arms[row]), int(others[column])
        self.threshold, slack = self._level, self._problem.epsilon
        for each in self._namings:
            if each.inside == self.inside.tobytes():
                self.threshold = -math.log(each.risk)
        bound = self._bounds[self.b, self.c]
        self.statistic = (
            min(bound, slack) if stops else max(bound, float(np.nextafter(slack, np.inf)))
        )

    # What a study shows

    @property
    def _bounds(self) -> Reals:
        """The most by which c is better than b, whatever the missing results are."""
        if not math.isfinite(self._size):
            return np.full(self._seen.both.shape, self._width)
        return -self._width * self._certain / self._size

    def certified(self, epsilon: float) -> Certified:
        """What the pairs say that have passed; of single arms, those that passed without a named set."""
        if not self.inside.any():
            return super().certified(epsilon)
        rows, columns = np.flatnonzero(self.inside), np.flatnonzero(~self.inside)
        here, place = np.ix_(rows, columns), np.isin(columns, self._others(self.inside))
        passed = np.ones((len(rows), len(columns)), np.bool_)
        passed[:, place] = self._margins(self.inside, self._wanted) >= 0.0
        bounds = np.where(passed, np.minimum(self._bounds[here], epsilon), self._bounds[here])
        settled = (self._lenient.largest[here] >= self._level) | self.out[columns]
        settled |= self._bounds_hold(self._certain[here], self._wanted)
        return Certified.by_pairs(self.inside, float(bounds.max()), passed, settled & passed)

    @property
    def is_exact(self) -> bool:
        """Whether the answer follows from the results that are known, whatever the others are."""
        known = self._certain[np.ix_(self.inside, ~self.inside)]
        return bool(self.inside.any() and self._bounds_hold(known, self._wanted).all())

    def leave_out(self, cells: Iterable[Cell]) -> None:
        """Plans and named sets go by the ε of before until these blocks are taken."""
        assert self._order is not None
        blocks = np.array([cell.block for cell in cells], np.int64)
        if math.isfinite(self._size):
            blocks = np.argsort(self._order)[blocks]
        self._wider_from = max(self._wider_from, 1 + int(blocks.max(initial=-1)))

    def widen(self, epsilon: float) -> None:
        """Judge what comes with a larger ε: what has passed with a smaller one has passed.

        The tests of all pairs go on as they are, and are valid; a set may be named for the new ε once
        all blocks are taken that were begun.
        """
        after = self.copy()
        after._problem = self._problem._replace(epsilon=epsilon)
        after._wanted = epsilon / self._width
        if self._seen.blocks:
            margins = after._margins(self.inside, after._wanted)
            after._find_boundary(margins, bool(margins.min(initial=np.inf) >= 0.0))
        vars(self).update(vars(after))

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Mean differences within blocks, with bounds that hold whatever the missing results are.

        A pair that has passed is bounded by ε.
        """
        gap = self._width * self._seen.gaps[:, j]
        upper, lower = self._bounds[j], -self._bounds[:, j]
        passed = np.zeros((len(gap), len(gap)), np.bool_)
        others = self._others(self.inside)
        passed[np.ix_(self.inside, others)] = self._margins(self.inside, self._wanted) >= 0.0
        if passed[
            np.ix_(self.inside, others)
        ].all():  # an arm that is out may be above b before that
            passed[np.ix_(self.inside, self.out & ~self.inside)] = True
        slack = self._problem.epsilon
        upper = np.where(passed[j], np.maximum(np.minimum(upper, slack), gap), upper)
        lower = np.where(passed[:, j], np.minimum(np.maximum(lower, -slack), gap), lower)
        gap[j] = lower[j] = upper[j] = 0.0
        return gap, np.minimum(lower, gap), np.maximum(upper, gap)

    def estimates(self, means: Reals, variances: Reals) -> tuple[Reals, Reals]:
        """Means as if every arm had been evaluated on all blocks so far."""
        if not self._seen.blocks:
            return means, variances
        residuals, effects = self._seen.residuals
        pulls = np.maximum(self._seen.pulls, 1)
        adjusted = residuals.sum(axis=1) / pulls + effects.mean()
        lower, upper = self.intervals()
        return np.clip(self._low + self._width * adjusted, lower, upper), 1.0 / pulls

    def intervals(self) -> tuple[Reals, Reals]:
        """What the missing results allow."""
        seen, size = self._seen, self._size
        if not math.isfinite(size):
            everything = np.full(len(seen.pulls), self._low)
            return everything, everything + self._width
        low = self._low + self._width * seen.sums / size
        return low, low + self._width * (size - seen.pulls) / size

    def threshold_at(self, time: float) -> float:
        """ln(1/share) of the set that is named first."""
        return -math.log(self._shares[0] * self._problem.delta)

    def projected(self, count: int, rng: np.random.Generator) -> Reals:
        """How many more results the open pairs need if gaps are large, as estimated, and small."""
        seen, inside = self._seen, self.inside
        margins = self._margins(inside)
        rows, others = np.flatnonzero(inside), self._others(inside)
        here = np.ix_(rows, others)
        level = -margins
        if not self._is_named(inside) and len(self._namings) < len(self._shares):
            level = np.minimum(level, -math.log(self._risk) + 1.0)
        errors, found = seen.errors(math.inf)[here], []
        for beside, least in ((1.282, 1.645), (0.0, 0.674), (-1.282, 0.126)):
            gaps = np.maximum(seen.gaps[here] + self._slack + beside * errors, least * errors)
            needs = np.where(
                margins < 0.0, 2.0 * np.maximum(level, 0.1) * seen.variances[here], 0.0
            )
            needs = needs / gaps**2
            if math.isfinite(self._size):
                spent = seen.blocks / max(1.0 - seen.blocks / self._size, 1e-9)
                needs = (spent + needs) * self._size / (spent + needs + self._size) - seen.blocks
            left = np.zeros(len(inside))
            left[rows], left[others] = (
                needs.max(axis=1, initial=0.0),
                needs.max(axis=0, initial=0.0),
            )
            most = self._size * len(inside) - float(seen.pulls.sum())
            found.append(float(min(max(left.sum(), 1.0), most)))
        return np.array(found)


COMMON_BLOCKS = Planned(
    strategy=CommonBlocks,
    threshold=PAIRED_BETS,
    name="Common blocks",
    works=("karnin",),
    adapted=True,
    summary="Karnin 2016, adapted to blocks that arms share; names the m best, then verifies them",
    interval=INTERVAL,
    relation=Unrelated,
    results=WithinBlocks(),
    engine=CellEngine,
    takes=("pool", "random"),
)
