"""The true means of an instance and their gaps, which theory may use and algorithms may not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidFeatures, InvalidSetting
from shortlist.problem import Problem

LINEAR = 1e-8  # how far from linear the means may be, relative to the largest
ROUNDING = 8 * np.finfo(np.float64).eps


class Instance(Protocol):
    """Anything with features (K × N), means (K), m and sigma, such as ``shortlist.instances``."""

    @property
    def features(self) -> NDArray[np.float64]:
        """One row per arm."""

    @property
    def means(self) -> NDArray[np.float64]:
        """The true means."""

    @property
    def m(self) -> int:
        """How many arms are wanted."""

    @property
    def sigma(self) -> float | NDArray[np.float64]:
        """The noise is σ-sub-Gaussian; one number, or one for every arm."""


@dataclass(frozen=True, eq=False)
class Truth:
    """A problem with the answer known."""

    problem: Problem  # features, m, σ, δ and S
    epsilon: float  # slack in the means
    means: NDArray[np.float64]  # the true ones, of every arm

    @classmethod
    def of(
        cls,
        instance: Instance,
        *,
        sigma: float | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        S: float | None = None,
    ) -> Truth:
        """Check the instance and its means."""
        problem = Problem.of(
            instance.features,
            instance.m,
            sigma=instance.sigma if sigma is None else sigma,
            delta=delta,
            # Arms with the same features are no obstacle here unless they stand at ranks m, m + 1.
            epsilon=epsilon or 1.0,
            S=S,
        )
        means = np.asarray(instance.means, dtype=np.float64)
        if means.shape != (problem.arms,) or not np.all(np.isfinite(means)):
            raise InvalidFeatures(
                f"means must be {problem.arms} finite numbers, one per arm, got shape {means.shape} "
                f"with {int(np.sum(~np.isfinite(means)))} that are not finite."
            )
        truth = cls(problem, float(epsilon), means)
        if epsilon == 0.0:
            truth._check_gap()
        return truth

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The arms from the best to the worst."""
        return np.argsort(-self.means, kind="stable")

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Δ_a: μ_a − μ_{m+1} for the m best arms, μ_m − μ_a for the others."""
        last, first = (self.means[self.order[self.problem.m + k]] for k in (-1, 0))
        gaps = last - self.means
        best = self.order[: self.problem.m]
        gaps[best] = self.means[best] - first
        return np.asarray(gaps)

    @cached_property
    def theta(self) -> NDArray[np.float64]:
        """The shortest θ with μ = Xθ, in a basis that keeps its norm; raises if there is none."""
        return self._fit(self.problem.in_own_units)

    def check_linear(self) -> None:
        """Raise if the means are not linear in the features."""
        self._fit(self.problem.reduced)

    def _fit(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        theta = np.linalg.lstsq(features, self.means, rcond=None)[0]
        residual = float(np.abs(features @ theta - self.means).max())
        largest = float(np.abs(self.means).max())
        if residual > LINEAR * largest:
            raise InvalidSetting(
                f"the means are not linear in the features: the nearest linear means miss them by "
                f"{residual:.3g} (the largest mean is {largest:.3g}), and bounds for linear models "
                "do not hold. Fit θ and use the means Xθ, add features, or use features=np.eye(K) "
                "for arms about which nothing is known."
            )
        return np.asarray(theta)

    def one_sigma(self) -> float:
        """σ, where all arms have the same; raises where they differ."""
        if np.ndim(self.problem.noise.deviations):
            raise InvalidSetting(
                "the complexity constants and upper bounds of the paper are for one σ, and here "
                "every arm has its own: pass a single sigma, such as the largest. lower_bound "
                "takes a σ for every arm."
            )
        return self.problem.sigma

    def _check_gap(self) -> None:
        m = self.problem.m
        last, first = (float(self.means[self.order[m + k]]) for k in (-1, 0))
        if last - first <= ROUNDING * np.abs(self.means).max():
            raise InvalidSetting(
                f"the means of ranks {m} and {m + 1} are equal up to rounding ({last:g} and "
                f"{first:g}): with epsilon=0 no number of evaluations can identify the m best, and "
                "every bound is infinite. Use another m, or epsilon > 0 where there is one."
            )
