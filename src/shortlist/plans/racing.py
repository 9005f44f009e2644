"""LUCB and races that forget the features and bound arms one by one, by their own results.

KL-LUCB and KL-Racing are those of Kaufmann and Kalyanakrishnan (2013), for results in [0, 1];
Racing is the same race for σ-sub-Gaussian noise, where for m = 1 it is successive elimination
(Even-Dar et al. 2006). LUCB pulls the two arms at the boundary in each round, a race all arms still
in question. Their race lets one arm leave in a round, with a slack ε for accepted and rejected
arms. Here all leave that may, and only those accepted have the slack.

**Intervals.** Only the upper ends of the m best arms have to hold, and only the lower ends of the
others: K events, each given δ/K. After s results of an arm of mean μ the average μ̂ misses on
one side by

    s kl(μ̂, μ) > β  (results in [0, 1])   or   s (μ̂ − μ)² > 2σ²β  (σ-sub-Gaussian noise)

with probability at most e^−β (Chernoff). There are three β.

exploration_rate: β = ln(k₁Kt^α/δ) in round t, where no arm has more than t results. At the s-th
result of an arm t ≥ s, so its error probabilities sum to Σ_s δ/(k₁Ks^α) < δ/K
if k₁ > 1 + 1/(α − 1).

beta_mixture: with S = sμ̂ the product of (q/μ)^x ((1 − q)/(1 − μ))^(1 − x) over the results x is a
supermartingale for every q, as its factors are convex in x. So is its mixture over q drawn from
Beta(½, ½), which is exp(s kl(μ̂, μ) − β) K/δ with the β of ``exploration``. It ever exceeds K/δ
with probability δ/K at most (Ville).

contrast_mixture: for arms that have equally many results, all from the same rounds. Then
differences of two averages have variance 2σ²/s, and are bounded as such (see ``difference_bounds``): an end
is half of that away from the average, and only U_i − L_j is a bound.

**Rounds.** Write M for the m best, and let the intervals hold: U_i − L_j ≥ μ_i − μ_j for i in M and
j not in M. J are the m arms that would be answered: the accepted, then those of largest average.

A race accepts a j of J if U_i − L_j ≤ ε for all i outside J that are still in it, and rejects an i
outside if U_i − L_j < 0 for all j of J that are still in it. Then the number of arms of M that are
rejected never exceeds the number of other arms that are accepted. For suppose that an i of M is
rejected. Then all j of J still in the race are in M, since otherwise U_i − L_j < 0 would be wrong.
So M, which has m arms, contains these, its accepted arms, its rejected arms and i. J has m arms
too: those still in the race, the accepted arms of M and the other accepted arms. So the rejected
arms of M, with i, are no more than the other accepted arms.

Now suppose that a j with μ_j < μ_i − ε for all i of M is accepted. Then no i outside J that is
still in the race is in M. So M lies among the accepted, the rejected and the rest of J, where by
the above there are at most m − 1 arms of it. This is a contradiction, and no such j is accepted. At
the stop, U_c − L_b ≤ ε for the largest U outside and the smallest L inside, so all of J might be
accepted. The same holds for LUCB, which accepts and rejects no arm before.

Rejecting with a slack ε too would be wrong: an arm that made another leave may itself be made to
leave, and the slacks add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shortlist.arrays import NO_BLOCK
from shortlist.engine.certified import Certified
from shortlist.noise.bounded import WithinRange
from shortlist.noise.noise import ResultModel, SubGaussian
from shortlist.numerics.jit import compiled
from shortlist.numerics.kl import highest_mean, lowest_mean
from shortlist.numerics.order import largest_among, mark_best
from shortlist.numerics.random import round_key
from shortlist.numerics.records import (
    Integers,
    Keys,
    Mask,
    Reals,
    Record,
    Table,
)
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL, mixture_bounds
from shortlist.plans.difference_bounds import CONTRAST_MIXTURE, PRIOR_SHARE, one_sided_level
from shortlist.plans.results import PlanResults, add_result
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.relation import Unrelated
from shortlist.rules.rule import Reward
from shortlist.rules.thresholds import (
    ALL_AT_ONCE,
    EACH_SIDE,
    ArmInterval,
    StrategyThreshold,
    usual_interval,
)

ALPHA, K1 = 1.1, 11.1  # proven for α > 1 and k₁ > 1 + 1/(α − 1)
KL_RATE, KL_MIXTURE, NORMAL_RATE, NORMAL_PAIRED = range(4)
LEVEL, SQUARE = 0, 1  # indices of the constants


@compiled(typed=True)
def exploration(kind: int, constants: Reals, time: int, count: int, total: float) -> float:
    """β in round ``time`` for an arm with ``count`` results that sum up to ``total``."""
    level = constants[LEVEL]
    if kind == KL_MIXTURE:
        # ln B(½, ½) − ln B(S + ½, s − S + ½) + S ln μ̂ + (s − S) ln(1 − μ̂)
        hits = min(max(total, 0.0), float(count))
        misses = count - hits
        level += math.log(math.pi) + math.lgamma(count + 1.0)
        level -= math.lgamma(hits + 0.5) + math.lgamma(misses + 0.5)
        if hits > 0.0:
            level += hits * math.log(hits / count)
        if misses > 0.0:
            level += misses * math.log(misses / count)
        return level
    if kind == NORMAL_PAIRED:
        ratio = count / PRIOR_SHARE
        return (1.0 + 1.0 / ratio) * (level + 0.5 * math.log1p(ratio))
    return level + ALPHA * math.log(time)


@compiled(typed=True)
def end(kind: int, constants: Reals, time: int, count: int, total: float, upper: bool) -> float:
    """The upper or lower end of an arm's interval."""
    beta = exploration(kind, constants, time, count, total)
    mean = total / count
    if kind in (KL_RATE, KL_MIXTURE):
        mean = min(max(mean, 0.0), 1.0)
        if upper:
            return highest_mean(mean, beta / count)
        return lowest_mean(mean, beta / count)
    half = math.sqrt(constants[SQUARE] * beta / count)
    return mean + half if upper else mean - half


