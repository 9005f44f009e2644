"""A fixed budget: all of it is spent, whatever the results, and nothing is proven about the answer.

``Budgeted`` is what the algorithms with a budget have in common, ``BudgetStrategy`` what their
strategies have: least squares on all results, and the m arms of largest mean. They differ in where
they spend.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from shortlist.aim import Budget
from shortlist.arrays import Integers, Reals
from shortlist.engine.algorithm import Algorithm, Procedure
from shortlist.engine.follow import TAKE, Position, Steps
from shortlist.errors import InvalidSetting
from shortlist.guarantee import BudgetClaim, Claim, no_guarantee
from shortlist.linalg import solve_lower, span
from shortlist.plans.algorithm import Planned
from shortlist.plans.engine import Plan, PlanEngine, PlanProgress, take_steps
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.posterior.least_squares import UPDATES
from shortlist.posterior.posterior import Posterior
from shortlist.problem import Problem, whole_number
from shortlist.rules.thresholds import NO_LEVEL, StrategyThreshold

NORMAL = StrategyThreshold(
    "normal",
    "Φ⁻¹(1 − δ/2): the interval contains the mean with probability about 1 − δ for an arm named "
    "beforehand, and less often for an arm that is listed because it came out best.",
    "quantile of the normal distribution",
    coverage=NO_LEVEL,
    proven=False,
)


@dataclass(frozen=True)
class BudgetedProcedure(Procedure):
    """An algorithm with a budget, on a problem."""

    algorithm: Budgeted

    def coverage_if(self, *, proven: bool) -> str:
        """How often the arms' own intervals contain their means, in a sentence."""
        return (
            f"{super().coverage_if(proven=proven)} For normal noise those of an arm named beforehand contain "
            f"its mean with probability {1 - self.problem.delta:g}, or about that. These arms are listed because "
            "they came out best: their bounds contain their means less often."
        )

    @property
    def claim(self) -> Claim:
        """That it claims nothing; the study adds an estimate of how sure it is."""
        plain = super().claim
        return BudgetClaim(
            **{
                **vars(plain),
                "statement": no_guarantee(self.algorithm.budget),
                "extends": self.algorithm.extension,
            }
        )


