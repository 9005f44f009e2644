"""A search on its problem: its plans are filled with results, from a study or in simulation."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from operator import methodcaller
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM, NO_BLOCK, Integers, Mask, Reals
from shortlist.blocks import Cell
from shortlist.engine.aim import CERTAINTY, Aim
from shortlist.engine.certified import Certified
from shortlist.engine.contract import PLANS, Decision, Estimates, Gaps, Runs, Setup
from shortlist.engine.fits import Posterior
from shortlist.engine.follow import DECIDE, REOPEN, TAKE, Position, Steps
from shortlist.engine.rewards import Recorded, Rewards, drawer
from shortlist.plans.pools import PoolSearch
from shortlist.plans.question import Question
from shortlist.plans.search import Search
from shortlist.proof.naming import share_of

LEAST_NOISE = 1e-9  # of the largest variance, where all results of an arm are the same
SALT = 0x726F7773  # the blocks of a simulated run are drawn by other numbers than its decisions


class Result(NamedTuple):
    """A result as the search takes it in; ``number`` of all, from 0 on."""

    arm: int
    block: int
    value: float
    number: int = 0


class Scale(NamedTuple):
    """What a search is given in place of results: where they lie in a range, a share of that."""

    low: float = 0.0
    width: float = 1.0


class Progress:
    """A search and the results of its plan so far; the counterpart of a round of gap indices.

    Attributes
    ----------
    search : Search
        What decides, plan by plan.
    order : list of Cell
        The evaluations of the plan, in the order in which they are asked for.
    wanted : Counter of Cell
        How many of them lack a result.
    results : list of Result
        What came of the plan.
    beside : list of Result
        What the plan did not ask for: it guides the next one.
    later : dict
        By cell, results on blocks that no plan has named yet, and whether they were asked for.
    """

    def __init__(self, make: Callable[[int], Search]) -> None:
        self._make = make
        self._search: Search | None = None
        self.later: dict[Cell, tuple[Result, bool]] = {}
        self.beside: list[Result] = []
        self.recorded: list[list[int]] = []  # the numbers of the results of each plan of the record
        self.taken = 0
        self.pending: list[Callable[[Search], None]] = []

    def begin(self, seed: int) -> None:
        """Know the seed of the study."""
        if self._search is None:
            self._search = self._make(seed)
            self._plan_anew()

    @property
    def search(self) -> Search:
        """What decides."""
        if self._search is None:
            self.begin(0)
        assert self._search is not None
        return self._search

    def copy(self) -> Progress:
        """An independent copy."""
        twin = copy.copy(self)
        twin._search = None if self._search is None else self._search.copy()
        twin.later, twin.beside = dict(self.later), list(self.beside)
        twin.recorded = list(self.recorded)
        if self._search is not None:
            twin.wanted, twin.results = Counter(self.wanted), list(self.results)
        twin.pending = list(self.pending)
        return twin

    def _plan_anew(self) -> None:
        """Before the first result of a plan; those that came earlier fill it."""
        slots = self.search.slots
        cells = zip(slots.arms.tolist(), slots.blocks.tolist(), strict=True)
        self.order = [Cell(*each) for each in cells]
        self.wanted, self.missing = Counter(self.order), len(self.order)
        self.places: dict[Cell, list[int]] = {}  # those of each evaluation in the order
        for place, cell in enumerate(self.order):
            self.places.setdefault(cell, []).append(place)
        self.results: list[Result] = []
        for cell in [each for each in self.order if each in self.later]:
            self._fill(self.later.pop(cell)[0])
        # What nobody asked for waits for the turn of its block, unless that is further off than blocks are told.
        turn = max((cell.block for cell in self.order), default=NO_BLOCK)
        last = turn + len({cell.block for cell in self.later})
        for cell, (result, asked) in list(self.later.items()):
            if not asked and self.missing and not turn < cell.block <= last:
                self.beside.append(result)
                del self.later[cell]

    def _fill(self, result: Result) -> None:
        cell = self._cell(result)
        self.wanted[cell] -= 1
        self.missing -= 1
        self.results.append(result)

    def _cell(self, result: Result) -> Cell:
        """The evaluation of a plan that a result may be of."""
        shared = self.search.question.shared
        named = shared is not None and not shared.requested
        return Cell(result.arm, result.block if named else NO_BLOCK)

    def take(self, arm: int, block: int, value: float, *, asked: bool) -> None:
        """Take in a result."""
        result = Result(arm, block, value, self.taken)
        self.taken += 1
        cell, shared = self._cell(result), self.search.question.shared
        if shared is not None and shared.requested and not asked:
            # Which arms share a plate is to be fixed before its results; nobody knows that of these.
            self.beside.append(result)
        elif self.wanted[cell] > 0:
            self._fill(result)
        elif shared is None:
            self.beside.append(result)
        elif shared.requested:  # of a plate all results count
            self.results.append(result)
        elif cell not in self.later and result.block >= self.search.next_block:
            self.later[cell] = result, asked
        else:  # of two results of a cell the first counts, or who tells could choose between them
            self.beside.append(result)

    def give_up(self, arm: int) -> None:
        """Want no more of an arm in this plan."""
        for cell in [each for each in self.wanted if each.arm == arm]:
            self.missing -= self.wanted[cell]
            self.wanted[cell] = 0

    @property
    def is_over(self) -> bool:
        """Whether all results of the plan are in, or the budget is spent."""
        return (self.missing <= 0 and bool(self.order)) or self._spent

    @property
    def is_settled(self) -> bool:
        """Whether the list of a pool follows from all that is known, or from what nobody asked for."""
        search, more = self.search, [*self.results, *self.beside]
        if not isinstance(search, PoolSearch) or not more:
            return False
        arms, _, values = _columns(more)
        total, question = search.guess.total.plus(arms, values), search.question
        lowest = np.where(question.listable, total.sums, -np.inf)
        missing = np.maximum(search.size - total.pulls, 0)
        inside = question.best(lowest)
        outside = question.listable & ~inside
        most = (lowest + missing)[outside].max(initial=-np.inf)
        if not missing[question.listable].any():  # the answer is about all of it, also after a stop
            return True
        settled = most <= lowest[inside].min() + question.epsilon * search.size
        return bool(settled and self.beside and not search.stopped)

    @property
    def _spent(self) -> bool:
        return self.taken >= self.search.question.budget

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now.

        Before the stop, those of largest average where results wait for their block's turn: they guide what
        is shown, and nothing else yet.
        """
        search = self.search
        if search.stopped or not self.later or search.question.features is not None:
            return search.inside
        waiting = [*self.results, *self.beside, *(each for each, _ in self.later.values())]
        arms, _, values = _columns(waiting)
        total = search.guess.total.plus(arms, values)
        return search.question.best(np.where(total.pulls > 0, total.averages, -np.inf))

    @property
    def uncounted(self) -> int:
        """How many results only guide, or wait for a plan."""
        if isinstance(self.search, PoolSearch):  # of a pool all that is known counts
            return 0
        guides = sum(len(each.arms) for each in self.search.record if not each.evidence)
        return guides + len(self.beside) + len(self.later)

    @property
    def until_decision(self) -> int:
        """How many results the plan still lacks."""
        return max(self.missing, 0)

    def decide(self) -> None:
        """Give the search the results of its plan; if it is interrupted, all is as before."""
        after = self.copy()
        if after._spent:  # nothing waits for a later plan
            after.beside += [result for result, _ in after.later.values()]
            after.later = {}
        after._advise(after.beside)
        after._note(after.results)
        after.search.take(*_columns(after.results))
        for change in after.pending:
            change(after.search)
        self._become(after)

    def change(self, change: Callable[[Search], None], *, wait: bool = False) -> None:
        """Let the question change, at the end of the plan if it is to ``wait`` for that.

        Else the results of an unfinished plan only guide: how many there are may depend on them.
        """
        if wait and self.results:
            self.pending.append(change)
            shared = self.search.question.shared
            if self.is_over and (shared is None or not shared.requested):  # a plate may go on
                self.decide()
            return
        after = self.copy()
        after._advise([*after.beside, *after.results])
        if self.results:
            after.search.interrupt()
        for each in (*after.pending, change):
            each(after.search)
        self._become(after)

    def _become(self, after: Progress) -> None:
        after.pending, after.beside = [], []
        after._plan_anew()
        vars(self).update(vars(after))

    def judge(self, change: Callable[[Search], None]) -> None:
        """Let what is told be judged otherwise; the plan stays."""
        after = self.copy()
        change(after.search)
        vars(self).update(vars(after))

    def correct(self, number: int, value: float) -> None:
        """Put a result right, wherever it went."""
        for plan, numbers in enumerate(self.recorded):
            if number in numbers:
                self.judge(methodcaller("correct", plan, numbers.index(number), value))
                return
        for listed in (self.results, self.beside):
            for place, each in enumerate(listed):
                if each.number == number:
                    listed[place] = each._replace(value=value)
        for cell, (each, asked) in self.later.items():
            if each.number == number:
                self.later[cell] = each._replace(value=value), asked

    def _note(self, results: list[Result]) -> None:
        if results:
            self.recorded.append([each.number for each in results])

    def _advise(self, results: list[Result]) -> None:
        if results:
            self._note(results)
            self.search.advise(*_columns(results))

    def decision(self, *, stop: bool) -> Decision:
        """What was decided: the pair, and what to evaluate next."""
        first = self.lacking(Counter(), ()) or Cell(NO_ARM)
        at = self.search.boundary
        pair = at.b, at.c, math.sqrt(2.0 * at.level), at.slack, at.slack
        return Decision(stop, first.arm, None, *pair, first.block)

    def lacking(self, supposed: Counter[Cell], set_aside: Collection[int]) -> Cell | None:
        """The first that the plan lacks, without what is ``supposed`` to come; None if it lacks nothing."""
        left = [
            (self.places[cell][supposed[cell] - n], cell)
            for cell, n in self.wanted.items()
            if n > supposed[cell] and cell.arm not in set_aside
        ]
        return min(left)[1] if left else None

    def beyond(self, supposed: Counter[Cell], set_aside: Collection[int]) -> Cell | None:
        """What to evaluate where all of the plan is under way: the same again, on later blocks."""
        shared = self.search.question.shared
        arms = [cell.arm for cell in self.order if cell.arm not in set_aside]
        if not arms:
            return None
        if shared is None or shared.requested:
            # With what came beside the plan, so that open trials of which nothing is heard are replaced.
            more = max(sum(supposed.values()) - self.until_decision, 0) + len(self.beside)
            return Cell(arms[more % len(arms)])
        told = {Cell(each.arm, each.block) for each in (*self.beside, *self.results)}
        gone = {cell for cell, n in supposed.items() if n} | told | self.later.keys()
        if isinstance(self.search, PoolSearch):
            return self.search.unknown(gone, set_aside)
        each, block = list(dict.fromkeys(arms)), max(cell.block for cell in self.order) + 1
        while True:
            for arm in each:
                if (cell := Cell(arm, block)) not in gone:
                    return cell
            block += 1


