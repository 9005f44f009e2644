"""XY-halving: all of a fixed budget, in phases that compare fewer and fewer challengers.

After every phase least squares on all results so far gives the m candidates, and the arms nearest
behind them are the challengers: all K − m others at first, then half as many, and so on down to
one. The pulls of a phase go where they best tell candidates from challengers, among all K arms:
often the arm that tells two survivors apart is neither of them. Every result counts, and the last
one of the budget is the stop.

It is an extension without a theorem. Nearest are OD-LinBAI (Yang and Tan 2022) and GSE (Azizi,
Kveton and Ghavamzadeh 2022), which halve the survivors on the way to a single best arm and pull
survivors only, and the fixed-budget form of Peace (Katz-Samuels et al. 2020), which pulls all arms,
by a design for the Gaussian width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.designs.xy import rounded, xy_design
from shortlist.engine.algorithm_on_problem import AlgorithmOnProblem
from shortlist.engine.follow import DECIDED_AT, INITIALIZED, NEXT, STOPPED, TAKE, Steps
from shortlist.errors import InvalidSetting
from shortlist.numerics.linear import solve_lower
from shortlist.plans.algorithm import Planned
from shortlist.plans.engine import PlanEngine, PlanProgress, take_steps
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.posterior.least_squares import OBSERVE
from shortlist.posterior.posterior import Posterior
from shortlist.problem import Problem, whole_number
from shortlist.rules.initialization import span
from shortlist.rules.thresholds import strategy_threshold

NAME = "XY-halving"
SUMMARY = (
    "a fixed budget, in phases that halve the challengers; an extension without a theorem (nearest: "
    "Yang and Tan 2022, Azizi et al. 2022, Katz-Samuels et al. 2020)"
)
EXTENSION = (
    "XY-halving is an extension without a theorem (nearest: OD-LinBAI, Yang and Tan 2022; GSE, Azizi "
    "et al. 2022; Peace, Katz-Samuels et al. 2020)."
)


NORMAL = strategy_threshold(
    "normal",
    "Φ⁻¹(1 − δ/2): an interval of about 1 − δ for an arm named beforehand, of less for one that "
    "is listed because it came out best.",
    "the noise is normal and the means are linear in the features",
    "quantile of the normal distribution",
    proven=False,
)


def no_guarantee(budget: int | None) -> str:
    """Says that an answer on a budget has no guarantee, and why."""
    return (
        f"No guarantee: with a fixed budget the study ends after {budget:,} evaluations, however "
        "sure it is by then."
    )


@dataclass(frozen=True)
class BudgetBound(AlgorithmOnProblem):
    """XY-halving on a problem."""

    def guarantee(self) -> str:
        """What the answer will be worth; the study adds an estimate of how sure it is."""
        return f"{no_guarantee(self.engine.setup.budget)} {EXTENSION}"


@dataclass(frozen=True, kw_only=True)
class XYHalving:
    """XY-halving: the m best arms from a fixed number of evaluations, without a guarantee.

    ``Study(…, budget=T)`` uses it; in ``compare`` it can be compared with other algorithms. δ does
    not influence its decisions: it only sets the width of the intervals shown.

    Parameters
    ----------
    budget : int
        The number of evaluations, all of which are made.
    name : str, optional
        For tables that compare several budgets.

    Examples
    --------
    >>> import shortlist
    >>> instance = shortlist.instances.classic(K=4, m=2, omega=0.5)
    >>> results = shortlist.compare(XYHalving(budget=60), instance, runs=10, progress=False)
    >>> results.frame["samples"].tolist() == [60] * 10
    True
    """

    budget: int
    name: str = NAME

    summary = SUMMARY
    only_m = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", whole_number("budget", self.budget, 1))

    def bind(self, problem: Problem, threshold: Any = None) -> AlgorithmOnProblem:
        """The algorithm on a problem."""
        if self.budget < problem.rank:
            raise InvalidSetting(
                f"budget={self.budget} is too small: the features have {problem.rank} dimensions, "
                f"and fewer than {problem.rank} evaluations leave some means unknown. Pass at least "
                f"budget={problem.rank}, better several times as much."
            )
        strategy = partial(Halving, budget=self.budget)
        plain = Planned(strategy=strategy, threshold=NORMAL, name=self.name)
        bound = plain.bind(problem, threshold)
        assert isinstance(bound.engine, PlanEngine)
        engine = BudgetEngine(strategy, bound.engine.problem, budget=self.budget)
        reasons = ["a budget is spent, however sure the answer is by then"]
        return BudgetBound(self.name, problem, NORMAL, bound.setting, engine, reasons)


NEAR = 256  # arms on either side of the boundary whose contrasts are considered
# A contrast is weighted by one over its gap, which is taken as at least this many standard errors,
# since a small gap may be noise. On random instances 1 gave more errors, and 3 as many.
STANDARD_ERRORS = 2.0
EQUAL = 1e-9  # of the longest: what rounding may leave of a difference of equal features


class Phase(NamedTuple):
    """The number of results at its end, and how many challengers it compares."""

    end: int
    challengers: int


def phases(arms: int, m: int, rank: int, budget: int) -> list[Phase]:
    """Equal shares of the budget, half the challengers each time; the first must span the features.

    Examples
    --------
    >>> [tuple(phase) for phase in phases(arms=20, m=4, rank=5, budget=100)]
    [(20, 16), (40, 8), (60, 4), (80, 2), (100, 1)]
    >>> [tuple(phase) for phase in phases(arms=20, m=4, rank=70, budget=100)]
    [(70, 16), (80, 2), (100, 1)]
    """
    count = math.ceil(math.log2(max(m, arms - m))) + 1
    found: list[Phase] = []
    for k in range(count):
        end = max(rank, budget * (k + 1) // count)
        if not found or end > found[-1].end:
            found.append(Phase(end, math.ceil((arms - m) / 2**k)))
    return found


class Halving(Strategy):
    """Phases of a budget, with the number and sum of all results of each arm.

    Parameters
    ----------
    problem : ReducedProblem
        δ only says how wide the intervals are that are shown.
    budget : int
        How many results there will be; at least as many as the features have dimensions.

    Attributes
    ----------
    pulls, sums : array, K
        Of all results so far.
    means : array, K
        Their least-squares estimates.
    """

    def __init__(self, problem: ReducedProblem, budget: int) -> None:
        arms, rank = problem.features.shape
        self._problem = problem
        self._basis = np.linalg.qr(problem.features)[0]
        self._phases = phases(arms, problem.m, rank, budget)
        self.pulls, self.sums = np.zeros(arms, np.int64), np.zeros(arms)
        self.means, self._white = np.zeros(arms), np.zeros((rank, arms))
        self.inside = np.zeros(arms, np.bool_)
        from scipy.special import ndtri  # loads late: a tenth of a second

        self.threshold = float(ndtri(1.0 - problem.delta / 2.0))
        self.cost = 1e7 + 1e3 * min(arms, NEAR) ** 2
        self.plan = self._first_plan()

    @property
    def budget(self) -> int:
        """How many results there will be."""
        return self._phases[-1].end

    @property
    def told(self) -> int:
        """How many results it has seen."""
        return int(self.pulls.sum())

    @property
    def end(self) -> int:
        """The number of results at the end of the phase; the budget once that is spent."""
        return next((phase.end for phase in self._phases if phase.end > self.told), self.budget)

    @property
    def spent(self) -> bool:
        """Whether all of the budget is in."""
        return self.told >= self.budget

    def decide(self, sums: Reals, seed: int) -> None:
        """Take in the plan's results, and plan the next phase."""
        self.take(self.plan, sums)

    def take(self, pulls: Integers, sums: Reals) -> None:
        """Take in results, whether or not those of the plan, and plan the next phase."""
        after = self.copy()
        after.pulls, after.sums = self.pulls + pulls, self.sums + sums
        after._estimate()
        after._find_boundary()
        if not after.spent:
            after.plan = after._next_plan()
        vars(self).update(vars(after))

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, each with its interval for that pair alone."""
        gap = self.means - self.means[j]
        widths = self.threshold * self._problem.sigma * _norms(self._white.T - self._white[:, j])
        return gap, gap - widths, gap + widths

    def threshold_at(self, time: float) -> float:
        """C, which is the same at all times."""
        return self.threshold

    def _estimate(self) -> None:
        """Least squares on all results; the columns of ``_white`` have the norms of V⁻¹."""
        triangle = np.linalg.qr(np.sqrt(self.pulls)[:, None] * self._basis)[1]
        self._white = solve_lower(triangle.T, self._basis.T)
        self.means = (self._white @ self.sums) @ self._white

    def _find_boundary(self) -> None:
        """Find the candidates, and the least certain pair of a candidate and a challenger."""
        order = np.argsort(-self.means, kind="stable")
        m = self._problem.m
        self.inside = np.isin(np.arange(len(order)), order[:m])
        near, others = order[max(0, m - NEAR) : m], order[m : m + NEAR]
        upper = np.stack([self.differences(int(b))[2][others] for b in near])
        k, j = np.unravel_index(np.argmax(upper), upper.shape)
        self.b, self.c, self.statistic = int(near[k]), int(others[j]), float(upper[k, j])

    def _first_plan(self) -> Integers:
        """A spanning plan for the differences of all arms, or of those farthest from the mean."""
        away = _norms(self._basis - self._basis.mean(axis=0))
        far = np.argsort(-away, kind="stable")[:NEAR]
        i, j = np.triu_indices(len(far), 1)
        weights = self._design(far[i], far[j])
        once = np.zeros(len(weights), np.int64)
        once[span(np.sqrt(weights)[:, None] * self._basis)] = 1
        pulls = self._phases[0].end
        wanted = np.maximum(pulls * weights - once, 0.0)
        if not wanted.any():
            wanted = weights
        return once + rounded(wanted, pulls - int(once.sum()))

    def _next_plan(self) -> Integers:
        """A plan for candidates against challengers, the nearer pairs weighted more."""
        phase = next(phase for phase in self._phases if phase.end > self.told)
        order, m = np.argsort(-self.means, kind="stable"), self._problem.m
        near = order[max(0, m - NEAR) : m]
        others = order[m : m + min(phase.challengers, NEAR)]
        i, j = np.repeat(near, len(others)), np.tile(others, len(near))
        gaps = self.means[i] - self.means[j] + self._problem.epsilon
        errors = self._problem.sigma * _norms((self._white[:, i] - self._white[:, j]).T)
        weights = self._design(i, j, np.maximum(gaps, STANDARD_ERRORS * errors))
        return rounded(weights, phase.end - self.told)

    def _design(self, i: Integers, j: Integers, gaps: Reals | None = None) -> Reals:
        """Weights of all arms for the contrasts (x_i − x_j)/gap of the pairs that differ at all."""
        contrasts = self._basis[i] - self._basis[j]
        lengths = _norms(contrasts)
        differ = lengths > EQUAL * lengths.max(initial=0.0)
        if not differ.any():
            return np.full(len(self._basis), 1.0 / len(self._basis))
        scale = 1.0 if gaps is None else gaps[differ, None]
        return xy_design(self._basis, contrasts[differ] / scale)


def _norms(rows: Reals) -> Reals:
    return np.sqrt(np.einsum("ak,ak->a", rows, rows))


class BudgetProgress(PlanProgress):
    """Progress where a result of any arm takes a place in the plan: it is paid for."""

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy)
        assert isinstance(strategy, Halving)
        self.halving = strategy

    def decide(self, seed: int) -> None:
        """Give the strategy all results that came in."""
        self._take(self.sums)

    @property
    def needs_plan(self) -> bool:
        """Whether as many results are in as were planned, and some of the budget is left."""
        told = int(self.pulls.sum())
        return self.strategy.plan.sum() <= told < self.halving.budget - self.halving.told

    def suppose_pull(self, arm: int) -> None:
        """Count a result as if it were in."""
        self.pulls[arm] += 1

    def suppose(self, means: Reals) -> None:
        """Go on to the next phase as if the results of this one had come out at their means."""
        self._take(self.pulls * means)

    def _take(self, sums: Reals) -> None:
        none = np.zeros_like(self.pulls), np.zeros_like(self.sums)
        self.halving.take(self.pulls, sums)
        self.pulls, self.sums = none


UNLIMITED = 2**40  # pulls of an arm: every result counts


class BudgetEngine(PlanEngine):
    """XY-halving on its problem. It decides when as many results are in as were planned."""

    def stops(self, strategy: Strategy) -> bool:
        """Whether the budget is spent."""
        assert isinstance(strategy, Halving)
        return strategy.spent

    def opening(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The first phase; as many results of any arms that span the features take its place."""
        over = posterior.observed >= len(self.setup.initial) and self._spans(posterior)
        return self.setup.initial[:0] if over else self.setup.initial, posterior.pulls

    def round(self) -> BudgetProgress:
        """The strategy before its first result."""
        return BudgetProgress(self._first.copy())

    def follow(
        self, posterior: Posterior, now: PlanProgress, seed: int, steps: Steps, marks: Integers
    ) -> PlanProgress:
        """Take steps from where ``marks`` stand to the stop or to their end."""
        assert isinstance(now, BudgetProgress)
        unlimited = np.full(len(now.pulls), UNLIMITED, np.int64)

        def take(until: int) -> None:
            given = steps.kinds[:until], steps.arms[:until], steps.values[:until], marks
            observe = OBSERVE[posterior.state.layout].pointer
            take_steps(posterior.state, observe, unlimited, now.pulls, now.sums, False, *given)

        if marks[STOPPED]:  # what comes after the stop decides nothing
            take(len(steps.kinds))
            return now
        while not marks[STOPPED]:
            results = marks[NEXT] + np.flatnonzero(steps.kinds[marks[NEXT] :] == TAKE)
            # One at a time where the plan is full and its results do not span the features.
            lacking = max(now.halving.end - posterior.observed, 1)
            if len(results) < lacking:
                take(len(steps.kinds))
                break
            take(results[lacking - 1] + 1)
            if not marks[INITIALIZED] and self._spans(posterior):
                posterior.refresh()
                marks[INITIALIZED] = 1
            if marks[INITIALIZED]:
                now.decide(seed)
                marks[STOPPED] = int(now.halving.spent)
        if marks[INITIALIZED]:  # what is to be pulled next depends on every result
            marks[DECIDED_AT] = posterior.observed
        return now

    def _spans(self, posterior: Posterior) -> bool:
        seen = self.problem.features[posterior.pulls > 0]
        return bool(np.linalg.matrix_rank(seen) == self.problem.features.shape[1])
