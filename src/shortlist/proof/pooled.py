"""Evidence by all own results of two arms together, for results in a range: bets against a common mean."""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.proof.contrasts import TINY
from shortlist.proof.evidence import Pairs
from shortlist.proof.plan import Plan

STEP = 0.4
TILTS = 3e-4 * np.exp(STEP * np.arange(39))
#: Of a gap's logarithm, beside that of the gap as it seemed.
BROAD = math.log(0.015), math.log(3.0)
#: Pairs whose tables are made at once, and how many priors are kept for the next time.
AT_ONCE, MOST_KEPT = 200, 4000
#: By which ln E may be too small, and the steps that this takes at most.
CLOSE, STEPS = 2e-3, 60
#: A sum below that is made anew from logarithms.
UNDERFLOW = 1e-200
#: Taken off ln E for rounding errors, and for those of every result.
ROUNDING, ROUNDING_OF_EACH = 1e-6, 1e-11


class PooledBets:
    """Results in [0, 1], own results: both arms are bet on against a mean x, and the least E counts.

    E(x) = Σ_gh π_gh Π_{y of b} (1 + α_g y)/(1 + α_g x) Π_{y of c} (1 + α_h(1 − y))/(1 + α_h(1 − x − slack)).
    At x = μ_b and slack = μ_c − μ_b every factor has mean 1 if results are independent of what was
    planned, so that E(x) is a martingale, and the least E over all x from max(0, −slack) to
    min(1, 1 − slack), among which μ_b is, is at most that. π was fixed before.

    The least E grows with the slack: at every x as each factor of c does; x that leave the upper end
    make it no less; and at an x that comes in below −slack both factors are at least what they
    were at the old end, where b's has the larger x and c's the larger 1 − x − slack = 1. So any slack
    may be chosen afterwards, as with the other evidence; what is computed is within `CLOSE` of the least
    E and never above it. ln E(x) is convex: its least value is bounded from below by two tangents.
    Of the results only Σ ln(1 + αy) and Σ ln(1 + α(1 − y)) of every arm are kept.

    Parameters
    ----------
    pairs, sizes
        The pairs, and their gaps as they seemed.
    means, noise : array, K
        Means of the arms, and variances of one result, as they seemed.
    share : array, K
        ln(noise/weight) of every arm, the weight its share of the results as planned: moves are
        shared out between two arms by it.
    epsilon : float
        The slack for which bets are made.
    """

    def __init__(
        self, pairs: Pairs, sizes: Reals, means: Reals, noise: Reals, share: Reals, epsilon: float
    ) -> None:
        self.pairs, self.sizes, self.epsilon = pairs, np.maximum(sizes, 1e-6), epsilon
        self.means, self.noise, self.share = means, noise, share
        self.pulls, self.sums = np.zeros((2, pairs.K))
        self.above, self.below = np.zeros((2, pairs.K, len(TILTS)))
        self._kept: dict[int, Reals] = {}  # priors that were made, of a pair's place

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        self.pulls = self.pulls + plan.pulls[: self.pairs.K]
        self.sums = self.sums + plan.sums[: self.pairs.K]
        above, below = tilted(plan, self.pairs.K)
        self.above, self.below = self.above + above, self.below + below

    def log_e(self, b: Integers, c: Integers, slack: float | Reals) -> Reals:
        """A lower bound on the least ln E(x)."""
        found = np.full(len(b), -np.inf)
        known = np.flatnonzero((self.pulls[b] > 0) & (self.pulls[c] > 0) & (b != c))
        slack = np.broadcast_to(np.clip(slack, -1.0, 1.0), len(b))
        for begin in range(0, len(known), AT_ONCE):
            some = known[begin : begin + AT_ONCE]
            found[some] = self._least(b[some], c[some], slack[some])
        return found

    def _priors(self, b: Integers, c: Integers) -> Reals:
        """π of some pairs, pairs × tilts of b × tilts of c."""
        if len(self._kept) + len(b) > MOST_KEPT:
            self._kept.clear()
        places = self.pairs.place(b, c).tolist()
        new = [i for i, place in enumerate(places) if place not in self._kept]
        if new:
            found = self._prior(b[new], c[new])
            self._kept.update((places[i], each) for i, each in zip(new, found, strict=True))
        return np.array([self._kept[place] for place in places])

    def _prior(self, b: Integers, c: Integers) -> Reals:
        """π: moves of both arms add up to about the gap, shared out as their averages' variances."""
        size = self.sizes[self.pairs.place(b, c)]
        split = np.clip(self.share[b] - self.share[c], -2.94, 2.94)
        part = 1.0 / (1.0 + np.exp(-split))
        centre = (1.0 - part) * self.means[b] + part * (self.means[c] - self.epsilon)
        centre = np.clip(centre, 1e-4, 1 - 1e-4)
        opposite = np.clip(1.0 - centre - self.epsilon, 1e-4, 1.0)

        def moves(arms: Integers, x: Reals) -> Reals:
            reach = self.noise[arms] + 0.15 * size
            return np.asarray(reach[:, None] * TILTS / (1.0 + x[:, None] * TILTS))

        up, down = moves(b, centre)[:, :, None], moves(c, opposite)[:, None, :]
        gap = np.log((up + down) / size[:, None, None])
        away = np.log(up / down) - split[:, None, None]
        of_gap = np.exp(-0.5 * ((gap - math.log(0.8)) / 0.7) ** 2)
        of_gap *= 0.9 / (0.7 * math.sqrt(2 * math.pi))
        of_split = 0.85 / math.sqrt(2 * math.pi) * np.exp(-0.5 * away**2)
        weights = (of_gap + 0.1 / (BROAD[1] - BROAD[0])) * (of_split + 0.15 / 9.6)
        weights *= (gap > BROAD[0]) & (gap < BROAD[1]) & (np.abs(away) < 4.8)
        empty = weights.sum(axis=(1, 2)) <= 0.0
        weights[empty] = 1.0
        return np.asarray(weights / weights.sum(axis=(1, 2), keepdims=True))

    def _least(self, b: Integers, c: Integers, slack: Reals) -> Reals:
        """Lower bounds on the least ln E(x): where tangents on either side of it meet."""
        pi, all_pairs = self._priors(b, c), np.arange(len(b))
        low, high = np.maximum(0.0, -slack), np.minimum(1.0, 1.0 - slack)
        n, o = self.pulls[b], self.pulls[c]
        x = (self.sums[b] + self.sums[c] - o * slack + 0.5) / (n + o + 1.0)
        x = np.clip(x, low, high)
        ends = np.array([low, high])
        values, slopes = np.full((2, len(b)), np.nan), np.full((2, len(b)), np.nan)
        bound, todo, further = np.full(len(b), -np.inf), all_pairs, 1.2
        for _ in range(STEPS):
            every = len(todo) == len(b)
            value, slope, bend = self._mixture(
                pi if every else pi[todo], b[todo], c[todo], slack[todo], x[todo]
            )
            side = (slope >= 0.0).astype(int)
            ends[side, todo], values[side, todo], slopes[side, todo] = x[todo], value, slope
            (p, q), (v, w), (f, g) = ends[:, todo], values[:, todo], slopes[:, todo]
            at_end = np.where(side == 0, x[todo] >= q, (x[todo] <= p) | (slope == 0.0))
            both = ~np.isnan(v) & ~np.isnan(w)
            apart = np.where(both, np.maximum(g - f, TINY), 1.0)
            found = np.where(both, v + f * ((v - w + g * q - f * p) / apart - p), -np.inf)
            bound[todo] = np.where(at_end, value, np.fmax(bound[todo], found))
            # A little beyond where the slope would be 0 if it were linear: from there the other tangent.
            edge = 0.05 * (q - p)
            inner = x[todo] - 1.1 * slope / np.maximum(bend, TINY)
            inner = np.minimum(np.maximum(inner, p + edge), q - edge)
            outer = x[todo] - further * slope / np.maximum(bend, TINY)
            x[todo] = np.where(both, inner, np.minimum(np.maximum(outer, p), q))
            further *= 1.5
            todo = todo[~at_end & ~(np.fmin(v, w) - bound[todo] < CLOSE)]
            if not len(todo):
                break
        return bound - ROUNDING - ROUNDING_OF_EACH * (n + o)

    def _mixture(
        self, pi: Reals, b: Integers, c: Integers, slack: Reals, x: Reals
    ) -> tuple[Reals, Reals, Reals]:
        """The logarithm of E(x), and its first two derivatives."""
        n, o = self.pulls[b], self.pulls[c]
        x, other = x[:, None] * TILTS, np.maximum(1.0 - x - slack, 0.0)[:, None] * TILTS
        up = self.above[b] - n[:, None] * np.log1p(x)
        down = self.below[c] - o[:, None] * np.log1p(other)
        tops = up.max(axis=1), down.max(axis=1)
        ups, downs = np.empty((len(b), 3, len(TILTS))), np.empty((len(b), len(TILTS), 3))
        np.exp(up - tops[0][:, None], out=ups[:, 0])
        np.exp(down - tops[1][:, None], out=downs[:, :, 0])
        fall, rise = TILTS / (1.0 + x), TILTS / (1.0 + other)
        for i in (1, 2):
            np.multiply(ups[:, i - 1], fall, out=ups[:, i])
            np.multiply(downs[:, :, i - 1], rise, out=downs[:, :, i])
        moments, top = ups @ (pi @ downs), tops[0] + tops[1]
        low = np.flatnonzero(moments[:, 0, 0] < UNDERFLOW)
        if len(low):  # the largest bets of both arms have no weight together
            with np.errstate(divide="ignore"):
                table = up[low, :, None] + down[low, None, :] + np.log(pi[low])
            top[low] = table.max(axis=(1, 2))
            table = np.exp(table - top[low, None, None])
            powers = np.arange(3)[:, None]
            moments[low] = np.einsum(
                "pgh,pig,pjh->pij", table, fall[low, None] ** powers, rise[low, None] ** powers
            )
        total = moments[:, 0, 0]
        slope = (o * moments[:, 0, 1] - n * moments[:, 1, 0]) / total
        bend = o * (o + 1.0) * moments[:, 0, 2] + n * (n + 1.0) * moments[:, 2, 0]
        bend = (bend - 2.0 * n * o * moments[:, 1, 1]) / total - slope**2
        return top + np.log(total), slope, bend


def tilted(plan: Plan, arms: int) -> tuple[Reals, Reals]:
    """Σ ln(1 + αy) and Σ ln(1 + α(1 − y)) over results of the first so many arms, arms × TILTS."""
    old = plan.arms < arms  # arms may have been added since
    seen, row, times = distinct_values(plan.arms[old], plan.values[old])
    found = np.zeros((2, arms, len(TILTS)))
    for told, y in zip(found, (row, 1.0 - row), strict=True):
        np.add.at(told, seen, times[:, None] * np.log1p(np.multiply.outer(y, TILTS)))
    return found[0], found[1]


def distinct_values(arms: Integers, values: Reals) -> tuple[Integers, Reals, Reals]:
    """The different values of every arm, and how often each came."""
    order = np.lexsort((values, arms))
    arms, values = arms[order], values[order]
    new = np.ones(len(arms), dtype=bool)
    new[1:] = (np.diff(arms) != 0) | (np.diff(values) != 0.0)
    first = np.flatnonzero(new)
    return arms[first], values[first], np.diff(np.r_[first, len(arms)]).astype(float)
