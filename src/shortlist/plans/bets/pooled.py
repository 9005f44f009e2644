"""Bets on results that lie in a range: evidence at their own variance, whatever their distribution.

Results are scaled to [0, 1]. A bet on arm a with the tilt α > 0 that its mean is above x multiplies a
wealth by (1 + αy)/(1 + αx) at a result y of the arm; the bet that it is below x does so by
(1 + α(1 − y))/(1 + α(1 − x)). If the mean is x the factor has a mean of 1, and of less if the mean is on
the other side. Of all results of an arm only Σ ln(1 + αy) and Σ ln(1 + α(1 − y)) are kept, for the tilts α
of one grid.

**A pair.** For b above c − ε, both arms are bet on at once, against a common x:

    E(x) = Σ_gh π_gh Π_{y of b} (1 + α_g y)/(1 + α_g x) · Π_{y of c} (1 + α_h (1 − y))/(1 + α_h (1 − x − ε)),

and E is the least value over x. If μ_b ≤ μ_c − ε, then E(μ_b) is a supermartingale from 1, one result at
a time and in whatever order, if π was fixed before the first of them. So E ever reaches 1/r with
a probability of at most r. ln E(x) is convex: its least value is bounded from below by two tangents. No
variance is known, yet E grows as fast as the lower bound for all distributions in the range
allows, with the best tilts; for coins it is a likelihood ratio. docs/proofs.md has the proof.

**The prior π** decides how long it takes, not whether the answer is right. A bet of the tilt α on an arm
of variance v moves its mean by about vα/(1 + αx). The prior is for moves of b and of c that add up to
about the gap as it seemed when π was fixed (log-normal), shared out among the two as the variances of
their averages will be (normal on the logit). Both have broad tails.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from shortlist.arrays import Mask
from shortlist.designs.pairs import own_design
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import first_largest
from shortlist.numerics.records import Integers, Real, Reals, Record, Table
from shortlist.plans.evidence import (
    HALF_WIDTH,
    PRIOR,
    SHARES,
    Bounds,
    FittedPlan,
    OpenPairs,
    Verifier,
    expected_verification,
    placed_rows,
    squared_threshold,
)
from shortlist.plans.means import Fit, OwnFit, OwnMeans
from shortlist.plans.results import PlanResults, placed
from shortlist.plans.strategy import ReducedProblem
from shortlist.rules.thresholds import ArmInterval

STEP = 0.4  # of ln α from one tilt to the next
TILTS = 3e-4 * np.exp(STEP * np.arange(39))  # to 1,200
MEDIAN, SPREAD = 0.8, 0.7  # of the log-normal prior of the gap, over the gap as it seems
LEAST, MOST = (
    math.log(0.015),
    math.log(3.0),
)  # of the gap's logarithm, beside that of the gap as it seems
FLAT, FLAT_SPLIT = 0.1, 0.15  # shares of both priors that are even
SPLIT = 4.8  # of the logit, beside that of the variances
LARGEST_LOGIT = 2.94  # of the variances' shares: 0.95
REACH = 0.15  # of the gap, added to variances: a bet is limited by the range too
CLOSE = 2e-3  # by which ln E may be too small
STEPS = 60
SLACK, SLACK_OF_EACH = 1e-6, 1e-11  # taken off ln E for rounding, and for every result
NOTHING = -1e300
HALVINGS = 24  # of an interval in which a bound is looked for
SCALE, PRICE = (
    0.82,
    0.7,
)  # of a prior over gaps, over the gap as it seems; what its breadth costs, in C²
SHARED = 2.0  # results: as much is the variance of an arm known by that of the others
LEAST_VARIANCE, LEAST_SIZE = 1e-6, 1e-6
# Sets may be named as often as it takes: every further time has half the share of the last.
SHARES_OF_BETS = (*SHARES, 0.02, *(0.01 * 0.5**k for k in range(12)))
A_FEW = 0.05  # of the results of an arm that seems to have enough
SHORT = 0.07  # of the results that are lacking: the length of a plan that verifies
SPACED = 1.1  # times the results so far: sets are considered to be named again
OF_AN_ARM = "x with Σ Π (1 + αy)/(1 + αx) and Σ Π (1 + α(1 − y))/(1 + α(1 − x)) below 2G/δ"
INTERVAL_OF_BETS = ArmInterval(
    OF_AN_ARM,
    f"{OF_AN_ARM}, with products over the arm's own results y, scaled to [0, 1], and sums over a grid of G "
    "tilts α: the means that no bet on either side refutes; for an arm without a result, the whole range",
    "what bets on the arm's own results do not refute",
)


@compiled(typed=True)
def add_wealths(tilts: Reals, arms: Integers, values: Reals, above: Table, below: Table) -> None:
    """Add the logarithms of 1 + αy and of 1 + α(1 − y) of some results y in [0, 1] to those of their arms.

    The sums are compensated: what rounding lost of them is added at the end.
    """
    lost = np.zeros((2, *above.shape))
    for i in range(arms.shape[0]):
        arm, y = arms[i], values[i]
        for g in range(tilts.shape[0]):
            term = math.log1p(tilts[g] * y) - lost[0, arm, g]
            total = above[arm, g] + term
            lost[0, arm, g] = (total - above[arm, g]) - term
            above[arm, g] = total
            term = math.log1p(tilts[g] * (1.0 - y)) - lost[1, arm, g]
            total = below[arm, g] + term
            lost[1, arm, g] = (total - below[arm, g]) - term
            below[arm, g] = total


@compiled(typed=True)
def weigh(
    tilts: Reals,
    variance_b: float,
    variance_c: float,
    centre: float,
    opposite: float,
    size: float,
    split: float,
    moves: Reals,
    weights: Table,
) -> None:
    """Write the prior of a pair: ``moves`` are scratch, ``split`` is the logit of b's share of the gap."""
    count = tilts.shape[0]
    for h in range(count):
        moves[h] = variance_c * tilts[h] / (1.0 + tilts[h] * opposite)
    even = FLAT / (MOST - LEAST)
    even_split = 0.5 * FLAT_SPLIT / SPLIT
    peak = (1.0 - FLAT) / (SPREAD * math.sqrt(2.0 * math.pi))
    peak_split = (1.0 - FLAT_SPLIT) / math.sqrt(2.0 * math.pi)
    total = 0.0
    for g in range(count):
        move = variance_b * tilts[g] / (1.0 + tilts[g] * centre)
        for h in range(count):
            weights[g, h] = 0.0
            gap = math.log((move + moves[h]) / size)
            if gap < LEAST or gap > MOST:
                continue
            away = math.log(move / moves[h]) - split
            if abs(away) > SPLIT:
                continue
            z = (gap - math.log(MEDIAN)) / SPREAD
            of_gap = peak * math.exp(-0.5 * z * z) + even
            of_split = peak_split * math.exp(-0.5 * away * away) + even_split
            weights[g, h] = of_gap * of_split
            total += weights[g, h]
    for g in range(count):
        for h in range(count):
            if total > 0.0:
                weights[g, h] /= total
            else:  # a gap beyond the grid: bet on all
                weights[g, h] = 1.0 / (count * count)


