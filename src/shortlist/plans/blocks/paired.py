"""Guess the m best arms and verify the guess, on blocks that all arms in doubt share.

Results lie in a range, here [0, 1]. Blocks come in an order that no result depends on: that of a
pool of N blocks is drawn from the study's seed, and drawn anew where that helps; where blocks are drawn
afresh N is infinite. A plan takes some arms and the next blocks, all of them before any of its results
is known; what is known already is not asked for.

**The test of a pair.** Let d be the result of b less that of c on a block, and s ≥ 0. The null is
that the mean of d is −s or less. Of a pool, let R be the blocks of the order whose turn is still to come
and on which b or c is not known. The other blocks are known, but for those whose turn came without one
of the two arms: there b has at least 0 and c at most 1. So d sums up to at least some L over them.
Under the null the mean of d over R is at most

    g = (−sN − L)/|R|        (−s, if there is no end of blocks).

If both arms take part in a plan, its next block of R is any of R, and 1 + λ(d − g) has mean at most 1
for every λ in [0, 1/(1 + g)) that was chosen before. So the product of these, E, ever reaches 1/r with
probability at most r (Ville). Where the known results leave no room for the null it is impossible, and
the pair is decided exactly.

In a new order the turn of every block is still to come: L is then exact, however many blocks an arm has
left out. So one is drawn when a set is named, and when an arm returns that has left out blocks since.

**All slacks at once.** E is kept for some values of s. A pair has *passed* at ε if E has reached 1/r at
the largest of them up to ε and at every larger one. Suppose c is better than b by s′ ≥ ε. At the largest
value up to s′, E is no larger than the same bets make it at s′ itself, where the null is true. So one r
covers every ε, whoever chooses it.

**Shares of δ.** A set J of m arms that is *named* is right if every pair of b in J and c outside
passes with the results since: no union over pairs (as in ``guess_and_verify``). Before that, and beside
it, every pair is tested from the first block on, with a union over m(K − m) pairs. An arm that m others
have passed by these tests at ε = 0 is *out*: it is none of the m best, and needs no further test with
any arm.

Neither the guess, nor λ, nor the arms and the length of a plan enter the proof, which is in
docs/proofs.md ("Common blocks").
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.blocks import Cell
from shortlist.engine.certified import Certified
from shortlist.noise.bounded import WithinBlocks
from shortlist.plans.algorithm import Planned
from shortlist.plans.blocks.engine import CellEngine, CellStrategy
from shortlist.plans.blocks.seen import OWN_SPREAD, Order, Seen
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, best_of
from shortlist.relation import Unrelated
from shortlist.rules.thresholds import ArmInterval, StrategyThreshold

# Shares of δ, one for each time that a set is named; the rest is for the pairs without one. Measured on
# tables where the first set nearly always was the right one, and on some with near ties, where one in
# three was not: there other shares made no difference beyond chance.
SHARES = (0.85, 0.04, 0.01)
LIKELY, LIKELY_AGAIN = 0.6, 0.5  # chance that the guess is right at which it is named
# Of ε: up to that it is to be right. A set that is hardly right up to ε takes long to verify.
RIGHT_WITHIN = 0.25
# A named set is given up if it seems to need so many times the blocks of the m arms of largest mean:
# what these need is underestimated, for they are those that seem furthest above the others. Measured on
# pools; where there is no end of blocks no gain was seen.
GIVEN_UP = 4.0
SAVING = 0.9  # a set is named again if the hardest pair then needs less than this share
FIRST = 4  # blocks of the first plan
GROWTH = 0.01  # of the blocks so far, in a plan: longer ones go on after pairs have passed
# Of the largest λ that keeps E above 0; the second where d varies by less than its mean.
CLIP, CLIP_FAR = 0.9, 0.98
HALF_WIDTH = 0.5  # standard errors: a mean difference below is taken for that
DRAWS = 300
GROUPS = 512  # of blocks: more are not drawn one by one
# Standard errors: before a set is named, pairs further apart are not evaluated for. The limit is
# √(2 ln blocks) times the first, since the largest of many chance differences grows so, and at most
# the second.
APART, APART_MOST = 0.65, 2.0
MOST_ARMS = 2000  # some tables have a row and a column for each
ROUNDING, ROUNDING_OF_NULL = 1e-12, 1e-9  # of a mean, and of one over the blocks that are left
# Slacks for which E is kept beside 0 and ε, in units of the range: each so many times the next, down to
# the least; further apart, and fewer, where the numbers of all pairs would be more than so many.
FINE, COARSE, LEAST_SLACK = math.sqrt(2.0), 4.0, 2.0**-10
MOST_NUMBERS = 4_000_000
STRETCH = 256  # blocks that are looked at together
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
    "of blocks and [low, high] the range of the results; where blocks are drawn afresh, the range",
    "what the missing results allow",
)


def slacks_from(epsilon: float, arms: int) -> Reals:
    """The slacks for which E is kept: 0, ε, and larger ones below the range, which is 1.

    Examples
    --------
    >>> slacks_from(0.2, 3).tolist()
    [0.0, 0.2, 0.25, 0.35, 0.5, 0.71]
    >>> slacks_from(0.0, 1000).tolist()  # of so many arms
    [0.0, 0.0039, 0.016, 0.062, 0.25]
    """
    room = MOST_NUMBERS // arms**2
    fine, coarse = (round(math.log(1.0 / LEAST_SLACK, ratio)) for ratio in (FINE, COARSE))
    ratio, count = (FINE, fine) if room >= fine else (COARSE, min(room, coarse))
    larger = [float(f"{ratio**-place:.2g}") for place in range(1, count + 1)]  # people read them
    return np.unique([0.0, epsilon, *(slack for slack in larger if slack > epsilon)])


@dataclass(frozen=True, eq=False)
class Bets:
    """The logarithm of E of every pair (b in rows, c in columns), for some slacks.

    Attributes
    ----------
    slacks : array
        In increasing order.
    now, largest : array, slacks × K × K
        ln E now, and the largest so far.
    """

    slacks: Reals
    now: Reals
    largest: Reals

    @classmethod
    def none(cls, slacks: Reals, arms: int) -> Bets:
        """Before any block."""
        shape = len(slacks), arms, arms
        return cls(slacks, np.zeros(shape), np.full(shape, -np.inf))

    def after(self, arms: Integers, gains: Reals) -> Bets:
        """With more blocks, on which these arms were evaluated; what each block adds to ln E."""
        here = np.ix_(np.arange(len(self.slacks)), arms, arms)
        now, largest = self.now.copy(), self.largest.copy()
        peak = now[here] + np.cumsum(gains, axis=0).max(axis=0)
        now[here] += gains.sum(axis=0)
        largest[here] = np.maximum(largest[here], peak)
        return replace(self, now=now, largest=largest)

    def evidence(self, slack: float) -> Reals:
        """The largest logarithm of 1/r with which every pair has passed at a slack."""
        place = int(np.searchsorted(self.slacks, slack + ROUNDING, side="right")) - 1
        if place < 0:
            return np.full(self.largest.shape[1:], -np.inf)
        return np.asarray(self.largest[place:].min(axis=0))

    def bounds(self, level: float) -> Reals:
        """The least slack at which every pair has passed with 1/r = e^level; infinite if at none."""
        passes = np.logical_and.accumulate((self.largest >= level)[::-1], axis=0)
        return np.append(self.slacks, np.inf)[len(self.slacks) - passes.sum(axis=0)]


class Naming(NamedTuple):
    """A set that was named, its share of δ, and the evidence since."""

    inside: bytes
    risk: float
    bets: Bets


class CommonBlocks(CellStrategy):
    """Plans of arms on common blocks, to guess the m best and to verify the guess."""

    _most = 1.0  # by which an arm can be better than another, in units of the range

    def __init__(self, problem: ReducedProblem, shares: tuple[float, ...] = SHARES) -> None:
        arms = len(problem.features)
        self._problem, self._shares = problem, shares
        self._low, high = problem.limits
        self._width = high - self._low
        # s of the answer, of the sets and plans to come, and of the tests of all pairs.
        self._wanted = self._slack = self._first_slack = problem.epsilon / self._width
        # Each larger ε, and how many turns of the order go by the one before: who chose it may know them.
        self._widened: tuple[tuple[float, int], ...] = ()
        self._foreseen = 0
        self._size = math.inf if problem.blocks.number is None else float(problem.blocks.number)
        pairs = problem.m * (arms - problem.m)
        self._level = -math.log((1.0 - sum(shares)) * problem.delta / pairs)
        self._seen = Seen.none(arms)
        self._pairs = self._no_bets()
        self._namings: tuple[Naming, ...] = ()
        self.out = np.zeros(arms, np.bool_)
        # The numbers and sums of all results, where some were told that nobody asked for: what is
        # certain is certain before the turn of a block. And those on the blocks of the plan.
        self._facts: tuple[Reals, Reals] | None = None
        self._beside: Mapping[Cell, float] = {}
        self._order: Order | None = None
        self._drawn = 0  # orders so far
        self.inside = np.zeros(arms, np.bool_)
        self._guess = self.inside  # that plans are made for, and sets named
        # The arms of the plan, its blocks, and where a result is missing.
        self._arms = np.arange(arms)
        self._blocks = np.zeros(0, np.int64)
        self._missing = np.zeros((arms, 0), np.bool_)
        self.plan = np.full(arms, int(min(FIRST, self._size)))
        self.cells: list[Cell] = []

    # The order of the blocks

    def begin(self, seed: int) -> None:
        """Draw the order of a pool; where blocks are drawn afresh they come by their numbers."""
        if self._order is None:
            self._draw(seed)
            self._plan(self._arms, FIRST)

    @property
    def _is_pool(self) -> bool:
        return math.isfinite(self._size)

    def _draw(self, seed: int) -> None:
        """Begin an order that nothing depends on so far.

        A study that is taken in again may come to ε with fewer orders than were seen by who chose it:
        so they are numbered from there.
        """
        numbers = len(self._widened), self._drawn
        self._order = Order.of(len(self.inside), self._size, seed, *numbers)
        self._drawn += 1
        self._widened = tuple((epsilon, 0) for epsilon, _ in self._widened)
        self._widen_slack()

    def _widen_slack(self) -> None:
        """Go by a larger ε once no turn is left that who chose it may have known."""
        assert self._order is not None
        for epsilon, turns in self._widened:
            if turns <= self._order.past.blocks:
                self._slack = max(self._slack, epsilon / self._width)

    def _draw_anew(self, seed: int) -> None:
        """Begin a new order of a pool; blocks without end have one."""
        if self._is_pool:
            self._draw(seed)

    def _ahead(self, first: int) -> Iterator[Integers]:
        """The blocks from the one that comes ``first`` places from now, a few at a time."""
        assert self._order is not None
        while len(blocks := self._order.ahead(first, STRETCH)):
            yield blocks
            first += STRETCH

    def _plan(self, arms: Integers, count: int) -> bool:
        """Plan these arms on the next blocks, so many on which one of them is missing, if any is left.

        The turn of blocks between them, on which none is missing, is over with the plan too.
        """
        parts = [np.zeros(0, np.int64)]
        missing = [np.zeros((len(arms), 0), np.bool_)]
        for blocks in self._ahead(0) if len(arms) else ():
            lacks = ~self._seen.on(blocks)[1][arms]
            useful = np.flatnonzero(lacks.any(axis=0))[:count]
            count -= len(useful)
            end = len(blocks) if count else int(useful[-1]) + 1
            parts.append(blocks[:end])
            missing.append(lacks[:, :end])
            if not count:
                break
        self._arms, self._blocks = arms, np.concatenate(parts)
        self._missing = np.hstack(missing)
        self.plan = np.bincount(arms, self._missing.sum(axis=1), minlength=len(self.inside)).astype(
            np.int64
        )
        self.cells = [
            Cell(int(arm), int(block))
            for block, lacks in zip(self._blocks, self._missing.T, strict=True)
            for arm in arms[lacks]
        ]
        return bool(self.cells)

    def beyond(self) -> Iterator[Cell]:
        """The same arms on the blocks that follow, where they are missing."""
        if not len(self._arms):
            return
        for blocks in self._ahead(len(self._blocks)):
            lacks = ~self._seen.on(blocks)[1][self._arms]
            for block, missing in zip(blocks, lacks.T, strict=True):
                for arm in self._arms[missing]:
                    yield Cell(int(arm), int(block))

    # Decisions

    def decide(self, results: PlanResults, seed: int) -> None:
        """Weigh the new results, and make the next plan."""
        after = self.copy()
        after._take((results.values - self._low) / self._width)
        after._judge(seed)
        vars(self).update(vars(after))

    def take_beside(self, told: Mapping[Cell, float]) -> Collection[Cell]:
        """Be given results on the blocks of the plan that nobody asked for; those that ``decide`` uses.

        Where blocks are drawn afresh all take part in the turn of their block. In a pool who tells
        results of some blocks chooses these, and not the order: they wait for a plan that names them.
        """
        self._beside = {} if self._is_pool else dict(told)
        return self._beside.keys()

    def _take(self, results: Reals) -> None:
        values, known = self._results(results)
        if self._is_pool:
            self._bet(self._arms, values[self._arms], self._missing)
        else:
            arms = np.flatnonzero(known.any(axis=1))
            self._bet(arms, values[arms], known[arms], known[arms])
        self._note(values, known)

    def _results(self, results: Reals) -> tuple[Reals, Mask]:
        """All that is known of every arm on the blocks of the plan, with the results of its cells."""
        values, known = self._seen.on(self._blocks)
        table = values[self._arms]
        table.T[self._missing.T] = results
        values[self._arms], known[self._arms] = table, True
        places = {block: place for place, block in enumerate(self._blocks.tolist())}
        for cell, value in self._beside.items():
            place = cell.arm, places[cell.block]
            values[place], known[place] = (value - self._low) / self._width, True
        self._beside = {}
        return values, known

    def _note(self, values: Reals, known: Mask) -> None:
        """The turn of the plan's blocks is over."""
        assert self._order is not None
        self._seen = self._seen.after(self._blocks, values, known)
        self._order = self._order.after(values, known)

    @property
    def _slacks(self) -> Reals:
        """The slacks for which all pairs are tested."""
        return slacks_from(self._first_slack, len(self._problem.features))

    def _no_bets(self, least: float = 0.0) -> Bets:
        """No evidence yet, for a slack and larger ones."""
        slacks = self._slacks
        slacks = np.unique([least, *slacks[slacks > least]])
        return Bets.none(slacks, len(self._problem.features))

    def _bet(self, arms: Integers, table: Reals, lacking: Mask, takes: Mask | None = None) -> None:
        """Let every pair of these arms bet on the plan's blocks, one after the other.

        ``lacking`` is where a result was not known before; ``takes`` where an arm has part in the
        turn, by default everywhere.
        """
        assert self._order is not None
        useful = lacking.any(axis=0)
        takes = np.ones_like(lacking) if takes is None else takes
        table, lacking, takes = table[:, useful], lacking[:, useful], takes[:, useful]
        here = np.ix_(arms, arms)
        gaps, variances = self._seen.gaps[here], self._seen.variances[here]
        everything, past = self._seen.tally, self._order.past
        least = HALF_WIDTH * np.sqrt(variances / np.maximum(everything.both[here], 1.0))
        known = (everything.differences - past.differences)[here]
        worst = past.sums[arms, None] - past.sums[arms] - (past.blocks - past.pulls[arms])
        at_least = known + worst
        left = self._size - past.blocks - (everything.both - past.both)[here]
        bets = [self._pairs, *(each.bets for each in self._namings)]
        slacks = np.unique(np.concatenate([each.slacks for each in bets]))
        above = np.maximum(least - gaps - slacks[:, None, None], 0.0)
        together = max(1, MOST_NUMBERS // above.size)
        for first in range(0, table.shape[1], together):
            gains = []
            for place in range(first, min(first + together, table.shape[1])):
                new = lacking[:, place, None] | lacking[:, place]
                new &= takes[:, place, None] & takes[:, place]
                d = table[:, place, None] - table[:, place]
                found = self._gains(d, gaps, above, variances, at_least, left, slacks)
                gains.append(np.where(new, found, 0.0))
                at_least, left = at_least + new * d, left - new
            found = np.array(gains)
            bets = [
                each.after(arms, found[:, np.searchsorted(slacks, each.slacks)]) for each in bets
            ]
        self._pairs = bets[0]
        self._namings = tuple(
            each._replace(bets=after) for each, after in zip(self._namings, bets[1:], strict=True)
        )

    def _gains(
        self,
        d: Reals,
        gaps: Reals,
        above: Reals,
        variances: Reals,
        at_least: Reals,
        left: Reals,
        slacks: Reals,
    ) -> Reals:
        """ln(1 + λ(d − g)) of every pair and slack on one block, with about the λ of fastest growth.

        The mean of the d to come is taken for the gap so far, and, for little is known of small gaps,
        that of all blocks for a larger one (by ``above``).
        """
        rise, null = np.ones_like(d), np.broadcast_to(-slacks[:, None, None], above.shape)
        if self._is_pool:
            left = np.maximum(left, 1.0)
            rise, null = self._size / left, (null * self._size - at_least) / left
        edge = np.maximum(gaps - null + above * rise, 0.0)
        possible = (null > -1.0) & (null < 1.0)
        clip = np.where(variances < edge**2, CLIP_FAR, CLIP)
        most = clip / np.where(possible, 1.0 + null, 1.0)
        bet = np.where(possible, np.minimum(edge / (variances + edge**2), most), 0.0)
        # No d is below −1, and so no mean of those to come: a null below −1 is false.
        return np.where(null < -1.0 - ROUNDING_OF_NULL, np.inf, np.log1p(bet * (d - null)))

    def _judge(self, seed: int) -> None:
        """Find who is out, guess the m best, see which pairs have passed, and make the next plan."""
        seen = self._seen
        self._widen_slack()
        self._find_out()
        residuals, _ = seen.residuals
        means = residuals.sum(axis=1) / np.maximum(seen.pulls, 1)
        self._guess = self._guessed(np.where(self.out, -np.inf, means))
        margins, stops = self._margins(self._guess), self._answer(*self._suggested, self._guess)
        answered = self._margins(self.inside, self._wanted)
        if (
            margins.min(initial=np.inf) < 0.0
        ):  # at the old slack: who chose a wider one may know what comes
            rng = np.random.default_rng([seed, int(seen.pulls.sum())])
            if self._name(margins, residuals, rng):
                self._draw_anew(seed)
            margins = self._margins(self._guess)
        self._make_plan(margins, seed)
        self._find_boundary(answered, stops)

    def _answer(self, *lists: Mask) -> bool:
        """Answer with the first of some lists that is certified, or the last; whether it is."""
        for inside in lists:
            self.inside = inside
            has_passed = self._margins(inside, self._wanted).min(initial=np.inf) >= 0.0
            if has_passed and not (inside & self.out).any():
                return True
        return False

    @property
    def _suggested(self) -> list[Mask]:
        """The list of the largest averages, where results were told that nobody asked for."""
        if self._facts is None or not self._facts[0].all():
            return []
        pulls, sums = self._facts
        return [best_of(sums / pulls, self._problem.m)]

    def know(self, pulls: Integers, sums: Reals) -> bool:
        """Know the numbers and sums of all results; whether they alone settle the answer."""
        self._facts = pulls.astype(np.float64), (sums - self._low * pulls) / self._width
        if not self._is_pool:
            return False
        least = self._facts[1]
        inside, most = best_of(least, self._problem.m), least + self._size - pulls
        apart = least[inside].min() - most[~inside].max()
        if not self._bounds_hold(apart, self._wanted):
            return False
        self.inside = inside
        self._find_boundary(self._margins(inside, self._wanted), stops=True)
        return True

    def show(self, told: Mapping[Cell, float]) -> None:
        """Show the list that all results suggest, those among them that no plan has taken yet.

        It has no part in plans, nor in what is named: the blocks of these results may have a turn yet.
        """
        if not told:
            return
        arms, blocks = np.array(list(told), np.int64).T
        numbers, places = np.unique(blocks, return_inverse=True)
        values, known = self._seen.on(numbers)
        results = np.fromiter(told.values(), np.float64, len(told))
        values[arms, places], known[arms, places] = (results - self._low) / self._width, True
        everything = self._seen.after(numbers, values, known)
        if not everything.pulls.all():
            return
        means = everything.residuals[0].sum(axis=1) / everything.pulls
        self.inside = best_of(np.where(self.out, -np.inf, means), self._problem.m)
        self._find_boundary(self._margins(self.inside, self._wanted), stops=False)

    @property
    def _sure(self) -> Reals:
        """The same by all results, whether or not their blocks have had a turn: for the answer only."""
        if self._facts is None or not self._is_pool:
            return self._certain
        pulls, sums = self._facts
        return np.maximum(self._certain, sums[:, None] - sums - (self._size - pulls))

    @property
    def _certain(self) -> Reals:
        """The least that d can sum up to over all blocks, of every pair; −∞ without end."""
        tally = self._seen.tally
        if not self._is_pool:
            return np.full(tally.both.shape, -np.inf)
        return tally.sums[:, None] - tally.sums - (self._size - tally.pulls)

    def _find_out(self) -> None:
        """Mark the arms that m others have passed."""
        passed = (self._pairs.evidence(0.0) >= self._level) | (self._certain > self._off)
        np.fill_diagonal(passed, False)
        self.out = self.out | (passed.sum(axis=0) >= self._problem.m)

    @property
    def _off(self) -> float:
        """How far a sum over all blocks may be off by rounding."""
        return ROUNDING * self._size if self._is_pool else 0.0

    def _others(self, inside: Mask) -> Integers:
        """The arms outside that are not out."""
        return np.flatnonzero(~inside & ~self.out)

    def _margins(self, inside: Mask, slack: float | None = None) -> Reals:
        """The logarithm of E less what it must reach, for b inside and c outside that is not out.

        Where a pair is certain up to a slack it has passed. Without a slack it is what plans to come go
        by, and what is certain by results that wait for the turn of their block has no part in it.
        """
        certain = self._certain if slack is None else self._sure
        slack = self._slack if slack is None else slack
        here = np.ix_(np.flatnonzero(inside), self._others(inside))
        margins = self._pairs.evidence(slack)[here] - self._level
        for each in self._named(inside):
            margins = np.maximum(margins, each.bets.evidence(slack)[here] + math.log(each.risk))
        return np.where(self._bounds_hold(certain[here], slack), np.inf, margins)

    def _bounds_hold(self, certain: Reals, slack: float) -> Mask:
        """Whether b is not below c by more than a slack, whatever the missing results are."""
        if not self._is_pool:
            return np.full(certain.shape, slack >= self._most - ROUNDING)
        return np.asarray(certain >= -slack * self._size - self._off)

    def _named(self, inside: Mask) -> list[Naming]:
        """The namings of a set, with its evidence since each."""
        key = inside.tobytes()
        return [each for each in self._namings if each.inside == key]

    def _guessed(self, means: Reals) -> Mask:
        """The m arms of largest mean, or those named before unless these seem to take far longer."""
        best, held = best_of(means, self._problem.m), self._guess
        if not self._named(held) or bool((held & self.out).any()):
            return best
        most = GIVEN_UP if self._is_pool else 1.0
        return held if self._work(held) < most * self._work(best) else best

    def _work(self, inside: Mask) -> float:
        """How many blocks the hardest pair of a set seems to need."""
        margins = self._margins(inside)
        here = np.ix_(np.flatnonzero(inside), self._others(inside))
        gaps, is_open = self._seen.gaps[here] + self._slack, margins < 0.0
        if not is_open.any():
            return 0.0
        if gaps[is_open].min() <= 0.0:
            return math.inf
        missing = -margins
        if not self._named(inside) and len(self._namings) < len(self._shares):
            missing = np.minimum(missing, -math.log(self._risk))
        needs = 2.0 * missing[is_open] * self._seen.variances[here][is_open] / gaps[is_open] ** 2
        work = float(needs.max())
        if math.isinf(work):
            return work
        assert self._order is not None
        return work / (1.0 + work / max(self._size - self._order.past.blocks, 1.0))

    @property
    def _risk(self) -> float:
        """The share of δ of the set that is named next."""
        return self._problem.delta * self._shares[len(self._namings)]

    def _name(self, margins: Reals, residuals: Reals, rng: np.random.Generator) -> bool:
        """Name the set inside now, where that is worth while; whether it was."""
        from scipy.special import ndtr

        seen, inside = self._seen, self._guess
        if len(self._namings) == len(self._shares):
            return False
        least = LIKELY_AGAIN if self._namings else LIKELY
        if ndtr(self._apart(inside)[margins < 0.0].min()) < least:  # one pair alone is in doubt
            return False
        if self._named(inside):
            here = np.ix_(np.flatnonzero(inside), self._others(inside))
            gaps = np.maximum(
                seen.gaps[here] + self._slack, HALF_WIDTH * seen.errors(math.inf)[here]
            )
            costs = np.where(margins < 0.0, seen.variances[here] / gaps**2, 0.0)
            again = -math.log(self._risk) * costs.max()
            if again > SAVING * (-np.where(margins < 0.0, margins, 0.0) * costs).max():
                return False
        if self._vote(residuals, rng) < least:
            return False
        named = Naming(inside.tobytes(), self._risk, self._no_bets(self._slack))
        self._namings = (*self._namings, named)
        return True

    def _apart(self, inside: Mask) -> Reals:
        """By how many standard errors b inside is above c − ε."""
        here = np.ix_(np.flatnonzero(inside), self._others(inside))
        return (self._seen.gaps[here] + self._slack) / self._seen.errors(self._size)[here]

    def _vote(self, residuals: Reals, rng: np.random.Generator) -> float:
        """The share of draws of the means, by a bootstrap of blocks, in which the set is right enough."""
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
        enough = mth - RIGHT_WITHIN * self._slack
        return float((drawn[:, self._guess].min(axis=1) >= enough).mean())

    # Plans

    def _make_plan(self, margins: Reals, seed: int) -> None:
        """The arms of open pairs on the next blocks; a pool that is used up begins anew."""
        seen, inside = self._seen, self._guess
        wanted = margins < 0.0
        if wanted.any() and not self._named(inside) and len(self._namings) < len(self._shares):
            apart = self._apart(inside)
            usual = min(APART * math.sqrt(2.0 * math.log(seen.blocks)), APART_MOST)
            most = max(usual, float(apart[wanted].min()) + 0.5)
            wanted = wanted & (apart < most)
        chosen = np.zeros(len(inside), np.bool_)
        chosen[np.flatnonzero(inside)[wanted.any(axis=1)]] = True
        chosen[self._others(inside)[wanted.any(axis=0)]] = True
        if self._namings and self._has_left_out(chosen):
            self._draw_anew(seed)
        length = max(1, int(GROWTH * seen.blocks))
        # Where it has stopped, no pair is open: others are for a study that is reopened.
        for arms in (chosen, ~self.out, np.ones(len(inside), np.bool_)):
            if self._plan(np.flatnonzero(arms), length):
                return
            self._draw_anew(seed)
            if self._plan(np.flatnonzero(arms), length):
                return

    def _has_left_out(self, chosen: Mask) -> bool:
        """Whether one of these arms is not known on a block whose turn is over."""
        assert self._order is not None
        past = self._order.past
        return bool((past.pulls[chosen] < past.blocks).any())

    def _find_boundary(self, margins: Reals, stops: bool) -> None:
        """The pair b, c furthest from passing, and how much better c may be than b for certain."""
        arms, others = np.flatnonzero(self.inside), self._others(self.inside)
        if not len(others):
            others = np.flatnonzero(~self.inside)
            margins = np.full((len(arms), len(others)), np.inf)
        row, column = np.unravel_index(np.argmin(margins), margins.shape)
        self.b, self.c = int(arms[row]), int(others[column])
        self.threshold, slack = self._level, self._problem.epsilon
        for each in self._named(self.inside):
            self.threshold = -math.log(each.risk)
        bound = self._proven[np.searchsorted(arms, self.b), self.c]
        self.statistic = (
            min(bound, slack) if stops else max(bound, float(np.nextafter(slack, np.inf)))
        )

    # What a study shows

    @property
    def _bounds(self) -> Reals:
        """The most by which c is better than b, whatever the missing results are."""
        if not self._is_pool:
            return np.full(self._seen.tally.both.shape, self._width)
        return -self._width * self._sure / self._size

    @property
    def _proven(self) -> Reals:
        """The most by which c is better than b inside, in the rows of these b, as far as is proven.

        For pairs of the set inside: a named set has evidence for no other.
        """
        rows = np.flatnonzero(self.inside)
        bounds = self._pairs.bounds(self._level)[rows]
        for each in self._named(self.inside):
            bounds = np.minimum(bounds, each.bets.bounds(-math.log(each.risk))[rows])
        bounds = np.minimum(self._width * bounds, self._bounds[rows])
        bounds[:, self.out] = np.minimum(bounds[:, self.out], 0.0)
        return bounds

    def certified(self, epsilon: float) -> Certified:
        """What the pairs say that have passed; of single arms, those that passed without a named set."""
        if not self.inside.any():
            return super().certified(epsilon)
        rows, columns = np.flatnonzero(self.inside), np.flatnonzero(~self.inside)
        here, place = np.ix_(rows, columns), np.isin(columns, self._others(self.inside))
        passed = np.ones((len(rows), len(columns)), np.bool_)
        passed[:, place] = self._margins(self.inside, self._wanted) >= 0.0
        bounds = self._proven[:, columns]
        bounds = np.where(passed, np.minimum(bounds, epsilon), bounds)
        settled = (self._pairs.evidence(self._wanted)[here] >= self._level) | self.out[columns]
        settled |= self._bounds_hold(self._sure[here], self._wanted)
        return Certified.by_pairs(self.inside, float(bounds.max()), passed, settled & passed)

    @property
    def is_exact(self) -> bool:
        """Whether the answer follows from the results that are known, whatever the others are."""
        known = self._sure[np.ix_(self.inside, ~self.inside)]
        return bool(self.inside.any() and self._bounds_hold(known, self._wanted).all())

    @property
    def unknown(self) -> float:
        """How many cells of a pool were not taken in yet; infinite where blocks have no end."""
        return self._size * len(self.inside) - float(self._seen.pulls.sum())

    def complete(self, told: Mapping[Cell, float]) -> None:
        """Answer by the results of all cells of a pool; these were not taken in yet.

        No evidence counts beside them, and no arm that was guessed or is out stays so.
        """
        nothing, blocks = Seen.none(len(self.inside)), np.arange(int(self._size))
        values, _ = self._seen.on(blocks)
        for cell, value in told.items():
            values[cell] = (value - self._low) / self._width
        self._seen = nothing.after(blocks, values, np.ones(values.shape, np.bool_))
        self._pairs, self._namings, self._slack = self._no_bets(), (), self._wanted
        self.inside = self._guess = best_of(self._seen.tally.sums, self._problem.m)
        self.out = np.zeros(len(self.inside), np.bool_)
        self._find_out()
        self._plan(np.zeros(0, np.int64), 0)
        self._find_boundary(self._margins(self.inside), stops=True)

    def leave_out(self, blocks: Iterable[int]) -> None:
        """Plans and named sets go by the ε of before until the turn of these blocks is over.

        Or until another order begins, of which nothing is known.
        """
        assert self._order is not None
        self._foreseen = self._order.turns_until(np.array(sorted(blocks), np.int64))

    def widen(self, epsilon: float) -> None:
        """Judge what comes with a larger ε: what has passed with a smaller one has passed.

        What was found so far counts for the new ε too; plans are made for it, and sets named, once no
        turn of the order is left that was known when it was chosen.
        """
        after = self.copy()
        after._problem = self._problem._replace(epsilon=epsilon)
        after._wanted = epsilon / self._width
        after._widened = (*self._widened, (epsilon, self._foreseen))
        if self._seen.blocks:
            stops = after._answer(self._guess, self.inside)
            after._find_boundary(after._margins(after.inside, after._wanted), stops)
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

    def intervals(self) -> tuple[Reals, Reals]:
        """What the missing results allow."""
        size = self._size
        if not math.isfinite(size):
            everything = np.full(len(self.inside), self._low)
            return everything, everything + self._width
        pulls, sums = self._facts or (self._seen.pulls, self._seen.tally.sums)
        low = self._low + self._width * sums / size
        return low, low + self._width * (size - pulls) / size

    def threshold_at(self, time: float) -> float:
        """ln(1/share) of the set that is named first."""
        return -math.log(self._shares[0] * self._problem.delta)

    def projected(self, count: int, rng: np.random.Generator) -> Reals:
        """How many more results the open pairs need if gaps are large, as estimated, and small."""
        seen, inside = self._seen, self._guess
        margins = self._margins(inside)
        rows, others = np.flatnonzero(inside), self._others(inside)
        here = np.ix_(rows, others)
        level = -margins
        if not self._named(inside) and len(self._namings) < len(self._shares):
            level = np.minimum(level, -math.log(self._risk) + 1.0)
        errors, found = seen.errors(math.inf)[here], []
        for beside, least in ((1.282, 1.645), (0.0, 0.674), (-1.282, 0.126)):
            gaps = np.maximum(seen.gaps[here] + self._slack + beside * errors, least * errors)
            needs = np.where(
                margins < 0.0, 2.0 * np.maximum(level, 0.1) * seen.variances[here], 0.0
            )
            needs = needs / gaps**2
            if self._is_pool:
                both = seen.tally.both[here]
                spent = both / np.maximum(1.0 - both / self._size, 1e-9)
                needs = (spent + needs) * self._size / (spent + needs + self._size) - both
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
    most_arms=MOST_ARMS,
    beyond="leave out blocks=",
    checks=False,
)
