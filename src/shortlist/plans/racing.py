"""Intervals of arms that are bounded one by one, by their own results alone.

Of the m best arms only the upper ends have to hold, and of the others only the lower ones: K events,
each given δ/K. After s results of an arm of mean μ the average μ̂ misses on one side by

    s kl(μ̂, μ) > β  (results in [0, 1])   or   s (μ̂ − μ)² > 2σ²β  (σ-sub-Gaussian noise)

with probability at most e^−β (Chernoff). There are three β.

exploration_rate: β = ln(k₁Kt^α/δ) in round t, where no arm has more than t results. At the s-th
result of an arm t ≥ s, so its chances sum to Σ_s δ/(k₁Ks^α) < δ/K if k₁ > 1 + 1/(α − 1).

beta_mixture: with S = sμ̂ the product of (q/μ)^x ((1 − q)/(1 − μ))^(1 − x) over the results x is a
supermartingale for every q, as its factors are convex in x. So is its mixture over q drawn from
Beta(½, ½), which is exp(s kl(μ̂, μ) − β) K/δ with the β of ``exploration``. It ever exceeds K/δ with
probability δ/K at most (Ville).

contrast_mixture: for arms that have as many results each, all of the same rounds. Then differences
of two averages have variance 2σ²/s, and are bounded as such (see ``contrasts``): an end is half of
that away from the average, and only U_i − L_j is a bound.

Rounds of arms that are bounded one by one: LUCB pulls the two in question, a race all still in it.

Write M for the m best, and let the intervals hold: U_i − L_j ≥ μ_i − μ_j for i in M and j not in M.
J are the m arms that would be answered: the accepted, then those of largest average.

A race accepts a j of J if U_i − L_j ≤ ε for all i outside J that are still in it, and rejects an i
outside if U_i − L_j < 0 for all j of J that are still in it. Then of M no more arms are ever rejected
than others were accepted. For let an i of M be rejected. All j of J still in the race are of M, or
U_i − L_j < 0 would be wrong. So M holds them, its accepted arms, its rejected ones and i, m together;
and m is also how many J holds: those still in the race, the accepted of M and the accepted others. So
the rejected of M and i are no more than the accepted others.

Now let a j be accepted with μ_j < μ_i − ε for all i of M. No i outside J that is still in the race
is of M. So M lies among the accepted, the rejected and the rest of J, where by what was said there
are m − 1 arms for it at most. Hence no such j is accepted. At the stop, U_c − L_b ≤ ε for the largest
U outside and the smallest L inside, all of J might be accepted. The same holds for LUCB, which
accepts and rejects nobody before.

To reject with a slack ε too would not do: an arm that made another leave may itself be made to
leave, and the slacks add up.

Strategies that forget the features and bound arms one by one: LUCB and races.

KL-LUCB (Kaufmann and Kalyanakrishnan 2013): the two arms at the boundary, bounded by entropy.

KL-Racing (Kaufmann and Kalyanakrishnan 2013): all arms in question, bounded by entropy.

Racing for σ-sub-Gaussian noise; where m = 1 it is successive elimination (Even-Dar et al. 2006).

The race of Kaufmann and Kalyanakrishnan (2013) lets one arm leave in a round, and with a slack ε on
both sides. Here all leave that may, and only those accepted have the slack (see ``contest``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shortlist.engine.bound_algorithm import OWN_INTERVAL
from shortlist.numerics.jit import compiled
from shortlist.numerics.kl import highest_mean, lowest_mean
from shortlist.numerics.order import largest_among, mark_best
from shortlist.numerics.random import round_key
from shortlist.numerics.records import (
    BOOLEAN,
    INTEGER,
    INTEGERS,
    KEY,
    KEYS,
    REAL,
    REALS,
    TABLE,
    VOID,
    Integers,
    Mask,
    Reals,
    Record,
    record_type,
)
from shortlist.plans.algorithm import Planned
from shortlist.plans.contrasts import CONTRAST_MIXTURE, PRIOR_SHARE, one_sided_level
from shortlist.plans.strategy import Compiled, ReducedProblem
from shortlist.rules.rule import POINTERS, Rule
from shortlist.rules.thresholds import Threshold

ALPHA, K1 = 1.1, 11.1  # proven for α > 1 and k₁ > 1 + 1/(α − 1)
KL_RATE, KL_MIXTURE, NORMAL_RATE, NORMAL_PAIRED = range(4)
LEVEL, SQUARE = 0, 1  # places of the constants


@compiled(REAL(INTEGER, REALS, INTEGER, INTEGER, REAL))
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


@compiled(REAL(INTEGER, REALS, INTEGER, INTEGER, REAL, BOOLEAN))
def end(kind: int, constants: Reals, time: int, count: int, total: float, upper: bool) -> float:
    """The upper or the lower end of an arm's interval."""
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
    """A kind of interval.

    Attributes
    ----------
    kind : int
        By which compiled code knows it.
    threshold : Threshold
        Its β, C = √(2β), and who has proven it.
    formula : callable
        From the task, the constants of the compiled code.
    words : str
        What it is, in signs.
    reward_range : tuple of float or None
        Where every result must lie.
    timed : bool
        Whether it widens while others are pulled.
    alone : bool
        Whether it holds for an arm by itself.
    """

    kind: int
    threshold: Threshold
    formula: Callable[[ReducedProblem], list[float]]
    words: str = OWN_INTERVAL
    reward_range: tuple[float, float] | None = None
    timed: bool = False
    alone: bool = True

    def constants(self, task: ReducedProblem) -> Reals:
        """What the compiled code is given."""
        return np.array(self.formula(task))


