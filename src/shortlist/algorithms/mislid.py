"""MisLid: the features may lie, by c at most (Réda, Tirinzoni and Degenne 2021).

A learner proposes shares of the pulls, nature answers with the closest means under which the answer
is another, and the learner is paid for the arms that tell the two apart: LinGame with means that are
linear up to c. It stops when no such means are left within the radius of ``misspecified``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from shortlist.algorithms.bound import Bound
from shortlist.algorithms.misspecified import Radius, contrast_bound
from shortlist.algorithms.planned import Planned
from shortlist.algorithms.strategy import Integers, Reals, Strategy, Task
from shortlist.core.nearest import NOBODY, nearest
from shortlist.core.rule import Rule
from shortlist.errors import InvalidSetting
from shortlist.problem import Problem
from shortlist.rules.alternatives import alternatives, closest, measure
from shortlist.rules.game import FIRST_MIXABILITY, hedge, learn
from shortlist.rules.thresholds import Threshold

FIRST, AT_MOST = 10, 200  # pulls of every arm at first, and of all together while K allows it
GROWTH = 0.01  # of all pulls from one look to the next
STEPS = 5  # of the learner a plan, at most


class Misspecified(Strategy):
    """The estimate, its closest alternative, and a learner for each answer met."""

    def __init__(self, task: Task, misspecification: float) -> None:
        arms, rank = task.features.shape
        # With as many dimensions as arms all means are linear, whatever c.
        self._task, self._c = task, misspecification if rank < arms else 0.0
        first = max(1, min(FIRST, AT_MOST // arms))
        self._radius = Radius.of(task, first, self._c)
        self._scratch = alternatives(arms, rank)
        self._pulls, self._sums = np.zeros(arms, np.int64), np.zeros(arms)
        self._means = np.zeros(arms)
        self._target = np.zeros(arms)
        self._learners: dict[bytes, Reals] = {}
        self.plan = np.full(arms, first, np.int64)
        self.inside = np.zeros(arms, np.bool_)
        self.b = self.c = -1
        self.threshold = self.statistic = np.inf
        self.cost = 1e5 + 50.0 * arms * rank * (rank + 10) + 3.0 * arms**3

    def copy(self) -> Misspecified:
        """A copy that goes its own way, with scratch of its own."""
        twin = super().copy()
        twin._scratch = alternatives(*self._task.features.shape)
        return twin

    def decide(self, sums: Reals, seed: int) -> None:
        """Look, and let the learner play for the next plan."""
        self._pulls, self._sums = self._pulls + self.plan, self._sums + sums
        if not self._target.any():
            self._target = self._pulls.astype(np.float64)
        self._look()
        self._play()

    def suppose(self, means: Reals) -> None:
        """The learner plays on, with the estimate as it is."""
        self._pulls = self._pulls + self.plan
        self._sums = self._sums + self.plan * self._means
        self._play()

    def _look(self) -> None:
        task, found, pulls = self._task, self._scratch, self._pulls.astype(np.float64)
        features, c = task.features, self._c
        averages = self._sums / pulls
        nearest(features, c, pulls, averages, NOBODY, NOBODY, 0.0, found.work)
        means = self._means = found.work.means.copy()
        self.inside = np.zeros(len(means), np.bool_)
        self.inside[np.argsort(-means, kind="stable")[: task.m]] = True
        closest(features, c, pulls, means, self.inside, task.epsilon, found)
        self.b, self.c = int(found.pair[0]), int(found.pair[1])
        self.threshold = self._radius.at(self._pulls)
        self.statistic = self._bound(self.b, self.c, found.means, found.pair[2])

    def _play(self) -> None:
        """Shares of the pulls for the next plan, and the plan that makes up for what lacks most."""
        task, found, means = self._task, self._scratch, self._means
        total = int(self._pulls.sum())
        count = max(1, math.ceil(GROWTH * total))
        steps = min(count, STEPS)
        most = math.log(total)
        width = self._widths(most)
        key = self.inside.tobytes()
        learner = self._learners.get(key)
        if learner is None:
            learner = np.append(np.zeros(len(means)), FIRST_MIXABILITY)
        learner, target, weights = learner.copy(), self._target.copy(), np.zeros(len(means))
        for _ in range(steps):
            hedge(learner, weights)
            closest(task.features, self._c, weights, means, self.inside, task.epsilon, found)
            apart = np.abs(means - found.means) / task.sigma + width
            gains = np.minimum(0.5 * apart * apart, most)
            learn(learner, weights, gains * (count / steps))
            target += weights * (count / steps)
        self._learners = {**self._learners, key: learner}
        self._target = target
        self.plan = _tracking(target - self._pulls, count)

    def _widths(self, most: float) -> Reals:
        """By how many σ a mean may be off: by what its own pulls say, or by a linear model."""
        rivals = self._scratch.rivals
        pulls = self._pulls.astype(np.float64)
        measure(self._task.features, pulls, self._means, rivals)
        linear = np.sqrt(2.0 * most * np.diagonal(rivals.gram)) + 2.0 * self._c / self._task.sigma
        return np.asarray(np.minimum(np.sqrt(2.0 * most / pulls), linear))

    def _bound(self, i: int, j: int, alternative: Reals, price: float) -> float:
        """An upper bound on μ_j − μ_i by the multipliers of the closest alternative."""
        task, pulls = self._task, self._pulls.astype(np.float64)
        s = np.zeros(len(pulls))
        if price > 0.0:
            s = pulls * (self._means - alternative) / price
        width = task.sigma * self.threshold
        return contrast_bound(task.features, self._c, pulls, self._means, s, i, j, width)

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Of every arm i, μ_i − μ_j as it is estimated, with its bounds."""
        arms = range(len(self._means))
        lower = [0.0 if i == j else -self._above(j, i) for i in arms]
        upper = [0.0 if i == j else self._above(i, j) for i in arms]
        return self._means - self._means[j], np.array(lower), np.array(upper)

    def _above(self, i: int, j: int) -> float:
        """An upper bound on μ_i − μ_j: alternatives ever further away, until no s is better."""
        if (i, j) == (self.c, self.b):
            return self.statistic
        task, found, pulls = self._task, self._scratch, self._pulls.astype(np.float64)
        best, slack = math.inf, max(task.epsilon, self._means[i] - self._means[j])
        for _ in range(4):
            nearest(task.features, self._c, pulls, self._means, j, i, -slack, found.work)
            slack = self._bound(j, i, found.work.means, found.work.price[0])
            if not slack < best:
                break
            best = slack
        return best

    def threshold_at(self, time: float) -> float:
        """C if all arms are pulled alike."""
        arms = len(self.plan)
        return self._radius.at(np.full(arms, max(1, round(time / arms)), np.int64))


