"""How many evaluations are needed at the stop, by extrapolation: widths shrink as 1/√t."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shortlist.algorithms.any_engine import AnyEngine
from shortlist.arrays import Integers, Reals
from shortlist.core.triangle import solve_lower

MOST = 10**8  # beyond, a projection is of no use to anybody
NEAR = 64  # arms on either side of the boundary whose pairs are looked at


def is_identity(x: Reals) -> bool:
    """Whether every arm is a dimension of its own: then all matrices are diagonal, and K may be
    large.
    """
    return (
        x.shape[0] == x.shape[1]
        and np.count_nonzero(x) == len(x)
        and bool((x.diagonal() == 1.0).all())
    )


def whitened(engine: AnyEngine, pulls: Integers, arms: Integers) -> Reals:
    """Vectors whose inner products are those of the arms under V⁻¹, a row an arm."""
    x = engine.features
    if is_identity(x):
        return x[arms] / np.sqrt(pulls * engine.weights + engine.regularization)
    return solve_lower(factor(engine, pulls, engine.regularization), x[arms].T).T


def factor(engine: AnyEngine, pulls: Integers, ridge: float) -> Reals:
    """The Cholesky factor of ridge·I + Σ_a N_a x_a x_aᵀ, each arm in units of its noise."""
    x, counts = engine.features[pulls > 0], (pulls * engine.weights)[pulls > 0]
    return np.asarray(np.linalg.cholesky((x.T * counts) @ x + ridge * np.eye(x.shape[1])))


def by_widths(engine: AnyEngine, pulls: Integers, pilot: Integers, draws: Reals) -> Reals:
    """Evaluations at the stop if the means were as drawn, and the pulls went on as they went.

    ``pilot`` are the pulls that were set aside, all 0 where none were.
    """
    x = engine.features
    order = np.argsort(-draws, axis=1)
    inside = order[:, max(0, engine.m - NEAR) : engine.m]
    outside = order[:, engine.m : engine.m + NEAR]
    near = np.unique(np.hstack([inside, outside]))
    whitened_arms = np.zeros(x.shape)
    whitened_arms[near] = whitened(engine, pulls - pilot, near)
    shares = [
        _worst_pair(engine, whitened_arms, means, b, c)
        for means, b, c in zip(draws, inside, outside, strict=True)
    ]
    told, aside = int(pulls.sum()), int(pilot.sum())
    if not engine.has_pilot:
        threshold = _later_threshold(engine, pulls)
        return np.array([_time(share, told, threshold) for share in shares])
    if not aside:
        return np.array([_with_pilot(engine, share, told) for share in shares])
    learnt = _log_det(engine, pulls) - _log_det(engine, pilot)
    later = _pilot_threshold(engine, told, learnt)
    since = told - aside
    return np.array([aside + _time(share, since, lambda n: later(aside + n)) for share in shares])


def _with_pilot(engine: AnyEngine, share: float, told: int) -> float:
    """The same from within a pilot, which ends at Z = r/2."""
    ends = max(float(told), told * engine.features.shape[1] * share**2)
    if ends - told > MOST:
        return math.inf
    later = _pilot_threshold(engine, ends, 0.0)
    return ends + _time(share, told, lambda n: later(ends + n), least=1.0)


def _pilot_threshold(engine: AnyEngine, at: float, learnt: float) -> Callable[[float], float]:
    """C(t) after a pilot: ln det is ``learnt`` at some time, and the rest is r on average."""
    rank = engine.features.shape[1]

    def threshold(time: float) -> float:
        known = learnt + rank * math.log(time / at) + rank
        return engine.threshold_at(time, known)

    return threshold


def _worst_pair(
    engine: AnyEngine,
    whitened: Reals,
    means: Reals,
    inside: Integers,
    outside: Integers,
) -> float:
    """The largest σ‖x_b − x_c‖_{V⁻¹} / (μ_b − μ_c + ε) of a b inside and a c outside."""
    b, c = whitened[inside], whitened[outside]
    squares_b, squares_c = (b**2).sum(axis=1)[:, None], (c**2).sum(axis=1)
    if engine.alone:
        widths = np.sqrt(squares_b) + np.sqrt(squares_c)
    else:
        widths = np.sqrt(np.maximum(squares_b + squares_c - 2.0 * b @ c.T, 0.0))
    gaps = means[inside][:, None] - means[outside] + engine.epsilon
    shares = np.full(gaps.shape, np.inf)
    np.divide(widths, gaps, out=shares, where=gaps > 0.0)
    return engine.sigma * float(shares.max())


def _later_threshold(engine: AnyEngine, pulls: Integers) -> Callable[[float], float]:
    """C(t), if the pulls of all arms grow alike from now on."""
    told, rank = int(pulls.sum()), engine.features.shape[1]
    log_det = 0.0
    if engine.shift > 0.0:
        log_det = _log_det(engine, pulls) - rank * math.log(engine.shift)

    def threshold(time: float) -> float:
        grown = log_det + rank * math.log(time / told) if engine.shift > 0.0 else 0.0
        return engine.threshold_at(time, grown)

    return threshold


def _log_det(engine: AnyEngine, pulls: Integers) -> float:
    """Ln det of shift·I + Σ_a N_a x_a x_aᵀ."""
    if is_identity(engine.features):
        return float(np.log(pulls * engine.weights + engine.shift).sum())
    return 2.0 * float(np.log(np.diag(factor(engine, pulls, engine.shift))).sum())


def _time(
    share: float, told: int, threshold: Callable[[float], float], least: float | None = None
) -> float:
    """The least t with C(t) · share · sqrt(told/t) ≤ 1, from below; infinite beyond MOST."""
    time = float(told) if least is None else least
    while time - told <= MOST:
        later = told * (threshold(time) * share) ** 2
        if later <= 1.001 * time:
            return max(time, later)
        time = later
    return math.inf
