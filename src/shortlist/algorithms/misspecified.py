"""How far the estimate may be from means that are linear in the features up to c.

The means are μ = Xθ + η with |η_a| ≤ c. Averages μ̂ of N_a pulls are projected onto such means, in
the norm ‖v‖² = Σ_a N_a v_a²: that is the estimate μ̃. As θ is free, the parts of μ̃ and of μ̂ in the
span of X are the same. So with P the projection onto it

    ‖μ̃ − μ‖ ≤ ‖μ̂ − μ‖   and   ‖μ̃ − μ‖² ≤ ‖P(μ̂ − μ)‖² + 4c²t.

The first norm on the right has the noise of K dimensions, the second that of rank X, and each is
bounded at all times by a mixture. The smaller bound counts; docs/misspecification.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.algorithms.strategy import Integers, Reals, Task

# Of the first pulls: what the mixtures' prior is worth. More makes them wider at once, less makes
# them grow for longer.
SHARE = 0.3


def mixture(log_risk: float, ratios: Any) -> float:
    """Half the square of the noise in as many dimensions as ``ratios``, at most.

    The ratios are those of the information in every dimension to that of the first pulls.

    Examples
    --------
    >>> [round(mixture(3.0, np.full(5, ratio)), 1) for ratio in (1.0, 10.0, 100.0)]
    [8.7, 12.1, 17.6]
    """
    grown = np.asarray(ratios) / SHARE
    return float((1.0 + 1.0 / grown.min()) * (log_risk + 0.5 * np.log1p(grown).sum()))


@dataclass(frozen=True, eq=False)
class Radius:
    """C: σC bounds ‖μ̃ − μ‖ at all times at once, but with probability δ.

    Attributes
    ----------
    white : array, K × rank
        Features with Σ_a x_a x_aᵀ = I.
    first : int
        How often every arm is pulled before anything is decided.
    misfit : float
        2c²/σ², what η costs a pull in the linear bound.
    linear, unstructured : float
        ln(1/δ) of either bound; infinite where it has no share of δ.
    """

    white: Reals
    first: int
    misfit: float
    linear: float
    unstructured: float

    @classmethod
    def of(cls, task: Task, first: int, c: float) -> Radius:
        """Both bounds have half of δ each, unless one of them is the smaller for certain."""
        arms = len(task.features)
        white = np.linalg.qr(task.features)[0]
        misfit = 2.0 * (c / task.sigma) ** 2
        whole = math.log(1.0 / task.delta)
        if misfit == 0.0:
            return cls(white, first, misfit, whole, math.inf)
        alone = cls(white, first, misfit, math.inf, whole)
        # The linear bound gains misfit a pull; the other grows as a logarithm.
        pulls = np.full(arms, first, np.int64)
        if misfit * pulls.sum() >= alone.squares(pulls)[1]:
            return alone
        half = whole + math.log(2.0)
        return cls(white, first, misfit, half, half)

    def squares(self, pulls: Integers) -> tuple[float, float]:
        """C²/2 by the linear bound and by the unstructured one."""
        linear = unstructured = math.inf
        ratios = pulls / self.first
        if math.isfinite(self.linear):
            known = np.linalg.eigvalsh((self.white.T * ratios) @ self.white)
            linear = mixture(self.linear, known) + self.misfit * float(pulls.sum())
        if math.isfinite(self.unstructured):
            unstructured = mixture(self.unstructured, ratios)
        return linear, unstructured

    def at(self, pulls: Integers) -> float:
        """C."""
        return math.sqrt(2.0 * min(self.squares(pulls)))


def contrast_bound(
    features: Reals, c: float, pulls: Reals, means: Reals, s: Reals, i: int, j: int, width: float
) -> float:
    """An upper bound on μ_j − μ_i that holds for every s as long as ‖μ̃ − μ‖ ≤ ``width``.

    For Xᵀs = x_i − x_j, μ_i − μ_j = sᵀμ − (s − e_i + e_j)ᵀη. So sᵀμ̃ is off by η's part, and by
    width·sqrt(Σ s_a²/N_a) at most. An s that is a little off is set right first.
    """
    rest = s.copy()
    rest[i] -= 1.0
    rest[j] += 1.0
    if len(features) > features.shape[1]:
        root = np.sqrt(pulls)
        rest -= root * _fitted(root[:, None] * features, rest / root)
    else:
        rest = np.zeros(len(s))
    s = rest.copy()
    s[i] += 1.0
    s[j] -= 1.0
    noise = width * math.sqrt(float((s * s / pulls).sum()))
    return noise + c * float(np.abs(rest).sum()) - float(s @ means)


def _fitted(features: Reals, values: Reals) -> Reals:
    basis = np.linalg.qr(features)[0]
    return np.asarray(basis @ (basis.T @ values))
