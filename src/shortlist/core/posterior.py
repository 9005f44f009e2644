"""What the evaluations say of every arm: means, variances and the rows of G = X V⁻¹ Xᵀ."""

from __future__ import annotations

import numpy as np

from shortlist.core.lagging import all_variances
from shortlist.core.least_squares import lags, observe, refresh, start
from shortlist.core.passes import products
from shortlist.core.pilot import set_aside, surprise
from shortlist.core.rows import row
from shortlist.core.state import ASIDE, LOG_DET, OBSERVED, READY, RECENT, Integers, Reals, State
from shortlist.core.tall import gram, triangle_of, unlocked
from shortlist.errors import SingularDesign


def reduce_to_rank(features: Reals) -> Reals:
    """The features in an orthonormal basis of their row space: K × rank.

    Inner products, and with them every mean and variance, are unchanged. Features of full column
    rank are returned as they are, in the same memory.

    Examples
    --------
    >>> reduce_to_rank(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])).shape
    (3, 1)
    """
    same = unlocked(np.ascontiguousarray(features, dtype=np.float64))
    if gram(features) is not None:
        return same
    # A Gram matrix would square the condition number; R has the singular values of the features.
    _, values, right = np.linalg.svd(triangle_of(features), full_matrices=False)
    tolerance = values[0] * max(features.shape) * np.finfo(float).eps
    rank = int(np.sum(values > tolerance))
    if rank == features.shape[1]:
        return same
    return np.ascontiguousarray(features @ right[:rank].T)


