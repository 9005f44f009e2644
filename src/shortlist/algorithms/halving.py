"""XY-halving: all of a budget, in phases that look at fewer and fewer challengers.

After every phase least squares on all results so far gives the m candidates, and the arms nearest
behind them are the challengers: all K − m others at first, then half as many, and so on down to
one. The pulls of a phase go where they best tell candidates from challengers, among all K arms:
often the arm that tells two survivors apart is neither of them.

It is an extension without a theorem. Nearest are OD-LinBAI (Yang and Tan 2022) and GSE (Azizi,
Kveton and Ghavamzadeh 2022), which halve the survivors on the way to a single best arm and pull
survivors only, and the fixed-budget form of Peace (Katz-Samuels et al. 2020), which pulls all arms,
by a design for the Gaussian width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shortlist.algorithms.strategy import Strategy, Task
from shortlist.algorithms.xy_design import rounded, xy_design
from shortlist.arrays import Integers, Reals
from shortlist.core.triangle import solve_lower
from shortlist.rules.initialization import span

NEAR = 256  # arms on either side of the boundary whose contrasts are looked at
# A contrast is weighted by one over its gap, taken as so many standard errors at least: a small gap
# may be noise. When this was tried on random instances, one gave more errors and three as many.
STANDARD_ERRORS = 2.0
EQUAL = 1e-9  # of the longest: what rounding may leave of a difference of equal features


class Phase(NamedTuple):
    """Until how many results it lasts, and how many challengers it looks at."""

    end: int
    challengers: int


def phases(arms: int, m: int, rank: int, budget: int) -> list[Phase]:
    """Equal shares of the budget, half the challengers each time; the first must span the features.

    Examples
    --------
    >>> [tuple(phase) for phase in phases(arms=20, m=4, rank=5, budget=100)]
    [(20, 16), (40, 8), (60, 4), (80, 2), (100, 1)]
    >>> [tuple(phase) for phase in phases(arms=20, m=4, rank=70, budget=100)]
    [(70, 16), (80, 2), (100, 1)]
    """
    count = math.ceil(math.log2(max(m, arms - m))) + 1
    found: list[Phase] = []
    for k in range(count):
        end = max(rank, budget * (k + 1) // count)
        if not found or end > found[-1].end:
            found.append(Phase(end, math.ceil((arms - m) / 2**k)))
    return found


class Halving(Strategy):
    """Phases of a budget; what is remembered are all results so far, as one sum an arm.

    Parameters
    ----------
    task : Task
        What is asked; δ only says how wide the intervals are that are shown.
    budget : int
        How many results there will be; at least as many as the features have dimensions.

    Attributes
    ----------
    pulls, sums : array, K
        Of all results so far.
    means : array, K
        As they say, by least squares.
    """

    def __init__(self, task: Task, budget: int) -> None:
        arms, rank = task.features.shape
        self._task = task
        self._basis = np.linalg.qr(task.features)[0]
        self._phases = phases(arms, task.m, rank, budget)
        self.pulls, self.sums = np.zeros(arms, np.int64), np.zeros(arms)
        self.means, self._white = np.zeros(arms), np.zeros((rank, arms))
        self.inside = np.zeros(arms, np.bool_)
        self.b = self.c = -1
        from scipy.special import ndtri  # loads late: a tenth of a second

        self.threshold = float(ndtri(1.0 - task.delta / 2.0))
        self.statistic = np.inf
        self.cost = 1e7 + 1e3 * min(arms, NEAR) ** 2
        self.plan = self._first_plan()

    @property
    def budget(self) -> int:
        """How many results there will be."""
        return self._phases[-1].end

    @property
    def told(self) -> int:
        """How many results it has seen."""
        return int(self.pulls.sum())

    @property
    def end(self) -> int:
        """After how many results it looks again; the budget once that is spent."""
        return next((phase.end for phase in self._phases if phase.end > self.told), self.budget)

    @property
    def spent(self) -> bool:
        """Whether all of the budget is in."""
        return self.told >= self.budget

    def decide(self, sums: Reals, seed: int) -> None:
        """Look at the plan's results, and plan the next phase."""
        self.take(self.plan, sums)

    def take(self, pulls: Integers, sums: Reals) -> None:
        """Look at results, be they those of the plan or not, and plan the next phase."""
        after = self.copy()
        after.pulls, after.sums = self.pulls + pulls, self.sums + sums
        after._estimate()
        after._find_boundary()
        if not after.spent:
            after.plan = after._next_plan()
        vars(self).update(vars(after))

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Of every arm i, μ_i − μ_j as it is estimated, with its interval for that pair alone."""
        gap = self.means - self.means[j]
        widths = self.threshold * self._task.sigma * _norms(self._white.T - self._white[:, j])
        return gap, gap - widths, gap + widths

    def threshold_at(self, time: float) -> float:
        """The same at all times."""
        return self.threshold

    def _estimate(self) -> None:
        """Least squares on all results; ``white`` are the features in the norm of V⁻¹."""
        triangle = np.linalg.qr(np.sqrt(self.pulls)[:, None] * self._basis)[1]
        self._white = solve_lower(triangle.T, self._basis.T)
        self.means = (self._white @ self.sums) @ self._white

    def _find_boundary(self) -> None:
        """The candidates, and the pair of them and a challenger that is least certain."""
        order = np.argsort(-self.means, kind="stable")
        m = self._task.m
        self.inside = np.zeros(len(order), np.bool_)
        self.inside[order[:m]] = True
        near, others = order[max(0, m - NEAR) : m], order[m : m + NEAR]
        upper = np.stack([self.differences(int(b))[2][others] for b in near])
        k, j = np.unravel_index(np.argmax(upper), upper.shape)
        self.b, self.c, self.statistic = int(near[k]), int(others[j]), float(upper[k, j])

    def _first_plan(self) -> Integers:
        """For the differences of all arms, or of those that differ most; it spans the features."""
        away = _norms(self._basis - self._basis.mean(axis=0))
        far = np.argsort(-away, kind="stable")[:NEAR]
        i, j = np.triu_indices(len(far), 1)
        weights = self._design(far[i], far[j])
        once = np.zeros(len(weights), np.int64)
        once[span(np.sqrt(weights)[:, None] * self._basis)] = 1
        pulls = self._phases[0].end
        wanted = np.maximum(pulls * weights - once, 0.0)
        if not wanted.any():
            wanted = weights
        return once + rounded(wanted, pulls - int(once.sum()))

    def _next_plan(self) -> Integers:
        """For candidates against challengers, the nearer the more."""
        phase = next(phase for phase in self._phases if phase.end > self.told)
        order, m = np.argsort(-self.means, kind="stable"), self._task.m
        near = order[max(0, m - NEAR) : m]
        others = order[m : m + min(phase.challengers, NEAR)]
        i, j = np.repeat(near, len(others)), np.tile(others, len(near))
        gaps = self.means[i] - self.means[j] + self._task.epsilon
        errors = self._task.sigma * _norms((self._white[:, i] - self._white[:, j]).T)
        weights = self._design(i, j, np.maximum(gaps, STANDARD_ERRORS * errors))
        return rounded(weights, phase.end - self.told)

    def _design(self, i: Integers, j: Integers, gaps: Reals | None = None) -> Reals:
        """Over all arms, for the contrasts (x_i − x_j)/gap of the pairs that differ at all."""
        contrasts = self._basis[i] - self._basis[j]
        lengths = _norms(contrasts)
        differ = lengths > EQUAL * lengths.max(initial=0.0)
        if not differ.any():
            return np.full(len(self._basis), 1.0 / len(self._basis))
        scale = 1.0 if gaps is None else gaps[differ, None]
        return xy_design(self._basis, contrasts[differ] / scale)


def _norms(rows: Reals) -> Reals:
    return np.sqrt(np.einsum("ak,ak->a", rows, rows))
