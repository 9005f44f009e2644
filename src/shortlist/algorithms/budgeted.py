"""A strategy that ends with its budget: every result counts, and the last one is the stop."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from shortlist.algorithms import plan
from shortlist.algorithms.decision import Decision, decision_of
from shortlist.algorithms.halving import Halving
from shortlist.algorithms.steps import DECIDED_AT, INITIALIZED, NEXT, STOPPED, TAKE, Steps
from shortlist.algorithms.stepwise import Course, StepwiseEngine
from shortlist.algorithms.strategy import Strategy
from shortlist.arrays import Integers, Reals
from shortlist.core.least_squares import OBSERVE
from shortlist.core.posterior import Posterior

ENDLESS = 2**40  # pulls of an arm: no result is one too many


class Spending(Course):
    """A course in which a result of any arm takes a place in the plan: it is paid for."""

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy)
        assert isinstance(strategy, Halving)
        self.halving = strategy

    @property
    def complete(self) -> bool:
        """Whether as many results are in as were planned."""
        return int(self.pulls.sum()) >= int(self.strategy.plan.sum())

    def decide(self, seed: int) -> None:
        """Show the strategy all results that came in."""
        self.take(self.sums)

    def take(self, sums: Reals) -> None:
        """Show it results of these sums."""
        nothing = self.nothing()
        self.halving.take(self.pulls, sums)
        self.pulls, self.sums = nothing


class BudgetEngine(StepwiseEngine):
    """XY-halving on its problem. It looks when as many results are in as were planned."""

    @cached_property
    def budget(self) -> int:
        """The number of results at which it stops, neither earlier nor later."""
        return self.round().halving.budget

    def stops(self, strategy: Strategy) -> bool:
        """Whether the budget is spent."""
        assert isinstance(strategy, Halving)
        return strategy.spent

    def opening(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The first phase; as many results of any arms that span the features take its place."""
        over = posterior.observed >= len(self.initial) and self._spans(posterior)
        return self.initial[:0] if over else self.initial, posterior.pulls

    def round(self) -> Spending:
        """A course before its first result."""
        return Spending(self._first.copy())

    def ahead(
        self, posterior: Posterior, now: Course, seed: int
    ) -> Callable[[list[int]], Decision]:
        """Decides as if results were in: each call is given the arms supposed since the last."""
        beyond = now.copy()
        assert isinstance(beyond, Spending)

        def go_on() -> None:
            if beyond.complete and beyond.halving.told + beyond.pulls.sum() < self.budget:
                beyond.take(beyond.pulls * posterior.means)

        def decide(supposing: list[int]) -> Decision:
            for arm in supposing:
                go_on()
                beyond.pulls[arm] += 1
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
        """Take steps from where ``marks`` stand to the stop or to their end."""
        assert isinstance(now, Spending)
        kinds, arms, values = steps.kinds, steps.arms, steps.values
        state, observe = posterior.state, OBSERVE[posterior.state.layout].pointer
        endless = np.full(len(now.pulls), ENDLESS, np.int64)
        late = bool(marks[STOPPED])  # what comes after the stop decides nothing
        looks = not late
        while looks:
            results = marks[NEXT] + np.flatnonzero(kinds[marks[NEXT] :] == TAKE)
            # One at a time where the plan is full and its results do not span: nobody asked for them.
            lacking = max(now.halving.end - posterior.observed, 1)
            looks = len(results) >= lacking
            until = results[lacking - 1] + 1 if looks else len(kinds)
            plan.gather(
                *(state, observe, endless, now.pulls, now.sums, False),
                *(kinds[:until], arms[:until], values[:until], marks),
            )
            if not looks or not self._spanned(posterior, marks):
                continue
            now.decide(seed)
            if now.halving.spent:
                marks[STOPPED] = 1
                break
        if late:
            plan.gather(
                *(state, observe, endless, now.pulls, now.sums, False),
                *(kinds, arms, values, marks),
            )
        elif marks[INITIALIZED]:  # what is to be pulled next depends on every result
            marks[DECIDED_AT] = posterior.observed
        return now

    def _spanned(self, posterior: Posterior, marks: Integers) -> bool:
        """Whether the means are known; told once, when they first are."""
        if not marks[INITIALIZED]:
            if not self._spans(posterior):
                return False
            posterior.refresh()
            marks[INITIALIZED] = 1
        return True

    def _spans(self, posterior: Posterior) -> bool:
        seen = self.features[posterior.pulls > 0]
        return bool(np.linalg.matrix_rank(seen) == self.features.shape[1])