class Posterior:
    """Least squares in arm space.

    Parameters
    ----------
    features : array, K × r
        One row an arm, of full column rank (see ``reduce_to_rank``).
    regularization : float, optional
        λ_V of V = λ_V I + Σ x xᵀ. With 0, nothing is known before :meth:`refresh` has been called
        on evaluations that span the features.
    shift : float, optional
        s of the tracked ln det(I + A/s), A = Σ x xᵀ; 0 tracks none.
    pilot : bool, optional
        Whether the first evaluations may be set aside.
    levels : bool, optional
        Whether the shift is the first of a grid, and rises.
    resident : int, optional
        How many rows of G to keep; by default all for few arms, else 16. With 0 the estimates of
        the arms lag behind in ``state``, and :attr:`means` and :attr:`variances` are made when asked.
    noise : array, K, optional
        (σ_a/σ)², the variance of each arm's noise in units of σ²; by default all 1. An evaluation
        of arm a counts 1/noise[a] times: weighted least squares.

    Examples
    --------
    >>> posterior = Posterior(np.eye(2), regularization=1.0)
    >>> posterior.observe(0, 3.0)
    >>> posterior.means.tolist(), posterior.variances.tolist()
    ([1.5, 0.0], [0.5, 1.0])
    """

    def __init__(
        self,
        features: Reals,
        *,
        regularization: float = 0.0,
        shift: float = 0.0,
        pilot: bool = False,
        levels: bool = False,
        resident: int | None = None,
        noise: Reals | None = None,
    ) -> None:
        arms, rank = features.shape
        if resident is None:
            resident = arms if keeps_all_rows(arms, rank) else 16
        kept = min(arms, resident)
        lagging = 0 if kept else rank
        tracked = rank if pilot or (shift > 0.0 and shift != regularization) else 0
        index = np.arange(arms) if kept == arms else np.full(arms, -1)
        self.state = State(
            features=unlocked(np.ascontiguousarray(features, dtype=np.float64)),
            pulls=np.zeros(arms, np.int64),
            sums=np.zeros(arms),
            means=np.zeros(arms),
            variances=np.full(arms, np.inf),
            rows=np.zeros((kept, arms)),
            slots=index.astype(np.int64),
            owners=(np.arange(kept) if kept == arms else np.full(kept, -1)).astype(np.int64),
            used=np.zeros(kept, np.int64),
            inverse=np.zeros((rank, rank) if kept < arms else (0, 0)),
            shifted=np.zeros((tracked, tracked)),
            factor=np.zeros((rank, rank)),
            arm_scratch=np.zeros(arms),
            scratch=np.zeros(rank),
            pilot=np.zeros(arms, np.int64),
            pilot_sums=np.zeros(arms),
            prior=np.zeros(arms),
            lean=np.zeros(rank),
            scalars=np.array([regularization, shift, 0.0, 0.0, 0.0]),
            clock=np.array([0, 0, 0, 0, 0, 0 if levels else -1, 0, 0, 0], np.int64),
            noise=np.ones(arms) if noise is None else np.array(noise, np.float64),
            theta=np.zeros(lagging),
            anchor=np.zeros(lagging),
            deviations=np.zeros(arms if lagging else 0),
            metric=np.zeros((lagging, lagging)),
            recent=np.zeros((RECENT if lagging else 0, rank)),
            growths=np.zeros(RECENT),
            exact_at=np.zeros(arms if lagging else 0, np.int64),
        )
        self._made: tuple[int, Reals, Reals] | None = None
        start(self.state)

    @property
    def means(self) -> Reals:
        """μ̂_a of every arm."""
        return self._current()[0]

    @property
    def pulls(self) -> Integers:
        """N_a of every arm."""
        return self.state.pulls

    @property
    def variances(self) -> Reals:
        """G_aa = ‖x_a‖²_{V⁻¹} of every arm."""
        return self._current()[1]

    def _current(self) -> tuple[Reals, Reals]:
        """Means and variances; where they lag behind, made once for as many results as are in."""
        if not (self.ready and lags(self.state)):
            return self.state.means, self.state.variances
        if self._made is None or self._made[0] != self.observed:
            means, variances = np.empty(len(self.pulls)), np.empty(len(self.pulls))
            products(self.state.features, self.state.theta, means)
            all_variances(self.state, variances)
            self._made = self.observed, means, variances
        return self._made[1:]

    @property
    def log_det(self) -> float:
        """Ln det(I + A/shift)."""
        return float(self.state.scalars[LOG_DET])

    @property
    def aside(self) -> int:
        """How many evaluations were set aside as a pilot."""
        return int(self.state.clock[ASIDE])

    @property
    def pilot(self) -> Integers:
        """How many evaluations of every arm were set aside."""
        return self.state.pilot

    def set_aside(self) -> None:
        """Make the evaluations so far a pilot: its estimate is kept, and all else begins anew."""
        set_aside(self.state)

    def surprise(self, sigma: float) -> float:
        """What the evaluations since the pilot have taught, as twice a logarithm of likelihoods."""
        return float(surprise(self.state, sigma))

    @property
    def observed(self) -> int:
        """How many evaluations have been taken in."""
        return int(self.state.clock[OBSERVED])

    @property
    def ready(self) -> bool:
        """Whether means and variances are defined."""
        return bool(self.state.clock[READY])

    def observe(self, arm: int, value: float) -> None:
        """Take in one evaluation."""
        observe(self.state, int(arm), float(value))

    def row(self, arm: int) -> Reals:
        """The arm's row of G."""
        if lags(self.state):
            made = np.empty(len(self.pulls))
            products(self.state.features, self.state.inverse @ self.state.features[arm], made)
            return made
        return self.state.rows[row(self.state, int(arm))].copy()

    def refresh(self) -> None:
        """Recompute everything from the counts and sums, by Cholesky."""
        if not refresh(self.state):
            raise SingularDesign(
                f"{self.observed} evaluations of {int(np.count_nonzero(self.pulls))} arms do not "
                f"span the features (rank {self.state.features.shape[1]}): evaluate a spanning set "
                "first, or set a regularization above 0."
            )

    def copy(self) -> Posterior:
        """An independent copy; the features are shared."""
        twin = object.__new__(Posterior)
        twin._made = self._made
        twin.state = State._make([self.state[0], *(array.copy() for array in self.state[1:])])
        return twin


def keeps_all_rows(arms: int, rank: int) -> bool:
    """Whether updating all of G is cheaper than making rows on demand (measured crossover)."""
    return arms <= max(64, 1.7 * rank)