@compiled(typed=True)
def log_mixture(
    tilts: Reals,
    weights: Table,
    above: Reals,
    below: Reals,
    pulls_b: float,
    pulls_c: float,
    epsilon: float,
    x: float,
    scratch: Table,
    found: Reals,
) -> None:
    """Write ln E(x) and its derivative into ``found``; what underflows makes E smaller."""
    count = tilts.shape[0]
    opposite = max(1.0 - x - epsilon, 0.0)
    top_b, top_c = NOTHING, NOTHING
    for g in range(count):
        scratch[0, g] = above[g] - pulls_b * math.log1p(tilts[g] * x)
        scratch[1, g] = below[g] - pulls_c * math.log1p(tilts[g] * opposite)
        top_b = max(top_b, scratch[0, g])
        top_c = max(top_c, scratch[1, g])
    for g in range(count):
        scratch[0, g] = math.exp(scratch[0, g] - top_b)
        scratch[1, g] = math.exp(scratch[1, g] - top_c)
        scratch[2, g] = scratch[1, g] * tilts[g] / (1.0 + tilts[g] * opposite)
    total, slope_b, slope_c = 0.0, 0.0, 0.0
    for g in range(count):
        if scratch[0, g] == 0.0:
            continue
        along, across = 0.0, 0.0
        for h in range(count):
            along += weights[g, h] * scratch[1, h]
            across += weights[g, h] * scratch[2, h]
        total += scratch[0, g] * along
        slope_b += scratch[0, g] * along * tilts[g] / (1.0 + tilts[g] * x)
        slope_c += scratch[0, g] * across
    if not total > 0.0:
        found[0], found[1] = NOTHING, 0.0
        return
    found[0] = top_b + top_c + math.log(total)
    found[1] = (pulls_c * slope_c - pulls_b * slope_b) / total


