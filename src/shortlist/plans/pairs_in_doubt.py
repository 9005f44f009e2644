"""A fixed budget for the pairs of arms whose order is in doubt.

All of it is spent, whatever the results, and nothing is proven about the answer: least squares on all
results, and the m arms of largest mean.

Given the results, normal noise and no opinion beforehand, the difference of two means is normal
around its least-squares estimate. So for every candidate b and every other arm c there is a
probability that c is the better one, by more than ε. A result of arm a removes a share of the
variance of μ̂_b − μ̂_c, the same whatever the result is. The pull goes to the arm, of all K, that
removes most, summed over all pairs, each times its probability.

Summing before choosing sets the shares. An arm that is in many pairs, as the last of the m best, is
worth the pull for all of them. With one arm above K − 1 equal ones, without features, no arm is
better to pull than another where it has √(K − 1) times as many results as each of them, which are
the best shares of a budget (Glynn and Juneja 2004). For the m best arms You,
Qin, Wang and Yang (2023) have the conditions for the best shares. That this rule comes near to them
has not been proven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shortlist.arrays import NO_BLOCK, Integers, Reals
from shortlist.blocks import Cell
from shortlist.engine.aim import Budget
from shortlist.engine.algorithm import Need, Procedure
from shortlist.engine.contract import Decision
from shortlist.engine.fits import Posterior
from shortlist.engine.relation import Linear
from shortlist.engine.threshold import NO_LEVEL, StrategyThreshold
from shortlist.errors import InvalidSetting
from shortlist.linalg import span
from shortlist.noise import Noise
from shortlist.plans.algorithm import ByPlans, OnBudget
from shortlist.plans.design import TINY
from shortlist.plans.noises import Totals
from shortlist.plans.question import Question
from shortlist.plans.search_engine import Progress, Result, SearchEngine
from shortlist.plans.strategy import Strategy, StrategyEngine
from shortlist.problem import Problem, whole_number

NEAR = 256  # arms on either side of the boundary that are looked at
# A plan has one pull for every 32 results so far: its own results would hardly have changed it.
LOOKS = 32
EQUAL = 1e-12  # of the arms' own squares: what rounding may leave of a difference of equal features
TIED = 1e-9  # of the largest gain: what rounding may make of equal ones

NORMAL = StrategyThreshold(
    "normal",
    "Φ⁻¹(1 − δ/2): the interval contains the mean with probability about 1 − δ for an arm named "
    "beforehand, and less often for an arm that is listed because it came out best.",
    "quantile of the normal distribution",
    coverage=NO_LEVEL,
    proven=False,
)


class PairsInDoubtStrategy(Strategy):
    """Plans of few pulls, each of the arm that tells most about the pairs in doubt.

    It is given all results, asked for or not. The question's budget is at least as large as the features
    have dimensions, and δ only says how wide the intervals are that are shown.
    """

    def __init__(self, question: Question) -> None:
        from scipy.special import ndtri  # loads late: a tenth of a second

        self.question, self.total = question, Totals.none(question.arms)
        x = question.features
        self._basis = None if x is None else np.linalg.qr(x)[0]
        # The least-squares estimates and their variances. The columns of ``_white`` have the norms of V⁻¹;
        # without features it is None, and V⁻¹ has the variances on its diagonal.
        self.means, self.variances = np.zeros((2, question.arms))
        self._white: Reals | None = None
        self.inside = np.zeros(question.arms, np.bool_)
        self.threshold = float(ndtri(1.0 - question.delta / 2.0))
        self.plan = np.ones(question.arms, np.int64)
        if self._basis is not None:  # arms that span the features
            self.plan = np.bincount(span(self._basis), minlength=question.arms)

    @property
    def told(self) -> int:
        """How many results it has seen."""
        return int(self.total.pulls.sum())

    @property
    def sigma(self) -> float:
        """σ: that of the noisiest arm is taken for all."""
        return float(self.question.sigma.max())

    def spans(self, pulls: Integers) -> bool:
        """Whether so many results of each arm tell of all means."""
        if self._basis is None:
            return bool((pulls > 0).all())
        return bool(np.linalg.matrix_rank(self._basis[pulls > 0]) == self._basis.shape[1])

    def decide(self, arms: Integers, values: Reals, seed: int) -> None:
        """Take in results, whether or not those of the plan, and make the next plan."""
        self.total = self.total.plus(arms, values)
        self._estimate()
        near = self._find_boundary()
        size = max(1, self.told // LOOKS)
        left = int(min(size, max(self.question.budget - self.told, 0)))
        self.plan = self.next_plan(left, *near)

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, each with its interval for that pair alone."""
        gap = self.means - self.means[j]
        if self._white is None:
            apart = self.variances + self.variances[j]
            apart[j] = 0.0
        else:
            apart = ((self._white - self._white[:, [j]]) ** 2).sum(axis=0)
        widths = self.threshold * self.sigma * np.sqrt(apart)
        return gap, gap - widths, gap + widths

    def threshold_at(self, time: float) -> float:
        """C, which is the same at all times."""
        return self.threshold

    def _estimate(self) -> None:
        """Least squares on all results."""
        pulls = self.total.pulls
        if self._basis is None:
            self.means, self.variances = self.total.averages, 1.0 / pulls
            return
        seen = pulls > 0
        rows = np.sqrt(pulls[seen])[:, None] * self._basis[seen]
        triangle = np.linalg.qr(rows, mode="r")
        self._white = np.linalg.inv(triangle).T @ self._basis.T
        self.means = (self._white @ self.total.sums) @ self._white
        self.variances = (self._white**2).sum(axis=0)

    def _find_boundary(self) -> tuple[Integers, Integers, Reals]:
        """Find the candidates, and the least certain pair of a candidate and a challenger.

        Returns the arms on either side of the boundary, and the variances of their differences in units
        of σ²: 0 where nothing tells two apart.
        """
        m, order = self.question.m, np.argsort(-self.means, kind="stable")
        self.inside = np.zeros(len(order), np.bool_)
        self.inside[order[:m]] = True
        b, c = order[max(0, m - NEAR) : m], order[m : m + NEAR]
        own = self.variances[b][:, None] + self.variances[c]
        apart = own if self._white is None else own - 2.0 * self._white[:, b].T @ self._white[:, c]
        apart = np.where(apart > EQUAL * own, apart, 0.0)
        upper = self.threshold * self.sigma * np.sqrt(apart) - (
            self.means[b][:, None] - self.means[c]
        )
        k, j = np.unravel_index(np.argmax(upper), upper.shape)
        self.b, self.c = int(b[k]), int(c[j])
        self.statistic = float(self.differences(self.b)[2][self.c])
        return b, c, apart

    def next_plan(self, size: int, b: Integers, c: Integers, apart: Reals) -> Integers:
        """The pulls that tell most about the pairs, with their doubt as it is before the plan."""
        plan, weights = np.zeros(len(self.means), np.int64), self._doubt(b, c, apart)
        if self._white is None:
            in_pairs = np.zeros(len(plan))
            in_pairs[b], in_pairs[c] = weights.sum(axis=1), weights.sum(axis=0)
            for _ in range(size):
                pulls = self.total.pulls + plan
                plan[_largest(in_pairs / (pulls * (pulls + 1.0)))] += 1
            return plan
        white, rank = self._white, len(self._white)
        pairs = white @ white.T  # all means, where nothing tells these pairs apart
        if apart.any():  # Σ weight (w_b − w_c)(w_b − w_c)ᵀ, w the columns
            wb, wc = white[:, b], white[:, c]
            across = wb @ weights @ wc.T
            pairs = (wb * weights.sum(axis=1)) @ wb.T + (wc * weights.sum(axis=0)) @ wc.T
            pairs = pairs - across - across.T
        own, told = self.variances, (white * (pairs @ white)).sum(axis=0)
        inner = np.eye(rank)  # (I + Σ w wᵀ)⁻¹ over the pulls of the plan
        for _ in range(size):
            arm = _largest(told / (1.0 + own))
            plan[arm] += 1
            column = inner @ white[:, arm]
            along, across = column @ white, (inner @ (pairs @ column)) @ white
            share = along / (1.0 + along[arm])
            told = told + share * (share * told[arm] - 2.0 * across)
            own = own - share * along
            inner = inner - np.outer(column, column) / (1.0 + along[arm])
        return plan

    def _doubt(self, b: Integers, c: Integers, apart: Reals) -> Reals:
        """The probability that c is better than b by more than ε, over what is known of their difference.

        Up to a common factor; 0 for pairs that nothing tells apart.
        """
        from scipy.special import log_ndtr  # loads late: a tenth of a second

        gap = self.means[b][:, None] - self.means[c] + self.question.epsilon
        square = np.where(apart > 0.0, apart, 1.0)
        doubt = np.where(apart > 0.0, log_ndtr(-gap / (self.sigma * np.sqrt(square))), -np.inf)
        if not apart.any():
            return np.zeros_like(apart)
        return np.asarray(np.exp(doubt - doubt.max()) / square)


