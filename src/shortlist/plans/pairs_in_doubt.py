"""A fixed budget for the pairs of arms whose order is in doubt.

Given the results, normal noise and no opinion beforehand, the difference of two means is normal
around its least-squares estimate. So for every candidate b and every other arm c there is a
probability that c is the better one, by more than ε. A result of arm a removes a share of the
variance of μ̂_b − μ̂_c, the same whatever the result is. The pull goes to the arm, of all K, that
removes most, summed over all pairs, each times its probability.

Summing before choosing sets the shares. An arm that is in many pairs, as the last of the m best, is
worth the pull for all of them. With one arm above K − 1 equal ones, without features, no arm is
better to pull than another where it has √(K − 1) times as many results as each of them, which are
the best shares of a budget (Glynn and Juneja 2004). Top-two sampling, which takes pairs one by one,
makes them equal; a fair coin gives it as many as all others together. For the m best arms You, Qin,
Wang and Yang (2023) have the conditions for the best shares. That this rule comes near to them has not
been proven.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.plans.budget import NEAR, Budgeted, BudgetStrategy, SmallPlans
from shortlist.plans.strategy import ReducedProblem

NAME = "pairs-in-doubt"
SUMMARY = (
    "a fixed budget, spent on the pairs whose order is in doubt; an extension without a theorem "
    "(nearest: You et al. 2023)"
)
EQUAL = 1e-12  # of the arms' own squares: what rounding may leave of a difference of equal features
TIED = 1e-9  # of the largest gain: what rounding may make of equal ones


@dataclass(frozen=True, kw_only=True)
class PairsInDoubt(Budgeted):
    """The m best arms, as well as a fixed number of evaluations can tell.

    ``Study(…, budget=T)`` uses it; in ``compare`` it stands beside the other algorithms. δ plays no
    part in its decisions: it only sets how wide the intervals are that are shown. Nor does a seed:
    equal results lead to equal pulls.

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

    name: str = NAME

    summary: ClassVar[str] = SUMMARY
    extension: ClassVar[str] = (
        "Spending a budget on pairs in doubt is an extension without a theorem (nearest: "
        "information-directed selection, You et al. 2023)."
    )

    def strategy(self) -> Callable[[ReducedProblem], BudgetStrategy]:
        """All pairs for every plan."""
        return partial(DoubtfulPairs, budget=self.budget)


class DoubtfulPairs(SmallPlans):
    """Plans of few pulls, each of the arm that tells most about the pairs in doubt."""

    def __init__(self, problem: ReducedProblem, budget: int) -> None:
        super().__init__(problem, budget)
        arms, rank = problem.features.shape
        self.cost = 1e5 + 1e1 * min(arms, NEAR) ** 2 + 0.3 * arms * rank**2

    def _next_plan(self) -> Integers:
        """The pulls that tell most about the pairs, with their doubt as it is before the plan."""
        plan = np.zeros(len(self.means), np.int64)
        white, pairs = self._white.copy(), self._pairs()
        own = np.einsum("ka,ka->a", white, white)
        told = np.einsum("ka,ka->a", white, pairs @ white)  # of the pairs, by a result of each arm
        for left in range(self.next_size, 0, -1):
            gain = told / (1.0 + own)
            arm = int(np.argmax(gain >= (1.0 - TIED) * gain.max()))
            plan[arm] += 1
            if left == 1:
                break
            along, across = result_of(arm, white, pairs)
            size = 1.0 + own[arm]
            told += along / size * (along / size * told[arm] - 2.0 * across)
            own -= along * along / size
        return plan

    def _pairs(self) -> Reals:
        """Σ p_bc (w_b − w_c)(w_b − w_c)ᵀ/‖w_b − w_c‖², w the columns of ``_white``.

        p_bc is the probability that c is better than b by more than ε, up to a common factor.
        """
        from scipy.special import log_ndtr  # loads late: a tenth of a second

        m, order = self._problem.m, np.argsort(-self.means, kind="stable")
        inside, others = order[max(0, m - NEAR) : m], order[m : m + NEAR]
        b, c = self._white[:, inside], self._white[:, others]
        own = np.einsum("ka,ka->a", b, b)[:, None] + np.einsum("ka,ka->a", c, c)
        square = own - 2.0 * (b.T @ c)
        apart = square > EQUAL * own
        if not apart.any():  # nothing tells these pairs apart: all means, then
            return np.asarray(self._white @ self._white.T)
        square = np.where(apart, square, 1.0)
        gap = self.means[inside][:, None] - self.means[others] + self._problem.epsilon
        doubt = np.where(apart, log_ndtr(-gap / (self._problem.sigma * np.sqrt(square))), -np.inf)
        weights = np.exp(doubt - doubt.max()) / square
        across = b @ weights @ c.T
        return np.asarray(
            (b * weights.sum(axis=1)) @ b.T + (c * weights.sum(axis=0)) @ c.T - across - across.T
        )


def result_of(arm: int, white: Reals, pairs: Reals) -> tuple[Reals, Reals]:
    """Bring both up to date by one more result of the arm (the square root of Potter 1963).

    Returns
    -------
    array, K, and array, K
        wᵀw_arm and wᵀPw_arm of every arm, P the pairs, both before the result.
    """
    own = white[:, arm].copy()
    along, turned = own @ white, pairs @ own
    across = turned @ white
    size = own @ own
    scale = 1.0 / (1.0 + size + np.sqrt(1.0 + size))
    white -= scale * np.outer(own, along)
    pairs -= scale * (np.outer(own, turned) + np.outer(turned, own))
    pairs += scale**2 * (own @ turned) * np.outer(own, own)
    return along, across
