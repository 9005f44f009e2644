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
#: Pairs whose tables are made at once.
AT_ONCE = 200


class PooledBets:
    """Results in [0, 1], own results: both arms are bet on against a mean x, and the least E counts.

    E(x) = Σ_gh π_gh Π_{y of b} (1 + α_g y)/(1 + α_g x) Π_{y of c} (1 + α_h(1 − y))/(1 + α_h(1 − x − slack)).
    At x = μ_b and slack = μ_c − μ_b every factor has mean 1, so that E(x) is a martingale, and the
    least E over all x is at most that. It grows with the slack, as each factor of c does at every x.
    ln E(x) is convex; its least value is bounded from below by tangents, which errs to the safe side.
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

    def after(self, plan: Plan) -> None:
        """Take in the results of a plan."""
        old = plan.arms < self.pairs.K  # arms may have been added since
        arms, values = plan.arms[old], plan.values[old]
        self.pulls = self.pulls + plan.pulls[: self.pairs.K]
        self.sums = self.sums + plan.sums[: self.pairs.K]
        seen, row, times = _distinct(arms, values)
        told, fall = np.zeros((2, self.pairs.K, len(TILTS)))
        np.add.at(told, seen, times[:, None] * np.log1p(np.multiply.outer(row, TILTS)))
        np.add.at(fall, seen, times[:, None] * np.log1p(np.multiply.outer(1.0 - row, TILTS)))
        self.above, self.below = self.above + told, self.below + fall

    def log_e(self, b: Integers, c: Integers, slack: float | Reals) -> Reals:
        """A lower bound on the least ln E(x)."""
        found = np.full(len(b), -np.inf)
        known = np.flatnonzero((self.pulls[b] > 0) & (self.pulls[c] > 0) & (b != c))
        slack = np.broadcast_to(np.clip(slack, -1.0, 1.0), len(b))
        for begin in range(0, len(known), AT_ONCE):
            some = known[begin : begin + AT_ONCE]
            found[some] = self._least(b[some], c[some], slack[some])
        return found

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
        """Lower bounds on the least ln E(x), by tangents on either side of it."""
        pi = self._prior(b, c)
        low, high = np.maximum(0.0, -slack), np.minimum(1.0, 1.0 - slack)
        n, o = self.pulls[b], self.pulls[c]
        x = (self.sums[b] + self.sums[c] - o * slack + 0.5) / (n + o + 1.0)
        x = np.clip(x, low, high)
        stride = 0.3 * np.sqrt(np.maximum(x * (1.0 - x), 1e-4) / (n + o))
        ends = np.array([low, high])
        values, slopes = np.full((2, len(b)), np.nan), np.full((2, len(b)), np.nan)
        bound, todo = np.full(len(b), -np.inf), np.arange(len(b))
        for _ in range(40):
            value, slope = self._mixture(pi[todo], b[todo], c[todo], slack[todo], x[todo])
            side = (slope >= 0.0).astype(int)
            ends[side, todo], values[side, todo], slopes[side, todo] = x[todo], value, slope
            at_end = np.where(
                side == 0, x[todo] >= high[todo], (x[todo] <= low[todo]) | (slope == 0.0)
            )
            (p, q), (v, w), (f, g) = ends[:, todo], values[:, todo], slopes[:, todo]
            both = ~np.isnan(v) & ~np.isnan(w)
            apart = np.where(both, np.maximum(g - f, TINY), 1.0)
            found = np.where(both, v + f * ((v - w + g * q - f * p) / apart - p), -np.inf)
            bound[todo] = np.where(at_end, value, np.fmax(bound[todo], found))
            edge = 0.05 * (q - p)
            inner = np.clip(p - f * (q - p) / apart, p + edge, q - edge)
            outer = np.where(
                side == 0, np.minimum(p + stride[todo], q), np.maximum(q - stride[todo], p)
            )
            x[todo], stride[todo] = np.where(both, inner, outer), 3.0 * stride[todo]
            todo = todo[~at_end & ~(np.fmin(v, w) - bound[todo] < 2e-3)]
            if not len(todo):
                break
        return bound

    def _mixture(
        self, pi: Reals, b: Integers, c: Integers, slack: Reals, x: Reals
    ) -> tuple[Reals, Reals]:
        """The logarithm of E(x), and its derivative."""
        n, o = self.pulls[b], self.pulls[c]
        x, other = x[:, None] * TILTS, np.maximum(1.0 - x - slack, 0.0)[:, None] * TILTS
        up = self.above[b] - n[:, None] * np.log1p(x)
        down = self.below[c] - o[:, None] * np.log1p(other)
        tops = up.max(axis=1), down.max(axis=1)
        up, down = np.exp(up - tops[0][:, None]), np.exp(down - tops[1][:, None])
        rows = np.stack([down, down * TILTS / (1.0 + other)], axis=2)
        along, across = np.moveaxis(pi @ rows, 2, 0)
        total = np.maximum((up * along).sum(axis=1), TINY)
        slope = o * (up * across).sum(axis=1)
        slope -= n * (up * TILTS / (1.0 + x) * along).sum(axis=1)
        return tops[0] + tops[1] + np.log(total), slope / total


def _distinct(arms: Integers, values: Reals) -> tuple[Integers, Reals, Reals]:
    """The different values of every arm, and how often each came."""
    order = np.lexsort((values, arms))
    arms, values = arms[order], values[order]
    new = np.ones(len(arms), dtype=bool)
    new[1:] = (np.diff(arms) != 0) | (np.diff(values) != 0.0)
    first = np.flatnonzero(new)
    return arms[first], values[first], np.diff(np.r_[first, len(arms)]).astype(float)
