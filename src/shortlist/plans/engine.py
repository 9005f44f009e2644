"""A strategy on a problem: its plans are filled with results, from outside or in simulation."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.aim import CERTAINTY, Aim
from shortlist.arrays import NO_ARM, NO_BLOCK, Mask
from shortlist.blocks import Cell
from shortlist.engine.certified import Certified
from shortlist.engine.contract import PLANS, Estimates, Gaps, Runs, Setup
from shortlist.engine.follow import DECIDE, REOPEN, TAKE, Position, Steps
from shortlist.engine.round import Decision
from shortlist.linalg import is_identity
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import seed_stream
from shortlist.numerics.records import (
    Integers,
    Keys,
    Reals,
    Record,
    Table,
)
from shortlist.plans.results import PlanResults, add_result
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.posterior.least_squares import OBSERVE, REFRESH, UPDATES, Updates, take_in
from shortlist.posterior.posterior import Posterior
from shortlist.posterior.state import State
from shortlist.rules.rule import Reward, Rule

# Arms: with fewer, a decision is a matter of the interpreter. Two threads took 1.03 to 1.8 times as
# long as one with 4 to 10 arms, and 0.5 to 0.9 times as long with 100.
ARMS_FOR_THREADS = 64


@dataclass(frozen=True, eq=False)
class Plan(Record):
    """How many results of each arm a plan asks for; machine code takes a record at once."""

    pulls: Integers


class PlanProgress:
    """A strategy before the results of its plan, and those so far; the counterpart of a round."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.results = strategy.no_results()

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now."""
        return self.strategy.inside

    def decision(self, *, stop: bool) -> Decision:
        """What was decided: the pair, the arm to pull next, and none queued after it."""
        threshold, statistic = float(self.strategy.threshold), float(self.strategy.statistic)
        return Decision(
            stop=stop,
            arm=self.next_arm(),
            queued=None,
            b=int(self.strategy.b),
            c=int(self.strategy.c),
            threshold=threshold,
            gap=statistic,
            statistic=statistic,
        )

    @property
    def missing(self) -> Integers:
        """How many results of each arm the plan still lacks."""
        return np.maximum(self.strategy.plan - self.results.pulls, 0)

    @property
    def until_decision(self) -> int:
        """How many results the plan still lacks."""
        return int(self.missing.sum())

    def next_arm(self, set_aside: Collection[int] = ()) -> int:
        """The arm to pull next; ``NO_ARM`` where only arms that are set aside are missing."""
        missing = self.missing
        if set_aside:
            missing[list(set_aside)] = 0
            if not missing.any():
                return NO_ARM
        return self.strategy.next_arm(missing)

    def copy(self) -> PlanProgress:
        """An independent copy."""
        twin = type(self)(self.strategy.copy())
        twin.results = self.results.copy()
        return twin

    def decide(self, seed: int) -> None:
        """Give the strategy the results of its plan; if it is interrupted, all is as before."""
        after = self.strategy.copy()
        after.decide(self.results, seed)
        # It stays the same object, as those who hold it expect.
        self.strategy.__dict__, self.results = vars(after), after.no_results()

    @property
    def needs_plan(self) -> bool:
        """Whether all results of the plan are in and another is to be made."""
        return not self.missing.any()

    def suppose_pull(self, arm: int) -> None:
        """Count a result as if it were in; those beyond the plan do not count."""
        pulls = self.results.pulls
        pulls[arm] = min(pulls[arm] + 1, self.strategy.plan[arm])

    def suppose(self, means: Reals) -> None:
        """Go on to the next plan as if the results of this one had come out at their means."""
        self.strategy.suppose(means)
        self.results = self.strategy.no_results()


def in_turn(plan: Integers) -> Integers:
    """The pulls of a plan in the order of ``PlanProgress.next_arm``.

    Examples
    --------
    >>> in_turn(np.array([2, 0, 4])).tolist()
    [0, 2, 2, 0, 2, 2]
    """
    arms = np.repeat(np.arange(len(plan)), plan)
    earlier = np.arange(len(arms)) - np.repeat(np.cumsum(plan) - plan, plan)
    missing = (plan[arms] - earlier) / plan[arms]
    return arms[np.argsort(-missing, kind="stable")]


class PlanEngine:
    """A strategy on its problem; implements ``AnyEngine``.

    ``strategy`` makes the strategy before its first result from the reduced problem.
    """

    searches = False

    def __init__(
        self,
        strategy: Callable[[ReducedProblem], Strategy],
        problem: ReducedProblem,
        aim: Aim = CERTAINTY,
    ) -> None:
        self.strategy, self.problem, self.aim = strategy, problem, aim

    @cached_property
    def _first(self) -> Strategy:
        return self.strategy(self.problem)

    @cached_property
    def setup(self) -> Setup:
        """What it was made for; the initial pulls are its first plan."""
        problem = self.problem
        return Setup(
            features=problem.features,
            m=problem.m,
            sigma=problem.sigma,
            epsilon=problem.epsilon,
            noise=problem.noise_of_arms,
            initial=in_turn(self._first.plan),
            alone=self._first.alone,
            aim=self.aim,
            pace=PLANS,
        )

    @property
    def benefits_from_threads(self) -> bool:
        """Whether two threads make more runs than one: not where both need the interpreter."""
        return self.aim.certifies and len(self.problem.features) >= ARMS_FOR_THREADS

    def stops(self, strategy: Strategy) -> bool:
        """Whether the last decision ends the search."""
        return strategy.stops(self.problem.epsilon)

    def posterior(self) -> Posterior:
        """An empty posterior; all results enter it, and no decision depends on it."""
        return Posterior(self.problem.features, noise=self.problem.noise)

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next decision, in order, and the pulls so far."""
        return self.setup.initial, posterior.pulls

    def round(self) -> PlanProgress:
        """The strategy before its first result."""
        return PlanProgress(self._first.copy())

    def threshold(self, posterior: Posterior, now: PlanProgress) -> float:
        """C of the last decision."""
        return now.strategy.threshold

    def threshold_at(self, time: float, log_det: float) -> float:
        """About what C is after ``time`` results."""
        return self._first.threshold_at(time)

    @property
    def adjusts(self) -> bool:
        """As its strategy does, or by features."""
        return self._first.adjusts or not is_identity(self.problem.features)

    def estimates(self, posterior: Posterior, now: PlanProgress) -> Estimates:
        """Means, variances and intervals as the strategy has them."""
        means, variances = now.strategy.estimates(posterior.means, posterior.variances)
        return Estimates(means, variances, now.strategy.intervals(), now.strategy.noise_seen)

    def projected(
        self, now: PlanProgress, count: int, rng: np.random.Generator
    ) -> NDArray[np.float64] | None:
        """As the strategy has it; where plans are whole blocks, less what is in of the plan."""
        found = now.strategy.projected(count, rng)
        if found is None or not now.strategy.counts_all:
            return found
        left = now.until_decision
        return np.maximum(found - (int(now.strategy.plan.sum()) - left), left)

    def gaps(
        self,
        posterior: Posterior,
        now: PlanProgress,
        decision: Decision,
        *,
        outside_only: bool = False,
    ) -> Gaps:
        """Differences of means with their bounds, as the strategy has them; −∞ for controls."""
        to_b, to_c = (now.strategy.differences(each) for each in (decision.b, decision.c))
        from_c, listable = (-to_c[0], -to_c[2], -to_c[1]), self.problem.may_be_listed
        chosen = (np.where(now.inside, *each) for each in zip(from_c, to_b, strict=True))
        return Gaps(decision.b, *(np.where(listable, each, -np.inf) for each in chosen))

    @property
    def tests_linearity(self) -> bool:
        """Whether its strategy tests by itself that the means are linear."""
        return self._first.tests_linearity

    def against_linear(self, now: PlanProgress) -> float:
        """As the strategy has it."""
        return now.strategy.against_linear

    def certified(self, posterior: Posterior, now: PlanProgress, decision: Decision) -> Certified:
        """What is certain as of the last plan that is in."""
        return now.strategy.certified(self.problem.epsilon)

    def widen(
        self, posterior: Posterior, now: PlanProgress, seed: int, position: Position, *, held: bool
    ) -> PlanProgress:
        """Let the strategy judge the plans so far with this ε, and look whether that stops it."""
        now.strategy.widen(self.problem.epsilon)
        if position.is_initialized[0] and self.stops(now.strategy):
            position.is_stopped[0] = 1
        return now

    def last_decision(
        self, posterior: Posterior, now: PlanProgress, seed: int
    ) -> tuple[Decision, PlanProgress]:
        """The last decision."""
        return now.decision(stop=self.stops(now.strategy)), now

    def ahead(
        self, posterior: Posterior, now: PlanProgress, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in: each call is given the cells supposed since the last."""
        beyond = now.copy()
        beyond.strategy.arrange(seed)

        def decide(supposing: list[Cell], set_aside: Collection[int]) -> Decision | None:
            for arm in [*(cell.arm for cell in supposing), NO_ARM]:
                if beyond.needs_plan:
                    beyond.suppose(posterior.means)
                if arm != NO_ARM:
                    beyond.suppose_pull(arm)
            decision = beyond.decision(stop=False)
            if not set_aside:
                return decision
            arm = beyond.next_arm(set_aside)
            return None if arm == NO_ARM else decision._replace(arm=arm)

        return decide

    def follow(
        self, posterior: Posterior, now: PlanProgress, seed: int, steps: Steps, position: Position
    ) -> PlanProgress:
        """Take steps from ``position`` to the next stop or to their end."""
        state, strategy, layout = posterior.state, now.strategy, posterior.state.layout
        called = OBSERVE[layout], REFRESH[layout]
        late = bool(position.is_stopped[0])  # what comes after a stop decides nothing
        while True:
            gather = take_steps.sparing(len(steps.kinds) * len(strategy.plan) ** 2, *called)
            if strategy.counts_all:
                now.results = now.results.with_room(len(steps.kinds))
            given = Plan(strategy.plan), now.results, strategy.counts_all, self.stops(strategy)
            if not gather(state, UPDATES[layout], *given, steps, position):
                break
            late = False
            if now.needs_plan:
                now.decide(seed)
                if not position.is_initialized[0] and self.problem.may_be_listed.all():
                    posterior.refresh()
                elif not posterior.ready:  # arms were added, or a control has no result
                    posterior.refresh_if_spanning()
                position.is_initialized[0] = 1
            position.next[0] += 1
            position.is_in[0] = 0
            if self.stops(strategy):
                position.is_stopped[0] = 1
                break
        # What is to be pulled next depends on every result.
        if position.is_initialized[0] and not (late and position.is_stopped[0]):
            position.decided_at[0] = posterior.observed
        return now

    def replicate(
        self,
        reward: Rule,
        parameters: Reals,
        seeds: NDArray[np.uint64],
        max_samples: int,
    ) -> Runs:
        """One run for each seed, from the first pull to the stop."""
        runs = [self._run(self.round(), reward, parameters, seed, max_samples) for seed in seeds]
        inside, stopped, pulls, sums = (np.array(each) for each in zip(*runs, strict=True))
        only = sums[0] if len(seeds) == 1 else None
        return Runs(seeds, pulls.sum(axis=1), stopped, inside, pulls, only)

    def _run(
        self, now: PlanProgress, reward: Rule, parameters: Reals, seed: np.uint64, most: int
    ) -> tuple[Mask, bool, Integers, Reals]:
        """Simulate to the stop, or to ``most`` pulls: the answer, whether it stopped, pulls, sums."""
        simulate: Any = make_pulls if reward.is_compiled else make_pulls.interpret
        call, stream, arms = reward.pointer, np.zeros(4, np.uint64), len(now.strategy.plan)
        made, stopped = PlanResults.none(arms), False
        with np.errstate(over="ignore"):
            seed_stream(np.uint64(seed), stream)
            while most > 0 and not stopped:
                before, plan = now.results.copy(), now.strategy.plan
                most -= simulate(plan, call, parameters, stream, most, now.results)
                made = made + (now.results - before)
                if now.missing.any():
                    break
                now.decide(int(seed))
                stopped = self.stops(now.strategy)
        return now.inside, stopped, made.pulls, made.sums


@compiled(typed=True)
def take_steps(
    state: State,
    updates: Updates,
    plan: Plan,
    results: PlanResults,
    all_count: bool,
    certain: bool,
    steps: Steps,
    position: Position,
) -> bool:
    """Take steps until the plan's results are in (True) or the steps end; see ``follow``.

    For each arm only the first ``plan.pulls[a]`` results count, and where ``all_count`` all those of blocks;
    all of them enter the posterior. Where the answer is ``certain``, one result after a stop that was taken back is enough.
    """
    missing = 0
    for a in range(plan.pulls.shape[0]):
        missing += max(plan.pulls[a] - results.pulls[a], 0)
    while position.next[0] < steps.kinds.shape[0]:
        step = position.next[0]
        kind = steps.kinds[step]
        if position.is_in[0] == 0:
            if kind == REOPEN:
                position.is_stopped[0] = 0
            elif kind == TAKE:
                arm = steps.arms[step]
                take_in(state, updates, arm, steps.values[step])
                if results.pulls[arm] < plan.pulls[arm]:
                    add_result(results, arm, steps.values[step], steps.blocks[step])
                    missing -= 1
                elif all_count and steps.blocks[step] != NO_BLOCK:
                    add_result(results, arm, steps.values[step], steps.blocks[step])
            if kind in (TAKE, DECIDE):
                ready = missing == 0 or (certain and kind == TAKE)
                if position.is_stopped[0] == 0 and ready and steps.held[step] == 0:
                    position.is_in[0] = 1
                    return True
        position.next[0] += 1
        position.is_in[0] = 0
    return False


@compiled(typed=True)
def make_pulls(
    plan: Integers,
    reward: Reward,
    parameters: Table,
    stream: Keys,
    most: int,
    results: PlanResults,
) -> int:
    """Make the pulls that the plan still lacks, ``most`` at most; returns how many were made."""
    made = 0
    for arm in range(plan.shape[0]):
        while results.pulls[arm] < plan[arm]:
            if made == most:
                return made
            add_result(results, arm, reward(arm, parameters, stream), NO_BLOCK)
            made += 1
    return made