def _tracking(lacking: Reals, count: int) -> Integers:
    """So many pulls, each of the arm that lacks most by then."""
    plan = np.zeros(len(lacking), np.int64)
    for _ in range(count):
        arm = int(np.argmax(lacking - plan))
        plan[arm] += 1
    return plan


def _threshold(c: float) -> Threshold:
    def function(t: int, log_det: float, constants: Reals) -> float:
        raise NotImplementedError

    return Threshold(
        Rule(
            "threshold",
            "misspecified",
            "sqrt(2 min(β_lin + 2c²t/σ², β_uns)), of mixtures in rank X and in K dimensions.",
            function,
            function,
            frozenset(),
            frozenset(),
        ),
        lambda setting, ridge: [],
        proven=True,
        assumptions="the noise is σ-sub-Gaussian and the means are linear in the features "
        f"to within c = {c:g}",
        source="Réda et al. 2021",
    )


@dataclass(frozen=True, kw_only=True)
class MisLid:
    """An algorithm for means that are linear in the features to within c.

    Parameters
    ----------
    misspecification : float
        c, how far a mean may be from the nearest linear function of the features. It has no
        default: a c that is too small voids the guarantee, one that is too large costs pulls.

    Examples
    --------
    >>> MisLid(misspecification=0.1).name
    'MisLid (c = 0.1)'
    """

    misspecification: float

    def __post_init__(self) -> None:
        c = self.misspecification
        if isinstance(c, bool) or not isinstance(c, int | float | np.floating) or not 0 <= c < math.inf:
            raise InvalidSetting(f"misspecification must be a number, 0 or more, got {c!r}.")
        object.__setattr__(self, "misspecification", float(c))

    @property
    def name(self) -> str:
        """For tables."""
        return f"MisLid (c = {self.misspecification:g})"

    @property
    def summary(self) -> str:
        return "x"

    def bind(self, problem: Problem, threshold: object = None) -> Bound:
        """The algorithm on a problem."""
        return self._planned.bind(problem, threshold)

    @property
    def _planned(self) -> Planned:
        return Planned(
            strategy=partial(Misspecified, misspecification=self.misspecification),
            threshold=_threshold(self.misspecification),
            name=self.name,
            summary=self.summary,
        )
