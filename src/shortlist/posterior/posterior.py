"""What the evaluations say of every arm: means, variances and the rows of G = X V⁻¹ Xᵀ."""

from __future__ import annotations

import numpy as np

from shortlist.errors import SingularDesign
from shortlist.linalg import condition, is_identity, squared_norms
from shortlist.numerics.records import ABSENT, Integers, Reals
from shortlist.posterior.least_squares import OBSERVE, REFRESH, row
from shortlist.posterior.state import LEAST_SHARE, ROWS, STEEPEST, WHOLE, KeptRows, State

BEFORE_SPAN = 1e9  # L²/λ: with more, V is decided by λ until the pulls span, and nothing is certain


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
    floor = max(LEAST_SHARE, 16.0 * rounding * condition(features) ** 2)
    if regularization > 0.0:
        ratio = float(squared_norms(features).max()) / regularization
        lost = 128.0 * min(ratio, STEEPEST) + 4.0 * min(ratio, BEFORE_SPAN)
        floor = max(floor, rounding * lost)
    return min(floor, 1.0)


class Posterior:
    """Least squares in arm space.

    Parameters
    ----------
    features : array, K × r
        One row per arm, of full column rank (see ``reduce_to_rank``).
    regularization : float, optional
        λ_V of V = λ_V I + Σ x xᵀ. With 0, nothing is known before ``refresh`` has been called
        on evaluations that span the features.
    shift : float, optional
        s of the tracked ln det(I + A/s), A = Σ x xᵀ; 0 tracks none.
    resident : int, optional
        How many rows of G to keep; by default all for few arms, else 16.
    noise : array, K, optional
        (σ_a/σ)², the variance of each arm's noise in units of σ²; by default all 1. An evaluation
        of arm a counts 1/noise[a] times: weighted least squares.
    floor : float, optional
        The least ‖x_i − x_j‖² that exceeds rounding errors, in units of ‖x_i‖² + ‖x_j‖².

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
        resident: int | None = None,
        noise: Reals | None = None,
        floor: float = LEAST_SHARE,
    ) -> None:
        arms, rank = features.shape
        if resident is None:
            resident = arms if keeps_all_rows(arms, rank) else 16
        kept = min(arms, resident)
        layout = WHOLE if kept == arms else ROWS
        tracked = rank if shift > 0.0 and shift != regularization else 0
        by_arm = ("pulls", "sums", "means", "arm_scratch")
        one = ("observed", "ready", "next_refresh", "refreshes", "log_det")
        self.state = State.zeros(
            **dict.fromkeys(by_arm, arms),
            **dict.fromkeys(one, 1),
            layout=layout,
            regularization=float(regularization),
            floor=float(floor),
            features=np.ascontiguousarray(features, dtype=np.float64),
            variances=np.full(arms, np.inf),
            rows=(kept, arms),
            factor=(rank, rank),
            scratch=rank,
            keeps_shifted=int(tracked > 0),
            shifted=(tracked, tracked),
            shift=float(shift),
            noise=np.ones(arms) if noise is None else np.array(noise, np.float64),
            kept=ABSENT if layout == WHOLE else no_rows(arms, kept, rank),
        )
        if regularization > 0.0:
            self.refresh()

    @property
    def means(self) -> Reals:
        """μ̂_a of every arm."""
        return self.state.means

    @property
    def averages(self) -> Reals:
        """The average of every arm's own results; NaN where there is none."""
        pulls = self.state.pulls
        return np.where(pulls > 0, self.state.sums / np.maximum(pulls, 1), np.nan)

    @property
    def pulls(self) -> Integers:
        """N_a of every arm."""
        return self.state.pulls

    @property
    def variances(self) -> Reals:
        """G_aa = ‖x_a‖²_{V⁻¹} of every arm."""
        return self.state.variances

    @property
    def log_det(self) -> float:
        """Ln det(I + A/shift)."""
        return float(self.state.log_det[0])

    @property
    def observed(self) -> int:
        """How many evaluations have been processed."""
        return int(self.state.observed[0])

    @property
    def ready(self) -> bool:
        """Whether means and variances are defined."""
        return bool(self.state.ready[0])

    def observe(self, arm: int, value: float) -> None:
        """Take in one evaluation."""
        observe = OBSERVE[self.state.layout].sparing(len(self.pulls) ** 2)
        if observe(self.state, int(arm), float(value)):
            self.refresh_if_spanning()

    def mirror(self) -> None:
        """Negate every result; the order of the arms is not renewed."""
        state = self.state
        for values in (state.sums, state.means):
            values[:] = 0.0 - values

    def row(self, arm: int) -> Reals:
        """The arm's row of G."""
        return self.state.rows[row(self.state, int(arm))].copy()

    def refresh(self) -> None:
        """Recompute everything from the counts and sums, by Cholesky."""
        if not self.refresh_if_spanning():
            raise SingularDesign(
                f"{self.observed} evaluations of {int(np.count_nonzero(self.pulls))} arms do not "
                f"span the features (rank {self.state.features.shape[1]}): evaluate a spanning set "
                "first, or set a regularization above 0."
            )

    def refresh_if_spanning(self) -> bool:
        """The same; False, with all estimates as they were, if the evaluations do not span the features."""
        arms, rank = self.state.features.shape
        refresh = REFRESH[self.state.layout].sparing(arms * rank * (arms + rank))
        return bool(refresh(self.state))

    def copy(self) -> Posterior:
        """An independent copy; the features are shared."""
        twin = object.__new__(Posterior)
        shared = self.state.features
        twin.state = self.state.mapped(lambda array: array if array is shared else array.copy())
        return twin


def no_rows(arms: int, kept: int, rank: int) -> KeptRows:
    """Empty room for ``kept`` rows of G."""
    slots, owners = np.full(arms, -1, np.int64), np.full(kept, -1, np.int64)
    return KeptRows.zeros(slots=slots, owners=owners, used=kept, inverse=(rank, rank), tick=1)


def keeps_all_rows(arms: int, rank: int) -> bool:
    """Whether updating all of G is cheaper than making rows on demand (measured crossover)."""
    return arms <= max(64, 1.7 * rank)