def _threshold(name: str, summary: str, assumptions: str, source: str) -> Threshold:
    rule = Rule("threshold", name, summary, exploration, exploration, frozenset(), frozenset())
    return Threshold(rule, lambda setting, ridge: [], True, assumptions, source)


def _rate(assumptions: str) -> Threshold:
    summary = f"sqrt(2 ln(k₁Kt^α/δ)) in round t, with α = {ALPHA} and k₁ = {K1}."
    return _threshold("exploration_rate", summary, assumptions, "Kaufmann and Kalyanakrishnan 2013")


def _level(task: ReducedProblem, factor: float) -> float:
    return math.log(factor * len(task.features) / task.delta)


BOUNDED = "the results lie in [0, 1]"
KL_WORDS = "{q : N kl(μ̂, q) ≤ C²/2}"
KL = Interval(
    KL_RATE,
    _rate(BOUNDED),
    lambda task: [_level(task, K1), 0.0],
    KL_WORDS,
    (0.0, 1.0),
    timed=True,
)
KL_BY_MIXTURE = Interval(
    KL_MIXTURE,
    _threshold(
        "beta_mixture",
        "sqrt(2 ln(K/δ) + 2 ln(ML/mixture)), the likelihood's largest over its Beta(½, ½) mixture.",
        BOUNDED,
        "Robbins 1970",
    ),
    lambda task: [_level(task, 1.0), 0.0],
    KL_WORDS,
    (0.0, 1.0),
)
NORMAL = Interval(
    NORMAL_RATE,
    _rate("the noise is σ-sub-Gaussian"),
    lambda task: [_level(task, K1), 2.0 * task.sigma**2],
    timed=True,
)
PAIRED = Interval(
    NORMAL_PAIRED,
    CONTRAST_MIXTURE,
    lambda task: [
        one_sided_level(task.delta / (task.m * (len(task.features) - task.m))),
        task.sigma**2,
    ],
    alone=False,
)


OPEN, ACCEPTED, REJECTED = 0, 1, -1
B, C, TIME = 0, 1, 2  # places of ``pair``
THRESHOLD, STATISTIC = 0, 1  # of ``figures``
KIND, RACES, TIMED, M = 0, 1, 2, 3  # of ``rules``
CANDIDATES, AMBIGUOUS = 0, 1  # purposes of a round's keys


@dataclass(frozen=True, eq=False)
class Contest(Record):
    """What is known of the arms, and who is pulled next.

    ``worst`` is −L of an arm of J and U of another: what it may bring into the statistic.
    """

    pulls: Integers
    sums: Reals
    standing: Integers
    means: Reals
    inside: Mask
    before: Mask
    worst: Reals
    plan: Integers
    scratch: Integers
    pair: Integers
    figures: Reals


CONTEST = record_type(Contest)


def new_contest(arms: int) -> Contest:
    """Nothing is known, and everybody is to be pulled once."""
    return Contest(
        pulls=np.zeros(arms, np.int64),
        sums=np.zeros(arms),
        standing=np.zeros(arms, np.int64),
        means=np.zeros(arms),
        inside=np.zeros(arms, np.bool_),
        before=np.zeros(arms, np.bool_),
        worst=np.zeros(arms),
        plan=np.ones(arms, np.int64),
        scratch=np.zeros(arms, np.int64),
        pair=np.array([-1, -1, 0], np.int64),
        figures=np.full(2, np.inf),
    )


