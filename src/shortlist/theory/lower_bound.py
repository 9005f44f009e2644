"""T*, the optimal allocation and kl(δ, 1 − δ) T*, the minimum that any δ-correct algorithm needs.

T*⁻¹ = max_w min_{i,j} Δ_ij² / (2σ²‖x_i − x_j‖²_{V(w)⁻¹}) over the i among the m best and the j that
are not, and w in the simplex. With y_p = (x_i − x_j)/Δ_ij: T* = 2σ² min_w max_p ‖y_p‖²_{V(w)⁻¹}.
V(w) = Σ_a w_a x_a x_aᵀ, or Σ_a (w_a/n_a) x_a x_aᵀ with n_a = σ_a²/σ² where the arms' noise differs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.designs.xy import Design, optimal_design
from shortlist.errors import InvalidSetting
from shortlist.numerics.linear import solve_lower, solve_upper
from shortlist.spanning import span
from shortlist.theory.truth import Instance, Truth

ARMS = 400  # how many arms are looked at from the start; half as many may join in a round
PAIRS = 100  # as many pairs at the start, and as many may join in a round
ROUNDS = 100
DIFFER = 1e-24  # of the largest norm: less is rounding, between arms with equal features
FINER = 1e-2  # of the tolerance: that of the design for the arms and pairs looked at


@dataclass(frozen=True, eq=False)
class LowerBound:
    """The minimum that any δ-correct algorithm needs on an instance, at ε = 0 with normal noise.

    Attributes
    ----------
    t_star : float
        T*, as the lower end of the bracket.
    bracket : tuple of float
        (low, high) with T* in it: the value of a dual solution, and that of the allocation.
    allocation : array, K
        How the evaluations should be shared among the arms; it reaches the bracket's upper end.
    samples : float
        kl(δ, 1 − δ) times ``t_star``: every algorithm with risk δ needs at least as many on
        average.
    delta : float
        The risk.
    rounds : int
        How often arms and pairs were added.
    """

    t_star: float
    bracket: tuple[float, float]
    allocation: Reals
    samples: float
    delta: float
    rounds: int


def lower_bound(instance: Instance, delta: float = 0.05, *, tolerance: float = 1e-3) -> LowerBound:
    """T* and w* for the m best arms of a linear model, in a certified bracket.

    Parameters
    ----------
    instance : Instance
        Features, means, m and σ; the means must be linear in the features.
    delta : float, optional
        Risk of a wrong answer, below ½: at ½ and above the bound says nothing.
    tolerance : float, optional
        The bracket's relative width, at most.

    Examples
    --------
    >>> import shortlist
    >>> bound = lower_bound(shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5))
    >>> round(bound.t_star, 2), round(bound.samples, 1)
    (118.45, 313.9)
    >>> bound.allocation.round(3).tolist()
    [0.056, 0.47, 0.413, 0.06]
    """
    truth = Truth.of(instance, delta=delta)
    if not delta < 0.5:
        raise InvalidSetting(
            f"delta, the risk of a wrong answer, must be below 0.5 for a lower bound, got {delta}: "
            "with a larger risk the bound says nothing. For 95 % confidence pass delta=0.05."
        )
    if not 1e-7 <= tolerance < 1.0:
        raise InvalidSetting(
            "tolerance, the bracket's relative width, must lie between 1e-7 and 1, got "
            f"{tolerance}."
        )
    truth.check_linear()
    information = math.nan
    try:
        best, others = np.split(truth.order, [truth.problem.m])
        noise = truth.problem.relative_noise
        inputs = truth.problem.reduced, noise, truth.means, best, others, tolerance
        search = _Search(*inputs, arms=ARMS)
        low, high, allocation = search.run()
        scale = 2.0 * truth.problem.sigma**2
        information = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)  # kl(δ, 1 − δ)
    except (np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
        scale = low = high = math.nan
    if not math.isfinite(scale * low * scale * high * information):
        raise InvalidSetting(
            "the numbers leave the range of floating point: bring features, means, sigma and delta "
            f"(got sigma={truth.problem.sigma:g}, delta={delta:g}) nearer to 1 and scale T* back; "
            "it is proportional to the square of sigma over the means."
        )
    return LowerBound(
        t_star=scale * low,
        bracket=(scale * low, scale * high),
        allocation=allocation,
        samples=information * scale * low,
        delta=float(delta),
        rounds=search.rounds,
    )


class _Search:
    """min_w max_p ‖y_p‖²_{V(w)⁻¹}, solved for few arms and pairs; those that matter are added."""

    def __init__(
        self,
        features: Reals,
        noise: Reals,
        means: Reals,
        best: Integers,
        others: Integers,
        tolerance: float,
        *,
        arms: int,
    ) -> None:
        # The value is the same in any basis of the features; an orthonormal one is most accurate.
        self.features = np.linalg.qr(features)[0]
        # An evaluation of arm a measures θ along x_a, in units of the noise.
        self.scaled = self.features / np.sqrt(noise)[:, None]
        self.means, self.tolerance = means, tolerance
        self.best, self.others, self.arms = best, others, arms
        self.rounds = 0
        self.allocation = np.zeros(len(features))

    def run(self) -> tuple[float, float, Reals]:
        """The bracket and the allocation."""
        arms, pairs = self._start()
        low, high = 0.0, math.inf
        while True:
            self.rounds += 1
            directions = self._directions(pairs)
            design = optimal_design(self.scaled[arms], directions, FINER * self.tolerance)
            triangle = self._triangle(arms, design.arms)
            norms, worst = self._worst_pairs(triangle)
            bound, gains = self._dual(triangle, directions, design)
            if norms[0] < high:
                high = float(norms[0])
                self.allocation = np.zeros(len(self.features))
                self.allocation[arms] = design.arms
            low = max(low, bound)
            if high <= low * (1.0 + self.tolerance):
                return min(low, high), high, self.allocation  # equal but for rounding, at times
            arms, more_arms = _joined(arms, self._violators(gains, self.arms // 2))
            pairs, more_pairs = _joined(pairs, worst)
            if self.rounds == ROUNDS or not (more_arms or more_pairs):
                raise InvalidSetting(
                    f"the bracket could not be narrowed to tolerance={self.tolerance:g}: after "
                    f"{self.rounds} rounds T*/(2σ²) lies between {low:.10g} and {high:.10g}. Ask "
                    f"for a tolerance above {high / low - 1.0:.2g}."
                )

    def _start(self) -> tuple[Integers, Integers]:
        """The hardest pairs under equal weights, and the arms that tell most about them."""
        count, rank = self.features.shape
        everyone = np.arange(count)
        equal = np.full(count, 1.0 / count)
        triangle = self._triangle(everyone, equal)
        _, pairs = self._worst_pairs(triangle)
        if count <= self.arms:
            return everyone, pairs
        directions = self._directions(pairs)
        design = Design(equal, np.full(len(pairs), 1.0 / len(pairs)))
        _, gains = self._dual(triangle, directions, design)
        telling = np.argsort(-gains)[: max(self.arms - rank, 0)]
        return np.union1d(span(self.scaled), telling), pairs

    def _directions(self, pairs: Integers) -> Reals:
        i, j = np.divmod(pairs, len(self.features))
        gaps = self.means[i] - self.means[j]
        return (self.features[i] - self.features[j]) / gaps[:, None]

    def _triangle(self, arms: Integers, weights: Reals) -> Reals:
        """R with V(w) = RᵀR."""
        return np.linalg.qr(np.sqrt(weights)[:, None] * self.scaled[arms])[1]

    def _worst_pairs(self, triangle: Reals) -> tuple[Reals, Integers]:
        """The largest of all ‖y_p‖²_{V⁻¹}, at most PAIRS of them, the largest first.

        One arm of the m best at a time, so that memory stays that of the features; differences
        before squares, since arms may be close.
        """
        white = solve_lower(triangle.T, self.features.T).T
        count = len(self.features)
        norms, pairs = np.zeros(0), np.zeros(0, np.int64)
        outside = np.ascontiguousarray(white[self.others])
        for i in self.best:
            away = outside - white[i]
            gaps = self.means[i] - self.means[self.others]
            new = np.einsum("jk,jk->j", away, away) / gaps**2
            norms = np.concatenate([norms, new])
            pairs = np.concatenate([pairs, i * count + self.others])
            longest = np.argsort(-norms)[:PAIRS]
            norms, pairs = norms[longest], pairs[longest]
        differ = norms > DIFFER * norms[0]
        if not differ.any():
            raise np.linalg.LinAlgError("no two arms on either side differ in their features")
        return norms[differ], pairs[differ]

    def _dual(self, triangle: Reals, directions: Reals, design: Design) -> tuple[float, Reals]:
        """A lower bound on the value, and every arm's gain; the bound is tight if none is above 1.

        For any vectors u_p, ‖y_p‖²_{V(w)⁻¹} ≥ 2 y_pᵀu_p − Σ_a w_a (x_aᵀu_p)². Averaged with weights
        q_p, and with the best multiple of the u_p, this gives, for every w of the simplex,
        max_p ‖y_p‖²_{V(w)⁻¹} ≥ (Σ_p q_p y_pᵀu_p)² / max_a Σ_p q_p (x_aᵀu_p)². The u_p = V⁻¹y_p of
        the optimal w make it an equality. Rounding errors in the u_p cost tightness, not validity.
        """
        u = solve_upper(triangle, solve_lower(triangle.T, directions.T))
        value = float(np.einsum("pk,kp,p->", directions, u, design.directions))
        moment = (u * design.directions) @ u.T
        gains = np.einsum("ak,kl,al->a", self.scaled, moment, self.scaled, optimize=True)
        return value**2 / float(gains.max()), gains / value

    def _violators(self, gains: Reals, most: int) -> Integers:
        worst = np.argsort(-gains)[:most]
        return worst[gains[worst] > 1.0 + FINER * self.tolerance]


def _joined(old: Integers, new: Integers) -> tuple[Integers, bool]:
    both = np.union1d(old, new)
    return both, len(both) > len(old)
