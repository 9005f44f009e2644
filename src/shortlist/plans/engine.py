"""A strategy bound to one problem: its plans filled with results, from outside or in simulation.

The results of a plan: taken in from outside one by one, or all of them made in simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM, Mask
from shortlist.engine.contract import Estimates, Gaps, Runs, Setup
from shortlist.engine.decision import Decision, decision_of
from shortlist.engine.engine import either, normal
from shortlist.engine.follow import (
    DECIDED_AT,
    INITIALIZED,
    IS_IN,
    NEXT,
    REOPEN,
    STOPPED,
    TAKE,
    Steps,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import seed_stream
from shortlist.numerics.records import (
    BOOLEAN,
    INTEGER,
    INTEGERS,
    KEYS,
    REALS,
    TABLE,
    Address,
    Integers,
    Reals,
)
from shortlist.plans.strategy import Compiled, Strategy, Task
from shortlist.posterior.least_squares import OBSERVE, OBSERVES
from shortlist.posterior.posterior import Posterior
from shortlist.posterior.state import STATE, State
from shortlist.rules.rule import POINTERS, Rule

LOOKS = 20  # about how many a study still takes
PULL = 15.0  # nanoseconds of a simulated one


class Course:
    """A strategy with what is in of its plan; the counterpart of a round.

    Attributes
    ----------
    strategy : Strategy
        Before the results of its plan.
    pulls, sums : array, K
        The plan's results so far.
    """

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        arms = len(strategy.plan)
        self.pulls, self.sums = np.zeros(arms, np.int64), np.zeros(arms)

    @property
    def inside(self) -> Mask:
        """The m arms that would be answered now."""
        return self.strategy.inside

    @property
    def pair(self) -> list[int]:
        """b, c, the arm to pull next, and nobody after it (see ``decision_of``)."""
        return [int(self.strategy.b), int(self.strategy.c), self.next_arm(), NO_ARM]

    @property
    def figures(self) -> list[float]:
        """C, the gap and the statistic."""
        statistic = float(self.strategy.statistic)
        return [float(self.strategy.threshold), statistic, statistic]

    @property
    def missing(self) -> Integers:
        """What the plan still lacks of each arm."""
        return self.strategy.plan - self.pulls

    def next_arm(self) -> int:
        """The arm of which the largest share is missing, so that every stretch is like the whole."""
        return int(np.argmax(self.missing / np.maximum(self.strategy.plan, 1)))

    def copy(self) -> Course:
        """A copy that goes its own way."""
        twin = type(self)(self.strategy.copy())
        twin.pulls, twin.sums = self.pulls.copy(), self.sums.copy()
        return twin

    def decide(self, seed: int) -> None:
        """Show the strategy the results of its plan."""
        nothing = self.nothing()
        self.strategy.decide(self.sums, seed)
        self.pulls, self.sums = nothing

    def nothing(self) -> tuple[Integers, Reals]:
        """The pulls and sums of a plan before its first result."""
        return np.zeros_like(self.pulls), np.zeros_like(self.sums)


@dataclass(frozen=True, eq=False)
class StepwiseEngine:
    """A strategy on its problem; has the surface of ``AnyEngine``.

    Attributes
    ----------
    strategy : callable
        From the task, the strategy before its first result.
    task : Task
        What is asked.
    reward_range : tuple of float, optional
        Where every result lies, if the strategy relies on it.
    """

    strategy: Callable[[Task], Strategy]
    task: Task
    reward_range: tuple[float, float] | None = None

    @cached_property
    def setup(self) -> Setup:
        """What it was made for; its first plan is what it begins with."""
        course, order = Course(self._first.copy()), []
        for _ in range(int(self._first.plan.sum())):
            order.append(course.next_arm())
            course.pulls[order[-1]] += 1
        features, m, sigma, _, epsilon = self.task
        return Setup(
            features=features,
            m=m,
            sigma=sigma,
            epsilon=epsilon,
            noise=np.ones(
                len(features)
            ),  # all evaluations count alike: σ is that of the noisiest arm
            initial=np.array(order, np.int64),
            alone=self._first.alone,
            budget=self._budget,
        )

    @cached_property
    def _budget(self) -> int | None:
        return None

    @cached_property
    def _first(self) -> Strategy:
        return self.strategy(self.task)

    def stops(self, strategy: Strategy) -> bool:
        """Whether the last look ends the search."""
        return strategy.statistic <= self.task.epsilon

    def posterior(self) -> Posterior:
        """An empty posterior; all results enter it, and no decision reads it."""
        return Posterior(self.task.features)

    def opening(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The arms to pull before the next decision, in order, and how often each has been by now."""
        return self.setup.initial, posterior.pulls

    def round(self) -> Course:
        """A course before its first result."""
        return Course(self._first.copy())

    def until_look(self, now: Course) -> int:
        """What the plan still lacks."""
        return int(now.missing.sum())

    def threshold(self, posterior: Posterior, now: Course) -> float:
        """C of the last look."""
        return now.strategy.threshold

    def threshold_at(self, time: float, log_det: float) -> float:
        """About what C is after so many results."""
        return self._first.threshold_at(time)

    def estimates(self, posterior: Posterior, now: Course) -> Estimates:
        """Means, variances and intervals as the strategy has them."""
        means, variances = now.strategy.estimates(posterior.means, posterior.variances)
        return Estimates(means, variances, now.strategy.intervals())

    def gaps(
        self, posterior: Posterior, now: Course, decision: Decision, *, outside_only: bool = False
    ) -> Gaps:
        """Differences of means with their bounds, as the strategy has them."""
        to_b, to_c = (now.strategy.differences(each) for each in (decision.b, decision.c))
        gap, lower, upper = (
            np.where(now.inside, -of_candidate, of_other)
            for of_candidate, of_other in zip((to_c[0], to_c[2], to_c[1]), to_b, strict=True)
        )
        return Gaps(decision.b, gap, lower, upper)

    def again(self, posterior: Posterior, now: Course, seed: int) -> tuple[Decision, Course]:
        """The last decision."""
        return decision_of(now, stop=self.stops(now.strategy)), now

    def ahead(
        self, posterior: Posterior, now: Course, seed: int
    ) -> Callable[[list[int]], Decision]:
        """Decides as if results were in: each call is given the arms supposed since the last."""
        beyond = now.copy()

        def go_on() -> None:
            if not beyond.missing.any():
                beyond.strategy.suppose(posterior.means)
                beyond.pulls, beyond.sums = beyond.nothing()

        def decide(supposing: list[int]) -> Decision:
            for arm in supposing:
                go_on()
                beyond.pulls[arm] = min(beyond.pulls[arm] + 1, beyond.strategy.plan[arm])
            go_on()
            return decision_of(beyond, stop=False)

        return decide

    def follow(
        self,
        posterior: Posterior,
        now: Course,
        seed: int,
        steps: Steps,
        marks: Integers,
    ) -> Course:
        """Take steps from where ``marks`` stand to the next stop or to their end."""
        kinds, arms, values = steps.kinds, steps.arms, steps.values
        late = bool(marks[STOPPED])  # what comes after a stop decides nothing
        while True:
            strategy = now.strategy
            certain = self.stops(strategy)
            state, wanted = posterior.state, strategy.plan
            observe = OBSERVE[state.layout]
            take_in = gather.sparing(len(kinds) * len(wanted) ** 2, observe)
            if not take_in(
                state,
                observe.pointer,
                wanted,
                now.pulls,
                now.sums,
                certain,
                kinds,
                arms,
                values,
                marks,
            ):
                break
            late = False
            if not now.missing.any():
                now.decide(seed)
                if not marks[INITIALIZED]:
                    posterior.refresh()
                    marks[INITIALIZED] = 1
            marks[NEXT] += 1
            marks[IS_IN] = 0
            if self.stops(strategy):
                marks[STOPPED] = 1
                break
        # What is to be pulled next depends on every result.
        if marks[INITIALIZED] and not (late and marks[STOPPED]):
            marks[DECIDED_AT] = posterior.observed
        return now

    def replicate(
        self,
        reward: Rule,
        parameters: NDArray[np.float64],
        seeds: NDArray[np.uint64],
        max_samples: int,
    ) -> Runs:
        """One run for each seed, from the first pull to the stop."""
        runs = [self._run(self.round(), reward, parameters, seed, max_samples) for seed in seeds]
        courses, stopped, pulls, sums = zip(*runs, strict=True)
        return Runs(
            seeds,
            np.array(pulls).sum(axis=1),
            np.array(stopped),
            np.array([course.inside for course in courses]),
            np.array(pulls),
            sums[0] if len(seeds) == 1 else None,
        )

    def _run(
        self, now: Course, reward: Rule, parameters: Reals, seed: np.uint64, most: int
    ) -> tuple[Course, bool, Integers, Reals]:
        """Go on from ``now`` to the stop, or to ``most`` pulls; gives the pulls made and their sums.

        A strategy that is compiled keeps the sums to itself, and they are 0 here: it does not use
        features, and nobody asks for them.
        """
        function: Any = pull_all
        call = reward.pointer
        if not reward.is_compiled:
            function = pull_all.interpret
        stream, pulls = np.zeros(4, np.uint64), np.zeros(len(self.task.features), np.int64)
        sums = np.zeros(len(self.task.features))
        with np.errstate(over="ignore"):
            seed_stream(np.uint64(seed), stream)
            if isinstance(now.strategy, Compiled) and reward.is_compiled:
                rewards = (call, parameters, stream, int(seed), most)
                return now, *now.strategy.play(now.pulls, now.sums, *rewards), sums
            while most > 0:
                before, sums_before = now.pulls.copy(), now.sums.copy()
                wanted = now.strategy.plan
                most -= function(wanted, call, parameters, stream, most, now.pulls, now.sums)
                pulls += now.pulls - before
                sums += now.sums - sums_before
                if now.missing.any():
                    break
                now.decide(int(seed))
                if self.stops(now.strategy):
                    return now, True, pulls, sums
        return now, False, pulls, sums

    def affordable(self, nanoseconds: float) -> int:
        """About how many evaluations can be simulated in that time; 0 if looks alone take longer."""
        if isinstance(self._first, Compiled):
            return int(nanoseconds / self._first.pull_cost)
        left = nanoseconds - LOOKS * self._first.cost
        return max(0, int(left / PULL))

    def play_on(
        self, posterior: Posterior, now: Course, means: Reals, seed: np.uint64, most: int
    ) -> tuple[int, bool, Integers]:
        """Evaluations in all, whether it stopped, and the pulls, were the means those given."""
        reward, parameters = normal, np.vstack([means, np.full(len(means), self.task.sigma)])
        if self.reward_range is not None:
            low, high = np.full((2, len(means)), np.array(self.reward_range)[:, None])
            shares = np.clip((means - low) / (high - low), 0.0, 1.0)
            reward, parameters = either, np.vstack([shares, low, high])
        told = posterior.observed
        _, stopped, pulls, _ = self._run(now.copy(), reward, parameters, seed, most - told)
        return told + int(pulls.sum()), stopped, posterior.pulls + pulls


