"""MisLid: the means are linear in the features to within c (Réda, Tirinzoni and Degenne 2021).

A learner proposes shares of the pulls, nature answers with the closest means under which the answer
is another, and the learner is paid for the arms that tell the two apart: LinGame, with means that
are linear up to c. The plans follow the sum of the shares.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from shortlist.allocations.game import FIRST_MIXABILITY, hedge, learn
from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.engine.algorithm import Algorithm, Need, Procedure
from shortlist.engine.certified import Certified
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.plans.algorithm import Planned
from shortlist.plans.difference_bounds import MOST_ARMS
from shortlist.plans.mislid.alternative import alternatives, closest, fit_weighted
from shortlist.plans.mislid.stopping import Boundary, LikelihoodRatio, PairBounds, StoppingBounds
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.problem import Problem
from shortlist.relation import Linear, NearlyLinear
from shortlist.rules.thresholds import ALL_AT_ONCE, EACH_ARM, ArmInterval, StrategyThreshold

FIRST, AT_MOST = 10, 200  # first pulls of an arm; and, while K allows it, of all together
GROWTH = 0.03  # of all pulls from one decision to the next; 0.01 was no better
STEPS = 5  # of the learner in a plan; 20 were no better

STOPS: dict[str, Callable[[ReducedProblem, float, int], StoppingBounds]] = {
    "pairs": PairBounds.of,
    "glr": LikelihoodRatio.of,
}


class MisLidStrategy(Strategy):
    """The estimate, the bounds around it, and a learner for each answer met."""

    def __init__(self, problem: ReducedProblem, misspecification: float, stop: str) -> None:
        arms, rank = problem.features.shape
        first = max(1, min(FIRST, AT_MOST // arms))
        # With as many dimensions as arms all means are linear, whatever c.
        c = misspecification if rank < arms else 0.0
        self._evidence = STOPS[stop](problem, c, first)
        self._at = Boundary(NO_ARM, NO_ARM, math.inf, math.inf)
        self._results = PlanResults.none(arms)
        self._target = np.zeros(arms)
        self._learners: dict[bytes, Reals] = {}
        self.plan = np.full(arms, first, np.int64)
        self.inside = np.zeros(arms, np.bool_)

    def decide(self, results: PlanResults, seed: int) -> None:
        """Bound the differences again, and let the learner play for the next plan."""
        total = self._results + results
        evidence = self._evidence.after(total)
        inside = evidence.inside()
        at = evidence.boundary(inside)
        played = self._play(evidence, inside, total.pulls)
        self._results, self._evidence = total, evidence
        self._learners, self._target, self.plan = played
        self.inside, self._at = inside, at
        self.b, self.c, self.statistic, self.threshold = at

    def suppose(self, means: Reals) -> None:
        """Let the learner play on, with the estimate as it is."""
        total = self._results + PlanResults.at(self.plan, means)
        played = self._play(self._evidence, self.inside, total.pulls)
        self._results = total
        self._learners, self._target, self.plan = played

    def _play(
        self, evidence: StoppingBounds, inside: Mask, pulls: Integers
    ) -> tuple[dict[bytes, Reals], Reals, Integers]:
        """The learners, the pulls they want by the end of the next plan, and that plan."""
        problem, c, means = evidence.problem, evidence.c, evidence.means
        total = int(pulls.sum())
        count = max(1, int(GROWTH * total))
        steps = min(count, STEPS)
        pulls_a_step, most = count / steps, math.log(max(total, 2))
        counts, alternative = pulls.astype(np.float64), alternatives(problem.features)
        # How many σ a mean may be off: by its own pulls, or by a linear model.
        fit_weighted(problem.features, counts, means, alternative.fit)
        linear = np.sqrt(2.0 * most * np.diagonal(alternative.fit.gram)) + 2.0 * c / problem.sigma
        widths = np.minimum(np.sqrt(2.0 * most / counts), linear)
        key = inside.tobytes()
        fresh = np.append(np.zeros(len(means)), FIRST_MIXABILITY)
        learner = self._learners.get(key, fresh).copy()
        # What was pulled before the first decision was wanted.
        target = self._target.copy() if self._target.any() else pulls.astype(np.float64)
        weights = np.zeros(len(means))
        for _ in range(steps):
            hedge(learner, weights)
            closest(c, weights, means, inside, problem.epsilon, alternative)
            apart = np.abs(means - alternative.means) / problem.sigma + widths
            gains = np.minimum(0.5 * apart * apart, most)
            learn(learner, weights, pulls_a_step * gains)
            target += pulls_a_step * weights
        return {**self._learners, key: learner}, target, _tracking(target - pulls, count)

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with their bounds."""
        return self._evidence.differences(j, self._at)

    def estimates(self, means: Reals, variances: Reals) -> tuple[Reals, Reals]:
        """μ̃, and the squares of its half-widths in units of Cσ."""
        scale = self.threshold * self._evidence.problem.sigma
        return self._evidence.means, (self._evidence.half_widths() / scale) ** 2

    def certified(self, epsilon: float) -> Certified:
        """What the bounds around the estimate say."""
        if self._at.b == NO_ARM:
            return super().certified(epsilon)
        return self._evidence.certified(self.inside, epsilon)

    def widen(self, epsilon: float) -> None:
        """Look for the closest alternative with this ε."""
        evidence = self._evidence.with_slack(epsilon)
        at = self._at if self._at.b == NO_ARM else evidence.boundary(self.inside)
        self._evidence, self._at = evidence, at
        self.b, self.c, self.statistic, self.threshold = at

    def threshold_at(self, time: float) -> float:
        """C if all arms are pulled alike."""
        arms = len(self.plan)
        return self._evidence.threshold_at(np.full(arms, time / arms))