def _largest(gains: Reals) -> int:
    """The first of the largest, up to rounding."""
    return int(np.argmax(gains >= (1.0 - TIED) * max(gains.max(), TINY)))


class BudgetProgress(Progress):
    """Progress where a result of any arm takes a place in the plan: it is paid for."""

    def take(self, arm: int, block: int, value: float, *, asked: bool) -> None:
        """Take in a result."""
        result = Result(arm, block, value, self.taken)
        self.taken += 1
        if self.wanted[Cell(arm)] > 0:
            self._fill(result)
        else:
            self.results.append(result)

    @property
    def is_over(self) -> bool:
        """Whether as many results are in as were planned, and tell of all means."""
        search: Any = self.search
        if search.stopped or len(self.results) < len(self.order):
            return False
        arms = np.array([each.arm for each in self.results], np.int64)
        pulls = np.bincount(arms, minlength=search.question.arms)
        return search.told > 0 or search.strategy.spans(pulls)


class BudgetEngine(StrategyEngine):
    """A budget on its problem. It decides when as many results are in as were planned."""

    def round(self) -> Progress:
        """The strategy before its first result."""
        return BudgetProgress(self._search)

    def initial_pulls(self, posterior: Posterior) -> tuple[Integers, Integers]:
        """The first plan; as many results of any arms that span the features take its place."""
        first, pulls = super().initial_pulls(posterior)
        strategy: Any = self._first
        over = posterior.observed >= len(first) and strategy.spans(pulls)
        return first[:0] if over else first, pulls

    def ahead(
        self, posterior: Posterior, now: Progress, seed: int
    ) -> Callable[[list[Cell], Collection[int]], Decision | None]:
        """Decides as if results were in, at the means of their arms."""
        now.begin(seed)
        beyond, means = now.copy(), posterior.means

        def decide(supposing: list[Cell], set_aside: Collection[int]) -> Decision | None:
            for cell in supposing:
                beyond.take(cell.arm, NO_BLOCK, float(means[cell.arm]), asked=True)
                if beyond.is_over:
                    beyond.decide()
            found = beyond.lacking(Counter(), set_aside)
            return found and beyond.decision(stop=False)._replace(arm=found.arm)

        return decide