@dataclass(frozen=True)
class Interval:
    """A kind of interval."""

    kind: int  # its number in compiled code
    # k of the level ln(kK/δ) that β starts from; unused where differences are bounded.
    factor: float
    # The squared half-width is this times σ²β/s; unused where it is bounded by relative entropy.
    square: float
    of_arm: ArmInterval | None = None  # what it is, where it is not the usual one
    results: ResultModel = field(default_factory=SubGaussian)  # what it is for
    timed: bool = False  # whether it widens while other arms are pulled
    alone: bool = True  # whether it holds for an arm by itself, not only in differences

    def constants(self, problem: ReducedProblem) -> Reals:
        """The level and the square times σ², for compiled code."""
        arms = len(problem.features)
        level = math.log(self.factor * arms / problem.delta)
        if self.kind == NORMAL_PAIRED:
            level = one_sided_level(problem.delta / (problem.m * (arms - problem.m)))
        return np.array([level, self.square * problem.sigma**2])


COINS = WithinRange(0.0, 1.0)
KL_FORMULA = "{q : N kl(μ̂, q) ≤ C²/2}"
KL_MEANING = (
    "all means q with N kl(mean, q) ≤ C²/2, with N its evaluations, kl the relative entropy of two "
    "coins and C the threshold"
)
IN_RACE = ", of an arm that has left the race as it was in its last round"
KL_INTERVAL = ArmInterval(KL_FORMULA, KL_MEANING, KL_FORMULA)
KL_OF_ARM = ArmInterval(KL_FORMULA, f"{KL_MEANING} by the results of this arm", KL_FORMULA)
KL_RACE = ArmInterval(KL_FORMULA, KL_MEANING + IN_RACE, KL_FORMULA)
USUAL = usual_interval(classical=True)
NORMAL_RACE = USUAL._replace(meaning=USUAL.meaning + IN_RACE)
KL = Interval(KL_RATE, K1, 0.0, KL_INTERVAL, COINS, timed=True)
KL_IN_RACE = replace(KL, of_arm=KL_RACE)
KL_BY_MIXTURE = Interval(KL_MIXTURE, 1.0, 0.0, KL_OF_ARM, COINS)
NORMAL = Interval(NORMAL_RATE, K1, 2.0, NORMAL_RACE, timed=True)
PAIRED = Interval(NORMAL_PAIRED, 1.0, 1.0, INTERVAL, alone=False)