def _columns(results: list[Result]) -> tuple[Integers, Integers, Reals]:
    arms, blocks, values, _ = zip(*results, strict=True) if results else ((), (), (), ())
    return np.array(arms, np.int64), np.array(blocks, np.int64), np.array(values, np.float64)


class SearchEngine:
    """A search on its problem; implements ``AnyEngine``.

    Parameters
    ----------
    question : Question
        What is asked.
    features : array, K × rank
        Of all arms, for the means of all results; the identity where nothing relates them.
    noise : array, K
        (σ_a/σ)² of every arm.
    sigma : float
        σ.
    scale : Scale
        What results are divided by.
    aim : Aim
        When it ends.
    pool : int, optional
        How many blocks there are; by default there is no end of them, or there are none.
    """

    def __init__(
        self,
        question: Question,
        features: Reals,
        noise: Reals,
        sigma: float,
        scale: Scale = Scale(),  # noqa: B008
        aim: Aim = CERTAINTY,
        pool: int | None = None,
    ) -> None:
        self.question, self.features, self.noise, self.sigma = question, features, noise, sigma
        self.scale, self.aim, self.pool = scale, aim, pool

    searches = True

    def _search(self, seed: int) -> Search:
        if self.pool is not None:
            return cast(Search, PoolSearch(self.question, self.pool, seed))  # it answers the same
        return Search(self.question, seed)

    @property
    def alone(self) -> bool:
        """Whether the stop compares the arms' own intervals, not differences of two means."""
        return False

    @property
    def adjusts(self) -> bool:
        """Whether more than an arm's own results make what is taken for its mean."""
        shared = self.question.shared
        return self.question.features is not None or (shared is not None and shared.requested)

    @cached_property
    def setup(self) -> Setup:
        """What it was made for; the initial pulls are its first plan."""
        return Setup(
            features=self.features,
            m=self.question.m,
            sigma=self.sigma,
            epsilon=self.question.epsilon * self.scale.width,
            noise=self.noise,
            initial=self._search(0).slots.arms,
            alone=self.alone,
            aim=self.aim,
            pace=PLANS,
        )

    def posterior(self) -> Posterior:
        """An empty posterior; all results enter it, and no decision depends on it."""
        return Posterior(self.features, noise=self.noise)

    def round(self) -> Progress:
        """The search before its first result."""
        return Progress(self._search)

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms of the first plan, in order, and the pulls so far."""
        return self.setup.initial, posterior.pulls

    # Results

    def given(self, value: float) -> float:
        """A result as the search takes it."""
        return (value - self.scale.low) / self.scale.width

    def follow(
        self, posterior: Posterior, now: Progress, seed: int, steps: Steps, position: Position
    ) -> Progress:
        """Take steps from ``position`` to the next stop or to their end."""
        now.begin(seed)
        late = position.is_stopped  # what comes after a stop decides nothing
        while position.next < len(steps.kinds):
            step = position.next
            position.next += 1
            kind = steps.kinds[step]
            if kind == REOPEN:
                position.is_stopped = False
            elif kind == TAKE:
                arm, value = int(steps.arms[step]), float(steps.values[step])
                posterior.observe(arm, value)
                asked = not steps.unasked[step]
                now.take(arm, int(steps.blocks[step]), self.given(value), asked=asked)
            stays = position.is_stopped and not now.is_settled
            if kind not in (TAKE, DECIDE) or stays or steps.held[step]:
                continue
            again = kind != DECIDE and now.search.stopped  # a stop that was taken back
            if now.is_over or now.is_settled:
                self.decide(posterior, now, position)
            elif again:  # it is proven as it was; a part of a plan is no evidence
                position.is_stopped = True
            else:
                continue
            late = False
            if position.is_stopped:
                break
        # What is to be evaluated next depends on every result.
        if position.is_initialized and not (late and position.is_stopped):
            position.decided_at = posterior.observed
        return now

    def decide(self, posterior: Posterior, now: Progress, position: Position) -> None:
        """Decide on a plan whose results are in, and on those that follow and are in already."""
        now.decide()
        while now.is_over and not now.search.stopped:
            now.decide()
        if not position.is_initialized:
            posterior.refresh_if_spanning()
        position.is_initialized = True
        position.is_stopped = now.search.stopped

    # Changes

    def among(self, arms: Integers) -> SearchEngine:
        """The same where only these arms may be listed."""
        out = self.question.out.copy()
        out[np.setdiff1d(np.arange(len(out)), arms)] = True
        rest = self.features, self.noise, self.sigma, self.scale, self.aim, self.pool
        return type(self)(replace(self.question, out=out), *rest)

    def retire(self, now: Progress, arm: int) -> None:
        """Go on without an arm.

        At the end of the plan, if what remains of that says the same of the others and the arm would not
        be answered.
        """
        whole = not any(n for cell, n in now.wanted.items() if cell.arm == arm)
        wait = not now.inside[arm] and (whole or now.search.separates)
        now.give_up(arm)
        now.change(lambda search: search.retire(arm), wait=wait)

    def readmit(self, now: Progress, arm: int) -> None:
        """Go on with an arm that was retired, from the next plan on."""
        now.change(lambda search: search.readmit(arm), wait=True)

    def add(self, now: Progress) -> None:
        """Go on with the arms that this engine has more, from the next plan on."""
        now.judge(lambda search: search.add(self.question))
        if not now.results:
            now.change(Search.go_on)

    def verify(self, now: Progress) -> None:
        """Prove by arms' own results what relied on features."""
        now.change(Search.verify)

    def correct(self, now: Progress, number: int, value: float) -> None:
        """Put the result right that was taken in as the n-th."""
        now.correct(number, self.given(value))

    def widen(
        self, posterior: Posterior, now: Progress, seed: int, position: Position, *, held: bool
    ) -> Progress:
        """Judge what is told with this engine's ε."""
        now.begin(seed)
        now.judge(lambda search: search.widen(self.question.epsilon))
        if position.is_initialized and now.search.stopped:
            position.is_stopped = True
        return now

    def after(self, steps: Steps, seed: int) -> Progress:
        """A search that begins with these results, which only guide."""
        now = self.round()
        now.begin(seed)
        for arm, block, value in zip(steps.arms, steps.blocks, steps.values, strict=True):
            now.beside.append(Result(int(arm), int(block), self.given(float(value)), now.taken))
            now.taken += 1
        now.change(Search.go_on)
        return now

    def last_decision(
        self, posterior: Posterior, now: Progress, seed: int
    ) -> tuple[Decision, Progress]:
        """The last decision."""
        now.begin(seed)
        return now.decision(stop=now.search.stopped), now

    def ahead(
        self, posterior: Posterior, now: Progress, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the cells supposed since the last."""
        now.begin(seed)
        decision, supposed = now.decision(stop=False), Counter[Cell]()
        shared = self.question.shared

        def decide(supposing: list[Cell], set_aside: Collection[int]) -> Decision | None:
            # Where blocks are asked for as they come, it does not matter on which one results are.
            apart = shared is None or not shared.requested
            supposed.update(each if apart else Cell(each.arm) for each in supposing)
            lacks = {cell.arm for cell, n in now.wanted.items() if n > 0}
            found = now.lacking(supposed, set_aside)
            if found is None and not lacks & set(set_aside):  # else more would not end the plan
                found = now.beyond(supposed, set_aside)
            return found and decision._replace(arm=found.arm, block=found.block)

        return decide

    # What is shown

    def threshold(self, posterior: Posterior, now: Progress) -> float:
        """√(2 ln(1/risk)) of the set that would be answered now."""
        return math.sqrt(2.0 * now.search.boundary.level)

    def threshold_at(self, time: float, log_det: float) -> float:
        """The same of a set that is named first."""
        return math.sqrt(-2.0 * math.log(share_of(0) * self.question.delta))

    def estimates(self, posterior: Posterior, now: Progress) -> Estimates:
        """Means by all results, with the variances of these."""
        search = now.search
        fit, known = search.guess.fit, search.guess.total.pulls > 0
        if not known.any():
            return Estimates(posterior.means, posterior.variances)
        variances = fit.own_variances * (self.scale.width / self.sigma) ** 2
        means, (low, high) = fit.means, search.intervals(self.question.delta)
        means, low, high = (self.scale.low + self.scale.width * each for each in (means, low, high))
        noise = None
        if self.pool is None:
            noise = search.guess.noise * (self.scale.width / self.sigma) ** 2
            noise = np.maximum(noise, LEAST_NOISE * noise.max())
        means = np.where(np.isfinite(variances), means, -np.inf)
        return Estimates(means, variances, (low, high), noise)

    def gaps(
        self, posterior: Posterior, now: Progress, decision: Decision, *, outside_only: bool = False
    ) -> Gaps:
        """Differences of means at the boundary; −∞ for arms that may not be listed.

        ``upper`` is the least slack with which a pair is proven, by itself.
        """
        search, inside = now.search, now.inside
        b, c = decision.b, decision.c
        means, every = search.guess.fit.means, np.arange(len(inside))
        gap = np.where(inside, means[c] - means, means - means[b])
        ends = np.where(inside, every, b), np.where(inside, c, every)
        upper = np.maximum(search.bounds(*ends), gap)
        nothing = np.full(len(gap), -np.inf)
        gap, upper = (np.where(search.question.out, nothing, each) for each in (gap, upper))
        return Gaps(b, self.scale.width * gap, nothing, self.scale.width * upper)

    def projected(self, now: Progress, count: int, rng: np.random.Generator) -> Reals | None:
        """About how many results it still takes, for means drawn ``count`` times."""
        needs = now.search.remaining(count, rng)
        return None if needs is None else np.maximum(needs - len(now.results), 1.0)

    def certified(self, posterior: Posterior, now: Progress, decision: Decision) -> Certified:
        """What is certain as of the last plan that is in."""
        search, inside = now.search, now.inside
        others = ~inside & search.question.listable
        if not others.any():
            return Certified.by_statistic(inside, self.question.epsilon, -math.inf)
        slack = search.slack(inside) * self.scale.width
        return Certified.by_pairs(inside, slack, *search.passed(inside), others=others)

    # Simulation

    def replicate(self, rewards: Rewards, seeds: NDArray[np.uint64], max_samples: int) -> Runs:
        """One run for each seed, from the first plan to the stop."""
        runs = [self._simulated(rewards, int(seed), max_samples) for seed in seeds]
        inside, stopped, pulls = (np.array(each) for each in zip(*runs, strict=True))
        return Runs(seeds, pulls.sum(axis=1), stopped, inside, pulls)

    def _simulated(
        self, rewards: Rewards, seed: int, most: int
    ) -> tuple[Mask, bool, NDArray[np.int64]]:
        """Simulate to the stop, or to ``most`` results: the answer, whether it stopped, and the pulls."""
        search, draw = self._search(seed), self._drawn(rewards, seed)
        arms = self.question.arms
        pulls = np.zeros(arms, np.int64)
        while not search.stopped and pulls.sum() < most:
            some = slice(0, most - int(pulls.sum()))
            slots = search.slots.arms[some], search.slots.blocks[some]
            values = draw(*slots)
            pulls += np.bincount(slots[0], minlength=arms)
            if len(values) < len(search.slots.arms):
                break
            search.take(*slots, (values - self.scale.low) / self.scale.width)
        return search.inside, search.stopped, pulls

    def _drawn(self, rewards: Rewards, seed: int) -> Callable[[Integers, Integers], Reals]:
        """Results of some cells in a simulated run.

        Of recorded rewards a block is a row: of a pool the row of its number, else one that is drawn for
        it. Other results have nothing to do with blocks.
        """
        if not isinstance(rewards, Recorded) or not (self.pool or self.question.shared):
            draw = drawer(rewards, seed)
            return lambda arms, blocks: draw(arms)
        table = rewards.table
        if self.pool is not None:
            return lambda arms, blocks: np.asarray(table[blocks, arms])
        generator, drawn = np.random.default_rng([SALT, seed]), list[int]()

        def of_rows(arms: Integers, blocks: Integers) -> Reals:
            while len(drawn) <= blocks.max(initial=0):
                drawn.extend(generator.integers(len(table), size=1024).tolist())
            return np.asarray(table[np.array(drawn)[blocks], arms])

        return of_rows