@compiled(typed=True)
def least_mixture(
    tilts: Reals,
    weights: Table,
    above: Reals,
    below: Reals,
    pulls_b: float,
    pulls_c: float,
    epsilon: float,
    start: float,
    wanted: float,
    scratch: Table,
    found: Reals,
) -> float:
    """A lower bound on ln E, close to it; or any number below ``wanted`` that ln E does not exceed.

    The bound is where two tangents meet, one on either side of the least value, less what rounding
    can have added.
    """
    low, high = max(0.0, -epsilon), min(1.0, 1.0 - epsilon)
    slack = SLACK + SLACK_OF_EACH * (pulls_b + pulls_c)
    x = min(max(start, low), high)
    stride = 0.1 * max(min(x - low, high - x), 1e-3)
    left, left_value, left_slope = low, 0.0, 0.0
    right, right_value, right_slope = high, 0.0, 0.0
    has_left, has_right = False, False
    bound = NOTHING
    for _ in range(STEPS):
        log_mixture(tilts, weights, above, below, pulls_b, pulls_c, epsilon, x, scratch, found)
        value, slope = found[0], found[1]
        if value < wanted:
            return value
        if slope < 0.0:
            left, left_value, left_slope, has_left = x, value, slope, True
            if x >= high:
                return value - slack
        else:
            right, right_value, right_slope, has_right = x, value, slope, True
            if x <= low or slope == 0.0:
                return value - slack
        if has_left and has_right:
            apart = right_slope - left_slope
            meet = (left_value - right_value + right_slope * right - left_slope * left) / apart
            bound = max(bound, left_value + left_slope * (meet - left))
            if min(left_value, right_value) - bound < CLOSE:
                return bound - slack
            # Where the slope would be 0 if it were linear in between.
            x = left - left_slope * (right - left) / apart
            edge = 0.05 * (right - left)
            x = min(max(x, left + edge), right - edge)
        elif has_left:
            x = min(left + stride, high)
            stride *= 3.0
        else:
            x = max(right - stride, low)
            stride *= 3.0
    return bound - slack


@compiled(typed=True)
def start_of(
    total_b: float, total_c: float, pulls_b: float, pulls_c: float, epsilon: float
) -> float:
    """About where E(x) is least: the average of the two arms' results, those of c less ε."""
    return (total_b + total_c - pulls_c * epsilon + 0.5) / (pulls_b + pulls_c + 1.0)


@dataclass(frozen=True, eq=False)
class Bets(Record):
    """What was known of the arms when bets began, and their results since; see ``PairBets``."""

    means: Reals
    variances: Reals
    shares: Reals
    first_epsilon: Real
    epsilon: Real
    above: Table
    below: Table
    pulls: Reals
    totals: Reals


@compiled(typed=True)
def weigh_pair(
    tilts: Reals, state: Bets, b: int, c: int, size: float, moves: Reals, weights: Table
) -> None:
    """Write the prior of the pair b, c: of a gap of about ``size``, by what was known of the arms."""
    epsilon = state.first_epsilon
    split = min(max(state.shares[b] - state.shares[c], -LARGEST_LOGIT), LARGEST_LOGIT)
    part = 1.0 / (1.0 + math.exp(-split))
    centre = (1.0 - part) * state.means[b] + part * (state.means[c] - epsilon)
    centre = min(max(centre, 1e-4), 1.0 - 1e-4)
    opposite = min(max(1.0 - centre - epsilon, 1e-4), 1.0)
    reach = REACH * size
    variance_b, variance_c = state.variances[b] + reach, state.variances[c] + reach
    weigh(tilts, variance_b, variance_c, centre, opposite, size, split, moves, weights)


@compiled(typed=True)
def log_evidence_of_pairs(
    tilts: Reals,
    b: Integers,
    c: Integers,
    sizes: Reals,
    wanted: Reals,
    state: Bets,
    evidence: Reals,
) -> None:
    """Write ln E of pairs that have results of both arms, or something below what is ``wanted``."""
    count = tilts.shape[0]
    moves, weights = np.zeros(count), np.zeros((count, count))
    scratch, found = np.zeros((3, count)), np.zeros(2)
    for p in range(b.shape[0]):
        i, j = b[p], c[p]
        weigh_pair(tilts, state, i, j, sizes[p], moves, weights)
        start = start_of(
            state.totals[i], state.totals[j], state.pulls[i], state.pulls[j], state.epsilon
        )
        evidence[p] = least_mixture(
            tilts,
            weights,
            state.above[i],
            state.below[j],
            state.pulls[i],
            state.pulls[j],
            state.epsilon,
            start,
            wanted[p],
            scratch,
            found,
        )