_AUTHORS = "Kaufmann and Kalyanakrishnan 2013"
_RATE = f"sqrt(2 ln(k₁Kt^α/δ)) in round t, with α = {ALPHA} and k₁ = {K1}."
THRESHOLDS = {
    KL_RATE: StrategyThreshold("exploration_rate", _RATE, _AUTHORS, coverage=EACH_SIDE),
    KL_MIXTURE: StrategyThreshold(
        "beta_mixture",
        "sqrt(2 ln(K/δ) + 2 ln(ML/mixture)), the likelihood's largest over its Beta(½, ½) mixture.",
        "after Robbins 1970; proof: docs/proofs.md of shortlist",
        coverage=ALL_AT_ONCE,
    ),
    NORMAL_RATE: StrategyThreshold("exploration_rate", _RATE, _AUTHORS, coverage=EACH_SIDE),
    NORMAL_PAIRED: CONTRAST_MIXTURE,
}


OPEN, ACCEPTED, REJECTED = 0, 1, -1
B, C, TIME = 0, 1, 2  # indices of ``pair``
THRESHOLD, STATISTIC = 0, 1  # of ``figures``
KIND, RACES, TIMED, M = 0, 1, 2, 3  # of ``rules``
CANDIDATES, AMBIGUOUS = 0, 1  # what a round's keys are for


@dataclass(frozen=True, eq=False)
class ArmTable(Record):
    """What is known about every arm, and which are pulled next.

    ``worst`` is −L of an arm of J and U of another: what it may contribute to the statistic.
    ``since`` is the round in which the arm last came into J or out of it, ``left`` that in which it
    left the race.
    """

    pulls: Integers
    sums: Reals
    status: Integers
    means: Reals
    inside: Mask
    before: Mask
    worst: Reals
    since: Integers
    left: Integers
    plan: Integers
    scratch: Integers
    pair: Integers
    figures: Reals


def new_table(arms: int) -> ArmTable:
    """The table before the first round, in which every arm is pulled once."""
    started = {
        "plan": np.ones(arms, np.int64),
        "pair": np.array([-1, -1, 0], np.int64),
        "figures": np.full(2, np.inf),
    }
    return ArmTable.zeros(**{**{field.name: arms for field in fields(ArmTable)}, **started})


@compiled(typed=True)
def decide_round(
    now: ArmTable, epsilon: float, rules: Integers, constants: Reals, seed: np.uint64
) -> None:
    """Fill in J, b, c, the statistic and the next plan, with the last results in ``sums``."""
    arms, pair, races = now.pulls.shape[0], now.pair, rules[RACES] == 1
    pair[TIME] += 1
    time = pair[TIME]
    for a in range(arms):
        now.before[a] = now.inside[a]
        if now.status[a] == OPEN:
            now.means[a] = now.sums[a] / now.pulls[a]
        else:
            now.means[a] = np.inf if now.status[a] == ACCEPTED else -np.inf
    key = round_key(seed, time, CANDIDATES)
    mark_best(now.means, 1.0, rules[M], key, now.scratch, now.inside)
    for a in range(arms):
        if now.inside[a] != now.before[a]:
            now.since[a] = time
        if now.status[a] != OPEN:
            now.worst[a] = -np.inf
        elif rules[TIMED] == 1 or now.plan[a] > 0 or now.inside[a] != now.before[a]:
            upper = not now.inside[a]
            bound = end(rules[KIND], constants, time, now.pulls[a], now.sums[a], upper)
            now.worst[a] = bound if upper else -bound
    key = round_key(seed, time, AMBIGUOUS)
    b = largest_among(now.worst, now.inside, True, key)
    c = largest_among(now.worst, now.inside, False, key)
    beta = exploration(rules[KIND], constants, time, now.pulls[c], now.sums[c])
    pair[B], pair[C] = b, c
    now.figures[THRESHOLD] = math.sqrt(2.0 * beta)
    now.figures[STATISTIC] = now.worst[c] + now.worst[b]
    if races and now.figures[STATISTIC] > epsilon:
        # b and c stay in, so that the largest U and the smallest L are the same for all arms.
        for a in range(arms):
            if now.status[a] == OPEN:
                if now.inside[a] and now.worst[c] + now.worst[a] <= epsilon:
                    now.status[a] = ACCEPTED
                elif not now.inside[a] and now.worst[a] + now.worst[b] < 0.0:
                    now.status[a] = REJECTED
                if now.status[a] != OPEN:
                    now.left[a] = time
    for a in range(arms):
        now.plan[a] = 1 if races and now.status[a] == OPEN else 0
    now.plan[b] = now.plan[c] = 1


