"""Guess the m best arms, name the guess, verify it with later results: plan by plan.

Results of all plans guess the m best arms. When a guess is likely to be right, sets are *named*, each
with a share of δ; from then on every pair of an arm inside and an arm outside collects evidence, and a
set is proven when all its pairs have passed (``shortlist.proof``). What changes the question ends the
namings, and the next one takes the next share of δ; what can be kept of them is said at ``_change``.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.plans.design import rounded, spread_design
from shortlist.plans.guess import HALF_WIDTH, PRICE, Guess, OpenPairs, Results
from shortlist.plans.noises import Totals
from shortlist.plans.question import Question
from shortlist.plans.slots import Slots, turns_of
from shortlist.proof.evidence import Pairs
from shortlist.proof.naming import Naming, share_of
from shortlist.proof.plan import Plan

LIKELY, AGAIN = 0.6, 0.5  # chance at which the guess is named, first and later
LINEAR_LIKELY = 0.3  # more where features guess and seem to be linear: guessing is cheap
SAVING = 0.9  # sets are named again if the hardest pair then needs less than this share
SWITCH = 0.5  # of the work that the set in hand lacks: the best of many seems better than it is
SPENT = 1.0 / 3.0  # or of what was evaluated since: bets that do not grow are given up
SPACED = 1.05  # times the results at the last look: sets may be named again
LATEST = 1.0 / 3.0  # of a budget: by then something is named
CERTAIN = 0.04  # of a set's share of δ, for what is said of its single arms before it is proven
ENDS = 0.005  # of the range: means that bets expect are no nearer to its ends
FORESEEN = 500  # arms, the nearest to the boundary, of which it is foreseen how long they take
SPREAD = 0.6  # of the logarithm of how long that takes
PER_DIMENSION = 4.0  # results of the first plan with features


class Boundary(NamedTuple):
    """The pair that is furthest from having passed: b inside, c outside.

    ``level`` is what its ln E must reach (infinite if the set was not named), and ``slack`` the least ε
    with which it passes.
    """

    b: int
    c: int
    level: float
    slack: float


class Search:
    """What was named, what has passed, and the plan.

    Attributes
    ----------
    question : Question
        What is asked.
    record : list of Plan
        All results, plan by plan, and those that nobody asked for: evidence is a function of it and of
        the namings.
    slots : Slots
        The evaluations of the plan.
    namings : list of Naming
        Those that may prove an answer.
    named : int
        How many shares of δ were taken.
    inside : array of bool, K
        The m arms that would be answered now.
    stopped : bool
        Whether they are proven; with a budget, whether it is spent.
    """

    def __init__(self, question: Question, seed: int) -> None:
        arms = question.arms
        self.question, self.seed = question, seed
        self.record: list[Plan] = []
        self.namings: list[Naming] = []
        self.named, self._looked, self._size, self.next_block = 0, 0, 0, 0
        self.inside, self.stopped = np.zeros(arms, np.bool_), False
        self._interrupted = 0  # the length of the record when a plan was last broken off
        self._retired = np.zeros(arms, np.bool_)  # arms that ever were
        self.guess = Guess(question, Totals.none(arms), Results.none())
        self._supposed = self._as_it_seems()
        self.slots = Slots.anywhere(np.zeros(0, np.int64))
        self._kept: tuple[tuple[int, int, float], bool, Boundary] | None = None
        self._decide()

    def copy(self) -> Search:
        """An independent copy: what is replaced in one stays in the other."""
        twin = copy.copy(self)
        twin.record, twin.guess = list(self.record), copy.copy(self.guess)
        twin.namings = [each.copy() for each in self.namings]
        return twin

    # What is told

    def take(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Take in the results of the plan, as many as there are, and make the next one."""
        if len(arms):
            self._add(arms, blocks, values, evidence=True)
        self._decide()

    def advise(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Take in results that the plan did not ask for: they guide the next one, and prove nothing."""
        self._add(arms, blocks, values, evidence=False)

    def _add(self, arms: Integers, blocks: Integers, values: Reals, *, evidence: bool) -> None:
        question, guess = self.question, self.guess
        shares = question.shared is not None
        plan = Plan(
            arms,
            values,
            *self._supposed,
            question.relied if shares else guess.x,
            blocks if shares else None,
            question.paired,
            evidence,
        )
        self.record.append(plan)
        if shares:
            self.next_block = max(self.next_block, int(blocks.max()) + 1)
            listed = blocks[question.listable[arms]] if evidence else blocks[:0]
            self._size = int(np.unique(listed, return_counts=True)[1].max(initial=0)) or self._size
        if evidence:
            for each in self.namings:
                each.after(plan)
        guess.add(arms, blocks, values)

    def _as_it_seems(self) -> tuple[Reals, Reals]:
        """The noise and the means that a plan goes by: fixed when it is made, whatever is changed later."""
        return self.guess.noise, np.clip(self.guess.fit.means, ENDS, 1.0 - ENDS)

    # What changes

    @property
    def separates(self) -> bool:
        """Whether results of an arm say nothing of pairs of others, so that a plan may end without them."""
        question = self.question
        by_pairs = question.paired or (question.shared is None and question.noise.separates)
        return by_pairs and self.guess.x is None

    def interrupt(self) -> None:
        """End the namings: a plan was broken off.

        Its results only guide, and who broke it off may have seen them: with the choice to leave out what
        is unlucky the rest is no evidence any more.
        """
        self.namings, self._interrupted = [], len(self.record)

    def retire(self, arm: int) -> None:
        """Go on without an arm."""
        self._change(self.question.listing(arm, out=True))

    def readmit(self, arm: int) -> None:
        """Go on with an arm that was retired."""
        self._change(self.question.listing(arm, out=False))

    def add(self, question: Question) -> None:
        """Let the question be about the arms that this one has more, after the others.

        The plan stays: whether its results count must not depend on them.
        """
        more, now = question.arms - self.question.arms, self.question
        self.inside = np.append(self.inside, np.zeros(more, np.bool_))
        self._retired = np.append(self._retired, np.zeros(more, np.bool_))
        out = np.append(now.out, question.out[now.arms :])
        self.record = [each.among(question.arms) for each in self.record]
        self.question = replace(question, out=out, epsilon=now.epsilon, relies=now.relies)
        self._looked, self.stopped = 0, False
        self._guess_anew()
        self.guess.look()
        self._supposed = (
            np.append(self._supposed[0], self.guess.noise[now.arms :]),
            np.append(self._supposed[1], np.full(more, 0.5)),
        )

    def go_on(self) -> None:
        """Make a plan by all that is recorded."""
        self._decide()

    def verify(self) -> None:
        """Prove by arms' own results what relied on features: another claim, with a δ of its own."""
        self.named, self.namings = 0, []
        self._change(self.question.without)

    def widen(self, epsilon: float) -> None:
        """Judge with a larger ε. It asks nothing new: evidence holds for every slack at once."""
        self.question = replace(self.question, epsilon=max(epsilon, self.question.epsilon))
        self.guess = copy.copy(self.guess)
        self.guess.question = self.question
        self._judge()

    def correct(self, plan: int, place: int, value: float) -> None:
        """Put a recorded result right: what was decided stays, evidence is made again."""
        self.record = list(self.record)
        self.record[plan] = self.record[plan].corrected(place, value)
        for each in self.namings:
            each.again(self.record, self.question.epsilon)
        weights = self.guess.weights
        self._guess_anew()
        self.guess.weights = weights
        self.guess.look()
        self._judge()

    def _judge(self) -> None:
        """Whether the set is proven, as it is now."""
        if self._spent:
            self._end()
        elif np.isfinite(self.guess.fit.variances(*self._pairs_of(self.inside))).all():
            pairs, _, level = self._state(self.inside)
            self.stopped = not (len(pairs.b) or self._has_budget)
            self._at = self._hardest(pairs, level)

    def _guess_anew(self) -> None:
        """A guess from all that is recorded."""
        self.guess = Guess(self.question, Totals.none(self.question.arms), Results.none())
        for each in self.record:
            self.guess.add(each.arms, each.blocks, each.values)

    def _change(self, question: Question) -> None:
        """Another question. Of the namings stays what is proven beside it.

        An arm outside retires: a naming moves to the next part of its share. If a set is wrong then, it is by its worst
        arm and the j-th best outside, and the j-th matters only after j − 1 were retired. An arm inside
        retires: its sets are gone. An arm is added, or comes back: pairs with it need a later naming.
        What was answered is right among fewer arms too.
        """
        answered = self._is_proven and question.relies == self.question.relies, self.inside
        wide = self.question.out
        gone, more = question.out & ~wide, ~question.out & wide
        self._retired, kept = self._retired | gone, []
        for each in self.namings:
            for _ in range(int(gone.sum())):
                each.move()
            each.without(gone)
            each.exclude(more)
            kept += [each] if each.risks else []
        self.namings, self.question, self._looked = kept, question, 0
        self._guess_anew()
        self._decide()
        if answered[0] and not (more.any() or (gone & answered[1]).any()):
            self.inside, self.stopped = answered[1], True

    # What is decided

    @property
    def _has_budget(self) -> bool:
        return self.question.budget < math.inf

    @property
    def _is_proven(self) -> bool:
        """Whether the answer is proven, at this moment or before other arms retired."""
        return self.stopped and not self._has_budget

    @property
    def _spent(self) -> bool:
        return bool(self.guess.total.pulls.sum() >= self.question.budget)

    def _end(self) -> None:
        """Answer what is proven with the least ε, now that the budget is spent."""
        best = self.question.best(self.guess.fit.means)
        named, least = self.best_slack()
        self.inside, self.stopped = named if least < math.inf else best, True
        pairs, _, level = self._state(self.inside)
        self._at, self.slots = self._hardest(pairs, level), Slots.anywhere(np.zeros(0, np.int64))

    def _decide(self) -> None:
        """Whether the set is proven; and if not, what to name and to plan."""
        guess, question = self.guess, self.question
        if question.listable.sum() <= question.m:
            self.inside, self.stopped = question.listable, True
            self._at = NO_ARM, NO_ARM, math.inf
            return
        guess.look()
        if self._spent:
            self._end()
            return
        if (unseen := guess.unseen()).any():
            self.stopped = False
            self.inside = question.best(guess.fit.means)
            self._at = self._hardest(self._state(self.inside)[0], math.inf)
            self._arrange(self._first(unseen))
            return
        best = question.best(guess.fit.means)
        held = bool(self._namings_of(self.inside) and (self.inside <= question.listable).all())
        if not (held and SWITCH * self._work(self.inside) < self._work(best)):
            self.inside = best
        pairs, naming, level = self._state(self.inside)
        proven = not len(pairs.b)
        rng = np.random.default_rng([self.seed, int(guess.total.pulls.sum())])
        self.stopped = proven and not self._has_budget
        if not proven and self._may_name():
            naming, level = self._name(pairs, naming, level, rng)
            pairs = self._state(self.inside)[0]
        self._at = self._hardest(pairs, level)
        if proven:  # a study may go on: with all pairs, as if each lacked something
            b, c = self._pairs_of(self.inside)
            differ = self._least(b, c) > 0.0
            pairs = self._open(b[differ], c[differ])
        begun = None
        if naming is not None:  # arms may have been added since
            begun = np.pad(naming.begun, (0, question.arms - len(naming.begun)))
        self._arrange(guess.plan(pairs, begun, level, rng))

    def _first(self, unseen: Mask) -> Integers:
        """A plan for arms of which nothing is known, with two at the edge to compare them with."""
        question, noise = self.question, self.question.noise
        listable, x = question.listable, None if question.features is None else question.basis()
        if x is not None and (question.relies or 2 * x.shape[1] < question.arms):
            # Some results a dimension.
            w = spread_design(x, listable, question.costs)
            return rounded(x, w * PER_DIMENSION * x.shape[1], noise.first)
        few = noise.first
        if question.shared is not None and not question.paired:
            few = max(few, 2)
        if question.shared is not None and self.record:
            known = np.where(listable & ~unseen, self.guess.fit.means, -np.inf)
            order = np.argsort(-known, kind="stable")
            unseen = unseen.copy()
            unseen[order[question.m - 1 : question.m + 1]] = True
        return np.where(unseen & listable, few, 0)

    def _arrange(self, pulls: Integers) -> None:
        """Put the evaluations of a plan in order, on blocks where there are any."""
        self._supposed = self._as_it_seems()
        rng = np.random.default_rng([self.seed, int(self.guess.total.pulls.sum()), 1])
        shared, noise = self.question.shared, self.question.noise
        if shared is None:
            self.slots = Slots.in_turn(pulls)
        elif self.question.paired or not shared.requested:
            own = self.question.paired and self.question.relied is None
            room = self._size if shared.requested else 0
            turns = turns_of(pulls, noise.shared, own=own, room=room)
            self.slots = Slots.on_blocks(turns, self.next_block, rng, named=not shared.requested)
        else:
            self.slots = Slots.samples(pulls, self._size, rng)
        if self._has_budget:
            left = int(self.question.budget - self.guess.total.pulls.sum())
            self.slots = Slots(self.slots.arms[:left], self.slots.blocks[:left])

    def _pairs_of(self, inside: Mask) -> tuple[Integers, Integers]:
        """All pairs of an arm inside and one outside."""
        b, c = np.flatnonzero(inside), np.flatnonzero(~inside & self.question.listable)
        return np.repeat(b, len(c)), np.tile(c, len(b))

    def _state(self, inside: Mask) -> tuple[OpenPairs, Naming | None, float]:
        """The pairs of a set that have not passed, its last naming, and its level."""
        b, c = self._pairs_of(inside)
        latest: Naming | None = None
        level, missing = math.inf, self._least(b, c)
        for latest, level in self._namings_of(inside):
            lacks = latest.missing(b, c, level, self.question.epsilon)
            missing = np.minimum(missing, lacks)
        still = missing > 0.0
        return self._open(b[still], c[still], missing[still]), latest, level

    def _least(self, b: Integers, c: Integers) -> Reals:
        """What pairs lack before anything is named: nothing if features that are relied on are the same."""
        x, least = self.question.relied, np.full(len(b), math.inf)
        if x is not None:
            least[(x[b] == x[c]).all(axis=1)] = -math.inf
        return least

    def _open(self, b: Integers, c: Integers, missing: Reals | None = None) -> OpenPairs:
        """Pairs with their gaps as they seem."""
        fit, missing = self.guess.fit, np.zeros(len(b)) if missing is None else missing
        gaps = fit.means[b] - fit.means[c] + self.question.epsilon
        return OpenPairs(b, c, gaps, fit.variances(b, c), missing)

    def _namings_of(self, inside: Mask) -> list[tuple[Naming, float]]:
        """The namings of a set, with what ln E must reach, but for what is said of its single arms."""
        levels = [(each, each.level(inside) - math.log1p(-CERTAIN)) for each in self.namings]
        return [each for each in levels if each[1] < math.inf]

    @property
    def boundary(self) -> Boundary:
        """The pair that is furthest from having passed."""
        if self._kept is None or self._kept[0] is not self._at or self._kept[1] != self.stopped:
            self._kept = self._at, self.stopped, self._boundary()
        return self._kept[2]

    def _boundary(self) -> Boundary:
        b, c, level = self._at
        if b == NO_ARM:
            return Boundary(b, c, level, -math.inf)
        if self._is_proven:
            return Boundary(b, c, level, self.question.epsilon)
        return Boundary(b, c, level, float(self.bounds(np.array([b]), np.array([c]))[0]))

    def _hardest(self, pairs: OpenPairs, level: float) -> tuple[int, int, float]:
        """The pair that is furthest from having passed, and the level of the set."""
        fit, inside = self.guess.fit, self.inside
        if not len(pairs.b):
            outside = np.where(inside | self.question.out, -np.inf, fit.means)
            b = int(np.argmin(np.where(inside, fit.means, np.inf)))
            return b, int(np.argmax(outside)), level
        known = np.isfinite(pairs.variances)
        apart = np.where(known, pairs.gaps, 0.0) / np.sqrt(np.where(known, pairs.variances, 1.0))
        lacks = np.minimum(pairs.missing, 1e3) / np.maximum(apart, HALF_WIDTH) ** 2
        hardest = int(np.argmax(lacks))
        return int(pairs.b[hardest]), int(pairs.c[hardest]), level

    def _work(self, inside: Mask) -> float:
        """How many times the evaluations made so far it seems to take to verify a set."""
        pairs, _, _ = self._state(inside)
        if not len(pairs.b):
            return -math.inf
        if pairs.gaps.min() <= 0.0 or not np.isfinite(pairs.variances).all():
            return math.inf
        anew = PRICE - math.log(self.question.delta * share_of(self.named))
        missing = np.minimum(pairs.missing, anew)
        return float((self.guess.lacking(pairs, missing, 0.0) * pairs.variances).max())

    def _may_name(self) -> bool:
        """Whether sets may be named after so many results."""
        made = int(self.guess.total.pulls.sum())
        early = self.guess.pools and made < 2 * self.question.listable.sum()
        if early or made < SPACED * self._looked:
            return False
        self._looked = made
        return True

    def _name(
        self, pairs: OpenPairs, naming: Naming | None, level: float, rng: np.random.Generator
    ) -> tuple[Naming | None, float]:
        """Name sets if they are likely to be right and this is worth while."""
        question, guess, before = self.question, self.guess, (naming, level)
        likely = AGAIN if self.namings else LIKELY
        made, key = int(guess.total.pulls.sum()), self.inside.tobytes()
        must = not np.isfinite(pairs.missing).all() and made >= LATEST * question.budget
        if must:  # something is named before the budget is spent
            likely = 0.0
        elif guess.fit.departure == 0.0:
            likely += LINEAR_LIKELY
        from scipy.special import ndtr  # loads late

        worst = (pairs.gaps / np.sqrt(pairs.variances)).min()
        if not must and ndtr(worst) < likely:  # one pair alone, for normal errors
            return before
        votes = {key: 1.0} if must else guess.vote(self.inside, rng)
        if votes.get(key, 0.0) < likely:
            return before
        share = share_of(self.named)
        risks = {each: part * question.delta * share for each, part in votes.items() if part > 0.0}
        anew = PRICE - math.log(risks[key])
        needs = guess.lacking(pairs, anew, HALF_WIDTH)
        if naming is not None:
            # Without a result since a pair has no evidence yet, and lacks what it did then.
            lacks = np.minimum(pairs.missing, level + PRICE)
            lacks = np.where(naming.has(pairs.b, pairs.c), lacks, np.inf)
            now = guess.lacking(pairs, lacks, HALF_WIDTH)
            spent = 1.0 - naming.begun.sum() / made  # of all results, since these sets were named
            most = max(SAVING * (now * pairs.variances).max(), SPENT * spent)
            if (needs * pairs.variances).max() > most:
                return before
        rows = np.any([np.frombuffer(each, np.bool_) for each in risks], axis=0)
        about = Pairs(np.flatnonzero(rows), question.arms)
        guess.design_for(pairs, needs)
        evidence = question.noise.evidence(about, guess.sizes(about.b, about.c), guess)
        begun = guess.total.pulls
        named = Naming(risks, evidence, len(self.record), begun, question.listable)
        self.namings = [*self.namings, named]
        self.named += 1
        return self._namings_of(self.inside)[-1]

    # What is certain

    def slack(self, inside: Mask) -> float:
        """The least ε with which these arms are proven now; infinite if that says nothing."""
        least = self.bounds(*self._pairs_of(inside), inside)
        if self._is_proven and (inside == self.inside).all():
            least = np.minimum(least, self.question.epsilon)
        most = float(least.max(initial=0.0))
        return most if most < self.question.noise.reach else math.inf

    def bounds(self, b: Integers, c: Integers, inside: Mask | None = None) -> Reals:
        """By how much c may be better than b, each pair by itself, by all that was named with a set.

        By default with the one that would be answered now.
        """
        least, epsilon = self._least(b, c), self.question.epsilon
        for each, level in self._namings_of(self.inside if inside is None else inside):
            found = each.least_slacks(b, c, level)
            passed = each.reached(b, c, epsilon) >= level
            least = np.minimum(least, np.where(passed, np.minimum(found, epsilon), found))
        return least

    def remaining(self, count: int, rng: np.random.Generator) -> Reals | None:
        """How many results seem to be lacking, for means drawn ``count`` times; None if nothing is known.

        What the pairs that have not passed lack counts for arms on the same side of the boundary as now;
        others are named anew.
        """
        guess, question = self.guess, self.question
        pairs, _, _ = self._state(self.inside)
        if not len(pairs.b) or not np.isfinite(pairs.variances).all():
            return None
        means = np.where(question.listable, guess.fit.means, -np.inf)
        edge = np.sort(means)[::-1][question.m - 1 : question.m + 1].mean()
        nearest = np.argsort(np.abs(means - edge), kind="stable")
        some = nearest[: min(FORESEEN, question.listable.sum())]
        m, drawn = int(question.best(means)[some].sum()), guess.drawn(some, count, rng)
        order, every = np.argsort(-drawn, axis=1), np.arange(count)
        low, high = order[:, m - 1], order[:, m]  # the last inside, the first outside
        inside = drawn >= drawn[every, low][:, None]
        others = np.where(inside, high[:, None], low[:, None])
        gaps = np.abs(drawn - np.take_along_axis(drawn, others, axis=1)) + question.epsilon
        anew = PRICE - math.log(question.delta * share_of(self.named))
        lacks, missing = np.zeros(question.arms), np.full(len(pairs.b), anew)
        for naming, level in self._namings_of(
            self.inside
        ):  # by what ln E is now, not at its best so far
            now = naming.now(pairs.b, pairs.c, question.epsilon)
            missing = np.minimum(missing, level - now)
        for each in (pairs.b, pairs.c):
            np.maximum.at(lacks, each, missing)
        lacking = np.where(inside == self.inside[some], lacks[some], anew)
        needs = 2.0 * lacking / np.maximum(gaps, 1e-12) ** 2
        chance = np.exp(SPREAD * rng.standard_normal(count))
        return guess.length(some, others, needs) * chance

    def passed(self, inside: Mask) -> tuple[Mask, Mask, Mask]:
        """Which pairs have passed; for what is said of each arm inside; and of each outside.

        A row for each arm inside, a column for each outside. Of δ a set has a part for all that is said of
        its single arms: if one inside is no longer among the m best, its pair with the best outside is
        wrong, and likewise for one outside.
        """
        b, c = self._pairs_of(inside)
        shape = int(inside.sum()), -1
        found = [self._least(b, c) < 0.0 for _ in range(3)]
        for each, of_pairs in self._namings_of(inside):
            single = each.level(inside) - math.log(0.5 * CERTAIN)
            many = inside.sum(), each.listable - inside.sum()  # retired arms count too
            levels = of_pairs, *(single + math.log(n) for n in many)
            reached = each.reached(b, c, self.question.epsilon)
            for mask, level in zip(found, levels, strict=True):
                mask |= reached >= level
        found[0] |= self._is_proven and bool((inside == self.inside).all())
        pairs, of_inside, of_outside = (mask.reshape(shape) for mask in found)
        return pairs, of_inside, of_outside

    def intervals(self, delta: float) -> tuple[Reals, Reals]:
        """Bounds on the mean of every arm by itself, by plans since one was last broken off."""
        question, total, found = self.question, Totals.none(self.question.arms), None
        shared, unknown = question.shared, np.full(question.arms, math.inf)
        if shared is not None and (shared.requested or not question.noise.pools):
            return -unknown, unknown
        # Results of different arms on one block depend on each other.
        linear = self.guess.x is not None and shared is None
        for number, plan in enumerate(self.record):
            if found is None and number >= self._interrupted:
                found = question.noise.intervals(total, linear=linear)
            if found is not None and plan.evidence:
                found.after(plan if linear else replace(plan, features=None))
            total = total.plus(plan.arms, plan.values)
        low, high = (-unknown, unknown) if found is None else found.bounds(delta)
        if question.noise.known or question.noise.pools:
            return low, high
        # How many results a retired arm had of its last plan may depend on them.
        low, high = np.where(self._retired, -unknown, low), np.where(self._retired, unknown, high)
        return low, high

    def best_slack(self) -> tuple[Mask, float]:
        """The set that is proven with the least ε, of those that were named, and that ε."""
        sets = {self.inside.tobytes(): self.inside}
        for each in self.namings:
            for key in each.risks:
                mask = np.zeros(self.question.arms, np.bool_)
                mask[: len(key)] = np.frombuffer(key, np.bool_)
                if not (mask & self.question.out).any():
                    sets[mask.tobytes()] = mask
        slacks = {key: self.slack(mask) for key, mask in sets.items()}
        best = min(slacks, key=lambda key: slacks[key])
        return sets[best], slacks[best]