@compiled(typed=True)
def lower_bounds_of_pairs(
    tilts: Reals,
    b: Integers,
    c: Integers,
    sizes: Reals,
    level: float,
    state: Bets,
    bounds: Reals,
) -> None:
    """Write lower bounds on μ_b − μ_c: −ε′ for the least ε′ found at which E reaches e^level."""
    count = tilts.shape[0]
    moves, weights = np.zeros(count), np.zeros((count, count))
    scratch, found = np.zeros((3, count)), np.zeros(2)
    for p in range(b.shape[0]):
        i, j = b[p], c[p]
        weigh_pair(tilts, state, i, j, sizes[p], moves, weights)
        short, enough = -1.0, 1.0
        for _ in range(HALVINGS):
            slack = 0.5 * (short + enough)
            start = start_of(
                state.totals[i], state.totals[j], state.pulls[i], state.pulls[j], slack
            )
            evidence = least_mixture(
                tilts,
                weights,
                state.above[i],
                state.below[j],
                state.pulls[i],
                state.pulls[j],
                slack,
                start,
                level,
                scratch,
                found,
            )
            if evidence >= level:
                enough = slack
            else:
                short = slack
        bounds[p] = -enough


@compiled(typed=True)
def end_of_arm(tilts: Reals, wealth: Reals, pulls: float, level: float) -> float:
    """The largest x found that is refuted as a mean or an upper bound of it: E(x) reaches e^level."""
    refuted, possible = 0.0, 1.0
    count = tilts.shape[0]
    slack = SLACK + SLACK_OF_EACH * pulls + math.log(count)
    for _ in range(HALVINGS):
        x = 0.5 * (refuted + possible)
        top = NOTHING
        for g in range(count):
            top = max(top, wealth[g] - pulls * math.log1p(tilts[g] * x))
        total = 0.0
        for g in range(count):
            total += math.exp(wealth[g] - pulls * math.log1p(tilts[g] * x) - top)
        if top + math.log(total) - slack >= level:
            refuted = x
        else:
            possible = x
    return refuted


@compiled(typed=True)
def bound_arms(
    tilts: Reals,
    above: Table,
    below: Table,
    pulls: Reals,
    level: float,
    lower: Reals,
    upper: Reals,
) -> None:
    """Write the ends of every arm's interval."""
    for a in range(pulls.shape[0]):
        if pulls[a] > 0.0:
            lower[a] = end_of_arm(tilts, above[a], pulls[a], level)
            upper[a] = 1.0 - end_of_arm(tilts, below[a], pulls[a], level)


@dataclass(frozen=True, eq=False)
class Wealths:
    """What is kept of results in a range, scaled to [0, 1].

    Attributes
    ----------
    low, span : float
        Where the range begins, and how long it is.
    pulls, totals, squares : array, K
        How many results of every arm there are, their sums, and those of their squares.
    above, below : array, K × tilts
        Σ ln(1 + αy) and Σ ln(1 + α(1 − y)).

    Examples
    --------
    >>> one = Wealths.none(2, (0.0, 10.0)).after(
    ...     PlanResults.of(2, np.array([0, 1, 0]), np.array([10.0, 3.0, 0.0]))
    ... )
    >>> one.pulls.tolist(), one.totals.tolist(), int(one.above[0].argmax())
    ([2.0, 1.0], [1.0, 0.3], 38)
    """

    low: float
    span: float
    pulls: Reals
    totals: Reals
    squares: Reals
    above: Reals
    below: Reals

    @classmethod
    def none(cls, arms: int, limits: tuple[float, float]) -> Wealths:
        """Before any result."""
        nothing, table = np.zeros(arms), np.zeros((arms, len(TILTS)))
        low, high = limits
        return cls(low, high - low, nothing, nothing, nothing, table, table)

    def after(self, results: PlanResults) -> Wealths:
        """With more results, of which every single value is kept."""
        count, arms = int(results.count[0]), len(self.pulls)
        told = results.arms[:count]
        values = np.clip((results.values[:count] - self.low) / self.span, 0.0, 1.0)
        above, below = self.above.copy(), self.below.copy()
        add_wealths(TILTS, told, values, above, below)
        return replace(
            self,
            pulls=self.pulls + np.bincount(told, minlength=arms),
            totals=self.totals + np.bincount(told, values, minlength=arms),
            squares=self.squares + np.bincount(told, values**2, minlength=arms),
            above=above,
            below=below,
        )

    def placed(self, places: Integers) -> Wealths:
        """The same where ``places`` says which of these arms each is."""
        of_arms = self.pulls, self.totals, self.squares
        tables = (placed(each.T, places, 0.0).T.copy() for each in (self.above, self.below))
        return Wealths(self.low, self.span, *(placed(e, places, 0.0) for e in of_arms), *tables)

    @property
    def smoothed(self) -> Reals:
        """The arms' averages, with half a result at each end of the range."""
        return (self.totals + 0.5) / (self.pulls + 1.0)

    def intervals(self, delta: float) -> tuple[Reals, Reals]:
        """The ends of an interval of every arm, on the scale of the results."""
        lower, upper = np.zeros(len(self.pulls)), np.ones(len(self.pulls))
        level = math.log(2.0 / delta)
        bound_arms(TILTS, self.above, self.below, self.pulls, level, lower, upper)
        return self.low + self.span * lower, self.low + self.span * upper