def _tracking(lacking: Reals, count: int) -> Integers:
    """A plan of ``count`` pulls, each of the arm that lacks most by then (C-tracking).

    Examples
    --------
    >>> _tracking(np.array([2.0, -1.0, 3.5]), 4).tolist()
    [1, 0, 3]
    """
    ordered = np.sort(lacking)[::-1]
    levels = (np.cumsum(ordered) - count) / np.arange(1, len(lacking) + 1)
    level = levels[np.flatnonzero(ordered > levels)[-1]]  # above it they lack ``count`` in all
    plan = np.maximum(np.floor(lacking - level), 0.0).astype(np.int64)
    for _ in range(count - int(plan.sum())):
        plan[np.argmax(lacking - plan)] += 1
    return plan


BY_MODEL = "{}σ√(xᵀV⁻¹x) + c‖s − e‖₁ + |xᵀθ̂ − μ̃|"
WITH = (
    ", with μ̃ the nearest means to the averages ȳ that are linear up to c, N its evaluations, x its "
    "features, V the sum of x xᵀ over all evaluations, s the weights with which least squares makes "
    "xᵀθ̂ of the averages, e the weight 1 for its own, and "
)
PAIRS = f"μ̃ ± min({BY_MODEL.format('C₁')}, σ√(2L(1 + ρ/N)/N) + |ȳ − μ̃|)"
GLR = f"μ̃ ± min({BY_MODEL.format('C')}, Cσ/√N)"
IN_SIGNS = "by the model or by own results"
IN_SHORT = "the narrower of those by the model and by the arm's own results"
INTERVALS = {
    "pairs": ArmInterval(
        IN_SIGNS,
        f"{PAIRS}{WITH}C₁ = √(2β_lin) and L as in docs/proofs.md, for the shares of δ that the linear "
        "bound and that of two arms have; one without a share is not used",
        IN_SHORT,
    ),
    "glr": ArmInterval(IN_SIGNS, f"{GLR}{WITH}C the threshold", IN_SHORT),
}


def _threshold(stop: str) -> StrategyThreshold:
    words = {
        "pairs": "The smaller of a linear bound that is off by c and of one by two arms alone.",
        "glr": "sqrt(2 min(β_lin + 2c²t/σ², β_uns)): mixtures in rank X and in K dimensions.",
    }
    return StrategyThreshold(
        f"misspecified_{stop}",
        words[stop],
        "after Robbins 1970; proof: docs/proofs.md of shortlist",
        coverage={"pairs": EACH_ARM, "glr": ALL_AT_ONCE}[stop],
        interval=INTERVALS[stop],
    )


@dataclass(frozen=True, kw_only=True)
class MisLid(Algorithm):
    """An algorithm for means that are linear in the features to within c.

    Parameters
    ----------
    misspecification : float
        c: no mean is further than that from one linear function of the features. It has no
        default: a c that is too small voids the guarantee, one that is too large costs evaluations.
    stop : {"pairs", "glr"}
        When to stop: as soon as every pair is certain by the better of two bounds, or by the
        likelihood ratio as it was published. Both are proven; the first needs fewer evaluations.

    Examples
    --------
    >>> lenient = MisLid(misspecification=0.1)
    >>> lenient.name
    'MisLid (c = 0.1)'
    >>> lenient.bind(Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 1, sigma=0.5)).proven
    True
    >>> MisLid(misspecification=-1)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: misspecification must be a number, 0 or more and finite, got -1: it is how far a mean may be from linear; 0 is a linear model.
    """

    misspecification: float
    stop: Literal["pairs", "glr"] = "pairs"
    summary = "Réda et al. 2021b; means linear to within c; pulls by a game against the closest"
    works = ("mislid",)
    needs = Need(
        "misspecification",
        "says how far from linear a mean may be",
        "MisLid must be told how far from linear the means may be, and there is no default: pass "
        "algorithm=shortlist.MisLid(misspecification=…), or write misspecification = … in a "
        "screen.toml.",
        "With a known distance c from linear, by misspecification in a screen.toml",
    )

    def __post_init__(self) -> None:
        c = self.misspecification
        known = isinstance(c, numbers.Real) and not isinstance(c, bool)
        if not known or not 0.0 <= c <= sys.float_info.max:
            raise InvalidSetting(
                f"misspecification must be a number, 0 or more and finite, got {c!r}: it is how "
                "far a mean may be from linear; 0 is a linear model."
            )
        if self.stop not in STOPS:
            raise unknown_name("stop", self.stop, STOPS)
        object.__setattr__(self, "misspecification", float(c))

    @property
    def name(self) -> str:  # type: ignore[override]  # made of the settings
        """For tables."""
        published = ", glr" if self.stop == "glr" else ""
        return f"MisLid (c = {self.misspecification:g}{published})"

    @property
    def planned(self) -> Planned:
        """The same as an algorithm that proceeds plan by plan."""
        c, stop = self.misspecification, self.stop
        return Planned(
            strategy=partial(MisLidStrategy, misspecification=c, stop=stop),
            threshold=_threshold(stop),
            name=self.name,
            summary=self.summary,
            works=self.works,
            most_arms=MOST_ARMS,
            relation=partial(NearlyLinear, tolerance=c) if c else Linear,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """C and the stop."""
        return asdict(self)

    def bind(self, problem: Problem, threshold: Any = None) -> Procedure:
        """The algorithm on a problem."""
        return self.planned.bind(problem, threshold)
