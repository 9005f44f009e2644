"""XY-halving as an algorithm: its budget, and what its answer is worth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.budgeted import BudgetEngine
from shortlist.algorithms.halving import Halving
from shortlist.algorithms.planned import Planned
from shortlist.algorithms.strategy import Task
from shortlist.core.rule import Rule
from shortlist.errors import InvalidSetting
from shortlist.problem import Problem, whole_number
from shortlist.rules.threshold import Threshold

NAME = "XY-halving"
SUMMARY = (
    "a fixed budget, in phases that halve the challengers; an extension without a theorem (nearest: "
    "Yang and Tan 2022, Azizi et al. 2022, Katz-Samuels et al. 2020)"
)
EXTENSION = (
    "XY-halving is an extension without a theorem (nearest: OD-LinBAI, Yang and Tan 2022; GSE, Azizi "
    "et al. 2022; Peace, Katz-Samuels et al. 2020)."
)


def _normal_quantile(share: float) -> float:
    from scipy.special import ndtri  # loads late: a tenth of a second

    return float(ndtri(share))


NORMAL = Threshold(
    Rule(
        "threshold",
        "normal",
        "Φ⁻¹(1 − δ/2): an interval of about 1 − δ for an arm named beforehand, of less for one that "
        "is listed because it came out best.",
        _normal_quantile,
        _normal_quantile,
        frozenset(),
        frozenset(),
    ),
    lambda setting, ridge: [],
    proven=False,
    assumptions="the noise is normal and the means are linear in the features",
    source="quantile of the normal distribution",
)


def no_guarantee(budget: int | None) -> str:
    """Why there is none."""
    return (
        f"No guarantee: with a fixed budget the study ends after {budget:,} evaluations, however "
        "sure it is by then."
    )


@dataclass(frozen=True)
class BudgetBound(Bound):
    """XY-halving on a problem."""

    def guarantee(self) -> str:
        """What the answer will be worth; the study adds how sure it is, as far as it can tell."""
        return f"{no_guarantee(self.engine.budget)} {EXTENSION}"


@dataclass(frozen=True, kw_only=True)
class XYHalving:
    """The m best arms, as well as a fixed number of evaluations can tell.

    ``Study(…, budget=T)`` uses it; in ``compare`` it stands beside the other algorithms. δ plays no
    part in its decisions: it only sets how wide the intervals are that are shown.

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

    def bind(self, problem: Problem, threshold: Any = None) -> Bound:
        """The algorithm on a problem."""
        if self.budget < problem.rank:
            raise InvalidSetting(
                f"budget={self.budget} is too small: the features have {problem.rank} dimensions, "
                f"and fewer than {problem.rank} evaluations leave some means unknown. Pass at least "
                f"budget={problem.rank}, better several times as much."
            )
        strategy = partial(Halving, budget=self.budget)
        plain = Planned(strategy=strategy, threshold=NORMAL, name=self.name)
        task = Task(problem.reduced, problem.m, problem.sigma, problem.delta, problem.epsilon)
        return BudgetBound(
            self.name,
            problem,
            NORMAL,
            plain.bind(problem, threshold).setting,
            BudgetEngine(strategy, task),
            ["a budget is spent, however sure the answer is by then"],
        )
