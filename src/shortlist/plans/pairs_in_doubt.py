"""A fixed budget for the pairs of arms whose order is in doubt.

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

import math
from dataclasses import dataclass

import numpy as np

from shortlist.engine.algorithm import Need
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals, Table
from shortlist.plans.budget import NEAR, Budgeted, BudgetStrategy

EQUAL = 1e-12  # of the arms' own squares: what rounding may leave of a difference of equal features
TIED = 1e-9  # of the largest gain: what rounding may make of equal ones


class PairsInDoubtStrategy(BudgetStrategy):
    """Plans of few pulls, each of the arm that tells most about the pairs in doubt."""

    def _next_plan(self) -> Integers:
        """The pulls that tell most about the pairs, with their doubt as it is before the plan."""
        plan = np.zeros(len(self.means), np.int64)
        white, pairs = np.ascontiguousarray(self._white), np.ascontiguousarray(self._pairs())
        own = np.einsum("ka,ka->a", white, white)
        told = np.einsum("ka,ka->a", white, pairs @ white)  # of the pairs, by a result of each arm
        scratch = np.zeros((2, len(white))), np.zeros((2, len(plan)))
        choose_pulls(white.copy(), pairs, own, told, self.next_size, *scratch, plan)
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


@compiled()
def take_result(
    arm: int, white: Table, pairs: Table, columns: Table, along: Reals, across: Reals
) -> float:
    """Bring both up to date by one more result of the arm (the square root of Potter 1963).

    Writes wᵀw_arm and wᵀPw_arm of every arm, P the pairs, both before the result; returns 1 + w²_arm.
    """
    rank, arms = white.shape
    own, turned = columns[0], columns[1]
    size, both = 0.0, 0.0
    for k in range(rank):
        own[k] = white[k, arm]
        size += own[k] * own[k]
    for k in range(rank):
        turned[k] = 0.0
        for i in range(rank):
            turned[k] += pairs[k, i] * own[i]
        both += own[k] * turned[k]
    for a in range(arms):
        along[a] = across[a] = 0.0
    for k in range(rank):
        for a in range(arms):
            along[a] += own[k] * white[k, a]
            across[a] += turned[k] * white[k, a]
    scale = 1.0 / (1.0 + size + math.sqrt(1.0 + size))
    for k in range(rank):
        for a in range(arms):
            white[k, a] -= scale * own[k] * along[a]
        for i in range(rank):
            pairs[k, i] -= scale * (own[k] * turned[i] + turned[k] * own[i])
            pairs[k, i] += scale * scale * both * own[k] * own[i]
    return 1.0 + size


@compiled(typed=True)
def choose_pulls(
    white: Table,
    pairs: Table,
    own: Reals,
    told: Reals,
    pulls: int,
    columns: Table,
    rows: Table,
    plan: Integers,
) -> None:
    """Add ``pulls`` pulls to the plan; all but it and ``pulls`` are overwritten."""
    along, across = rows[0], rows[1]
    for _ in range(pulls):
        most = 0.0
        for a in range(told.shape[0]):
            most = max(most, told[a] / (1.0 + own[a]))
        arm = 0
        for a in range(told.shape[0]):
            if told[a] / (1.0 + own[a]) >= (1.0 - TIED) * most:
                arm = a
                break
        plan[arm] += 1
        gain = told[arm]
        size = take_result(arm, white, pairs, columns, along, across)
        for a in range(told.shape[0]):
            share = along[a] / size
            told[a] += share * (share * gain - 2.0 * across[a])
            own[a] -= along[a] * share


@dataclass(frozen=True, kw_only=True)
class PairsInDoubt(Budgeted):
    """The m best arms, as well as a fixed number of evaluations can tell.

    ``Study(…, budget=T)`` uses it. Its decisions do not depend on a seed: equal results lead to
    equal pulls.

    Examples
    --------
    >>> import shortlist
    >>> instance = shortlist.instances.classic(K=4, m=2, omega=0.5)
    >>> results = shortlist.compare(PairsInDoubt(budget=60), instance, runs=10, progress=False)
    >>> results.frame["samples"].tolist() == [60] * 10
    True
    """

    name: str = "pairs-in-doubt"

    @classmethod
    def kind_name(cls) -> str:
        """What algorithms of this class are called in a list."""
        return cls.name

    spending = PairsInDoubtStrategy
    summary = (
        "a fixed budget, spent on the pairs whose order is in doubt; an extension without a theorem "
        "(nearest: You et al. 2023)"
    )
    # Published by nobody; these are the nearest algorithms that were.
    works = ("you", "russo")
    needs = Need(
        "budget",
        "says how many evaluations there are",
        "pairs-in-doubt needs a budget: pass budget=… to Study, or shortlist.PairsInDoubt(budget=…) "
        "to compare.",
        "With a fixed budget in place of a guarantee (budget = …)",
    )
    how = (
        "each pull went to the arm, of all arms, whose result removed the largest share of the "
        "variance of the differences between candidates and others, every difference weighted by "
        "the posterior probability that the two are in the wrong order"
    )
    extension = (
        "Spending a budget on pairs in doubt is an extension without a theorem (nearest: "
        "information-directed selection, You et al. 2023)."
    )
