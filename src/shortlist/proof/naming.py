"""Sets that were named, which alone carry proof.

A set is *named* at a time, with a risk: a part of δ. If it is not what is asked, the truth and the set
fix one pair (its worst arm, the best arm outside) that is in the wrong order by more than ε, and the
evidence of this pair, by results since the naming, ever reaches 1/risk with a probability of at most
the risk. So a set is proven when all its pairs have passed, and there is no union over pairs. Risks
of all sets of all namings add up to at most δ: every naming has a share of it, by one endless table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.proof.contrasts import TINY
from shortlist.proof.evidence import Evidence
from shortlist.proof.plan import Plan

#: Of δ, for each naming; later ones have REST/(k(k + 1)), k = 1, 2, …
SHARES, REST = (0.85, 0.09, 0.03), 0.03
#: Of a naming's share, while as many arms outside were retired since; likewise.
MOVED, MOVED_REST = (0.9, 0.08, 0.01), 0.01
#: Of the search for the least slack: steps to either side, and in between; and how near it ends.
WIDER, NARROWER, NEAR = 25, 60, 1e-6


def share_of(naming: int) -> float:
    """The share of δ with which each naming begins, from 0 on.

    It is `entry_of(SHARES, …)` times ``MOVED[0]``: what is left of a naming's share is for retired arms. All shares,
    of every naming after every number of retirements, add up to 1 and are fixed beforehand: who could choose
    between two events for the next share would choose the one that is about to pass.

    Examples
    --------
    >>> [round(share_of(k), 4) for k in range(5)]
    [0.765, 0.081, 0.027, 0.0135, 0.0045]
    """
    return entry_of(SHARES, REST, naming) * MOVED[0]


def entry_of(table: tuple[float, ...], rest: float, number: int) -> float:
    """An entry of an endless table whose entries add up to 1."""
    k = number - len(table) + 1
    return table[number] if k <= 0 else rest / (k * (k + 1))


class Naming:
    """Sets named at one time, the risk of each, and the evidence since.

    Parameters
    ----------
    risks : mapping
        The risk of every set: ``inside.tobytes()`` of its mask of arms.
    evidence : Evidence
        About all pairs of an arm of a set with any other, with no plan yet.
    since : int
        The number of plans there were.
    begun : array of int, K
        The pulls of every arm until then.
    about : array of bool, K, optional
        The arms whose pairs may prove something: those that may be listed. By default all.

    Attributes
    ----------
    moves : int
        How many arms outside were retired since.
    listable : int
        How many arms might have been listed then.
    peak : array
        The largest ln E so far of every pair of the evidence, with the ε of then: with a larger ε, E
        is larger.
    """

    def __init__(
        self,
        risks: Mapping[bytes, float],
        evidence: Evidence,
        since: int = 0,
        begun: Integers | None = None,
        about: Mask | None = None,
    ) -> None:
        self.risks, self.moves, self.since = dict(risks), 0, since
        self.about = np.ones(evidence.pairs.K, np.bool_) if about is None else about
        self.listable = int(self.about.sum())
        self.begun = np.zeros(evidence.pairs.K, dtype=np.int64) if begun is None else begun
        self.evidence, self._blank = evidence, copy(evidence)
        self.peak = np.full(len(evidence.pairs), -np.inf)
        #: Whether the peak has the plans so far, at this ε.
        self._seen, self._epsilon = np.zeros(len(evidence.pairs), np.bool_), math.nan

    def copy(self) -> Naming:
        """An independent copy."""
        twin = copy(self)
        twin.risks, twin.evidence = dict(self.risks), copy(self.evidence)
        twin.peak, twin._seen = self.peak.copy(), self._seen.copy()
        return twin

    @property
    def sets(self) -> list[Mask]:
        """The sets, as masks of the arms there were."""
        return [np.frombuffer(key, dtype=bool) for key in self.risks]

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan, if they are evidence."""
        if plan.evidence:
            self.evidence.after(plan)
            self._seen[:] = False

    def move(self) -> None:
        """Go on with the next part of its share of δ, after an arm outside retired.

        After k arms outside have retired, a wrong set is wrong by its worst arm and the j-th best outside,
        j ≤ k + 1, as all better ones have retired. The j-th matters only after j − 1 have: from then on
        the level is at least that of the j-th part the naming has had. So each of these parts covers
        one pair, at all times, whatever was the reason to retire arms. They are fixed beforehand.
        """
        before = entry_of(MOVED, MOVED_REST, self.moves)
        self.moves += 1
        less = entry_of(MOVED, MOVED_REST, self.moves) / before
        self.risks = {key: risk * less for key, risk in self.risks.items()}

    def without(self, arms: Mask) -> None:
        """Prove nothing of these arms any more, and of no set with one of them inside."""
        self.exclude(arms)
        gone = arms[: len(self.about)]
        self.risks = {
            key: risk
            for key, risk in self.risks.items()
            if not (np.frombuffer(key, dtype=bool) & gone).any()
        }

    def exclude(self, arms: Mask) -> None:
        """Prove nothing of pairs with these arms: a later naming is to be about them."""
        self.about = self.about & ~arms[: len(self.about)]

    def has(self, b: Integers, c: Integers) -> Mask:
        """Which pairs of an arm inside and one outside it may prove something of."""
        known = self.evidence.pairs.has(b, c)
        known[known] = self.about[b[known]] & self.about[c[known]]
        return known

    def level(self, inside: Mask) -> float:
        """What ln E must reach for this set; infinite if it was not named."""
        known = self.evidence.pairs.K
        if inside[known:].any():  # an arm that was added since
            return math.inf
        risk = self.risks.get(inside[:known].tobytes(), 0.0)
        return -math.log(risk) if risk > 0.0 else math.inf

    def missing(self, b: Integers, c: Integers, level: float, epsilon: float) -> Reals:
        """What ln E of each pair lacks: 0 or less where it has passed, ∞ if the naming has no such pair."""
        lacks = np.full(len(b), np.inf)
        known = np.flatnonzero(self.has(b, c))
        lacks[known] = level - self._peaks(b[known], c[known], level, epsilon)
        return lacks

    def reached(self, b: Integers, c: Integers, epsilon: float) -> Reals:
        """The largest ln E of each pair so far; −∞ if the naming has no such pair."""
        found = np.full(len(b), -np.inf)
        known = np.flatnonzero(self.has(b, c))
        found[known] = self._peaks(b[known], c[known], math.inf, epsilon)
        return found

    def now(self, b: Integers, c: Integers, epsilon: float) -> Reals:
        """The ln E of each pair by all plans so far; −∞ if the naming has no such pair."""
        found = np.full(len(b), -np.inf)
        known = np.flatnonzero(self.has(b, c))
        found[known] = self.evidence.log_e(b[known], c[known], epsilon)
        return found

    def _peaks(self, b: Integers, c: Integers, level: float, epsilon: float) -> Reals:
        """The largest ln E so far, up to date where it was below ``level``."""
        at = self.evidence.pairs.place(b, c)
        if epsilon != self._epsilon:
            self._seen[:], self._epsilon = False, epsilon
        now = np.flatnonzero((self.peak[at] < level) & ~self._seen[at])
        self._seen[at[now]] = True
        found = self.evidence.log_e(b[now], c[now], epsilon)
        self.peak[at[now]] = np.maximum(self.peak[at[now]], found)
        return np.asarray(self.peak[at])

    def least_slacks(self, b: Integers, c: Integers, level: float) -> Reals:
        """The least slack with which each pair passes now; ∞ if there is none."""
        least = np.full(len(b), np.inf)
        known = np.flatnonzero(self.has(b, c))
        least[known] = least_slack(self.evidence, b[known], c[known], level)
        return least

    def again(self, plans: Sequence[Plan], epsilon: float) -> None:
        """Evidence anew from all plans of the study, with the bets of then: a value was corrected."""
        self.evidence, self.peak = copy(self._blank), np.full_like(self.peak, -np.inf)
        self._seen[:] = False
        for plan in plans[self.since :]:
            if plan.evidence:
                self.after(plan)
                for inside in self.sets:
                    b, c = np.flatnonzero(inside), np.flatnonzero(~inside)
                    self.reached(np.repeat(b, len(c)), np.tile(c, len(b)), epsilon)