@dataclass(frozen=True, kw_only=True)
class Budgeted(Algorithm):
    """An algorithm that spends a fixed number of evaluations.

    δ plays no part in its decisions: it only sets how wide the intervals are that are shown.

    Parameters
    ----------
    budget : int
        The number of evaluations, all of which are made.
    name : str, optional
        For tables, where several budgets stand beside each other.
    """

    budget: int
    name: str = ""

    extension: ClassVar[str]  # what is known of it, as a sentence
    how: ClassVar[str]  # how it spends the budget, for the middle of a sentence
    spending: ClassVar[type[BudgetStrategy]]  # where it spends
    unproven = ("a budget is spent, whether or not the answer is certain by then",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", whole_number("budget", self.budget, 1))

    @property
    def settings(self) -> dict[str, Any]:
        """The name and the budget."""
        return {"name": self.name, "budget": self.budget}

    @property
    def method(self) -> str:
        """What was used, in a sentence in the past tense."""
        return (
            f"The algorithm was {self.name}: {self.how}; estimates by least squares on all results. "
            f"It is an extension without a theorem of {', '.join(w.short for w in self.cited)}."
        )

    def bind(self, problem: Problem, threshold: Any = None) -> Procedure:
        """The algorithm on a problem."""
        if self.budget < problem.rank:
            raise InvalidSetting(
                f"budget={self.budget} is too small: the features have {problem.rank} dimensions, "
                f"and fewer than {problem.rank} evaluations leave some means unknown. Pass at least "
                f"budget={problem.rank}, better several times as much."
            )
        plain = Planned(
            strategy=partial(self.spending, budget=self.budget),
            threshold=NORMAL,
            name=self.name,
            engine=partial(BudgetEngine, aim=Budget(self.budget)),
            checks=False,
        )
        make = plain.bind(problem, threshold).make
        return BudgetedProcedure(self, problem, make, rebind=self.bind)


NEAR = 256  # arms on either side of the boundary that are looked at
# A plan has one pull for every 32 results so far: its own results would hardly have changed it.
LOOKS = 32


class BudgetStrategy(Strategy):
    """Spends a budget, with the number and sum of all results of each arm.

    The budget is at least as large as the features have dimensions. δ only says how wide the
    intervals are that are shown.
    """

    seed: int  # of the study, as soon as it has decided once
    told: int = 0  # how many results it has seen

    def __init__(self, problem: ReducedProblem, budget: int) -> None:
        arms, rank = problem.features.shape
        self._problem, self.budget, self.seed = problem, budget, 0
        self._basis = np.linalg.qr(problem.features)[0]
        # Those of all results so far, then the least-squares estimates.
        self.results = PlanResults.none(arms)
        self.means, self._white = np.zeros(arms), np.zeros((rank, arms))
        self.inside = np.zeros(arms, np.bool_)
        from scipy.special import ndtri  # loads late: a tenth of a second

        self.threshold = float(ndtri(1.0 - problem.delta / 2.0))
        self.plan = self._first_plan()

    @property
    def end(self) -> int:
        """The number of results at the end of the plan; the budget once that is spent."""
        return self.budget if self.spent else self.told + int(self.plan.sum())

    @property
    def next_size(self) -> int:
        """How many pulls the next plan has."""
        return min(max(1, self.told // LOOKS), self.budget - self.told)

    @property
    def spent(self) -> bool:
        """Whether all of the budget is in."""
        return self.told >= self.budget

    def stops(self, epsilon: float) -> bool:
        """Whether the budget is spent, whatever ε is."""
        return self.spent

    def decide(self, results: PlanResults, seed: int) -> None:
        """Take in the plan's results, and make the next plan."""
        self.take(results, seed)

    def take(self, results: PlanResults, seed: int | None = None) -> None:
        """Take in results, whether or not those of the plan, and make the next plan."""
        after = self.copy()
        after.seed = self.seed if seed is None else seed
        after.told = self.told + int(results.pulls.sum())
        after.results = self.results + results
        after._estimate()
        after._find_boundary()
        if not after.spent:
            after.plan = after._next_plan()
        vars(self).update(vars(after))

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, each with its interval for that pair alone."""
        gap = self.means - self.means[j]
        widths = self.threshold * self._problem.sigma * norms(self._white.T - self._white[:, j])
        return gap, gap - widths, gap + widths

    def threshold_at(self, time: float) -> float:
        """C, which is the same at all times."""
        return self.threshold

    def _estimate(self) -> None:
        """Least squares on all results; the columns of ``_white`` have the norms of V⁻¹."""
        pulls, sums = self.results.pulls, self.results.sums
        triangle = np.asarray(np.linalg.qr(np.sqrt(pulls)[:, None] * self._basis, mode="r"))
        self._white = solve_lower(triangle.T, self._basis.T)
        self.means = (self._white @ sums) @ self._white

    def _find_boundary(self) -> None:
        """Find the candidates, and the least certain pair of a candidate and a challenger."""
        order = np.argsort(-self.means, kind="stable")
        m = self._problem.m
        self.inside = np.zeros(len(order), np.bool_)
        self.inside[order[:m]] = True
        near, others = order[max(0, m - NEAR) : m], order[m : m + NEAR]
        upper = np.stack([self.differences(int(b))[2][others] for b in near])
        k, j = np.unravel_index(np.argmax(upper), upper.shape)
        self.b, self.c, self.statistic = int(near[k]), int(others[j]), float(upper[k, j])

    def _first_plan(self) -> Integers:
        """Arms that span the features, once."""
        plan = np.zeros(len(self._basis), np.int64)
        plan[span(self._basis)] = 1
        return plan

    @abstractmethod
    def _next_plan(self) -> Integers:
        """The plan after these results."""


def norms(rows: Reals) -> Reals:
    """The length of each row."""
    return np.sqrt(np.einsum("ak,ak->a", rows, rows))


class BudgetProgress(PlanProgress):
    """Progress where a result of any arm takes a place in the plan: it is paid for."""

    def __init__(self, strategy: Any) -> None:
        super().__init__(strategy)
        self.spending: BudgetStrategy = strategy

    def decide(self, seed: int) -> None:
        """Give the strategy all results that came in."""
        self._take(self.results, seed)

    @property
    def needs_plan(self) -> bool:
        """Whether as many results are in as were planned, and some of the budget is left."""
        told = int(self.results.pulls.sum())
        return self.strategy.plan.sum() <= told < self.spending.budget - self.spending.told

    def suppose_pull(self, arm: int) -> None:
        """Count a result as if it were in."""
        self.results.pulls[arm] += 1

    def suppose(self, means: Reals) -> None:
        """Go on to the next phase as if the results of this one had come out at their means."""
        self._take(PlanResults.at(self.results.pulls, means))

    def _take(self, results: PlanResults, seed: int | None = None) -> None:
        none = PlanResults.none(len(self.strategy.plan))
        self.spending.take(results, seed)
        self.results = none


UNLIMITED = 2**40  # pulls of an arm: every result counts


class BudgetEngine(PlanEngine):
    """A budget on its problem. It decides when as many results are in as were planned."""

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The first phase; as many results of any arms that span the features take its place."""
        over = posterior.observed >= len(self.setup.initial) and self._spans(posterior)
        return self.setup.initial[:0] if over else self.setup.initial, posterior.pulls

    def round(self) -> BudgetProgress:
        """The strategy before its first result."""
        return BudgetProgress(self._first.copy())

    def follow(
        self, posterior: Posterior, now: Any, seed: int, steps: Steps, position: Position
    ) -> BudgetProgress:
        """Take steps from ``position`` to the stop or to their end."""
        unlimited = Plan(np.full(len(now.strategy.plan), UNLIMITED, np.int64))

        def take(until: int) -> None:
            updates, given = UPDATES[posterior.state.layout], (unlimited, now.results, False, False)
            take_steps(posterior.state, updates, *given, steps.part(0, until), position)

        if position.is_stopped[0]:  # what comes after the stop decides nothing
            take(len(steps.kinds))
            return now
        while not position.is_stopped[0]:
            results = position.next[0] + np.flatnonzero(steps.kinds[position.next[0] :] == TAKE)
            # One at a time where the plan is full and its results do not span the features.
            lacking = max(now.spending.end - posterior.observed, 1)
            if len(results) < lacking:
                take(len(steps.kinds))
                break
            take(results[lacking - 1] + 1)
            if not position.is_initialized[0] and self._spans(posterior):
                posterior.refresh()
                position.is_initialized[0] = 1
            if position.is_initialized[0]:
                now.decide(seed)
                position.is_stopped[0] = int(now.spending.spent)
        if position.is_initialized[0]:  # what is to be pulled next depends on every result
            position.decided_at[0] = posterior.observed
        return now

    def _spans(self, posterior: Posterior) -> bool:
        seen = self.problem.features[posterior.pulls > 0]
        return bool(np.linalg.matrix_rank(seen) == self.problem.features.shape[1])