@compiled(
    BOOLEAN(
        *(STATE, Address(OBSERVES), INTEGERS, INTEGERS, REALS, BOOLEAN),
        *(INTEGERS, INTEGERS, REALS, INTEGERS),
    )
)
def gather(
    state: State,
    observe: Callable[..., None],
    plan: Integers,
    pulls: Integers,
    sums: Reals,
    certain: bool,
    kinds: Integers,
    arms: Integers,
    values: Reals,
    marks: Integers,
) -> bool:
    """Take steps until the plan's results are in (True) or the steps end; see ``follow``.

    Of each arm only the first ``plan[a]`` results count; all of them enter the posterior. One that
    comes after a stop that was taken back is enough where the answer is ``certain``.
    """
    missing = 0
    for a in range(plan.shape[0]):
        missing += plan[a] - pulls[a]
    while marks[NEXT] < kinds.shape[0]:
        step = marks[NEXT]
        kind = kinds[step]
        if marks[IS_IN] == 0:
            if kind == REOPEN:
                marks[STOPPED] = 0
            elif kind == TAKE:
                arm = arms[step]
                observe(state, arm, values[step])
                if pulls[arm] < plan[arm]:
                    pulls[arm] += 1
                    sums[arm] += values[step]
                    missing -= 1
                if marks[STOPPED] == 0 and (missing == 0 or certain):
                    marks[IS_IN] = 1
                    return True
        marks[NEXT] += 1
        marks[IS_IN] = 0
    return False


@compiled(INTEGER(INTEGERS, POINTERS["reward"], TABLE, KEYS, INTEGER, INTEGERS, REALS))
def pull_all(
    plan: Integers,
    reward: Callable[..., float],
    parameters: Reals,
    stream: Any,
    most: int,
    pulls: Integers,
    sums: Reals,
) -> int:
    """Make the pulls that the plan still lacks, ``most`` at most; returns how many were made."""
    made = 0
    for arm in range(plan.shape[0]):
        while pulls[arm] < plan[arm]:
            if made == most:
                return made
            sums[arm] += reward(arm, parameters, stream)
            pulls[arm] += 1
            made += 1
    return made