class Estimating(OnBudget):
    """An algorithm that ends with a budget and proves nothing, on a problem."""

    def coverage_if(self, *, proven: bool) -> str:
        """How often the arms' own intervals contain their means, in a sentence."""
        return (
            f"{super().coverage_if(proven=proven)} For normal noise those of an arm named beforehand contain "
            f"its mean with probability {1 - self.problem.delta:g}, or about that. These arms are listed because "
            "they came out best: their bounds contain their means less often."
        )


@dataclass(frozen=True, kw_only=True)
class PairsInDoubt(ByPlans):
    """The m best arms, as well as a fixed number of evaluations can tell.

    ``Study(…, budget=T)`` uses it. Its decisions do not depend on a seed: equal results lead to
    equal pulls. δ plays no part in them: it only sets how wide the intervals are that are shown.

    Parameters
    ----------
    budget : int
        The number of evaluations, all of which are made.
    name : str, optional
        For tables, where several budgets stand beside each other.

    Examples
    --------
    >>> import shortlist
    >>> instance = shortlist.instances.classic(K=4, m=2, omega=0.5)
    >>> results = shortlist.compare(PairsInDoubt(budget=60), instance, runs=10, progress=False)
    >>> results.frame["samples"].tolist() == [60] * 10
    True
    """

    budget: int
    name: str = "pairs-in-doubt"

    summary = (
        "a fixed budget, spent on the pairs whose order is in doubt; an extension without a theorem "
        "(nearest: You et al. 2023)"
    )
    # Published by nobody; these are the nearest algorithms that were.
    works = ("you", "russo")
    unproven = ("a budget is spent, whether or not the answer is certain by then",)
    needs = Need(
        "budget",
        "says how many evaluations there are",
        "pairs-in-doubt needs a budget: pass budget=… to Study, or shortlist.PairsInDoubt(budget=…) "
        "to compare.",
        "With a fixed budget in place of a guarantee (budget = …)",
    )
    relation = Linear
    procedure = Estimating

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", whole_number("budget", self.budget, 1))

    @classmethod
    def kind_name(cls) -> str:
        """What algorithms of this class are called in a list."""
        return cls.name

    @property
    def settings(self) -> dict[str, Any]:
        """The name and the budget."""
        return {"name": self.name, "budget": self.budget}

    @property
    def method(self) -> str:
        """What was used, in a sentence in the past tense."""
        return (
            f"The algorithm was {self.name}: each pull went to the arm, of all arms, whose result removed "
            "the largest share of the variance of the differences between candidates and others, every "
            "difference weighted by the posterior probability that the two are in the wrong order; "
            "estimates by least squares on all results. It is an extension without a theorem of "
            f"{', '.join(w.short for w in self.cited)}."
        )

    def on_budget(self, _: Procedure) -> str:
        """What is known of it; the study adds an estimate of how sure it is."""
        return (
            "Spending a budget on pairs in doubt is an extension without a theorem (nearest: "
            "information-directed selection, You et al. 2023)."
        )

    def check(self, problem: Problem) -> None:
        """Raise where the budget leaves some means unknown."""
        if self.budget < problem.rank:
            raise InvalidSetting(
                f"budget={self.budget} is too small: the features have {problem.rank} dimensions, "
                f"and fewer than {problem.rank} evaluations leave some means unknown. Pass at least "
                f"budget={problem.rank}, better several times as much."
            )

    def bound(self, problem: Problem) -> StrategyThreshold:
        """How wide intervals are."""
        return NORMAL

    def engine(self, problem: Problem, features: Reals, noise: Noise) -> SearchEngine:
        """The strategy, which spends the budget."""
        own = Question.plain(problem, None if problem.is_classical else features)
        question = replace(own, budget=self.budget)
        given = question, features, np.ones(problem.arms), noise.scale
        make = partial(PairsInDoubtStrategy, question)
        return BudgetEngine(*given, strategy=make, aim=Budget(self.budget))