@dataclass(frozen=True, eq=False)
class SeenFit(OwnFit):
    """The arms' averages, with errors drawn from beta distributions of the variance that was seen.

    Attributes
    ----------
    scaled : array, K
        The averages on the scale [0, 1].
    worth : array, K
        As how many coins the results of the arm tell of its mean.
    unit : float
        The range over σ.
    """

    scaled: Reals
    worth: Reals
    unit: float

    def draw(self, arms: Integers, count: int, rng: np.random.Generator) -> Reals:
        """Independent errors, skewed near the ends of the range."""
        means, worth = self.scaled[arms], self.worth[arms]
        ones, zeros = means * worth + 0.5, (1.0 - means) * worth + 0.5
        return np.asarray((rng.beta(ones, zeros, (count, len(arms))) - means) * self.unit)


class SeenMeans(OwnMeans):
    """The arms' own averages, with the variances that results in a range have shown.

    The variance is estimated as a share of the largest that a mean μ in [0, 1] allows, μ(1 − μ), which
    coins have; an arm whose results are all 0 says nothing of that share. It is taken at the end of an
    interval of the mean towards the boundary: what matters is how easily the arm could be on the other
    side. All of this only decides how long a study takes.

    Parameters
    ----------
    problem : ReducedProblem
        With the limits of the results.
    spanned : array, K × rank, optional
        Features in a basis, which the first plan has to span.
    wealths : Wealths
        The results so far.
    """

    shortest = 0.01

    def __init__(self, problem: ReducedProblem, spanned: Reals | None, wealths: Wealths) -> None:
        super().__init__(problem, spanned)
        self._problem, self._wealths = problem, wealths
        pulls, smoothed = wealths.pulls, wealths.smoothed
        some = np.maximum(pulls, 1.0)
        means = wealths.totals / some
        squares = np.maximum(wealths.squares - wealths.totals * means, 0.0)
        most, allowed = (
            smoothed * (1.0 - smoothed),
            np.maximum(pulls - 1.0, 0.0) * means * (1.0 - means),
        )
        usual = min(1.0, (squares.sum() + most.mean()) / (allowed.sum() + most.mean()))
        self._share = np.minimum(1.0, (squares + SHARED * usual * most) / (allowed + SHARED * most))
        ordered = np.sort(smoothed)[::-1]
        edge = 0.5 * (ordered[problem.m - 1] + ordered[problem.m])
        away = 2.0 * np.sqrt(self._share * most / some) + 2.0 * self._share / some
        towards = np.where(
            smoothed < edge, np.minimum(edge, smoothed + away), np.maximum(edge, smoothed - away)
        )
        variances = self._share * np.maximum(most, towards * (1.0 - towards))
        #: Of a result of every arm, on the scale [0, 1].
        self.variances = np.clip(variances, LEAST_VARIANCE, 0.25)
        self._unit = wealths.span / problem.sigma
        self.noise = self.variances * self._unit**2
        # A bet is limited by the range too: arms far from the boundary need more results than that.
        self._for_designs = self.noise + REACH * np.abs(smoothed - edge) * self._unit**2

    def after(self, wealths: Wealths) -> SeenMeans:
        """The same with more results."""
        return SeenMeans(self._problem, self._spanned, wealths)

    def fit(self, results: PlanResults) -> SeenFit:
        """The averages of the arms."""
        of = super().fit(results)
        scaled = np.clip((of.means - self._wealths.low) / self._wealths.span, 0.0, 1.0)
        return SeenFit(of.means, of.own, scaled, results.pulls / self._share, self._unit)

    def design(
        self, b: Integers, c: Integers, needs: Reals, urgency: Reals, start: Reals
    ) -> tuple[Reals, float]:
        """Shares of the cost for all pairs, and the cost that gives each what it needs."""
        return own_design(b, c, needs, self._for_designs * self.costs, start)

    def plan(self, weights: Reals, length: float, rng: np.random.Generator) -> Integers:
        """Pulls that cost about ``length``, by these weights, rounded at random."""
        shares, number = self.in_pulls(weights, length)
        return rounded(shares * number, rng)

    def lacking(
        self,
        b: Integers,
        c: Integers,
        wanted: Reals,
        counted: Integers | Reals,
        spent: float,
        rng: np.random.Generator,
    ) -> Integers:
        """Some of the pulls that are lacking, and a few where a pair seems to have all but is open."""
        lacking = np.maximum(wanted - counted, 0.0)
        few = np.zeros(len(wanted))
        few[b], few[c] = A_FEW * wanted[b], A_FEW * wanted[c]
        done = lacking[b] + lacking[c] <= 0.0
        for arms in (b[done], c[done]):
            lacking[arms] = np.maximum(lacking[arms], few[arms])
        total = float((lacking * self.costs).sum())
        length = max(self.shortest * self.spent(counted), min(spent, SHORT * total))
        return rounded(lacking * (length / total), rng)