@compiled(typed=True)
def simulate(
    now: ArmTable,
    epsilon: float,
    rules: Integers,
    constants: Reals,
    seed: np.uint64,
    results: PlanResults,
    reward: Reward,
    parameters: Table,
    stream: Keys,
    most: int,
    made: Integers,
) -> bool:
    """Run to the stop (True) or for ``most`` pulls, which are added to ``made``.

    ``results`` are those of the plan so far.
    """
    arms, left = now.pulls.shape[0], most
    while True:
        for a in range(arms):
            while results.pulls[a] < now.plan[a]:
                if left == 0:
                    return False
                add_result(results, a, reward(a, parameters, stream), NO_BLOCK)
                made[a] += 1
                left -= 1
        for a in range(arms):
            now.pulls[a] += results.pulls[a]
            now.sums[a] += results.sums[a]
            results.pulls[a] = 0
            results.sums[a] = 0.0
        decide_round(now, epsilon, rules, constants, seed)
        if now.figures[STATISTIC] <= epsilon:
            return True


class OwnIntervalStrategy(Strategy):
    """LUCB, a round of which pulls the two arms at the boundary, or a race: all still in question.

    The features of the problem are not used.
    """

    is_compiled = True

    def __init__(self, problem: ReducedProblem, interval: Interval, races: bool) -> None:
        arms = len(problem.features)
        self._kind, self._races, self.alone = interval.kind, races, interval.alone
        self._problem, self._constants = problem, interval.constants(problem)
        self._epsilon = problem.epsilon
        self._rules = np.array([interval.kind, races, interval.timed, problem.m], np.int64)
        self._show(new_table(arms))

    def _show(self, now: ArmTable) -> None:
        (b, c, _), (threshold, statistic) = now.pair.tolist(), now.figures.tolist()
        self._now, self.plan, self.inside = now, now.plan, now.inside
        self.b, self.c, self.threshold, self.statistic = b, c, threshold, statistic

    def decide(self, results: PlanResults, seed: int) -> None:
        """Bound the arms again, and plan the next round."""
        now = self._now.mapped(np.copy)
        now.pulls[:] += results.pulls
        now.sums[:] += results.sums
        decide_round(now, self._epsilon, self._rules, self._constants, np.uint64(seed))
        self._show(now)

    def suppose(self, means: Reals) -> None:
        """Go on as if the plan's results had come out at their means."""
        self.decide(PlanResults.at(self.plan, means), 0)

    def run(
        self, results: PlanResults, seed: int, most: int, *rewards: Any
    ) -> tuple[bool, Integers]:
        """Simulate to the stop or for ``most`` pulls; whether it stopped, and the pulls made."""
        now, made = self._now.mapped(np.copy), np.zeros_like(results.pulls)
        settings = (self._epsilon, self._rules, self._constants, np.uint64(seed))
        reward, parameters, stream = rewards
        stopped = simulate(now, *settings, results, reward, parameters, stream, most, made)
        self._show(now)
        return stopped, made

    def intervals(self) -> tuple[Reals, Reals]:
        """L and U of every arm in its last round; where they only hold in differences, others."""
        if self.alone:
            return self._ends()
        pulls, sums = self._now.pulls.astype(np.float64), self._now.sums
        return mixture_bounds(sums, pulls, 1.0, self._problem.sigma, self._problem.delta)

    def _ends(self) -> tuple[Reals, Reals]:
        now = self._now
        # An arm that has left a race was last bounded in the round of its last result.
        times = now.pulls.tolist() if self._races else [int(now.pair[TIME])] * len(now.pulls)
        known = list(zip(times, now.pulls.tolist(), now.sums.tolist(), strict=True))
        lower, upper = (
            np.array([end(self._kind, self._constants, *arm, side) for arm in known])
            for side in (False, True)
        )
        return lower, upper

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with L_i − U_j and U_i − L_j; 0 for j itself.

        Ends that only hold in differences hold for arms that are in the race together: beside an arm
        that has left there are the arms' own intervals. What its leaving proved is a bound too.
        """
        now, inside = self._now, self.inside
        means, (lower, upper) = now.sums / now.pulls, self.intervals()
        gap, above, below = means - means[j], upper - lower[j], upper[j] - lower
        if not self.alone and now.status[j] == OPEN:
            race, (lower, upper) = now.status == OPEN, self._ends()
            above[race], below[race] = (upper - lower[j])[race], (upper[j] - lower)[race]
        side, bounds = (above, self._bounds()) if inside[j] else (below, self._bounds().T)
        place = np.flatnonzero(inside == inside[j]).searchsorted(j)
        side[inside != inside[j]] = np.minimum(side[inside != inside[j]], bounds[place])
        above, below = np.maximum(above, gap), np.maximum(below, -gap)
        gap[j] = above[j] = below[j] = 0.0
        return gap, -below, above

    def certified(self, epsilon: float) -> Certified:
        """What the ends of the arms' intervals say, and that arms were accepted or rejected."""
        now, inside = self._now, self.inside
        accepted = now.status[inside] == ACCEPTED
        # The slack with which arms were accepted is part of what is certified.
        least = max(self.statistic, self._epsilon if accepted.any() else -np.inf)
        bounds = self._bounds()
        # An arm that was rejected before any had been accepted is not among the m best.
        first = now.left[now.status == ACCEPTED].min(initial=now.pair[TIME])
        out = (now.status == REJECTED) & (now.left <= first)
        bounds[:, out[~inside]] = np.minimum(bounds[:, out[~inside]], 0.0)
        certified = Certified.by_bounds(inside, bounds, epsilon, least)
        certified.inside[inside] |= accepted
        certified.open_inside[inside] &= ~accepted
        return certified

    def _bounds(self) -> Reals:
        """B_cb in the rows of b in J and the columns of c outside; infinite where nothing is proven.

        Ends that only hold in differences hold for arms that are in the race together. Where one of
        the two has left, B_cb was below 0 or at most ε then, if b was in J and c was not: as it is
        if neither has come or gone since.
        """
        now, b, c = self._now, np.flatnonzero(self.inside)[:, None], np.flatnonzero(~self.inside)
        race = now.status == OPEN
        left = np.where(race, now.pair[TIME], now.left)
        bounds = np.where(race[b] & race[c], now.worst[c] + now.worst[b], np.inf)
        if self.alone:
            lower, upper = self._ends()
            bounds = upper[c] - lower[b]
        as_now = np.maximum(now.since[b], now.since[c]) <= np.minimum(left[b], left[c])
        then = np.where(~race[c] & (left[c] <= left[b]), 0.0, self._epsilon)
        return np.where(~(race[b] & race[c]) & as_now, np.minimum(bounds, then), bounds)

    def widen(self, epsilon: float) -> None:
        """Accept arms with this ε from now on."""
        self._problem, self._epsilon = self._problem._replace(epsilon=epsilon), epsilon

    def threshold_at(self, time: float) -> float:
        """C when each arm has an equal share of ``time`` results, with an average of ½."""
        arms = len(self.plan)
        count = max(1, round(time / arms))
        rounds = count if self._races else max(1, round((time - arms) / 2.0) + 1)
        beta = exploration(self._kind, self._constants, rounds, count, count / 2.0)
        return math.sqrt(2.0 * beta)


