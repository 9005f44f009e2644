"""A strategy with a bound of its own: it doubles the results of every arm whose place is in doubt.

It ignores features. The package cannot check a strategy's own bound: whoever writes one vouches for it.
Here is the proof. By Hoeffding's inequality for sub-Gaussian noise, the average of n = 2^k results is
farther than σ√(2 ln(2/r)/n) from the mean with probability at most r. With r = δ/(K(k+1)(k+2)) the sum
of r over all arms and k = 0, 1, 2, … is δ, so with probability at least 1 − δ all intervals contain
their means at all times. Numbers of results other than powers of two never occur, since a plan counts
only as many results as it asked for. At the stop U_c − L_b ≤ ε, where U_c is the largest upper end
outside the list and L_b the smallest lower end in it. So for every a outside the list and every a' in
it, μ_a ≤ U_a ≤ U_c ≤ L_b + ε ≤ L_a' + ε ≤ μ_a' + ε.

Run it with ``python examples/own_bound.py``.
"""

from __future__ import annotations

import numpy as np

import shortlist
from shortlist.arrays import Reals
from shortlist.plans.algorithm import Planned
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, Strategy, best_of
from shortlist.relation import Unrelated
from shortlist.rules.thresholds import ALL_AT_ONCE, StrategyThreshold
from shortlist.testing import check_strategy


class Doubling(Strategy):
    """Doubles the results of the arms whose place is in doubt."""

    alone = True  # the stop compares the arms' own intervals

    def __init__(self, problem: ReducedProblem) -> None:
        arms = len(problem.features)
        self._problem, self._seen = problem, PlanResults.none(arms)
        self.plan = np.ones(arms, np.int64)  # the first plan: each arm once
        self.inside = best_of(np.zeros(arms), problem.m)

    def _width(self, results: np.ndarray | float) -> Reals:  # of an arm with 1, 2, 4, … results
        k, arms = np.log2(results), len(self.plan)
        risk = self._problem.delta / (arms * (k + 1) * (k + 2))
        return np.sqrt(2.0 * np.log(2.0 / risk))

    def decide(self, results: PlanResults, seed: int) -> None:
        """Take in the results of a plan, and make the next."""
        seen, problem = self._seen + results, self._problem
        means = seen.sums / seen.pulls
        width = problem.sigma * self._width(seen.pulls) / np.sqrt(seen.pulls)
        lower, upper = means - width, means + width
        inside = best_of(means, problem.m)
        b = np.flatnonzero(inside)[np.argmin(lower[inside])]
        c = np.flatnonzero(~inside)[np.argmax(upper[~inside])]
        most, least = upper[c] - problem.epsilon, lower[b] + problem.epsilon
        doubt = np.where(inside, lower < most, upper > least)
        doubt[[b, c]] = True  # a plan asks for something, also after the stop
        self._seen, self._ends = seen, (lower, upper)
        self.inside, self.b, self.c = inside, b, c
        self.plan = np.where(doubt, seen.pulls, 0)
        self.statistic = upper[c] - lower[b]
        self.threshold = float(self._width(seen.pulls[c]))

    def intervals(self) -> tuple[Reals, Reals]:
        """Return the lower and upper ends for every arm."""
        return self._ends

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Return estimate, lower and upper end of every mean less that of arm j."""
        (lower, upper), means = self._ends, self._seen.sums / self._seen.pulls
        return means - means[j], lower - upper[j], upper - lower[j]

    def threshold_at(self, time: float) -> float:
        """Return C after so many results."""
        return float(self._width(max(1.0, time / len(self.plan))))


DOUBLING = Planned(
    strategy=Doubling,
    threshold=StrategyThreshold(
        "hoeffding_doubling",
        "sqrt(2 ln(2K(k+1)(k+2)/δ)) for an arm with 2^k results.",
        "examples/own_bound.py of shortlist",
        coverage=ALL_AT_ONCE,
    ),
    name="Doubling",
    summary="Doubles the results of the arms whose place is in doubt",
    relation=Unrelated,  # assumes nothing about the features
)


def main() -> None:
    """Check the algorithm, compare it, and use it in a study."""
    check_strategy(Doubling)
    instance = shortlist.instances.random(K=10, N=3, m=3, seed=1, sigma=0.5)
    results = shortlist.compare(
        [DOUBLING, "Racing", "LUCB"], instance, runs=20, epsilon=0.1, seed=0, progress=False
    )
    print(results.summary(lower_bound=False)[["mean", "error_rate"]].round(2).to_string())

    study = shortlist.Study(arms=range(10), m=3, sigma=0.5, epsilon=0.1, algorithm=DOUBLING, seed=0)
    print(study.run(lambda trial: instance.draw(trial.arm, trial.seed), progress=False))
    worst, third = instance.means[study.shortlist.arms].min(), np.sort(instance.means)[-3]
    print("right" if worst >= third - 0.1 else "wrong")


if __name__ == "__main__":
    main()