@compiled(VOID(CONTEST, REAL, INTEGERS, REALS, KEY))
def look(now: Contest, epsilon: float, rules: Integers, constants: Reals, seed: np.uint64) -> None:
    """J, b, c, the statistic and the next plan, once the results of the last are in ``sums``."""
    arms, pair, races = now.pulls.shape[0], now.pair, rules[RACES] == 1
    pair[TIME] += 1
    time = pair[TIME]
    for a in range(arms):
        now.before[a] = now.inside[a]
        if now.standing[a] == OPEN:
            now.means[a] = now.sums[a] / now.pulls[a]
        else:
            now.means[a] = np.inf if now.standing[a] == ACCEPTED else -np.inf
    key = round_key(seed, time, CANDIDATES)
    mark_best(now.means, 1.0, rules[M], key, now.scratch, now.inside)
    for a in range(arms):
        if now.standing[a] != OPEN:
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
        # b and c stay in, so that the largest U and the smallest L are the same for all.
        for a in range(arms):
            if now.standing[a] == OPEN:
                if now.inside[a] and now.worst[c] + now.worst[a] <= epsilon:
                    now.standing[a] = ACCEPTED
                elif not now.inside[a] and now.worst[a] + now.worst[b] < 0.0:
                    now.standing[a] = REJECTED
    for a in range(arms):
        now.plan[a] = 1 if races and now.standing[a] == OPEN else 0
    now.plan[b] = now.plan[c] = 1


@compiled(
    BOOLEAN(
        *(CONTEST, REAL, INTEGERS, REALS, KEY),
        *(INTEGERS, REALS, POINTERS["reward"], TABLE, KEYS, INTEGER, INTEGERS),
    )
)
def play(
    now: Contest,
    epsilon: float,
    rules: Integers,
    constants: Reals,
    seed: np.uint64,
    pulls: Integers,
    sums: Reals,
    reward: Callable[..., float],
    parameters: Reals,
    stream: Any,
    most: int,
    made: Integers,
) -> bool:
    """Go on to the stop (True) or for ``most`` pulls, which are added to ``made``.

    ``pulls`` and ``sums`` are what is in of the plan.
    """
    arms = now.pulls.shape[0]
    left = most
    while True:
        for a in range(arms):
            while pulls[a] < now.plan[a]:
                if left == 0:
                    return False
                sums[a] += reward(a, parameters, stream)
                pulls[a] += 1
                made[a] += 1
                left -= 1
        for a in range(arms):
            now.pulls[a] += pulls[a]
            now.sums[a] += sums[a]
            pulls[a] = 0
            sums[a] = 0.0
        look(now, epsilon, rules, constants, seed)
        if now.figures[STATISTIC] <= epsilon:
            return True


BOUND = 250.0  # nanoseconds of an end of an interval


class Classical(Compiled):
    """LUCB or a race.

    Attributes
    ----------
    interval : Interval
        How an arm is bounded.
    races : bool
        Whether a round pulls all arms still in question, or the two at the boundary.
    """

    interval: ClassVar[Interval]
    races: ClassVar[bool]

    def __init__(self, task: ReducedProblem) -> None:
        arms, interval = len(task.features), self.interval
        self._epsilon, self._constants = task.epsilon, interval.constants(task)
        self._rules = np.array([interval.kind, self.races, interval.timed, task.m], np.int64)
        self.alone = interval.alone
        bounds = 1.0 if self.races else arms / 2.0 if interval.timed else 2.0
        self.pull_cost = 20.0 + 3.0 * arms + BOUND * bounds
        self._show(new_contest(arms))

    def _show(self, now: Contest) -> None:
        (b, c, _), (threshold, statistic) = now.pair.tolist(), now.figures.tolist()
        self._now, self.plan, self.inside = now, now.plan, now.inside
        self.b, self.c, self.threshold, self.statistic = b, c, threshold, statistic

    def _apart(self) -> Contest:
        return self._now.mapped(np.copy)

    def decide(self, sums: Reals, seed: int) -> None:
        """Look, and plan the next round."""
        now = self._apart()
        now.pulls[:] += now.plan
        now.sums[:] += sums
        look(now, self._epsilon, self._rules, self._constants, np.uint64(seed))
        self._show(now)

    def suppose(self, means: Reals) -> None:
        """Go on as if the plan's results had come out at their means."""
        self.decide(self.plan * means, 0)

    def play(
        self,
        pulls: Integers,
        sums: Reals,
        reward: Any,
        parameters: Reals,
        stream: Any,
        seed: int,
        most: int,
    ) -> tuple[bool, Integers]:
        """Go on to the stop or for ``most`` pulls; whether it stopped, and the pulls made."""
        now, made = self._apart(), np.zeros_like(pulls)
        settings = (self._epsilon, self._rules, self._constants, np.uint64(seed))
        rewards = (reward, parameters, stream, most)
        stopped = play(now, *settings, pulls, sums, *rewards, made)
        self._show(now)
        return stopped, made

    def intervals(self) -> tuple[Reals, Reals] | None:
        """L and U of every arm when it was last looked at; none where they only hold in pairs."""
        return self._ends() if self.alone else None

    def _ends(self) -> tuple[Reals, Reals]:
        now = self._now
        time = int(now.pair[TIME])
        lower, upper = (
            np.array(
                [
                    end(self.interval.kind, self._constants, at, count, total, side)
                    for at, count, total in zip(
                        # Who has left a race was last looked at when it had as many results.
                        now.pulls.tolist() if self.races else [time] * len(now.pulls),
                        now.pulls.tolist(),
                        now.sums.tolist(),
                        strict=True,
                    )
                ]
            )
            for side in (False, True)
        )
        return lower, upper

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Of every arm i, μ_i − μ_j as it is estimated, L_i − U_j and U_i − L_j; 0 for j itself.

        Of an arm that has left a race they are those of its last round, cut to what that has shown.
        """
        now = self._now
        means, (lower, upper) = now.sums / now.pulls, self._ends()
        gap, above, below = means - means[j], upper - lower[j], upper[j] - lower
        rejected, accepted = now.standing == REJECTED, now.standing == ACCEPTED
        slack = self._epsilon * accepted
        above[rejected | accepted[j]] = np.minimum(above, slack[j])[rejected | accepted[j]]
        below[rejected[j] | accepted] = np.minimum(below, slack)[rejected[j] | accepted]
        above, below = np.maximum(above, gap), np.maximum(below, -gap)
        gap[j] = above[j] = below[j] = 0.0
        return gap, -below, above

    def threshold_at(self, time: float) -> float:
        """C when each arm has its share of so many results, half of them being hits."""
        arms = len(self.plan)
        count = max(1, round(time / arms))
        rounds = count if self.races else max(1, round((time - arms) / 2.0) + 1)
        beta = exploration(self.interval.kind, self._constants, rounds, count, count / 2.0)
        return math.sqrt(2.0 * beta)


class KLLUCB(Classical):
    """With the exploration rate of the paper's theorem."""

    interval, races = KL, False


