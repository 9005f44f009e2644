"""A strategy of one's own, with a bound of its own: a race of all arms whose place is in doubt.

It ignores features. The package cannot check a strategy's own bound: whoever writes one vouches for it.
Here is the proof. After each of an arm's n = 1, 2, … results its average is within C σ/√n of its mean, at
all n at once, with probability at least 1 − δ/K: C is that of a mixture over normal alternatives (Robbins
1970, docs/proofs.md). So with probability at least 1 − δ all K intervals contain their means at all times.
At the stop U_c − L_b ≤ ε, where U_c is the largest upper end outside the list and L_b the smallest lower
end in it. So for every a outside the list and every a' in it, μ_a ≤ U_a ≤ U_c ≤ L_b + ε ≤ μ_a' + ε.

Run it with ``python examples/race.py``.
"""

from __future__ import annotations

import numpy as np

import shortlist
from shortlist.engine.relation import Unrelated
from shortlist.engine.threshold import StrategyThreshold
from shortlist.gifa.thresholds import ALL_AT_ONCE
from shortlist.plans.algorithm import Planned
from shortlist.plans.noises import Totals
from shortlist.plans.question import Question
from shortlist.plans.strategy import Strategy
from shortlist.testing import check_strategy


class Race(Strategy):
    """Evaluates the arms whose place is in doubt a twentieth more often, again and again."""

    alone = True  # the stop compares the arms' own intervals

    def __init__(self, question: Question) -> None:
        arms = question.arms
        self._question, self._seen = question, Totals.none(arms)
        self.plan = np.ones(arms, np.int64)  # the first plan: each arm once
        self.inside = question.best(np.zeros(arms))

    def _width(self, results: np.ndarray) -> np.ndarray:  # in standard errors
        level = np.log(self._question.arms / self._question.delta)
        return np.sqrt((1.0 + 1.0 / results) * (2.0 * level + np.log1p(results)))

    def decide(self, arms: np.ndarray, values: np.ndarray, seed: int) -> None:
        """Take in the results of a plan, and make the next."""
        seen, question = self._seen.plus(arms, values), self._question
        means, C = seen.averages, self._width(seen.pulls)
        width = C * question.sigma / np.sqrt(seen.pulls)
        lower, upper = means - width, means + width
        inside = question.best(means)
        b = np.flatnonzero(inside)[np.argmin(lower[inside])]
        c = np.flatnonzero(~inside)[np.argmax(upper[~inside])]
        most, least = upper[c] - question.epsilon, lower[b] + question.epsilon
        doubt = np.where(inside, lower < most, upper > least)
        doubt[[b, c]] = True  # a plan asks for something, also after the stop
        self._seen, self._ends = seen, (lower, upper)
        self.inside, self.b, self.c = inside, b, c
        self.plan = np.where(doubt, 1 + seen.pulls // 20, 0)
        self.statistic, self.threshold = upper[c] - lower[b], float(C[c])

    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends for every arm."""
        return self._ends

    def differences(self, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return estimate, lower and upper end of every mean less that of arm j."""
        (lower, upper), means = self._ends, self._seen.averages
        return means - means[j], lower - upper[j], upper - lower[j]

    def threshold_at(self, time: float) -> float:
        """Return C after so many results."""
        return float(self._width(np.array(max(1.0, time / self._question.arms))))


RACE = Planned(
    strategy=Race,
    threshold=StrategyThreshold(
        "own_mixture",
        "sqrt((1 + 1/n)(2 ln(K/δ) + ln(1 + n))) for an arm with n results.",
        "examples/race.py of shortlist",
        coverage=ALL_AT_ONCE,
    ),
    name="Race",
    summary="Evaluates the arms whose place is in doubt a twentieth more often, again and again",
    relation=Unrelated,  # assumes nothing about the features
)


def main() -> None:
    """Check the algorithm, compare it, and use it in a study."""
    check_strategy(Race)
    instance = shortlist.instances.random(K=10, N=3, m=3, seed=1, sigma=0.5)
    own = "Guess-and-verify (own results)"
    results = shortlist.compare(
        [RACE, own, "LUCB"], instance, runs=20, epsilon=0.1, seed=0, progress=False
    )
    print(results.summary(lower_bound=False)[["mean", "error_rate"]].round(2).to_string())

    study = shortlist.Study(arms=range(10), m=3, sigma=0.5, epsilon=0.1, algorithm=RACE, seed=0)
    print(study.run(lambda trial: instance.draw(trial.arm, trial.seed), progress=False))
    worst, third = instance.means[study.shortlist.arms].min(), np.sort(instance.means)[-3]
    print("right" if worst >= third - 0.1 else "wrong")


if __name__ == "__main__":
    main()
