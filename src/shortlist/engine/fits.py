"""Least squares of several runs at once: means, variances and the rows of G = X V⁻¹ Xᵀ.

V = λI + Σ x xᵀ over the evaluations of a run. Arrays are runs × arms, and every run comes out to the last bit
as it would alone. ``fits_of`` chooses among three layouts: all of G; nothing but its diagonal, where no
features relate the arms; or V⁻¹, from which rows of G are made, for many arms and one run.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.errors import SingularDesign
from shortlist.linalg import condition, is_identity, squared_norms

WHOLE_UP_TO = 150  # arms, or twice the rank: with more, rows of G are made when they are read
FIRST_REFRESH, REFRESH_EVERY = (
    16,
    512,
)  # evaluations; all is computed anew at powers of 2, later regularly
STEEPEST = 1e5  # a variance that falls so many times at once would lose its digits
# What ‖x_i − x_j‖² is at least, in units of ‖x_i‖² + ‖x_j‖². It is a difference of entries of G, and the
# entries are off by rounding: at most 2e-13 of their size was seen in orthonormal columns, when a
# thousand results had been processed since the last refresh. A width below that would be noise.
LEAST_SHARE = 1e-12
TOGETHER = 2**13  # entries of matrices that are worked on together: they fit the cache
BEFORE_SPAN = 1e9  # L²/λ: with more, V is decided by λ until the pulls span, and nothing is certain
SINGULAR = 1e-15  # of a diagonal entry, what a pivot is at most where V is singular


def width_floor(features: Reals, regularization: float = 0.0) -> float:
    """The least ‖x_i − x_j‖² that G tells from rounding, in units of ‖x_i‖² + ‖x_j‖².

    V is off by rounding as much as its condition number says, which is at most that of XᵀX for even
    pulls, columns brought to the same size: 2 ε κ² was the most seen, ε being 2.2e-16. With a
    regularisation V begins at λI, and what G has lost since its last refresh counts too: at most
    STEEPEST times in one step; 12 ε L²/λ was the most seen, and ε L²/λ before the pulls span.

    Examples
    --------
    >>> width_floor(np.eye(3))
    1e-12
    """
    if regularization == 0.0 and is_identity(features):
        return LEAST_SHARE
    rounding = float(np.finfo(float).eps)
    spread = 1.0 if is_identity(features) else condition(features)
    floor = max(LEAST_SHARE, 16.0 * rounding * spread**2)
    if regularization > 0.0:
        ratio = float(squared_norms(features).max()) / regularization
        lost = 128.0 * min(ratio, STEEPEST) + 4.0 * min(ratio, BEFORE_SPAN)
        floor = max(floor, rounding * lost)
    return min(floor, 1.0)


def next_refresh(observed: int) -> int:
    """After how many evaluations all is computed anew, where there are ``observed``.

    Examples
    --------
    >>> [next_refresh(n) for n in (0, 16, 100, 512, 1023)]
    [16, 32, 128, 1024, 1024]
    """
    if observed >= REFRESH_EVERY:
        return (observed // REFRESH_EVERY + 1) * REFRESH_EVERY
    return max(FIRST_REFRESH, 1 << observed.bit_length())


class Fits(ABC):
    """Least squares of some runs.

    Parameters
    ----------
    features : array, K × r
        Of full column rank.
    runs : int
        How many.
    regularization : float
        λ. With 0, nothing is known before the evaluations of every run span the features.
    shift : float
        s of the tracked ln det(I + A/s), A = Σ x xᵀ; 0 tracks none.
    noise : array, K
        (σ_a/σ)²: an evaluation of arm a counts 1/noise[a] times.
    floor : float
        The least ‖x_i − x_j‖² that exceeds rounding errors, in units of ‖x_i‖² + ‖x_j‖².

    Attributes
    ----------
    pulls, sums, means, variances : array, runs × K
        N_a, the sum of its results, μ̂_a and G_aa = ‖x_a‖² in V⁻¹.
    log_det : array, runs
        ln det(I + A/s).
    observed : int
        How many evaluations every run has.
    ready : bool
        Whether means and variances are defined.
    runs : array, runs
        The numbers of the runs, to index with.
    """

    by_run: ClassVar[tuple[str, ...]] = (
        "pulls",
        "sums",
        "means",
        "variances",
        "log_det",
        "shifted",
    )
    relates: ClassVar[bool] = True  # whether features relate the arms

    def __init__(
        self,
        features: Reals,
        runs: int,
        *,
        regularization: float,
        shift: float,
        noise: Reals,
        floor: float,
    ) -> None:
        arms, rank = features.shape
        self.features, self.noise, self.floor = features, noise, floor
        self.regularization, self.shift = regularization, shift
        self.observed, self.ready, self.runs = 0, False, np.arange(runs)
        self.pulls = np.zeros((runs, arms), np.int64)
        self.sums, self.means = np.zeros((2, runs, arms))
        self.variances = np.full((runs, arms), np.inf)
        self.log_det = np.zeros(runs)
        self.tracks = shift > 0.0 and shift != regularization
        tracked = rank if self.tracks and self.relates else 0
        self.shifted = np.zeros((runs, tracked, tracked))  # (sI + A)⁻¹
        if regularization > 0.0:
            self.refresh_if_spanning()

    def __len__(self) -> int:
        return len(self.pulls)

    def keep(self, runs: Mask) -> None:
        """Keep some of the runs."""
        for name in self.by_run:
            setattr(self, name, getattr(self, name)[runs])
        self.runs = np.arange(len(self))

    def copy(self) -> Self:
        """An independent copy; the features are shared."""
        twin = copy.copy(self)
        for name in self.by_run:
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def observe(self, arms: Integers, values: Reals) -> None:
        """Take in one evaluation in every run."""
        at = self.places(arms)
        self.pulls.reshape(-1)[at] += 1
        self.sums.reshape(-1)[at] += values
        self.observed += 1
        if not self.ready:
            return
        noise, growth = self.noise[arms], self.update(arms, at, values)
        if self.shift > 0.0:
            grown = self._update_shifted(arms) if self.tracks else growth
            self.log_det += np.log(np.maximum(grown, noise) / noise)
        sound = (growth >= noise) & (growth <= STEEPEST * noise)
        if self.observed == next_refresh(self.observed - 1):
            self.refresh_some(slice(None))
        elif not sound.all():
            self.refresh_some(~sound)

    def places(self, arms: Integers) -> Integers:
        """Where one or several arms of every run are in arrays of runs × K, flattened."""
        first = self.runs * self.pulls.shape[1]
        return first + arms if arms.ndim == 1 else (first[:, None] + arms).reshape(-1)

    def _update_shifted(self, arms: Integers) -> Reals:
        x = self.features.take(arms, axis=0)
        w = np.einsum("rij,rj->ri", self.shifted, x)
        growth = self.noise[arms] + np.einsum("rj,rj->r", x, w)
        less_products(self.shifted, w, w / growth[:, None])
        return growth

    def refresh_if_spanning(self) -> bool:
        """Compute everything from counts and sums; False, and nothing changes, where V is singular."""
        return self.refresh_some(slice(None))

    def refresh(self) -> None:
        """The same; raises where V is singular."""
        if not self.refresh_if_spanning():
            raise SingularDesign(
                f"{self.observed} evaluations of {int(np.count_nonzero(self.pulls[0]))} arms do not "
                f"span the features (rank {self.features.shape[1]}): evaluate a spanning set "
                "first, or set a regularization above 0."
            )

    def refresh_some(self, runs: Any) -> bool:
        """The same for some of the runs, given as an index of their rows."""
        information = self._information(self.pulls[runs])
        if not self.recompute(runs, information):
            return False
        self.ready = True
        if self.shift > 0.0:
            shifted = information / self.shift + np.eye(self.features.shape[1])
            self.log_det[runs] = np.linalg.slogdet(shifted)[1]
            if self.shifted.size:
                self.shifted[runs] = np.linalg.inv(shifted) / self.shift
        return True

    def _information(self, pulls: Integers) -> Reals:
        """A of some runs, each by itself: other runs in one product would change its last bits."""
        counted = (pulls / self.noise)[:, None, :] * self.features.T
        return np.asarray(counted @ self.features)

    @abstractmethod
    def update(self, arms: Integers, at: Integers, values: Reals) -> Reals:
        """Take a result into means and variances; n_a + G_aa of every run's arm, as it was before.

        ``at`` are the arms' places in arrays of runs × K, flattened.
        """

    @abstractmethod
    def recompute(self, runs: Any, information: Reals) -> bool:
        """Means, variances and G of some runs; False where V is singular."""

    @abstractmethod
    def rows_of(self, runs: Integers, arms: Integers) -> Reals:
        """Rows of G, each of a run and an arm."""

    def rows(self, arms: Integers) -> Reals:
        """The rows of G: one or several arms in every run."""
        if arms.ndim == 1:
            return self.rows_of(self.runs, arms)
        runs = self.runs.repeat(arms.shape[1])
        return self.rows_of(runs, arms.reshape(-1)).reshape(*arms.shape, len(self.features))


def is_positive(V: Reals) -> bool:
    """Whether symmetric matrices are positive beyond rounding.

    Examples
    --------
    >>> is_positive(np.eye(2)[None]), is_positive(np.ones((1, 2, 2)))
    (True, False)
    """
    try:
        pivots = np.linalg.cholesky(V).diagonal(axis1=-2, axis2=-1) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((pivots > SINGULAR * V.diagonal(axis1=-2, axis2=-1)).all())


def less_products(matrices: Reals, left: Reals, right: Reals) -> None:
    """Take the product of two vectors away from every matrix, some matrices at a time.

    Examples
    --------
    >>> matrices = np.ones((1, 2, 2))
    >>> less_products(matrices, np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]))
    >>> matrices.tolist()
    [[[0.0, 1.0], [-1.0, 1.0]]]
    """
    count, rank = right.shape
    step = max(1, TOGETHER // max(rank, 1) ** 2)
    if count <= step:
        matrices -= left[:, :, None] * right[:, None, :]
        return
    product = np.empty((step, rank, rank))
    for first in range(0, count, step):
        some = slice(first, first + step)
        part = product[: len(left[some])]
        np.multiply(left[some, :, None], right[some, None, :], out=part)
        matrices[some] -= part


class Whole(Fits):
    """All of G is kept."""

    by_run = (*Fits.by_run, "G")

    def __init__(self, features: Reals, runs: int, **settings: Any) -> None:
        self.G = np.zeros((runs, len(features), len(features)))
        super().__init__(features, runs, **settings)

    def recompute(self, runs: Any, information: Reals) -> bool:
        """As ``Fits.recompute``."""
        X = self.features
        V = information + self.regularization * np.eye(X.shape[1])
        if not is_positive(V):
            return False
        half = np.linalg.solve(V, np.broadcast_to(X.T, (len(V), *X.T.shape)))
        G = X @ half
        G = 0.5 * (G + G.transpose(0, 2, 1))
        told = ((self.sums[runs] / self.noise)[:, None, :]) @ X
        self.G[runs], self.means[runs] = G, (told @ half)[:, 0]
        self.variances[runs] = G.diagonal(axis1=1, axis2=2)
        return True

    def update(self, arms: Integers, at: Integers, values: Reals) -> Reals:
        """Sherman–Morrison; k kᵀ, the same on both sides of the diagonal, keeps G symmetric."""
        noise, k = self.noise[arms], self.rows(arms)
        growth = noise + k.reshape(-1)[at]
        root = np.sqrt(np.maximum(growth, noise))
        k /= root[:, None]
        self.means += k * ((values - self.means.reshape(-1)[at]) / root)[:, None]
        less_products(self.G, k, k)
        self.variances -= k * k
        return growth

    def rows_of(self, runs: Integers, arms: Integers) -> Reals:
        """As ``Fits.rows_of``."""
        K = self.G.shape[1]
        return self.G.reshape(-1, K).take(runs * K + arms, axis=0)


class Diagonal(Fits):
    """Arms that nothing relates: G is diagonal."""

    relates = False

    def recompute(self, runs: Any, information: Reals) -> bool:
        """As ``Fits.recompute``."""
        counted = self.regularization + self.pulls[runs] / self.noise
        if not (counted > 0.0).all():
            return False
        self.variances[runs] = 1.0 / counted
        self.means[runs] = self.sums[runs] / self.noise / counted
        return True

    def _information(self, pulls: Integers) -> Reals:
        return pulls / self.noise

    def refresh_some(self, runs: Any) -> bool:
        """As ``Fits.refresh_some``."""
        information = self._information(self.pulls[runs])
        if not self.recompute(runs, information):
            return False
        self.ready = True
        if self.shift > 0.0:
            self.log_det[runs] = np.log1p(information / self.shift).sum(axis=1)
        return True

    def _update_shifted(self, arms: Integers) -> Reals:
        before = self.pulls[self.runs, arms] - 1
        shifted = self.shift + before / self.noise[arms]
        return self.noise[arms] + 1.0 / shifted

    def update(self, arms: Integers, at: Integers, values: Reals) -> Reals:
        """As ``Fits.update``."""
        runs, noise = self.runs, self.noise[arms]
        counted = self.regularization + self.pulls[runs, arms] / noise
        growth = noise + self.variances[runs, arms]
        self.variances[runs, arms] = 1.0 / counted
        self.means[runs, arms] = self.sums[runs, arms] / noise / counted
        return growth

    def rows_of(self, runs: Integers, arms: Integers) -> Reals:
        """As ``Fits.rows_of``."""
        rows = np.zeros((len(arms), self.pulls.shape[1]))
        rows[np.arange(len(arms)), arms] = self.variances[runs, arms]
        return rows


class Rows(Fits):
    """Many arms, one run: V⁻¹ is kept, and rows of G are made of it."""

    by_run = (*Fits.by_run, "inverse")

    def __init__(self, features: Reals, runs: int, **settings: Any) -> None:
        rank = features.shape[1]
        self.inverse = np.zeros((runs, rank, rank))
        super().__init__(features, runs, **settings)

    def recompute(self, runs: Any, information: Reals) -> bool:
        """As ``Fits.recompute``."""
        X = self.features
        V = information + self.regularization * np.eye(X.shape[1])
        if not is_positive(V):
            return False
        inverse = np.linalg.inv(V)
        inverse = 0.5 * (inverse + inverse.transpose(0, 2, 1))
        told = (self.sums[runs] / self.noise)[:, None, :] @ X
        half = X @ inverse
        self.inverse[runs] = inverse
        self.means[runs] = (X @ (inverse @ told.transpose(0, 2, 1)))[:, :, 0]
        self.variances[runs] = np.einsum("rki,ki->rk", half, X)
        return True

    def update(self, arms: Integers, at: Integers, values: Reals) -> Reals:
        """As ``Fits.update``."""
        runs, x = self.runs, self.features[arms]
        w = (self.inverse @ x[:, :, None])[:, :, 0]
        growth = self.noise[arms] + (x * w).sum(axis=1)
        root = np.sqrt(np.maximum(growth, self.noise[arms]))
        w /= root[:, None]
        k = (self.features @ w[:, :, None])[:, :, 0]
        self.means += k * ((values - self.means[runs, arms]) / root)[:, None]
        self.inverse -= w[:, :, None] * w[:, None, :]
        self.variances -= k * k
        return growth

    def rows_of(self, runs: Integers, arms: Integers) -> Reals:
        """As ``Fits.rows_of``."""
        x = self.features[arms]
        half = (
            x @ self.inverse[0]
            if len(self) == 1
            else np.einsum("ni,nij->nj", x, self.inverse[runs])
        )
        return half @ self.features.T


def fits_of(
    features: Reals,
    runs: int = 1,
    *,
    regularization: float = 0.0,
    shift: float = 0.0,
    noise: Reals | None = None,
    floor: float = LEAST_SHARE,
    whole: bool | None = None,
) -> Fits:
    """The layout that suits the features; ``whole`` says whether to keep all of G where that is a choice.

    Examples
    --------
    >>> fits = fits_of(np.eye(2), regularization=1.0)
    >>> fits.observe(np.array([0]), np.array([3.0]))
    >>> fits.means.tolist(), fits.variances.tolist()
    ([[1.5, 0.0]], [[0.5, 1.0]])
    """
    kind: type[Fits] = Rows
    if is_identity(features):
        kind = Diagonal
    elif keeps_whole(features) if whole is None else whole:
        kind = Whole
    units = np.ones(len(features)) if noise is None else np.asarray(noise, np.float64)
    given = np.ascontiguousarray(features, dtype=np.float64)
    return kind(
        given,
        runs,
        regularization=float(regularization),
        shift=float(shift),
        noise=units,
        floor=floor,
    )


def keeps_whole(features: Reals) -> bool:
    """Whether updating all of G is cheaper than making rows when they are read."""
    arms, rank = features.shape
    return arms <= max(WHOLE_UP_TO, 2 * rank)


class Posterior:
    """One run of ``Fits``, as a study and its tables read it.

    Examples
    --------
    >>> posterior = Posterior(np.eye(2), regularization=1.0)
    >>> posterior.observe(0, 3.0)
    >>> posterior.means.tolist(), posterior.variances.tolist()
    ([1.5, 0.0], [0.5, 1.0])
    """

    def __init__(self, features: Reals, **settings: Any) -> None:
        self.fits = fits_of(features, **settings)

    @property
    def means(self) -> Reals:
        """μ̂_a of every arm."""
        return self.fits.means[0]

    @property
    def variances(self) -> Reals:
        """G_aa = ‖x_a‖² in V⁻¹, of every arm."""
        return self.fits.variances[0]

    @property
    def pulls(self) -> Integers:
        """N_a of every arm."""
        return self.fits.pulls[0]

    @property
    def sums(self) -> Reals:
        """The sum of every arm's own results."""
        return self.fits.sums[0]

    @property
    def averages(self) -> Reals:
        """The average of every arm's own results; NaN where there is none."""
        return np.where(self.pulls > 0, self.sums / np.maximum(self.pulls, 1), math.nan)

    @property
    def log_det(self) -> float:
        """Ln det(I + A/shift)."""
        return float(self.fits.log_det[0])

    @property
    def observed(self) -> int:
        """How many evaluations have been processed."""
        return self.fits.observed

    @property
    def ready(self) -> bool:
        """Whether means and variances are defined."""
        return self.fits.ready

    def observe(self, arm: int, value: float) -> None:
        """Take in one evaluation."""
        self.fits.observe(np.array([arm]), np.array([value]))

    def mirror(self) -> None:
        """Negate every result."""
        for values in (self.fits.sums, self.fits.means):
            values[:] = 0.0 - values

    def row(self, arm: int) -> Reals:
        """The arm's row of G."""
        return np.array(self.fits.rows(np.array([arm]))[0])

    def refresh(self) -> None:
        """Compute everything from counts and sums; raises where the evaluations do not span."""
        self.fits.refresh()

    def refresh_if_spanning(self) -> bool:
        """The same; False, with all estimates as they were, where they do not span the features."""
        return self.fits.refresh_if_spanning()

    def copy(self) -> Posterior:
        """An independent copy; the features are shared."""
        twin = copy.copy(self)
        twin.fits = self.fits.copy()
        return twin
