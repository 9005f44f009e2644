"""Two tests of whether the means are linear in the features, valid whatever chose the arms.

Both hold for any σ-sub-Gaussian noise, as the guarantee does: normal noise is not assumed, nor a
design that was fixed in advance. Both are e-values: numbers whose expectation is at most 1 if the
means are linear, so that they exceed 1/α with probability α at most. ``docs/proofs.md`` has the
proofs. Over a whole study a linear truth is rejected with probability ``LEVEL`` at most.

*While results come in* (``evidence``). Let arm a have n_a results of average ȳ_a. At the true
means μ, for every ρ > 0,

    Π_a (1 + n_a/ρ)^(−1/2) · exp(½ Σ_a n_a²/(n_a + ρ) · (ȳ_a − μ_a)²/σ_a²)

is a supermartingale that begins at 1, and ever exceeds 1/α with probability α at most (Ville). If
the means are linear, its least value over all linear means is no larger than at the true ones.

*At the stop* (``lack_of_fit``). The arms of an audit are chosen before any of its results is
known. Let z_a = √n_a(ȳ_a − x_aᵀθ)/σ_a, and C be a covariance of departures from a line, in the same
units, that the plan of the audit fixes. At the true θ, given the past,
exp(½ zᵀC(I + C)⁻¹z)/√det(I + C) has expectation 1 at most. The past has a supermartingale of its
own, exp(½ sᵀ(V + W)⁻¹s)·√(det W/det(V + W)) with s = V(θ̂ − θ) (de la Peña et al. 2004). Their product is an e-value at the true θ; the test takes the θ at which it is
least, and averages over several C and W.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Reals

LEVEL = 0.01
WHILE_RUNNING = 0.2  # the share of the level for the test while results come in
PRIORS = (1.0, 10.0, 100.0)  # ρ: deviations of σ, of σ/√10 and of σ/10
SIZES = (0.1, 0.3, 1.0, 3.0)  # of departures, in σ
RANGES = (1.0, 0.3)  # over which departures are alike, in usual distances between arms
FACTORS = (1.0, 10.0, 100.0)  # of W: the larger, the less is paid, and the less is the past worth
DRAWS, FOUND = 100, 0.9  # of noise, to find what misfit is found with probability 0.9
LEAST_SINGULAR = 1e-14  # of the largest singular value: smaller ones are rounding errors


class Sample(NamedTuple):
    """Results of some arms: which, their features, how many, their averages, the noise of one."""

    arms: NDArray[np.int64]
    features: Reals
    counts: Reals
    means: Reals
    sigmas: Reals


@dataclass(frozen=True)
class Verdict:
    """What an audit found."""

    rejected: bool  # whether the means are not linear
    evidence: float  # ln of the e-value against a linear model
    needed: float  # above which it rejects
    test: _Test | None  # None if every evaluation failed

    @cached_property
    def detectable(self) -> tuple[float, float]:
        """The misfit of a typical arm of the audit, and of all arms, that would have been found.

        Half of the arms of the audit show a smaller one. Of all arms evaluated it is the root mean
        square, with random signs. Either is found with probability 0.9 if the noise is normal, and
        infinite where none is. Computed when it is asked for: it takes longer than the test itself.
        """
        return (math.inf, math.inf) if self.test is None else self.test.detectable(self.needed)


def evidence(sample: Sample) -> float:
    """Ln of the e-value against a linear model; above ln(1/α) it rejects at level α, at any time.

    The sample is of all results so far, however their arms were chosen.

    Examples
    --------
    >>> line = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> many = np.full(5, 10.0)
    >>> straight = Sample(np.arange(5), line, many, 2.0 * np.arange(5.0), np.ones(5))
    >>> bent = straight._replace(means=np.arange(5.0) ** 2)
    >>> evidence(straight) < 0.0, evidence(bent) > math.log(1000.0)
    (True, True)
    """
    return _evidence(sample, lambda weights: sample.features @ _fit(sample, weights))


def evidence_at_most(sample: Sample) -> float:
    """What ``evidence`` is at most, in a fraction of the time: its value at one linear model.

    Examples
    --------
    >>> line = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> counts = np.array([1.0, 5.0, 1.0, 20.0, 1.0])
    >>> bent = Sample(np.arange(5), line, counts, np.arange(5.0) ** 2, np.ones(5))
    >>> evidence(bent) < evidence_at_most(bent) < 1.2 * evidence(bent)
    True
    """
    root = np.sqrt(sample.counts) / sample.sigmas
    theta = np.linalg.lstsq(sample.features * root[:, None], sample.means * root, rcond=None)[0]
    means = sample.features @ theta
    return _evidence(sample, lambda _: means)


def _evidence(sample: Sample, means_for: Callable[[Reals], Reals]) -> float:
    """Ln of the e-value against the means that are given for the weights of each ρ."""
    values = []
    for prior in PRIORS:
        weights = sample.counts**2 / (sample.counts + prior) / sample.sigmas**2
        misses = sample.means - means_for(weights)
        penalty = np.log1p(sample.counts / prior).sum()
        values.append(0.5 * float((weights * misses**2).sum() - penalty))
    return _log_mean(np.array(values))


def _log_mean(logs: Reals) -> float:
    """The logarithm of the mean of numbers that are given by their logarithms."""
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def _fit(sample: Sample, weights: Reals) -> Reals:
    """The θ of weighted least squares; one of them where the arms do not span the features.

    Weights may differ by many orders of magnitude, and a direction that is lost would make the
    least value too large. So nothing is squared, and long rows come first, as Householder's
    method wants them.
    """
    rows = sample.features * np.sqrt(weights)[:, None]
    order = np.argsort(-np.abs(rows).max(axis=1, initial=0.0), kind="stable")
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0.0] = 1.0
    left, triangle = np.linalg.qr(rows[order] / scale)
    theta = np.zeros(rows.shape[1])
    for _ in range(2):  # and once more for what rounding left
        misses = (sample.means - sample.features @ theta) * np.sqrt(weights)
        step = np.linalg.lstsq(triangle, left.T @ misses[order], rcond=LEAST_SINGULAR)[0]
        theta = theta + step / scale
    return theta


def lack_of_fit(fresh: Sample, past: Sample, rows: Reals, level: float) -> Verdict:
    """Test fresh results against every θ, each weighed by what the results of the past say of it.

    Parameters
    ----------
    fresh : Sample
        The audit's results, of arms chosen before any of them was known.
    past : Sample
        All results until then, however their arms were chosen.
    rows : array, N columns
        W is rowsᵀrows: any positive definite matrix that was fixed in advance, best about the
        information of a few evaluations spread over the features. Ten and a hundred times as much is
        tried too.
    level : float
        The probability with which a linear truth may be rejected.

    Examples
    --------
    >>> dose = np.arange(20.0)
    >>> line = np.column_stack([np.ones(20), dose])
    >>> two = np.array([0, 19])
    >>> ends = Sample(two, line[two], np.full(2, 50.0), np.array([0.0, 1.0]), np.ones(2))
    >>> bell = 5.0 * np.exp(-((dose - 8.0) ** 2) / 8.0)
    >>> fresh = Sample(np.arange(20), line, np.ones(20), bell, np.ones(20))
    >>> lack_of_fit(fresh, ends, np.eye(2), 0.01).rejected
    True
    >>> lack_of_fit(fresh._replace(means=dose / 19.0), ends, np.eye(2), 0.01).rejected
    False
    """
    theta = _fit(past, past.counts / past.sigmas**2)
    test = _Test(fresh, past, rows)
    misses = fresh.means - fresh.features @ theta
    against = float(test.evidence((test.root * misses)[None])[0])
    needed = math.log(1.0 / level)
    return Verdict(against > needed, against, needed, test)


class _Test:
    """The e-value of an audit as a function of z at θ̂: quadratic forms, each with a constant.

    With A = V(V + W)⁻¹V and H = C(I + C)⁻¹, the least of ½dᵀAd + ½(z − Bd)ᵀH(z − Bd) over d = θ − θ̂ is
    half of what is left of H^½z by least squares on A^½ and H^½B, one above the other. A departure
    of one arm alone has H = h e eᵀ, and so h/(1 + h l) for the square of z, l = xᵀA⁻¹x. Arms of the
    plan without results have z = 0 and count as departures that nothing supports or contradicts.
    """

    def __init__(self, fresh: Sample, past: Sample, weights: Reals) -> None:
        self._fresh, self._past = fresh, past
        self.root = np.sqrt(fresh.counts) / fresh.sigmas
        rows = self._rows = fresh.features * self.root[:, None]
        # In coordinates in which W is the identity, V is diagonal, with these squares.
        corner = np.linalg.qr(weights)[1].T
        weighted = past.features * (np.sqrt(past.counts) / past.sigmas)[:, None]
        triangle = np.linalg.qr(np.linalg.solve(corner, weighted.T).T)[1]
        _, sizes, turn = np.linalg.svd(triangle)
        self._sizes = np.concatenate([sizes, np.zeros(len(corner) - len(sizes))])
        self._axes = np.linalg.solve(corner, fresh.features.T).T @ turn.T
        self._into = turn @ np.linalg.inv(corner)
        along = self._axes * self.root[:, None]  # B in these coordinates
        squares = self._sizes**2
        known = [
            (squares / np.sqrt(squares + f), 0.5 * np.log1p(squares / f).sum()) for f in FACTORS
        ]
        unit = float(np.median(fresh.sigmas)) * self.root
        alike = [np.eye(len(rows)), *(_likeness(fresh.features, each) for each in RANGES)]
        self._forms, constants = [], []
        for likeness in alike:
            values, vectors = np.linalg.eigh(unit[:, None] * likeness * unit)
            values = np.maximum(values, 0.0)
            for size in SIZES:
                grown = size**2 * values
                shrunk = (vectors * np.sqrt(grown / (1.0 + grown))) @ vectors.T
                for confined, paid in known:  # A^½, and what P pays for it
                    self._forms.append(shrunk @ _left_over(confined, shrunk @ along) @ shrunk)
                    constants.append(-0.5 * float(np.log1p(grown).sum()) - paid)
        self._constants = np.array(constants)
        grown = (np.array(SIZES)[:, None] * unit) ** 2
        shares, alone, constants = grown / (1.0 + grown), [], []
        for confined, paid in known:
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = np.where(along == 0.0, 0.0, (along / confined) ** 2).sum(axis=1)
            alone.append(shares / (1.0 + shares * reach))
            constants.append(-0.5 * np.log1p(grown) - paid)
        self._alone = np.concatenate(alone)  # one row per size and W, one column per arm
        self._alone_constants = np.concatenate(constants)

    def evidence(self, z: Reals) -> Reals:
        """Ln of the e-value of every row of z; departures of single arms are one group."""
        squares = np.array([np.einsum("ri,ri->r", z @ form, z) for form in self._forms])
        logs = 0.5 * squares + self._constants[:, None]
        alone = 0.5 * self._alone * z[:, None, :] ** 2 + self._alone_constants
        groups = len(RANGES) + 2
        together = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
        singles = np.logaddexp.reduce(alone.reshape(len(z), -1), axis=1)
        singles -= math.log(alone[0].size)
        share = math.log((groups - 1) / groups), math.log(1 / groups)
        return np.asarray(np.logaddexp(together + share[0], singles + share[1]))

    def detectable(self, needed: float) -> tuple[float, float]:
        """The misfit found 9 times in 10, at a typical arm of the audit and of random signs over all.

        A misfit of an arm that was evaluated before is in θ̂ as well. θ̂ is taken to be normal, which
        it is but for the choice of the arms.
        """
        generator = np.random.default_rng(0)
        noise = generator.standard_normal((DRAWS, len(self.root)))
        seen = self._sizes > LEAST_SINGULAR * self._sizes[0]
        errors = generator.standard_normal((DRAWS, int(seen.sum()))) / self._sizes[seen]
        noise += errors @ (self._axes[:, seen] * self.root[:, None]).T
        every = np.union1d(self._fresh.arms, self._past.arms)
        shifts = self._shifts(every)
        signs = np.where(generator.random((DRAWS, len(every))) < 0.5, -1.0, 1.0)
        spread = self._found(noise, signs @ shifts, needed)
        own = shifts[np.isin(every, self._fresh.arms[self._fresh.counts > 0.0])]
        # The less of it is left in every form, the harder it is to find.
        left = [np.einsum("ai,ij,aj->a", own, form, own) for form in self._forms]
        alone = (self._alone[:, None, :] * own**2).max(axis=(0, 2))
        order = np.argsort(np.maximum(np.max(left, axis=0), alone), kind="stable")
        typical = own[[order[(len(order) - 1) // 2]]]
        return self._found(noise, typical, needed), spread

    def _shifts(self, arms: NDArray[np.int64]) -> Reals:
        """What a misfit of 1 at each arm does to z, one row per arm."""
        fresh, past = self._fresh, self._past
        shifts = (arms[:, None] == fresh.arms) * self.root
        seen = self._sizes > LEAST_SINGULAR * self._sizes[0]
        into = (past.features @ self._into.T)[:, seen] / self._sizes[seen] ** 2
        moved = into * (past.counts / past.sigmas**2)[:, None]  # θ̂ per misfit of a past arm
        predicted = moved @ (self._axes[:, seen] * self.root[:, None]).T
        shifts[np.searchsorted(arms, past.arms)] -= predicted
        return np.asarray(shifts)

    def _found(self, noise: Reals, shift: Reals, needed: float) -> float:
        """The size of a shift that takes the e-value over its limit in 9 of 10 draws."""

        def share(size: float) -> float:
            return float(np.mean(self.evidence(noise + size * shift) > needed))

        high = float(np.median(1.0 / self.root[self.root > 0.0]))
        largest = 1e4 * high
        while share(high) < FOUND:
            high *= 2.0
            if high > largest:
                return math.inf
        low = 0.0
        while high - low > 0.02 * high:
            middle = (low + high) / 2.0
            low, high = (low, middle) if share(middle) >= FOUND else (middle, high)
        return high


def _left_over(confined: Reals, rows: Reals) -> Reals:
    """The projection onto what least squares leaves of the lower part of [diag(confined); rows]."""
    stacked = np.vstack([np.diag(confined), rows])
    scale = np.linalg.norm(stacked, axis=0)
    scale[scale == 0.0] = 1.0
    left, sizes, _ = np.linalg.svd(stacked / scale, full_matrices=False)
    lower = left[len(confined) :, sizes > LEAST_SINGULAR * sizes[0]]
    return np.asarray(np.eye(len(rows)) - lower @ lower.T)


def _likeness(features: Reals, reach: float) -> Reals:
    """How alike departures of neighbouring arms are thought to be: 1 for an arm and itself.

    Features are in orthonormal columns, so distances are the same in every unit. Any likeness gives
    a valid test; this one finds departures that change smoothly.
    """
    squares = ((features[:, None, :] - features[None, :, :]) ** 2).sum(axis=2)
    usual = float(np.median(squares[squares > 0.0])) if (squares > 0.0).any() else 1.0
    return np.asarray(np.exp(-0.5 * squares / (usual * reach**2)))