def rounded(pulls: Reals, rng: np.random.Generator) -> Integers:
    """Whole pulls, each fraction rounded up with its own probability; one at least.

    Examples
    --------
    >>> rounded(np.array([2.0, 0.0, 0.5]), np.random.default_rng(0)).tolist()
    [2, 0, 0]
    """
    whole = np.floor(pulls + rng.random(len(pulls))).astype(np.int64)
    if not whole.any():
        whole[first_largest(pulls)] = 1
    return whole


@dataclass(frozen=True, eq=False)
class PairBets:
    """Evidence for pairs by bets on all results since sets were named.

    Attributes
    ----------
    rows : array of int
        The arms b.
    sizes : array, rows × K
        The gaps as they seemed to be, on the scale [0, 1].
    means, variances : array, K
        As they seemed to be, on that scale.
    shares : array, K
        ln of the variance that the average of every arm was going to have, but for a constant.
    first_epsilon, epsilon : float
        ε on that scale, when bets began and now.
    least : float
        ln of what E must reach for any of the sets: below that it need not be exact.
    wealths : Wealths
        The results since.
    noise : array, K
        (σ_a/σ)², as it is known now.
    largest : array, rows × K
        The largest ln E so far.
    """

    rows: Integers
    sizes: Reals
    means: Reals
    variances: Reals
    shares: Reals
    first_epsilon: float
    epsilon: float
    least: float
    wealths: Wealths
    noise: Reals
    largest: Reals

    @property
    def pulls(self) -> Reals:
        """The results that count."""
        return self.wealths.pulls

    def after(self, told: FittedPlan, problem: ReducedProblem) -> PairBets:
        """With the results of one more plan; E is computed for the sets that are asked about."""
        wealths = self.wealths.after(told.results)
        return replace(self, wealths=wealths, noise=problem.noise_of_arms)

    def with_rows(self, arms: Integers) -> PairBets:
        """With rows for these arms, which are in no named set."""
        shape = len(arms), len(self.means)
        return replace(
            self,
            rows=np.append(self.rows, arms),
            sizes=np.vstack([self.sizes, np.ones(shape)]),
            largest=np.vstack([self.largest, np.full(shape, -np.inf)]),
        )

    def placed(self, places: Integers, problem: ReducedProblem) -> PairBets:
        """The same for other arms, with rows for those that are left; see ``keeps_named``."""
        rows, stay = placed_rows(self.rows, places)
        known = (self.means, self.variances, self.shares, self.noise)
        means, variances, shares, noise = (placed(each, places, each.mean()) for each in known)
        return replace(
            self,
            rows=rows,
            sizes=placed(self.sizes[stay], places, 1.0),
            means=means,
            variances=variances,
            shares=shares,
            noise=noise,
            wealths=self.wealths.placed(places),
            largest=placed(self.largest[stay], places, -np.inf),
        )

    def tested(self, rows: Integers, arms: Integers, level: float) -> PairBets:
        """With ln E of the pairs that have not passed."""
        here = np.ix_(rows, arms)
        is_open = (self.largest[here] < level) & (self.information[here] > 0.0)
        row, column = np.nonzero(is_open)
        row, c = rows[row], arms[column]
        evidence = np.empty(len(c))
        wanted = np.full(len(c), self.least)
        log_evidence_of_pairs(
            TILTS, self.rows[row], c, self.sizes[row, c], wanted, self._state, evidence
        )
        largest = self.largest.copy()
        largest[row, c] = np.maximum(largest[row, c], evidence)
        return replace(self, largest=largest)

    @cached_property
    def _state(self) -> Bets:
        of = self.wealths
        prior = self.means, self.variances, self.shares, self.first_epsilon
        return Bets(*prior, self.epsilon, of.above, of.below, of.pulls, of.totals)

    @cached_property
    def information(self) -> Reals:
        """σ² over the variance of each gap, as far as it is known; 0 where an arm has no result."""
        counted = self.pulls / self.noise
        both = counted[self.rows, None] + counted
        product = counted[self.rows, None] * counted
        return np.asarray(product / np.where(both > 0.0, both, 1.0))

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """Averages since the naming, with the bounds of bets in either direction."""
        of, b, sizes = self.wealths, self.rows[rows], self.sizes[rows, arms]
        averages = of.totals / np.maximum(of.pulls, 1.0)
        gaps = of.span * (averages[b] - averages[arms])
        lower, upper = np.empty(len(b)), np.empty(len(b))
        lower_bounds_of_pairs(TILTS, b, arms, sizes, level, self._state, lower)
        lower_bounds_of_pairs(TILTS, arms, b, sizes, level, self._state, upper)
        lower, upper = of.span * lower, -of.span * upper
        errors = problem.sigma / np.sqrt(self.information[rows, arms])
        return Bounds(gaps, lower, upper, (gaps - lower) / errors)

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """What bets do not refute of μ_c − μ_b; ε for pairs that have passed, unless all have."""
        rows, arms = np.broadcast_arrays(*here)
        least = np.full(rows.shape, np.inf)
        known = self.information[here] > 0.0
        passed = self.largest[here] >= level
        if not passed.all():
            least[passed] = problem.epsilon
            known &= ~passed
        bounds, row, c = np.empty(int(known.sum())), rows[known], arms[known]
        lower_bounds_of_pairs(
            TILTS, self.rows[row], c, self.sizes[row, c], level, self._state, bounds
        )
        least[known] = -self.wealths.span * bounds
        return least

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> PairBets:
        """The same bets against another ε; what E has reached before counts if that is larger."""
        scaled = epsilon / self.wealths.span
        before = self.largest if scaled >= self.epsilon else np.full_like(self.largest, -np.inf)
        return replace(self, epsilon=scaled, largest=before)

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """The information so far, and about the C² at which a gap of that size passes."""
        here = pairs.rows, pairs.c
        have, sizes = self.information[here], 2.0 * SCALE * self.sizes[here]  # over σ
        grown = np.maximum(have * sizes**2, growth)
        return have, np.asarray(squared_threshold(level, grown)) + PRICE

    def in_all(self, pairs: OpenPairs, lacking: Reals, least: Reals) -> tuple[Reals, Reals]:
        """What a gap of that size needs, whatever is there."""
        return self.pulls, self.information[pairs.rows, pairs.c] + lacking


