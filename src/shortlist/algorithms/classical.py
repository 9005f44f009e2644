"""Strategies that forget the features and bound arms one by one: LUCB and races."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from shortlist.algorithms import contest
from shortlist.algorithms.contest import ACCEPTED, REJECTED, Contest
from shortlist.algorithms.intervals import Interval, end, exploration
from shortlist.algorithms.strategy import Compiled, Task
from shortlist.arrays import Integers, Reals

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

    def __init__(self, task: Task) -> None:
        arms, interval = len(task.features), self.interval
        self._epsilon, self._constants = task.epsilon, interval.constants(task)
        self._rules = np.array([interval.kind, self.races, interval.timed, task.m], np.int64)
        self.alone = interval.alone
        bounds = 1.0 if self.races else arms / 2.0 if interval.timed else 2.0
        self.pull_cost = 20.0 + 3.0 * arms + BOUND * bounds
        self._show(contest.new_contest(arms))

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
        contest.look(now, self._epsilon, self._rules, self._constants, np.uint64(seed))
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
        stopped = contest.play(now, *settings, pulls, sums, *rewards, made)
        self._show(now)
        return stopped, made

    def intervals(self) -> tuple[Reals, Reals] | None:
        """L and U of every arm when it was last looked at; none where they only hold in pairs."""
        return self._ends() if self.alone else None

    def _ends(self) -> tuple[Reals, Reals]:
        now = self._now
        time = int(now.pair[contest.TIME])
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
