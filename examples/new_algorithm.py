"""A new algorithm of one's own, compared with known ones on instances whose answer is known.

The algorithm stops by bounds on the differences of means, which the base class has; the plans are
its own: most pulls go to arms whose place is in doubt. Run it with ``python
examples/new_algorithm.py``; ``own_bound.py`` has a bound of its own.
"""

from __future__ import annotations

import numpy as np

import shortlist
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL
from shortlist.plans.difference_bounds import CONTRAST_MIXTURE, DifferenceBounds, DifferenceStrategy
from shortlist.testing import check_strategy


class InDoubt(DifferenceStrategy):
    """Pulls the arms whose place is in doubt, and each of the others once in a plan."""

    def first_plan(self, basis: np.ndarray) -> np.ndarray:
        """Every arm once."""
        return np.ones(len(basis), np.int64)

    def next_plan(
        self, differences: DifferenceBounds, means: np.ndarray, inside: np.ndarray, stops: bool
    ) -> np.ndarray:
        """A tenth of all pulls so far, shared by the arms that are neither in nor out."""
        settled = differences.accepted | differences.rejected
        doubtful = max(1, int((~settled).sum()))
        each = max(1, int(0.1 * differences.results.pulls.sum()) // doubtful)
        return np.where(settled, 1, each)


def main() -> None:
    """Check the algorithm, compare it, and use it in a study."""
    check_strategy(InDoubt)
    mine = Planned(
        strategy=InDoubt,
        threshold=CONTRAST_MIXTURE,
        name="In doubt",
        summary="Pulls the arms whose place is in doubt",
        interval=INTERVAL,
    )
    instance = shortlist.instances.random(K=12, N=4, m=3, seed=5, sigma=0.3)
    results = shortlist.compare(
        [mine, "Uniform", "m-LinGapE"], instance, runs=20, epsilon=0.05, seed=0, progress=False
    )
    print(results.summary(lower_bound=False)[["mean", "std", "error_rate"]].round(2).to_string())

    study = shortlist.Study(instance.features, m=3, sigma=0.3, epsilon=0.05, algorithm=mine, seed=0)
    print(study.run(lambda trial: instance.draw(trial.arm, trial.seed), progress=False))
    worst, third = instance.means[study.shortlist.arms].min(), np.sort(instance.means)[-3]
    print("right" if worst >= third - 0.05 else "wrong")


if __name__ == "__main__":
    main()
