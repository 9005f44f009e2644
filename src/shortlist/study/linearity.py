"""Two tests of whether the means are linear in the features, valid whatever chose the arms.

Both hold for any σ-sub-Gaussian noise, as the guarantee does: normal noise is not assumed, nor a
design that was fixed in advance. Both are e-values: numbers whose expectation is at most 1 if the
means are linear, so that they exceed 1/α with probability α at most. ``docs/linearity.md`` has the
proofs. Over a whole study a linear truth is rejected with probability ``LEVEL`` at most.

*While results come in* (:func:`evidence`). Let arm a have n_a results of average ȳ_a. At the true
means μ, for every ρ > 0,

    Π_a (1 + n_a/ρ)^(−1/2) · exp(½ Σ_a n_a²/(n_a + ρ) · (ȳ_a − μ_a)²/σ_a²)

is a supermartingale that begins at 1, and ever exceeds 1/α with probability α at most (Ville). If
the means are linear, its least value over all linear means is no larger than at the true ones.

*At the stop* (:func:`lack_of_fit`). The arms of an audit are chosen before any of its results is
known. Let z_a = √n_a(ȳ_a − x_aᵀθ)/σ_a, and C be a covariance of departures from a line, in the same
units. At the true θ, given the past, exp(½ zᵀC(I + C)⁻¹z)/√det(I + C) has expectation 1 at most. The
past has a supermartingale of its own, exp(½ sᵀ(V + W)⁻¹s)·√(det W/det(V + W)) with s = V(θ̂ − θ) (de la
Peña et al. 2004). Their product is an e-value at the true θ; the test takes the θ at which it is
least, and averages over several C.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

LEVEL = 0.01
WHILE_RUNNING = 0.2  # the share of the level for the test while results come in
PRIORS = (1.0, 10.0, 100.0)  # ρ: deviations of σ, of σ/√10 and of σ/10
SIZES = (0.1, 0.3, 1.0, 3.0)  # of departures, in σ
RANGES = (1.0, 0.3)  # over which departures are alike, in usual distances between arms
DRAWS = 200  # of noise, to find what misfit is found with probability 0.9
NINE_TENTHS = 1.2816  # the normal quantile


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
    evidence : float
        ln of the e-value against a linear model.
    misses : array
        Of every arm, its average less what the past predicts.
    single, spread : float
        The misfit of any one arm, and the root mean square misfit of random signs over all, that is
        found with probability 0.9 if the noise is normal; infinite where none is.
    """

    rejected: bool
    evidence: float
    misses: Reals
    single: float
    spread: float


