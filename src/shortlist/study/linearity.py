"""Two tests of whether the means are linear in the features, valid whatever chose the arms.

Both hold for any σ-sub-Gaussian noise, as the guarantee does: normal noise is not assumed, nor a
design that was fixed in advance. `docs/linearity.md` has the proofs. Together they reject a linear
truth with probability ``LEVEL`` at most, over a whole study.

*While results come in* (:func:`evidence`). Let an arm a have n_a results of average ȳ_a. At the true
means μ, for every ρ > 0,

    Π_a (1 + n_a/ρ)^(−1/2) · exp(½ Σ_a n_a²/(n_a + ρ) · (ȳ_a − μ_a)²/σ_a²)

is a supermartingale that begins at 1, and ever exceeds 1/α with probability α at most (Ville). If
the means are linear, its least value over all linear means is no larger than at the true ones.

*At the stop* (:func:`lack_of_fit`). The arms of an audit are chosen before any of its results is
known, so given the past its design is fixed. Let z_a = √n_a(ȳ_a − x_aᵀθ)/σ_a. At the true θ, and
for every positive semidefinite Q, zᵀQz has the exponential moments of normal noise at most (Hsu,
Kakade and Zhang 2012), and so a bound. The past confines θ to an ellipsoid, and the test takes the
θ of it that fits best.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

LEVEL = 0.01
PARTS = 5  # equal shares of the level: one test while results come in, and four bounds of an audit
PRIORS = (1.0, 10.0, 100.0)  # ρ: deviations of σ, of σ/√10 and of σ/10; e-values may be averaged
NINE_TENTHS = 1.2816  # the normal quantile: misfits are stated that are found with probability 0.9
TRIED = np.linspace(0.02, 0.98, 97)  # of the largest η
NEGLIGIBLE = 1e-10  # of the largest eigenvalue: rounding, not information


class Sample(NamedTuple):
    """Results of some arms: their features, how many, their averages, and the noise of one."""

    features: Reals
    counts: Reals
    means: Reals
    sigmas: Reals


class Verdict(NamedTuple):
    """What an audit found.

    Attributes
    ----------
    rejected : bool
        Whether the means are not linear.
    excess : array
        Of each of the three statistics (all arms together, smooth departures, single arms) over
        what it may reach under a linear model: above 1 it rejects.
    misses : array
        Of every arm, its average less what the past predicts.
    single, spread : float
        The misfit of any one arm, and the root mean square misfit spread over all, that is found
        with probability 0.9 if the noise is normal; infinite where none is.
    """

    rejected: bool
    excess: Reals
    misses: Reals
    single: float
    spread: float


def evidence(sample: Sample, slack: float = 0.0) -> float:
    """ln of the e-value against a linear model; above ln(1/α) it rejects at level α, at any time.

    Parameters
    ----------
    sample : Sample
        All results so far, however their arms were chosen.
    slack : float
        How far from linear a mean may be.

    Examples
    --------
    >>> line = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> many = np.full(5, 10.0)
    >>> straight = Sample(line, many, 2.0 * np.arange(5.0), np.ones(5))
    >>> bent = straight._replace(means=np.arange(5.0) ** 2)
    >>> evidence(straight) < 0.0, evidence(bent) > math.log(1000.0)
    (True, True)
    """
    values = []
    for prior in PRIORS:
        weights = sample.counts**2 / (sample.counts + prior) / sample.sigmas**2
        misses = sample.means - _nearest(sample, weights, slack)
        penalty = np.log1p(sample.counts / prior).sum()
        values.append(0.5 * float((weights * misses**2).sum() - penalty))
    return float(np.logaddexp.reduce(values)) - math.log(len(PRIORS))


def _nearest(sample: Sample, weights: Reals, slack: float) -> Reals:
    """The nearest means to the averages that are linear up to ``slack``."""
    if slack == 0.0:
        return np.asarray(sample.features @ _fit(sample, weights))
    from shortlist.core.nearest import NOBODY, nearest, workspace

    features = np.ascontiguousarray(sample.features)
    work = workspace(*features.shape)
    nearest(features, slack, weights, sample.means, NOBODY, NOBODY, 0.0, work)
    return np.asarray(work.means)


def _fit(sample: Sample, weights: Reals) -> Reals:
    """Weighted least squares; of arms that do not span the features, the shortest solution.

    By the normal equations, as there may be many arms, made good by two steps of refinement.
    """
    inverse = np.linalg.pinv((sample.features.T * weights) @ sample.features, hermitian=True)
    theta = np.zeros(sample.features.shape[1])
    for _ in range(3):
        misses = sample.means - sample.features @ theta
        theta = theta + inverse @ (sample.features.T @ (weights * misses))
    return theta


def lack_of_fit(fresh: Sample, past: Sample, scale: Reals, level: float) -> Verdict:
    """Test fresh results against every θ that the results of the past allow.

    Parameters
    ----------
    fresh : Sample
        The audit's results, of arms chosen before any of them was known.
    past : Sample
        All results until then, however their arms were chosen.
    scale : array, N × N
        The information that results spread evenly over the features would give: any positive
        definite matrix that was fixed in advance. It sets the prior of the bound on θ.
    level : float
        The probability with which a linear truth may be rejected.

    Examples
    --------
    >>> dose = np.arange(20.0)
    >>> line = np.column_stack([np.ones(20), dose])
    >>> ends = Sample(line[[0, 19]], np.full(2, 50.0), np.array([0.0, 1.0]), np.ones(2))
    >>> bell = np.exp(-((dose - 8.0) ** 2) / 8.0)
    >>> fresh = Sample(line, np.ones(20), 8.0 * bell, np.ones(20))
    >>> verdict = lack_of_fit(fresh, ends, np.eye(2), 0.01)
    >>> verdict.rejected
    True
    """
    risk = level / (PARTS - 1)
    x = math.log(1.0 / risk)
    root = np.sqrt(fresh.counts) / fresh.sigmas
    rows = fresh.features * root[:, None]
    theta, confined, radius = _ellipsoid(past, scale, risk)
    misses = fresh.means - fresh.features @ theta
    z = root * misses
    arms = len(z)
    rest = _residuals(rows)
    most = _tail(np.ones(arms), x)
    excess = np.zeros(3)
    excess[0] = _least_squares_within(z, rows, confined, radius) / most
    kernel = rest @ (root[:, None] * _likeness(fresh.features) * root) @ rest
    values = np.maximum(np.linalg.eigvalsh(kernel), 0.0)
    if values[-1] > NEGLIGIBLE * float((root**2).max()):
        excess[1] = float(z @ kernel @ z) / _tail(values, x)
    widths = math.sqrt(2.0 * math.log(2.0 * arms / risk)) + np.sqrt(
        radius * _spreads(rows, confined)
    )
    excess[2] = float((np.abs(z) / widths).max())
    single, spread = _detectable(rows, rest, root, widths, confined, radius, most)
    return Verdict(bool(excess.max() > 1.0), excess, misses, single, spread)


def _ellipsoid(past: Sample, scale: Reals, risk: float) -> tuple[Reals, Reals, float]:
    """θ̂, A and r with (θ − θ̂)ᵀA(θ − θ̂) ≤ r for the true θ, but for a probability ``risk``.

    With V the information of the past and s = Σ x·noise/σ², exp(½ sᵀ(V + W)⁻¹s) (det W/det(V + W))^½
    is a supermartingale that begins at 1 (de la Peña et al. 2004), and s = V(θ̂ − θ).
    """
    weights = past.counts / past.sigmas**2
    known = (past.features.T * weights) @ past.features
    theta = _fit(past, weights)
    confined = known @ np.linalg.solve(known + scale, known)
    grown = np.linalg.slogdet(known + scale)[1] - np.linalg.slogdet(scale)[1]
    return theta, (confined + confined.T) / 2.0, 2.0 * math.log(1.0 / risk) + float(grown)


def _tail(weights: Reals, x: float) -> float:
    """What Σ_i w_i z_i² exceeds with probability e⁻ˣ at most, by Markov's inequality.

    E exp(η zᵀQz) ≤ Π_i (1 − 2ηw_i)^(−1/2) for 2ηw < 1, as for normal z: any such η gives a bound.

    Examples
    --------
    >>> round(_tail(np.ones(20), math.log(500.0)), 1)  # normal z exceed it once in 7,000 times
    51.2
    """
    etas = TRIED / (2.0 * float(weights.max()))
    logs = np.log1p(-2.0 * etas[:, None] * weights).sum(axis=1)
    return float(((x - 0.5 * logs) / etas).min())


def _residuals(rows: Reals) -> Reals:
    """The projection onto what no linear model can fit."""
    left, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    fitted = left[:, sizes > math.sqrt(NEGLIGIBLE) * sizes[0]]
    return np.asarray(np.eye(len(rows)) - fitted @ fitted.T)


def _likeness(features: Reals) -> Reals:
    """How alike departures of neighbouring arms are thought to be: 1 for an arm and itself.

    Features are in orthonormal columns, so distances are the same in every unit. Any likeness gives
    a valid test; this one finds departures that change over about half of the feature space.
    """
    squares = ((features[:, None, :] - features[None, :, :]) ** 2).sum(axis=2)
    usual = float(np.median(squares[squares > 0.0])) if (squares > 0.0).any() else 1.0
    return np.asarray(np.exp(-0.5 * squares / usual))


def _spreads(rows: Reals, confined: Reals) -> Reals:
    """xᵀA⁻¹x of every row; infinite where the past says nothing about it."""
    values, vectors = np.linalg.eigh(confined)
    seen = values > NEGLIGIBLE * max(float(values[-1]), np.finfo(float).tiny)
    along = rows @ vectors
    unseen = (along[:, ~seen] ** 2).sum(axis=1)
    spreads = (along[:, seen] ** 2 / values[seen]).sum(axis=1)
    size = np.maximum((rows**2).sum(axis=1), np.finfo(float).tiny)
    return np.where(unseen > NEGLIGIBLE * size, np.inf, spreads)


def _least_squares_within(z: Reals, rows: Reals, confined: Reals, radius: float) -> float:
    """The least ‖z − Bd‖² of all d with dᵀAd ≤ r.

    In coordinates in which BᵀB + A is the identity, A is diagonal, and d = g/(1 − a + λa) with the
    least λ ≥ 0 that keeps within the ellipsoid.

    Examples
    --------
    >>> rows = np.eye(2)
    >>> round(_least_squares_within(np.array([3.0, 0.0]), rows, np.eye(2), 1.0), 9)  # 3 less 1
    4.0
    """
    values, vectors = np.linalg.eigh(rows.T @ rows + confined)
    seen = values > NEGLIGIBLE * values[-1]
    to_unit = vectors[:, seen] / np.sqrt(values[seen])
    shares, turn = np.linalg.eigh(to_unit.T @ confined @ to_unit)
    shares = np.clip(shares, 0.0, 1.0)
    gains = (to_unit @ turn).T @ (rows.T @ z)

    def away(multiplier: float) -> Reals:
        return np.asarray(gains / np.maximum(1.0 - shares + multiplier * shares, 1e-300))

    def outside(log_multiplier: float) -> float:
        return float((shares * away(math.exp(log_multiplier)) ** 2).sum()) - radius

    low, high = -50.0, 50.0
    best = away(0.0) if (shares < 1.0 - 1e-14).all() else away(math.exp(low))
    if float((shares * best**2).sum()) > radius:
        from scipy.optimize import brentq

        best = away(math.exp(brentq(outside, low, high))) if outside(low) > 0.0 else away(0.0)
    left = float(z @ z - 2.0 * gains @ best + ((1.0 - shares) * best**2).sum())
    return max(left, 0.0)


def _detectable(
    rows: Reals,
    rest: Reals,
    root: Reals,
    widths: Reals,
    confined: Reals,
    radius: float,
    most: float,
) -> tuple[float, float]:
    """The misfit of one arm, and the root mean square of one spread over all, found 9 times in 10.

    The sum of squares is at least the part that no linear model fits, and by the triangle
    inequality at least (‖z‖ − κ)², with κ the furthest that the ellipsoid lets a prediction go.
    """
    arms, spare = len(root), round(float(np.trace(rest)))
    free = _spreads_largest(rows, confined) * radius
    whole = _needed(arms, (math.sqrt(most) + math.sqrt(free)) ** 2)
    left = _needed(spare, most) if spare > 0 else math.inf
    alone = np.minimum(widths + NINE_TENTHS, math.sqrt(whole))
    kept = np.maximum(np.diagonal(rest), NEGLIGIBLE)
    alone = np.minimum(alone, np.sqrt(left / kept))
    together = min(whole, left * arms / max(spare, 1))
    return float((alone / root).max()), math.sqrt(together / float((root**2).sum()))


def _spreads_largest(rows: Reals, confined: Reals) -> float:
    """The largest ‖Bd‖² of all d with dᵀAd ≤ 1."""
    values, vectors = np.linalg.eigh(confined)
    seen = values > NEGLIGIBLE * max(float(values[-1]), np.finfo(float).tiny)
    along = rows @ vectors
    if (along[:, ~seen] ** 2).sum() > NEGLIGIBLE * (rows**2).sum():
        return math.inf
    white = along[:, seen] / np.sqrt(values[seen])
    return float(np.linalg.norm(white, 2) ** 2) if white.size else 0.0


def _needed(degrees: int, bound: float) -> float:
    """λ for which noncentral χ² exceeds a bound with probability 0.9, by its mean and variance.

    Examples
    --------
    >>> round(_needed(20, 50.0), 1)
    49.8
    """
    if math.isinf(bound):
        return math.inf
    low, high = 0.0, 4.0 * bound + 100.0
    for _ in range(60):
        middle = (low + high) / 2.0
        least = degrees + middle - NINE_TENTHS * math.sqrt(2.0 * degrees + 4.0 * middle)
        low, high = (middle, high) if least < bound else (low, middle)
    return high
