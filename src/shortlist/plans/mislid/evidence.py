"""What results say of means that are linear in the features up to c, and when that is enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.numerics.quadratic import nearest
from shortlist.plans.mislid.alternative import alternatives, measure
from shortlist.plans.mislid.differences import Known, reliance
from shortlist.plans.strategy import Task
from shortlist.posterior.posterior import width_floor

# Of the first pulls: what the mixtures' prior is worth. A larger share makes the bounds wider at
# first, a smaller one makes them grow for longer.
SHARE = 0.3


def mixture(log_risk: float, ratios: Any) -> float:
    """Half the square of σ-free noise in as many dimensions as there are ratios, at most.

    The ratios are the information in every dimension over that of the first pulls.

    Examples
    --------
    >>> [round(mixture(3.0, np.full(5, ratio)), 1) for ratio in (1.0, 10.0, 100.0)]
    [8.7, 12.2, 17.6]
    """
    grown = np.asarray(ratios) / SHARE
    return float((1.0 + 1.0 / grown.min()) * (log_risk + 0.5 * np.log1p(grown).sum()))


class Boundary(NamedTuple):
    """The pair b inside and c outside, how much better c may be, and the threshold C of that."""

    b: int
    c: int
    statistic: float
    threshold: float


@dataclass(frozen=True, eq=False)
class Evidence(ABC):
    """The estimate, and what it takes to be certain.

    Attributes
    ----------
    task : Task
        What is asked.
    c : float
        How far the means may be from linear.
    first : int
        How often every arm is pulled before anything is decided.
    white : array, K × rank
        Features with Σ_a x_a x_aᵀ = I.
    known : Known
        Pulls and averages, and least squares on them.
    means : array, K
        μ̃: the nearest means to the averages that are linear up to c.
    floor : float
        The least ‖x_i − x_j‖² that is told from rounding, in units of ‖x_i‖² + ‖x_j‖².
    """

    task: Task
    c: float
    first: int
    white: Reals
    known: Known
    means: Reals
    floor: float

    @classmethod
    def before(cls, task: Task, c: float, first: int) -> dict[str, Any]:
        """The attributes before the first result."""
        arms = len(task.features)
        none = np.zeros(arms)
        known = Known(none, none, np.zeros((arms, arms)), none)
        white = np.linalg.qr(task.features)[0]
        return {
            "task": task,
            "c": c,
            "first": first,
            "white": white,
            "known": known,
            "means": none,
            "floor": width_floor(task.features),
        }

    def after(self, pulls: Integers, sums: Reals) -> Self:
        """The same with these results, which are all there are."""
        features, counts = self.task.features, pulls.astype(np.float64)
        averages = sums / counts
        scratch = alternatives(*features.shape)
        nearest(features, self.c, counts, averages, NO_ARM, NO_ARM, 0.0, scratch.work)
        means = scratch.work.means.copy()
        measure(features, counts, averages, scratch.rivals)
        rivals = scratch.rivals
        known = Known(counts, averages, rivals.gram.copy(), rivals.fitted.copy())
        return replace(self, known=known, means=means)

    def inside(self) -> Mask:
        """The m arms of largest estimate."""
        chosen = np.zeros(len(self.means), np.bool_)
        chosen[np.argsort(-self.means, kind="stable")[: self.task.m]] = True
        return chosen

    def dimensions(self, pulls: Reals) -> Reals:
        """The information that so many pulls give, over that of the first, in rank X dimensions."""
        known = np.linalg.eigvalsh((self.white.T * (pulls / self.first)) @ self.white)
        return np.asarray(known, np.float64)

    def model_widths(self, linear: float) -> Reals:
        """How far each mean may be from its estimate, by least squares with width ``linear``."""
        known = self.known
        bias = np.array([reliance(known, a, NO_ARM) for a in range(len(self.means))])
        off = np.abs(known.fitted - self.means)
        noise = linear * np.sqrt(np.maximum(np.diagonal(known.gram), 0.0))
        with np.errstate(over="ignore"):
            return np.asarray(noise + self.c * bias + off)

    @abstractmethod
    def boundary(self, inside: Mask) -> Boundary:
        """The pair that is least certain."""

    @abstractmethod
    def differences(self, j: int, at: Boundary) -> tuple[Reals, Reals, Reals]:
        """Of every arm i, μ_i − μ_j as it is estimated, with its lower and its upper bound."""

    @abstractmethod
    def half_widths(self) -> Reals:
        """How far each mean may be from its estimate."""

    @abstractmethod
    def threshold_at(self, pulls: Reals) -> float:
        """About what C is after so many pulls."""
