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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shortlist.algorithms.bound import OWN_INTERVAL
from shortlist.algorithms.contrasts import CONTRAST_MIXTURE, SHARE, one_sided_level
from shortlist.algorithms.strategy import Task
from shortlist.arrays import Reals
from shortlist.core.jit import compiled
from shortlist.core.kl import highest_mean, lowest_mean
from shortlist.core.records import BOOLEAN, INTEGER, REAL, REALS
from shortlist.core.rule import Rule
from shortlist.rules.threshold import Threshold

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
        ratio = count / SHARE
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
    formula: Callable[[Task], list[float]]
    words: str = OWN_INTERVAL
    reward_range: tuple[float, float] | None = None
    timed: bool = False
    alone: bool = True

    def constants(self, task: Task) -> Reals:
        """What the compiled code is given."""
        return np.array(self.formula(task))


def _threshold(name: str, summary: str, assumptions: str, source: str) -> Threshold:
    rule = Rule("threshold", name, summary, exploration, exploration, frozenset(), frozenset())
    return Threshold(rule, lambda setting, ridge: [], True, assumptions, source)


def _rate(assumptions: str) -> Threshold:
    summary = f"sqrt(2 ln(k₁Kt^α/δ)) in round t, with α = {ALPHA} and k₁ = {K1}."
    return _threshold("exploration_rate", summary, assumptions, "Kaufmann and Kalyanakrishnan 2013")


def _level(task: Task, factor: float) -> float:
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