class KLLUCBByMixture(Classical):
    """With a mixture in place of the union over all numbers of results."""

    interval, races = KL_BY_MIXTURE, False


_KL_LUCB = {
    "KL-LUCB": Planned(
        strategy=KLLUCB,
        threshold=KL.threshold,
        name="KL-LUCB",
        summary="Kaufmann and Kalyanakrishnan 2013; proven for results in [0, 1]; no features, no σ",
        classical=True,
        reward_range=KL.reward_range,
        interval_words=KL.words,
    ),
    "KL-LUCB (mixture)": Planned(
        strategy=KLLUCBByMixture,
        threshold=KL_BY_MIXTURE.threshold,
        name="KL-LUCB (mixture)",
        summary="Kaufmann and Kalyanakrishnan 2013, bound by Robbins 1970; proven for results in [0, 1]; no σ",
        classical=True,
        reward_range=KL_BY_MIXTURE.reward_range,
        interval_words=KL_BY_MIXTURE.words,
    ),
}


class KLRacing(Classical):
    """With the exploration rate of the paper's theorem."""

    interval, races = KL, True


class KLRacingByMixture(Classical):
    """With a mixture in place of the union over all rounds."""

    interval, races = KL_BY_MIXTURE, True


_KL_RACING = {
    "KL-Racing": Planned(
        strategy=KLRacing,
        threshold=KL.threshold,
        name="KL-Racing",
        summary="Kaufmann and Kalyanakrishnan 2013; proven for results in [0, 1]; arms leave; no σ",
        classical=True,
        reward_range=KL.reward_range,
        interval_words=KL.words,
    ),
    "KL-Racing (mixture)": Planned(
        strategy=KLRacingByMixture,
        threshold=KL_BY_MIXTURE.threshold,
        name="KL-Racing (mixture)",
        summary="Kaufmann and Kalyanakrishnan 2013, bound by Robbins 1970; proven in [0, 1]; arms leave; no σ",
        classical=True,
        reward_range=KL_BY_MIXTURE.reward_range,
        interval_words=KL_BY_MIXTURE.words,
    ),
}


class Racing(Classical):
    """Each arm bounded alone, with the exploration rate of the paper's theorem."""

    interval, races = NORMAL, True


class PairedRacing(Classical):
    """Differences of two arms bounded: in a race both have as many results."""

    interval, races = PAIRED, True


_RACING = {
    "Racing": Planned(
        strategy=Racing,
        threshold=NORMAL.threshold,
        name="Racing",
        summary="Kaufmann and Kalyanakrishnan 2013, Even-Dar et al. 2006 for m = 1; proven; no features",
        classical=True,
    ),
    "Racing (paired)": Planned(
        strategy=PairedRacing,
        threshold=PAIRED.threshold,
        name="Racing (paired)",
        summary="Racing with differences of two arms bounded (Robbins 1970); proven; no features",
        classical=True,
    ),
}
ALGORITHMS = {**_KL_LUCB, **_KL_RACING, **_RACING}