@dataclass(frozen=True, eq=False)
class NoEvidence:
    """No evidence, whatever the results: bets are placed for named sets only."""

    rows: Integers
    arms: int

    @property
    def information(self) -> Reals:
        """None."""
        return np.zeros((len(self.rows), self.arms))

    @property
    def largest(self) -> Reals:
        """E is 0."""
        return np.full((len(self.rows), self.arms), -np.inf)

    def after(self, told: FittedPlan, problem: ReducedProblem) -> NoEvidence:
        """Still none."""
        return self

    def with_rows(self, arms: Integers) -> NoEvidence:
        """With rows for these arms too."""
        return replace(self, rows=np.append(self.rows, arms))

    def placed(self, places: Integers, problem: ReducedProblem) -> NoEvidence:
        """Still none."""
        return NoEvidence(placed_rows(self.rows, places)[0], len(places))

    def tested(self, rows: Integers, arms: Integers, level: float) -> NoEvidence:
        """Still none."""
        return self

    def bounds(
        self, rows: Integers, arms: Integers, level: float, problem: ReducedProblem
    ) -> Bounds:
        """Nothing is known."""
        nothing = np.full(len(rows), np.inf)
        return Bounds(np.zeros(len(rows)), -nothing, nothing, nothing)

    def least_slack(self, here: Any, level: float, problem: ReducedProblem) -> Reals:
        """None is enough."""
        return np.full(np.broadcast_shapes(*(each.shape for each in here)), np.inf)

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> NoEvidence:
        """Still none."""
        return self

    def wanted(self, pairs: OpenPairs, level: float, growth: float) -> tuple[Reals, Reals]:
        """Nothing, and the C² of an even mixture."""
        nothing = np.zeros(len(pairs.b))
        return nothing, nothing + squared_threshold(level, growth)

    def in_all(self, pairs: OpenPairs, lacking: Reals, least: Reals) -> None:
        """Nothing counts."""