def evidence(sample: Sample, slack: float = 0.0) -> float:
    """Ln of the e-value against a linear model; above ln(1/α) it rejects at level α, at any time.

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
    return _log_mean(np.array(values))


def _log_mean(logs: Reals) -> float:
    """Ln of a mean."""
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


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
    """Test fresh results against every θ, each weighed by what the results of the past say of it.

    Parameters
    ----------
    fresh : Sample
        The audit's results, of arms chosen before any of them was known.
    past : Sample
        All results until then, however their arms were chosen.
    scale : array, N × N
        W: any positive definite matrix that was fixed in advance, best about the information of a
        few evaluations spread over the features.
    level : float
        The probability with which a linear truth may be rejected.

    Examples
    --------
    >>> dose = np.arange(20.0)
    >>> line = np.column_stack([np.ones(20), dose])
    >>> ends = Sample(line[[0, 19]], np.full(2, 50.0), np.array([0.0, 1.0]), np.ones(2))
    >>> bell = 5.0 * np.exp(-((dose - 8.0) ** 2) / 8.0)
    >>> fresh = Sample(line, np.ones(20), bell, np.ones(20))
    >>> lack_of_fit(fresh, ends, np.eye(2), 0.01).rejected
    True
    >>> lack_of_fit(fresh._replace(means=dose / 19.0), ends, np.eye(2), 0.01).rejected
    False
    """
    weights = past.counts / past.sigmas**2
    known = (past.features.T * weights) @ past.features
    theta = _fit(past, weights)
    test = _Test(fresh, known, scale)
    misses = fresh.means - fresh.features @ theta
    against = float(test.evidence((test.root * misses)[None])[0])
    single, spread = test.detectable(known, math.log(1.0 / level))
    return Verdict(against > math.log(1.0 / level), against, misses, single, spread)


class _Test:
    """The e-value of an audit as a function of z at θ̂: quadratic forms, each with a constant.

    With A = V(V + W)⁻¹V and H = C(I + C)⁻¹, the least of ½dᵀAd + ½(z − Bd)ᵀH(z − Bd) over d = θ − θ̂ is
    ½zᵀGz, G = H − HB(A + BᵀHB)⁻¹BᵀH. A departure of one arm alone has H = h e eᵀ, and so h/(1 + h l)
    for G, l = xᵀA⁻¹x.
    """

    def __init__(self, fresh: Sample, known: Reals, scale: Reals) -> None:
        self.root = np.sqrt(fresh.counts) / fresh.sigmas
        rows = self._rows = fresh.features * self.root[:, None]
        confined = known @ np.linalg.solve(known + scale, known)
        self._paid = 0.5 * (np.linalg.slogdet(known + scale)[1] - np.linalg.slogdet(scale)[1])
        unit = float(np.median(fresh.sigmas)) * self.root
        alike = [np.eye(len(rows)), *(_likeness(fresh.features, each) for each in RANGES)]
        self._forms, constants = [], []
        for likeness in alike:
            values, vectors = np.linalg.eigh(unit[:, None] * likeness * unit)
            values = np.maximum(values, 0.0)
            for size in SIZES:
                grown = size**2 * values
                shrunk = (vectors * (grown / (1.0 + grown))) @ vectors.T
                seen = shrunk @ rows
                inverse = np.linalg.pinv(confined + rows.T @ seen, hermitian=True)
                self._forms.append(shrunk - seen @ inverse @ seen.T)
                constants.append(-0.5 * float(np.log1p(grown).sum()))
        self._constants = np.array(constants)
        self.reach = _reach(rows, confined)
        grown = (np.array(SIZES)[:, None] * unit) ** 2
        shares = grown / (1.0 + grown)
        self._alone = shares / (1.0 + shares * self.reach)  # a row a size, a column an arm
        self._alone_constants = -0.5 * np.log1p(grown)

    def evidence(self, z: Reals) -> Reals:
        """Ln of the e-value, of every row of z; departures of single arms are a group of their own."""
        squares = np.array([np.einsum("ri,ri->r", z @ form, z) for form in self._forms])
        logs = 0.5 * squares + self._constants[:, None]
        alone = 0.5 * self._alone * z[:, None, :] ** 2 + self._alone_constants
        groups = len(RANGES) + 2
        together = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
        singles = np.logaddexp.reduce(alone.reshape(len(z), -1), axis=1)
        singles -= math.log(alone[0].size)
        share = math.log((groups - 1) / groups), math.log(1 / groups)
        return np.asarray(np.logaddexp(together + share[0], singles + share[1]) - self._paid)

    def detectable(self, known: Reals, needed: float) -> tuple[float, float]:
        """The misfit of any one arm, and of random signs over all, found 9 times in 10."""
        off = _reach(self._rows, known)  # the variance of what the past predicts
        paid = needed + self._paid + math.log(self._alone.size * (len(RANGES) + 2))
        squares = 2.0 * (paid - self._alone_constants) / np.maximum(self._alone, 1e-300)
        alone = (np.sqrt(squares.min(axis=0)) + NINE_TENTHS * np.sqrt(1.0 + off)) / self.root
        generator = np.random.default_rng(0)
        arms = len(self.root)
        noise = generator.standard_normal((DRAWS, arms))
        noise += (self._rows @ _drawn(known, generator)).T
        signs = np.where(generator.random((DRAWS, arms)) < 0.5, -1.0, 1.0) * self.root
        high = float(np.median(1.0 / self.root))
        while np.mean(self.evidence(noise + high * signs) > needed) < 0.9:
            high *= 2.0
            if high > 1e6 * float(np.max(1.0 / self.root)):
                return float(alone.max()), math.inf
        low = 0.0
        while high - low > 0.02 * high:
            middle = (low + high) / 2.0
            found = np.mean(self.evidence(noise + middle * signs) > needed) >= 0.9
            low, high = (low, middle) if found else (middle, high)
        return float(alone.max()), high


def _drawn(known: Reals, generator: np.random.Generator) -> Reals:
    """Errors of θ̂ after normal noise, a column a draw."""
    values, vectors = np.linalg.eigh(known)
    seen = values > 1e-12 * values[-1]
    errors = generator.standard_normal((DRAWS, int(seen.sum()))) / np.sqrt(values[seen])
    return np.asarray(vectors[:, seen] @ errors.T)


def _reach(rows: Reals, confined: Reals) -> Reals:
    """xᵀA⁻¹x of every row; infinite where A says nothing about it."""
    values, vectors = np.linalg.eigh((confined + confined.T) / 2.0)
    seen = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
    along = (rows @ vectors) ** 2
    size = np.maximum((rows**2).sum(axis=1), np.finfo(float).tiny)
    reach = (along[:, seen] / values[seen]).sum(axis=1)
    return np.where(along[:, ~seen].sum(axis=1) > 1e-10 * size, np.inf, reach)


def _likeness(features: Reals, reach: float) -> Reals:
    """How alike departures of neighbouring arms are thought to be: 1 for an arm and itself.

    Features are in orthonormal columns, so distances are the same in every unit. Any likeness gives
    a valid test; this one finds departures that change smoothly.
    """
    squares = ((features[:, None, :] - features[None, :, :]) ** 2).sum(axis=2)
    usual = float(np.median(squares[squares > 0.0])) if (squares > 0.0).any() else 1.0
    return np.asarray(np.exp(-0.5 * squares / (usual * reach**2)))
