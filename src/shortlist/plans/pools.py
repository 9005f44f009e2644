"""The m best on a pool of questions: know the leaders, refute the rest.

*Explore* on common questions until few are left; *know* these on the whole pool, so that the list and its
least mean L are exact; *refute* "its mean is above L + ε" for every other arm, by its further results in a
random order (``shortlist.proof.refuting``). Everything known counts, whoever asked for it: the only random
thing is the order, which is drawn at a naming.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.blocks import Cell
from shortlist.plans.guess import Fit
from shortlist.plans.noises import Totals
from shortlist.plans.question import Question
from shortlist.plans.search import Boundary
from shortlist.plans.slots import Slots
from shortlist.proof.refuting import Refutation, share_at

FIRST, GROWTH = 6, 0.15  # questions that all are compared on; and how many more each time
FAR = 1.6  # standard errors below the m-th best: an arm leaves the exploration
LAST = 3.0  # the same for the last beside the m best: where it is near, both are to be known anyhow
WORTH = 0.01  # of the table: so little is left to complete, and exploring ends
TRIAL = 16  # questions for an arm that was added
PART = 0.1  # of what an arm seems to lack, for a plan
SMALLEST = 32  # cells of a plan, where there are as many
LARGEST = 0.01  # of the table: no plan to refute is longer, but for one arm's part
VAGUE = 0.25  # of a difference: added to its squares, so that none seems certain
LONGEST = 20.0  # of ln E: no more is lacking
CERTAIN = 0.04  # of δ, for what is said of single arms before the list is proven
ALIKE = 1e-12  # means that are nearer are equal


Cells = list[tuple[Integers, Integers]]  # arms and questions


class Told(NamedTuple):
    """Results in the order in which they were told."""

    arms: Integers
    blocks: Integers
    values: Reals


@dataclass(eq=False)
class PoolNaming:
    """Some arms, of which a list is guessed to be the best, and an order of the questions.

    Attributes
    ----------
    arms : array of bool, K
        The arms that it is about.
    control : array of bool, K
        Arms that are known on all questions: their average is what results are compared with.
    of : dict
        The evidence about each other arm, by its number.
    """

    arms: Mask
    control: Mask
    of: dict[int, Refutation] = field(default_factory=dict)

    def copy(self) -> PoolNaming:
        """An independent copy."""
        return replace(self, of={arm: copy.copy(each) for arm, each in self.of.items()})


class Seen(NamedTuple):
    """What is shown of the arms: totals of their results, and means by all that is known."""

    total: Totals
    fit: Fit
    noise: Reals


class PoolSearch:
    """What is known, what was named, and the plan: it answers what is asked of a ``Search``.

    Attributes
    ----------
    size : int
        How many questions there are.
    table, known : array, K × N
        Results, and where there is one.
    record : list of Told
        All that was told, plan by plan.
    namings : list of PoolNaming
        What carries proof, beside what is known.
    """

    next_block = math.inf  # no result waits for its question to be asked

    def __init__(self, question: Question, size: int, seed: int) -> None:
        arms = question.arms
        self.question, self.size, self.seed = question, size, seed
        self.table, self.known = np.zeros((arms, size)), np.zeros((arms, size), np.bool_)
        self.record: list[Told] = []
        self.namings: list[PoolNaming] = []
        self.order = np.random.default_rng([seed, 0]).permutation(size)
        self._explored, self._alive = 0, np.ones(arms, np.bool_)
        self.inside, self.stopped = np.zeros(arms, np.bool_), False
        self.proven = False  # or a budget is spent
        self._decide()

    def copy(self) -> PoolSearch:
        """An independent copy."""
        twin = copy.copy(self)
        for name in ("table", "known", "_alive"):
            setattr(twin, name, getattr(self, name).copy())
        twin.record, twin.namings = list(self.record), [each.copy() for each in self.namings]
        return twin

    # What is told

    def take(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Take in the results of the plan, as many as there are, and make the next one."""
        self.advise(arms, blocks, values)
        self._decide()

    def advise(self, arms: Integers, blocks: Integers, values: Reals) -> None:
        """Take in results that the plan did not ask for. Of a pool they count as any other.

        Evidence takes the questions in its own order, and no result before its turn: what is told
        early, or is not told, does not change it.
        """
        if len(arms):
            self.record.append(Told(arms, blocks, values))
            self._enter(self.record[-1])

    def _enter(self, told: Told) -> None:
        """Into the table; of two results of a cell the first one counts."""
        table, known = self.table.reshape(-1), self.known.reshape(-1)
        cells, first = np.unique(told.arms * self.size + told.blocks, return_index=True)
        new = ~known[cells]
        table[cells[new]], known[cells[new]] = told.values[first[new]], True

    # What changes

    def retire(self, arm: int) -> None:
        """Go on without an arm."""
        self.question = self.question.listing(arm, out=True)
        self._decide()

    def readmit(self, arm: int) -> None:
        """Go on with an arm that was retired: all that is known of it counts."""
        self.question = self.question.listing(arm, out=False)
        self._decide()

    def add(self, question: Question) -> None:
        """Go on with the arms that this question has more, after the others."""
        now, more = self.question, question.arms - self.question.arms
        out = np.append(now.out, question.out[now.arms :])
        self.question = replace(question, out=out, epsilon=now.epsilon)
        rows = (0, more), (0, 0)
        self.table, self.known = np.pad(self.table, rows), np.pad(self.known, rows)
        self._alive = np.append(self._alive, np.ones(more, np.bool_))
        self.inside = np.append(self.inside, np.zeros(more, np.bool_))
        for each in self.namings:
            masks = each.arms, each.control
            each.arms, each.control = (np.pad(mask, (0, more)) for mask in masks)
        self._decide()

    def go_on(self) -> None:
        """Make a plan by all that is known."""
        self._decide()

    def interrupt(self) -> None:
        """Nothing: of a plan that is broken off every result counts as known."""

    separates = True  # results of an arm say nothing of others

    def unknown(self, gone: Collection[Cell], set_aside: Collection[int]) -> Cell | None:
        """The first cell without a result, question by question, of arms that may be listed; None if there is none.

        Without those that are ``gone``, and without some arms.
        """
        for question in self.order.tolist():
            for arm in np.flatnonzero(self.question.listable & ~self.known[:, question]).tolist():
                cell = Cell(arm, question)
                if cell not in gone and arm not in set_aside:
                    return cell
        return None

    def widen(self, epsilon: float) -> None:
        """Judge with a larger ε: evidence holds for every bar at once."""
        self.question = replace(self.question, epsilon=max(epsilon, self.question.epsilon))
        self._decide()

    def correct(self, plan: int, place: int, value: float) -> None:
        """Put a recorded result right: what was decided stays, evidence is made again."""
        values = self.record[plan].values.copy()
        values[place] = value
        self.record[plan] = self.record[plan]._replace(values=values)
        self.table, self.known = np.zeros_like(self.table), np.zeros_like(self.known)
        for told in self.record:
            self._enter(told)
        for naming in self.namings:
            for each in naming.of.values():
                each.blank()
        self._decide()

    # What is decided

    @property
    def full(self) -> Mask:
        """Arms that may be listed and are known on all questions."""
        return self.question.listable & self.known.all(axis=1)

    @property
    def leaders(self) -> Mask:
        """The m best of these."""
        return self.question.best(np.where(self.full, self.guess.fit.means, -np.inf)) & self.full

    @property
    def named(self) -> Mask:
        """Arms that some naming is about."""
        return np.any([np.zeros_like(self._alive), *(each.arms for each in self.namings)], axis=0)

    def _decide(self) -> None:
        """Whether the list is proven; and if not, what to name and to plan."""
        question = self.question
        self._look()
        self.slots = _slots([])
        if question.listable.sum() <= question.m:
            self.inside, self.stopped, self.proven = question.listable, True, True
            self.boundary = Boundary(NO_ARM, NO_ARM, math.inf, -math.inf)
            return
        if not self._is_proven():
            self.slots = _slots(self._plan())
        self.proven = self._is_proven()  # a naming may have done it
        self.stopped = self.proven or bool(self.guess.total.pulls.sum() >= question.budget)
        if self.stopped:  # a study may go on
            more = self._missing(question.listable)
            self.slots = _slots([(arms[:SMALLEST], blocks[:SMALLEST]) for arms, blocks in more])
        self.boundary = self._boundary()

    def _is_proven(self) -> bool:
        """Whether the list is known, and all others are refuted."""
        leaders = self.leaders
        if leaders.sum() < self.question.m:
            self.inside = self.question.best(self.guess.fit.means)
            return self.slack(self.inside) <= self.question.epsilon + ALIKE
        self.inside = leaders
        bar, levels = self._bar(leaders), self._levels(leaders)
        others = np.flatnonzero(self.question.listable & ~leaders)
        return all(self._lacks(int(arm), bar, levels) <= 0.0 for arm in others)

    def _plan(self) -> Cells:
        """The cells to evaluate next."""
        listable = self.question.listable
        if not self.namings:
            if cells := self.explore() or self._missing(self.contenders()):
                return cells
            self._name(listable & ~self.full)
        fresh = listable & ~self.named & ~self.full
        if fresh.any():
            if cells := self._missing(fresh, self.order[:TRIAL]):
                return cells
            self._name(fresh)
        if self.leaders.sum() < self.question.m:  # one is gone
            return self._missing(self.contenders())
        return self._refute()

    def _missing(self, arms: Mask, questions: Integers | None = None) -> Cells:
        """What is not known of some arms on some questions (by default all), question by question."""
        questions, some = self.order if questions is None else questions, np.flatnonzero(arms)
        j, at = np.nonzero(~self.known[np.ix_(some, questions)].T)
        return [(some[at], questions[j])] if len(at) else []

    def explore(self) -> Cells:
        """More questions for all that may be among the best; nothing when few are left."""
        m = self.question.m
        while True:
            arms, t = self.question.listable & self._alive, self._explored
            if cells := self._missing(arms, self.order[:t]):
                return cells
            if t and arms.sum() > m:
                means = np.where(arms, self.guess.fit.means, -np.inf)
                best, some = np.argsort(-means, kind="stable")[:m], np.flatnonzero(arms)
                apart, errors = self._apart(int(best[-1]), some)
                far = FAR if len(some) > m + 1 else LAST
                self._alive[np.setdiff1d(some[apart > far * errors], best)] = False
                arms &= self._alive
            left = int(arms.sum()) * (self.size - t)
            if t >= self.size or arms.sum() <= m or (t and left < WORTH * self.known.size):
                return []
            self._explored = min(self.size, t + max(FIRST, int(GROWTH * t)))

    def contenders(self) -> Mask:
        """Arms that may be among the best: all their results are worth knowing."""
        likely = self.question.best(self.guess.fit.means)
        return likely if self.namings else likely | (self.question.listable & self._alive)

    def _name(self, arms: Mask) -> None:
        """Name arms that seem not to belong on the list, and an order of the questions."""
        order = np.random.default_rng([self.seed, 1, len(self.namings)]).permutation(self.size)
        naming, leaders = PoolNaming(arms, self.full), self.leaders
        bar = self._bar(leaders) if leaders.any() else 1.0
        for arm in np.flatnonzero(arms):
            seen = self.known[arm, order]
            naming.of[int(arm)] = Refutation(order[~seen], order[seen], bar)
        self.namings.append(naming)

    def _refute(self) -> Cells:
        """The next questions of the order, for the arms that seem to need most of them.

        Arms that seem to belong on the list come first, the best of them: if one does, the bar is higher.
        """
        leaders, means, needs = self.leaders, self.guess.fit.means, []
        bar, levels = self._bar(leaders), self._levels(leaders)
        for arm in np.flatnonzero(self.question.listable & ~leaders).tolist():
            if (lacks := self._lacks(arm, bar, levels)) > 0.0:
                needs.append((self._needs(arm, bar, lacks), arm))
        better = [each for each in needs if means[each[1]] > bar - self.question.epsilon]
        room = max(SMALLEST, int(LARGEST * self.known.size))
        if better:
            needs = sorted(better, key=lambda each: -means[each[1]])
            room = max(SMALLEST, int(PART * self.size))
        else:
            needs.sort(key=lambda each: -each[0])
        least, cells = math.ceil(SMALLEST / len(needs)), []
        for number, arm in needs:
            order = next(each.of[arm].order for each in self.namings if arm in each.of)
            questions = order[~self.known[arm, order]][: max(least, math.ceil(PART * number))]
            cells.append((np.full(len(questions), arm), questions))
            room -= len(questions)
            if room <= 0:
                break
        return cells

    def _needs(
        self,
        arm: int | Integers,
        bar: float | Reals,
        lacks: float | Reals,
        mean: Reals | None = None,
    ) -> Reals:
        """About how many more results it takes to refute an arm, if its mean is as it seems."""
        left = (~self.known[arm]).sum(axis=-1)
        mean = self.guess.fit.means[arm] if mean is None else mean
        gap = np.maximum(bar - mean, 0.0) * self.size
        rate = 2.0 * self._variance[arm] * lacks / np.maximum(gap, 1e-9) ** 2
        return np.asarray(left - left / (1.0 + left * rate))

    # What carries proof

    def _bar(self, leaders: Mask) -> float:
        """What no mean outside of the list may be above."""
        return float(self.guess.fit.means[leaders].min()) + self.question.epsilon

    def _levels(self, leaders: Mask) -> list[float]:
        """What ln E of an arm must reach, for each naming."""
        return [self._level(number, leaders) for number in range(len(self.namings))]

    def _level(self, number: int, leaders: Mask) -> float:
        """The same for one naming: by how many of its arms are on the list, or gone without a proof."""
        naming, delta = self.namings[number], self.question.delta * (1.0 - CERTAIN)
        gone = np.flatnonzero(naming.arms & self.question.out).tolist()
        moves = int((naming.arms & leaders).sum())
        bar = float(self.lowest[leaders].min(initial=1.0)) + self.question.epsilon
        for more in range(len(gone) + 1):
            level = -math.log(delta * share_at(number, moves + more))
            sure = [self._is_sure(a, bar) or self._peak(naming, a, bar) >= level for a in gone]
            if len(gone) - sum(sure) <= more:
                break
        return level

    def _peak(self, naming: PoolNaming, arm: int, bar: float) -> float:
        """The largest ln E so far of the evidence against an arm."""
        each = naming.of[arm]
        each.after(self.table[arm], self.known[arm], self._control(naming), bar)
        return each.peak

    def _control(self, naming: PoolNaming) -> Reals:
        """What results are compared with, question by question."""
        some = naming.control
        return self.table[some].mean(axis=0) if some.any() else np.zeros(self.size)

    def _is_sure(self, arm: int, bar: float) -> bool:
        """Whether a mean is not above a bar whatever is still missing."""
        return bool(self.highest[arm] <= bar + ALIKE)

    def _lacks(self, arm: int, bar: float, levels: list[float]) -> float:
        """What ln E lacks against an arm: 0 or less where it is refuted."""
        if self._is_sure(arm, bar):
            return -math.inf
        found = math.inf
        for naming, level in zip(self.namings, levels, strict=True):
            if arm in naming.of:
                found = min(found, level - self._peak(naming, arm, bar))
        return min(found, LONGEST)

    @property
    def lowest(self) -> Reals:
        """The mean of every arm if all that is missing were 0."""
        return self.guess.total.sums / self.size

    @property
    def highest(self) -> Reals:
        """The mean of every arm if all that is missing were 1."""
        return self.lowest + (self.size - self.guess.total.pulls) / self.size

    # What is certain

    def _tops(self, arms: Integers, levels: list[float]) -> Reals:
        """The least bar that each mean is proven not to be above."""
        tops = self.highest[arms]
        for naming, level in zip(self.namings, levels, strict=True):
            control = self._control(naming)
            for place, arm in enumerate(arms.tolist()):
                if arm in naming.of:
                    ends = float(self.lowest[arm]), float(tops[place])
                    tops[place] = naming.of[arm].least_bar(self.table[arm], control, level, *ends)
        return tops

    def slack(self, inside: Mask) -> float:
        """The least ε with which these arms are proven now."""
        others = np.flatnonzero(self.question.listable & ~inside)
        if not len(others):
            return 0.0
        levels, least = self._levels(inside), self.lowest[inside].min()
        found = max(float(self._tops(others, levels).max() - least), 0.0)
        proven = self.proven and bool((inside == self.inside).all())
        if any((each.arms & self.question.out).any() for each in self.namings):
            found = max(found, self.question.epsilon)  # some that are gone are refuted with that
        return min(found, self.question.epsilon) if proven else found

    def best_slack(self) -> tuple[Mask, float]:
        """The list that is proven with the least ε, and that ε."""
        return self.inside, self.slack(self.inside)

    def bounds(self, b: Integers, c: Integers) -> Reals:
        """By how much c may be better than b, each pair by itself."""
        arms, places = np.unique(c, return_inverse=True)
        return self._tops(arms, self._levels(self.inside))[places] - self.lowest[b]

    def passed(self, inside: Mask) -> tuple[Mask, Mask, Mask]:
        """Which pairs have passed; for what is said of each arm inside; and of each outside.

        A row for each arm inside, a column for each outside. What is said of single arms has a part of δ
        for all arms of a naming.
        """
        c = np.flatnonzero(self.question.listable & ~inside)
        bars = self.lowest[inside] + self.question.epsilon
        single = [
            -math.log(CERTAIN * self.question.delta * share_at(number, 0) / int(each.arms.sum()))
            for number, each in enumerate(self.namings)
        ]
        kinds = self._levels(inside), single
        pairs, singles = (self._tops(c, levels) <= bars[:, None] + ALIKE for levels in kinds)
        if self.proven and (inside == self.inside).all():
            pairs[:] = True
        return pairs, singles, singles.copy()

    @property
    def is_exact(self) -> bool:
        """Whether the list is known without any doubt: nothing that is missing could change it."""
        outside = self.question.listable & ~self.inside
        best = self.highest[outside].max(initial=-np.inf)
        return bool(best <= self.lowest[self.inside].min() + self.question.epsilon + ALIKE)

    def intervals(self, delta: float) -> tuple[Reals, Reals]:
        """Bounds on every mean, whatever is missing: they are certain."""
        return self.lowest, self.highest

    def remaining(self, count: int, rng: np.random.Generator) -> Reals | None:
        """How many results seem to be lacking, for means drawn ``count`` times; None if nothing is known."""
        fit, arms = self.guess.fit, np.flatnonzero(self.question.listable)
        if self.stopped or not np.isfinite(fit.own[arms]).all():
            return None
        drawn = fit.means[arms] + rng.standard_normal((count, len(arms))) * np.sqrt(fit.own[arms])
        least = np.sort(drawn, axis=1)[:, -self.question.m, None]
        missing = (~self.known[arms]).sum(axis=1)
        level = -math.log(self.question.delta * share_at(0, 0))
        levels, bar = self._levels(self.leaders), self._bar(self.inside)
        lacks = np.array([max(min(self._lacks(a, bar, levels), level), 0.0) for a in arms.tolist()])
        needs = self._needs(arms, least + self.question.epsilon, lacks, drawn)
        return np.asarray(np.where(drawn >= least, missing, needs).sum(axis=1))

    # What seems

    def _look(self) -> None:
        """Means as they seem: by differences to the arm that is known on most questions."""
        table, n = self.table, self.known.sum(axis=1)
        total = Totals(n, table.sum(axis=1), (table**2).sum(axis=1))
        means, own = total.averages.copy(), np.full(len(n), np.inf)
        if n.any():
            most = n == n.max()
            first = int(np.argmax(np.where(most, total.sums, -1.0)))
            seen = np.flatnonzero(n)
            apart, errors = self._apart(first, seen)
            shared = np.isfinite(errors)
            means[seen[shared]] = (total.averages[first] - apart)[shared]
            own[seen] = np.where(shared, errors, 1.0) ** 2
            full = n == self.size
            means[full], own[full] = total.averages[full], 0.0
        known, left = np.maximum(n, 1), np.maximum(self.size - n, 1)
        self._variance = np.where(n > 0, np.minimum(own * known * self.size / left, 1.0), 1.0)
        self.guess = Seen(total, Fit(means, np.zeros((0, len(n))), own), self._variance)

    def _apart(self, arm: int, some: Integers) -> tuple[Reals, Reals]:
        """By how much some arms seem to be below one, by questions that both are known on."""
        both = self.known[some] & self.known[arm]
        n = both.sum(axis=1)
        seen = np.maximum(n, 1)
        d = np.where(both, self.table[arm] - self.table[some], 0.0)
        means = d.sum(axis=1) / seen
        spread = np.maximum((d * d).sum(axis=1) / seen - means**2, 0.0) + VAGUE / seen
        errors = np.sqrt(spread / seen * np.maximum(1.0 - n / self.size, 1e-9))
        return means, np.where(n > 0, errors, np.inf)

    def _boundary(self) -> Boundary:
        """The arm on the list of least mean, and the one outside that is hardest to refute."""
        means, others = self.guess.fit.means, self.question.listable & ~self.inside
        b = int(np.argmin(np.where(self.inside, means, np.inf)))
        c, levels = int(np.argmax(np.where(others, means, -np.inf))), self._levels(self.inside)
        if self.proven:
            return Boundary(b, c, min(levels, default=0.0), self.question.epsilon)
        if self.leaders.sum() == self.question.m:
            bar, hard = self._bar(self.leaders), []
            for arm in np.flatnonzero(others).tolist():
                if (lacks := self._lacks(arm, bar, levels)) > 0.0:
                    hard.append((float(self._needs(arm, bar, lacks)), arm))
            c = max(hard)[1]
        of_c = [at for each, at in zip(self.namings, levels, strict=True) if c in each.of]
        level = min(of_c, default=math.inf)
        slack = float(self._tops(np.array([c]), levels)[0] - self.lowest[b])
        return Boundary(b, c, level, slack)


def _slots(cells: Cells) -> Slots:
    """The cells of a plan."""
    nothing = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    arms, blocks = map(np.concatenate, zip(*nothing, *cells, strict=True))
    return Slots(arms, blocks)