@dataclass(frozen=True, eq=False)
class ByOwnResults(Verifier):
    """Evidence by every single result of the arms, whatever the features and σ.

    Attributes
    ----------
    means : OwnMeans
        With the variances that results have shown.
    begun : int
        How many results were there before the first plan.
    """

    keeps_values: ClassVar[bool] = True
    goes_on: ClassVar[bool] = True
    # What is said of an arm that was named counts from the naming on, for all pairs of it alike.
    keeps_named: ClassVar[bool] = False
    shares: ClassVar[tuple[float, ...]] = SHARES_OF_BETS

    means: OwnMeans
    begun: int = field(default=0, kw_only=True)

    @classmethod
    def linear(cls, problem: ReducedProblem) -> Verifier:
        """By the arms' own results; for bets ``plans.bets.linear`` uses features."""
        return cls.own(problem)

    @abstractmethod
    def with_results(self, results: PlanResults) -> Self:
        """With more results, of which every single value is kept."""

    def after(self, told: FittedPlan) -> Self:
        """With the results of one more plan."""
        return self.with_results(told.results)

    def before(self, past: PlanResults) -> Self:
        """With earlier results, of which every single value is kept."""
        return replace(self.with_results(past), begun=self.begun + int(past.pulls.sum()))

    def guided_by(self, results: PlanResults) -> Self:
        """With results of a plan that was not completed."""
        return self.before(results)

    def nothing(self, rows: Integers) -> NoEvidence:
        """Before sets are named there is none."""
        return NoEvidence(rows, len(self.problem.features))

    def verification(self, means: Reals, inside: Mask) -> float:
        """As the variances are that were seen."""
        problem = self.problem
        given = problem.sigma, problem.epsilon, problem.delta
        return expected_verification(means, inside, self.means.noise, *given, self.means.costs)

    def supposed(self, plan: Integers, means: Reals) -> PlanResults:
        """Results to either side of the means, as far from them as results were so far."""
        arms = np.repeat(np.arange(len(plan)), plan)
        sides = np.where(np.arange(len(arms)) % 2 == 0, 1.0, -1.0)
        errors = self.problem.sigma * np.sqrt(self.means.noise[arms])
        values = np.clip(means[arms] + sides * errors, *self.problem.limits)
        return PlanResults.of(len(plan), arms, values)

    def looks(self, made: int, looked: int) -> bool:
        """Whenever plans have a tenth more results than when that was last asked."""
        since, last = made - self.begun, max(looked - self.begun, 0)
        return since >= SPACED * last


@dataclass(frozen=True, eq=False)
class ByBets(ByOwnResults):
    """Evidence by bets on the arms' own results, for results in a range.

    Attributes
    ----------
    means : SeenMeans
        With the variances that results have shown.
    wealths : Wealths
        All results.
    """

    means: SeenMeans
    wealths: Wealths

    @classmethod
    def own(cls, problem: ReducedProblem, spanned: Reals | None = None) -> ByBets:
        """By the arms' own results."""
        wealths = Wealths.none(len(problem.features), problem.limits)
        return cls(problem, SeenMeans(problem, spanned, wealths), wealths)

    def with_results(self, results: PlanResults) -> ByBets:
        """With more results, of which every single value is kept."""
        wealths = self.wealths.after(results)
        return replace(self, wealths=wealths, means=self.means.after(wealths))

    def taking_over(self, before: ByBets, places: Integers) -> ByBets:
        """With the results of arms that are left."""
        wealths, begun = before.wealths.placed(places), before.begun
        return replace(self, wealths=wealths, means=self.means.after(wealths), begun=begun)

    def evidence(
        self, rows: Integers, guess: Fit, inside: Mask, risk: float, largest_risk: float
    ) -> PairBets:
        """With bets on the gaps as they seem to be."""
        problem, span = self.problem, self.wealths.span
        gaps = np.abs(guess.means[rows, None] - guess.means) + problem.epsilon
        errors = problem.sigma * np.sqrt(guess.variances(rows))
        sizes = np.maximum(gaps, HALF_WIDTH * np.where(np.isfinite(errors), errors, 0.0))
        squared = squared_threshold(-math.log(risk), 1.0 / PRIOR)
        place = np.full(len(inside), -1)
        place[rows] = np.arange(len(rows))
        b = np.repeat(np.flatnonzero(inside), (~inside).sum())
        c = np.tile(np.flatnonzero(~inside), inside.sum())
        needs = squared * (problem.sigma / sizes[place[b], c]) ** 2
        costs = self.means.costs
        weights = own_design(b, c, needs, self.means.noise * costs)[0] / costs
        scaled = np.clip((guess.means - self.wealths.low) / span, 0.0, 1.0)
        counted = self.wealths.pulls
        return PairBets(
            rows,
            np.maximum(sizes / span, LEAST_SIZE),
            (scaled * counted + 0.5) / (counted + 1.0),
            self.means.variances,
            np.log(self.means.variances / weights),
            problem.epsilon / span,
            problem.epsilon / span,
            -math.log(largest_risk),
            Wealths.none(len(inside), problem.limits),
            self.means.noise,
            np.full(sizes.shape, -np.inf),
        )

    def intervals(self) -> tuple[Reals, Reals]:
        """Bets on every arm by itself, in either direction."""
        return self.wealths.intervals(self.problem.delta)

    def squared_threshold(self, level: float) -> float:
        """As that of a mixture, and the price of a broader prior."""
        return super().squared_threshold(level) + PRICE

    def looks(self, made: int, looked: int) -> bool:
        """After two results of each arm on average, and then whenever plans have a tenth more."""
        return made >= 2 * len(self.wealths.pulls) and super().looks(made, looked)