def least_slack(
    evidence: Evidence, b: Integers, c: Integers, level: float | Reals, start: float = 1e-3
) -> Reals:
    """The least slack found with which each pair passes; ∞ if there is none.

    Its negative is a lower bound on μ_b − μ_c. ``start`` is where the search begins: of the order
    of the slacks.
    """
    level = np.broadcast_to(np.asarray(level, dtype=np.float64), len(b))
    ends, excess = np.multiply.outer([-start, start], np.ones(len(b))), np.zeros((2, len(b)))
    for side, sign in enumerate((-1.0, 1.0)):  # until the pair passes at the upper end alone
        todo = np.arange(len(b))
        excess[side] = evidence.log_e(b, c, ends[side]) - level
        for _ in range(WIDER):
            todo = todo[np.isfinite(excess[side, todo]) & (sign * excess[side, todo] < 0.0)]
            if not len(todo):
                break
            before = excess[side, todo]
            ends[1 - side, todo] = ends[side, todo]
            excess[1 - side, todo] = before
            ends[side, todo] *= 4.0
            found = evidence.log_e(b[todo], c[todo], ends[side, todo]) - level[todo]
            excess[side, todo] = found
            todo = todo[found != before]  # it grows no more
    todo = np.flatnonzero((excess[1] >= 0.0) & (excess[0] < 0.0))
    weights, last = excess.copy(), np.full(len(b), -1)
    for _ in range(NARROWER):  # where ln E would reach the level if it were linear (Illinois)
        (p, q), (f, g) = ends[:, todo], weights[:, todo]
        at = q - g * (q - p) / np.maximum(g - f, TINY)
        at = np.where((at > p) & (at < q), at, 0.5 * (p + q))
        found = evidence.log_e(b[todo], c[todo], at) - level[todo]
        end = (found >= 0.0).astype(int)
        weights[1 - end, todo] *= np.where(last[todo] == end, 0.5, 1.0)
        last[todo] = end
        ends[end, todo], excess[end, todo], weights[end, todo] = at, found, found
        (p, q) = ends[:, todo]
        near = (excess[1, todo] <= NEAR) | (q - p <= NEAR * np.maximum(np.abs(q), NEAR * start))
        todo = todo[~near]
        if not len(todo):
            break
    return np.where(excess[1] >= 0.0, ends[1], np.inf)


def difference_bounds(
    namings: Iterable[tuple[Naming, float]], b: Integers, c: Integers
) -> tuple[Reals, Reals]:
    """Bounds on μ_b − μ_c: the tightest of these namings, each with the level ln E must reach.

    A bound from one naming alone errs with a probability of at most exp(−level) for each pair and side;
    that many pairs' bounds hold together, or the tightest of several, takes as many risks. Where a
    naming has no such pair (b, or for the upper bound c, was in none of its sets) it says nothing.
    """
    low, high = np.full(len(b), -np.inf), np.full(len(b), np.inf)
    for naming, level in namings:
        has = np.flatnonzero(naming.evidence.pairs.has(b, c))
        low[has] = np.maximum(low[has], -least_slack(naming.evidence, b[has], c[has], level))
        has = np.flatnonzero(naming.evidence.pairs.has(c, b))
        high[has] = np.minimum(high[has], least_slack(naming.evidence, c[has], b[has], level))
    return low, high
