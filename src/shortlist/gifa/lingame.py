"""LinGame, which shares the pulls out by a game against the closest alternative (Degenne et al. 2020).

A learner for each answer J(t) proposes weights w_t of the arms; nature answers with the alternative λ_t that is
hardest to tell from θ̂ under w_t; the learner gains by the arms that would tell the two apart. For m > 1 the
alternatives are the half-spaces where one candidate i and one other arm j change places. The λ nearest to θ̂ with
λᵀ(x_j − x_i) ≥ ε lies at the distance (g + ε)₊²/‖y‖² with y = x_i − x_j, g = θ̂ᵀy and the norm of V(w)⁻¹,
V(w) = Σ_a w_a x_a x_aᵀ/n_a, n_a = σ_a²/σ². At ε = 0 the nearest of these is the closest θ with another answer;
ε > 0 is a relaxation: λ need not be an error there, since some other arm of J(t) may be as bad as i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.engine.contract import Setup

if TYPE_CHECKING:
    from shortlist.engine.fits import Fits

FIRST_MIXABILITY = 0.01
ROUNDING = 16 * float(np.finfo(float).eps)  # of ‖x_i‖² + ‖x_j‖²: arms no further apart are equal
RIDGE = 1e-12  # of V(w)'s trace: a direction may be left without any weight


class Game:
    """The learners of some runs, and how many pulls they ask for.

    All but the published runs track the sum of the weights (C-tracking; Garivier and Kaufmann 2016).
    If several results came since the last round, or are pending, this round's weights count once for each. In the published runs gains had no σ, and the root of the norm where the norm is meant; nature
    answered the counts, and ε was ignored.
    """

    def __init__(self, setup: Setup, runs: int, as_published: bool) -> None:
        arms = len(setup.features)
        self.setup, self.as_published = setup, as_published
        self.learners: list[dict[bytes, Reals]] = [
            {} for _ in range(runs)
        ]  # K losses and the mixability
        self.shared = np.full(runs, -1)  # how many pulls are shared out; −1: no round yet
        self.target = np.zeros((runs, arms))

    def among(self, runs: Mask) -> Game:
        """An independent game of some of the runs."""
        twin = object.__new__(Game)
        twin.setup, twin.as_published = self.setup, self.as_published
        twin.learners = [dict(self.learners[run]) for run in np.flatnonzero(runs)]
        twin.shared, twin.target = self.shared[runs], self.target[runs]
        return twin

    def wanted(self, fits: Fits, inside: Mask, epsilon: float) -> Reals:
        """How many pulls every arm of every run should have by now: a round of the game.

        Where it is asked again after the same results, as when ε was widened, nothing more is learned.
        """
        if (self.shared > fits.observed).all():
            return self.target
        weights = self._play(fits, inside, epsilon)
        if self.as_published:  # D-tracking
            self.target = fits.observed * weights
        else:
            first = self.shared < 0  # what was pulled before the first round was wanted
            self.target[first], self.shared[first] = fits.pulls[first], fits.observed
            self.target = self.target + (fits.observed + 1 - self.shared)[:, None] * weights
        self.shared = np.full(len(self.shared), fits.observed + 1)
        return self.target

    def _play(self, fits: Fits, inside: Mask, epsilon: float) -> Reals:
        """The learners' weights, before they learn from nature's answer.

        An arm's gain is ½(|x_aᵀ(θ̂ − λ)|/σ + sqrt(2 ln t)‖x_a‖_{V⁻¹})² σ²/σ_a², at most ln t.
        """
        arms, sigma = inside.shape[1], self.setup.sigma
        names = [row.tobytes() for row in np.packbits(inside, axis=1)]
        new = np.append(np.zeros(arms), FIRST_MIXABILITY)
        learners = np.stack(
            [known.get(name, new) for known, name in zip(self.learners, names, strict=True)]
        )
        losses, mixability = learners[:, :-1], learners[:, -1:]
        # AdaHedge (de Rooij et al. 2014)
        rate = math.log(arms) / mixability
        weights = np.exp(-rate * (losses - losses.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)

        most, square = math.log(max(fits.observed, 2)), np.maximum(fits.variances, 0.0)
        if self.as_published:
            answered, ridge, slack = fits.pulls.astype(np.float64), self.setup.regularization, 0.0
        else:
            answered, ridge, slack = weights, 0.0, epsilon
        shift = np.abs(self._answer(fits, inside, answered, ridge, slack))
        if self.as_published:
            reach = shift + np.sqrt(2.0 * most * np.sqrt(square))
            gains = np.minimum(0.5 * reach**2, most)
        else:
            reach = shift / sigma + np.sqrt(2.0 * most * square)
            gains = np.minimum(0.5 * reach**2 / self.setup.noise, most)

        best = gains.max(axis=1, keepdims=True)
        mixed = (weights * np.exp(rate * (gains - best))).sum(axis=1, keepdims=True)
        expected = (weights * gains).sum(axis=1, keepdims=True)
        gap = best + np.log(mixed) / rate - expected
        after = np.hstack(
            [losses - gains, mixability + np.maximum(gap, 0.0)]
        )  # less by rounding only
        for known, name, row in zip(self.learners, names, after, strict=True):
            known[name] = row
        return np.asarray(weights)

    def _answer(
        self, fits: Fits, inside: Mask, weights: Reals, ridge: float, slack: float
    ) -> Reals:
        """x_aᵀ(θ̂ − λ) of every arm, λ the closest alternative under the weights."""
        runs, m = fits.runs, self.setup.m
        norms, rows = self._norms(fits, weights / self.setup.noise, ridge)
        J = np.nonzero(inside)[1].reshape(-1, m)
        others = np.nonzero(~inside)[1].reshape(len(J), -1)
        at = runs[:, None, None], J[:, :, None], others[:, None, :]
        both = norms[at[0], at[1]] + norms[at[0], at[2]]
        G = rows(J)
        square = both - 2.0 * np.take_along_axis(G, others[:, None, :], axis=2)
        margin = np.maximum(fits.means[at[0], at[1]] - fits.means[at[0], at[2]] + slack, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.where(square > ROUNDING * both, margin**2 / square, np.inf)
        nearest = distance.reshape(len(J), -1).argmin(axis=1)
        k, n = np.divmod(nearest, others.shape[1])
        j = others[runs, n]
        least, wide = distance[runs, k, n], margin[runs, k, n]
        # (g + ε)/‖y‖²; arms of equal features never change places, and at margin 0 they just did.
        step = np.divide(least, wide, out=np.zeros(len(J)), where=(wide > 0.0) & np.isfinite(least))
        return np.asarray(step[:, None] * (G[runs, k] - rows(j[:, None])[:, 0]))

    def _norms(
        self, fits: Fits, counted: Reals, ridge: float
    ) -> tuple[Reals, Callable[[Integers], Reals]]:
        """The diagonal of X V(w)⁻¹ Xᵀ in every run, and what makes some of its rows."""
        X, (runs, arms) = self.setup.features, counted.shape
        if not fits.relates:
            trace = counted.sum(axis=1)[:, None]
            inverse = 1.0 / (counted + (ridge + RIDGE * trace))

            def of_diagonal(some: Integers) -> Reals:
                rows = np.zeros((*some.shape, arms))
                values = np.take_along_axis(inverse, some, axis=1)
                np.put_along_axis(rows, some[:, :, None], values[:, :, None], axis=2)
                return rows

            return inverse, of_diagonal
        V = (counted[:, None, :] * X.T) @ X
        trace = V.trace(axis1=1, axis2=2)[:, None, None]
        V = V + (ridge + RIDGE * trace) * np.eye(X.shape[1])
        half = np.linalg.solve(V, np.broadcast_to(X.T, (runs, *X.T.shape)))
        return np.einsum("rik,ki->rk", half, X), lambda some: X[some] @ half