class RaceSpec(NamedTuple):
    """An algorithm: how arms are bounded, whether they race, and a line about it."""

    name: str
    interval: Interval
    races: bool
    about: str


# fmt: off
_TABLE = (
    RaceSpec("KL-LUCB", KL, False,
        f"{_AUTHORS}; proven for results in [0, 1]; no features, no σ"),
    RaceSpec("KL-LUCB (mixture)", KL_BY_MIXTURE, False,
        f"{_AUTHORS}, bound by Robbins 1970; proven for results in [0, 1]; no σ"),
    RaceSpec("KL-Racing", KL_IN_RACE, True,
        f"{_AUTHORS}; proven for results in [0, 1]; arms leave; no σ"),
    RaceSpec("KL-Racing (mixture)", KL_BY_MIXTURE, True,
        f"{_AUTHORS}, bound by Robbins 1970; proven in [0, 1]; arms leave; no σ"),
    RaceSpec("Racing", NORMAL, True,
        f"{_AUTHORS}, Even-Dar et al. 2006 for m = 1; proven; no features"),
    RaceSpec("Racing (paired)", PAIRED, True,
        "Racing with differences of two arms bounded (Robbins 1970); proven; no features"),
)
# fmt: on
ALGORITHMS = {
    row.name: Planned(
        strategy=partial(OwnIntervalStrategy, interval=row.interval, races=row.races),
        threshold=THRESHOLDS[row.interval.kind],
        name=row.name,
        summary=row.about,
        works=("subsets",),
        relation=Unrelated,
        results=row.interval.results,
        interval=row.interval.of_arm,
        checks=False,
    )
    for row in _TABLE
}
