"""How many evaluations a study still needs, as far as its estimates can tell.

What a study does not know is the true means. So they are drawn from its posterior, and for each
draw the algorithm is played on, in simulation, from where it stands to its stop. A draw that is not
through within the work allowed is carried to its end by the widths, which shrink as 1/√t as long
as the arms keep their shares of the pulls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.any_engine import AnyEngine

if TYPE_CHECKING:
    from shortlist.study.view import View

Reals = NDArray[np.float64]

DRAWS = 29  # the truth is as likely in any of 30 places among them: 24 lie between 3rd and 27th
TENTH = (DRAWS + 1) // 10
MOST = 10**8  # beyond, a projection is of no use to anybody
WORK = 3e8  # for all draws together, in nanoseconds as they were measured (see ``affordable``)
WORTH_PLAYING = 1.1  # times the results that are in: less adds nothing to what the widths say
NEAR = 64  # arms on either side of the boundary whose pairs are looked at
SALT = 0x72656D61  # a user's own generator of the same seed must give other numbers


@dataclass(frozen=True)
class Projection:
    """How many more results a study needs to its stop; those of pending trials count among them.

    Attributes
    ----------
    evaluations : int or None
        The best guess; None where there is none, and ``words`` say why.
    low, high : int or None
        An 80 % range: the study stops within it 8 times in 10, provided that the means are linear
        in the features and the noise is normal with standard deviation σ. ``high`` is None where
        more than 100,000,000 would be no surprise, or nothing is known yet.
    words : str
        All that, to be read.
    """

    evaluations: int | None
    low: int
    high: int | None
    words: str

    def __str__(self) -> str:
        return self.words


def remaining(study: View, *, quick: bool = False) -> Projection:
    """The number of evaluations that a study still needs, projected from its estimates.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.
    quick : bool
        Only extrapolate the widths: a few milliseconds, for a line that is drawn again and again.
        It does not foresee that the pulls will go where they are needed, so it is mostly too high:
        by 15 to 50 % in the median of what was tried, and early on more.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [0.0, 1.0], [0.9, 0.3]], m=1, sigma=2.0, seed=0)
    >>> print(remaining(study))
    at least 30 more: the initial pulls; how many after them is not known yet
    >>> noise = np.random.default_rng(2)
    >>> while study.evaluations < 100:
    ...     trial = study.ask()
    ...     _ = study.tell(trial, [1.0, -0.5, 0.75][trial.arm] + 2.0 * noise.standard_normal())
    >>> print(remaining(study))
    about 53 more (80 % range: 26 to 340)
    """
    if study.done:
        return Projection(0, 0, 0, "none: the study has stopped")
    engine, posterior = study.bound.engine, study.posterior
    initial = int(np.maximum(engine.wanted - posterior.pulls, 0).sum())
    if initial:
        words = (
            f"at least {initial:,} more: the initial pulls; how many after them is not known yet"
        )
        return Projection(None, initial, None, words)
    seen, rank = _dimensions_seen(engine, posterior.pulls), engine.features.shape[1]
    if seen < rank:
        words = (
            f"not known yet: the arms evaluated so far show {seen} of the {rank} dimensions of the "
            "features"
        )
        return Projection(None, 1, None, words)
    generator = np.random.default_rng([study.seed, SALT])
    estimated, _ = engine.estimates(posterior, study.round)
    draws = _drawn_means(engine, estimated, posterior.pulls, generator)
    seeds = generator.integers(0, 2**64, size=DRAWS, dtype=np.uint64)
    totals = np.sort(_totals(study, draws, seeds, quick=quick))
    told = posterior.observed
    low, middle, high = (
        max(float(totals[place - 1]) - told, 1.0)
        for place in (TENTH, (DRAWS + 1) // 2, DRAWS + 1 - TENTH)
    )
    return _projection(low, middle, high)


def _projection(low: float, middle: float, high: float) -> Projection:
    """A range and a guess in words; what is beyond MOST is infinite here.

    Examples
    --------
    >>> print(_projection(617.2, 1234.0, math.inf))
    about 1,200 more (80 % range: 620 to over 100,000,000)
    >>> print(_projection(617.2, math.inf, math.inf))
    at least 620 more, and maybe over 100,000,000: the arms at the boundary look alike, and only a larger epsilon ends that sooner
    """
    whole = [None if math.isinf(each) else math.ceil(each) for each in (low, middle, high)]
    beyond = f"over {MOST:,}"
    least = MOST if whole[0] is None else whole[0]
    if whole[1] is None:
        start = beyond if whole[0] is None else f"at least {_rounded(least)}"
        also = "" if whole[0] is None else f", and maybe {beyond}"
        words = (
            f"{start} more{also}: the arms at the boundary look alike, and only a larger epsilon "
            "ends that sooner"
        )
        return Projection(None, least, None, words)
    most = beyond if whole[2] is None else _rounded(whole[2])
    words = f"about {_rounded(whole[1])} more (80 % range: {_rounded(least)} to {most})"
    return Projection(whole[1], least, whole[2], words)


def _rounded(number: int) -> str:
    """Two digits that count: more would pretend."""
    return f"{round(number, min(0, 2 - len(str(number)))):,}"


def _dimensions_seen(engine: AnyEngine, pulls: NDArray[np.int64]) -> int:
    if engine.regularization == 0.0:  # the initial pulls span the features
        return engine.features.shape[1]
    return int(np.linalg.matrix_rank(engine.features[pulls > 0])) if pulls.any() else 0


def _drawn_means(
    engine: AnyEngine, estimated: Reals, pulls: NDArray[np.int64], generator: np.random.Generator
) -> Reals:
    """The estimates plus Xθ with θ from N(0, σ²V⁻¹), a row a draw."""
    x = engine.features
    upper = _factor(engine, pulls, engine.regularization).T
    noise = generator.standard_normal((x.shape[1], DRAWS))
    # Read backwards, an upper triangle is a lower one.
    noise = _substituted(upper[::-1, ::-1], noise[::-1])[::-1]
    return np.asarray(estimated + engine.sigma * (x @ noise).T)


def _factor(engine: AnyEngine, pulls: NDArray[np.int64], ridge: float) -> Reals:
    """The Cholesky factor of ridge·I + Σ_a N_a x_a x_aᵀ."""
    x, counts = engine.features[pulls > 0], pulls[pulls > 0]
    return np.asarray(np.linalg.cholesky((x.T * counts) @ x + ridge * np.eye(x.shape[1])))


def _substituted(lower: Reals, right: Reals) -> Reals:
    """L⁻¹B by forward substitution.

    A threaded library is no faster at this size, and on a busy machine it waits for its threads:
    20 ms were seen where this takes a tenth of one.
    """
    solved = np.zeros(right.shape)
    for i in range(len(lower)):
        solved[i] = (right[i] - lower[i, :i] @ solved[:i]) / lower[i, i]
    return solved


def _totals(study: View, draws: Reals, seeds: NDArray[np.uint64], *, quick: bool) -> Reals:
    """Evaluations at the stop, those told included, if the means were as drawn."""
    engine, posterior = study.bound.engine, study.posterior
    pulls, told = posterior.pulls, posterior.observed
    most = engine.affordable(WORK / DRAWS)
    if engine.regularization == 0.0:
        most += told  # then initial pulls are only counted, which costs next to nothing
    if quick or not engine.compiled or most < WORTH_PLAYING * told:
        return _by_widths(engine, pulls, draws)
    totals = np.zeros(len(draws))
    for k, means in enumerate(draws):
        totals[k], stopped, pulls = engine.play_on(posterior, study.round, means, seeds[k], most)
        if not stopped:
            totals[k] = _by_widths(engine, pulls, draws[k : k + 1])[0]
    return totals


def _by_widths(engine: AnyEngine, pulls: NDArray[np.int64], draws: Reals) -> Reals:
    """The same by extrapolation: every width shrinks as 1/√t, and C grows as it does."""
    x, told = engine.features, int(pulls.sum())
    order = np.argsort(-draws, axis=1)
    inside = order[:, max(0, engine.m - NEAR) : engine.m]
    outside = order[:, engine.m : engine.m + NEAR]
    near = np.unique(np.hstack([inside, outside]))
    whitened = np.zeros(x.shape)
    whitened[near] = _substituted(_factor(engine, pulls, engine.regularization), x[near].T).T
    shares = [
        _worst_pair(engine, whitened, means, b, c)
        for means, b, c in zip(draws, inside, outside, strict=True)
    ]
    threshold = _later_threshold(engine, pulls)
    return np.array([_time(share, told, threshold) for share in shares])


def _worst_pair(
    engine: AnyEngine,
    whitened: Reals,
    means: Reals,
    inside: NDArray[np.int64],
    outside: NDArray[np.int64],
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


def _later_threshold(engine: AnyEngine, pulls: NDArray[np.int64]) -> Callable[[float], float]:
    """C(t), if the pulls of all arms grow alike from now on."""
    told, rank = int(pulls.sum()), engine.features.shape[1]
    log_det = 0.0
    if engine.shift > 0.0:
        diagonal = np.diag(_factor(engine, pulls, engine.shift))
        log_det = 2.0 * float(np.log(diagonal).sum()) - rank * math.log(engine.shift)

    def threshold(time: float) -> float:
        grown = log_det + rank * math.log(time / told) if engine.shift > 0.0 else 0.0
        return engine.threshold_at(time, grown)

    return threshold


def _time(share: float, told: int, threshold: Callable[[float], float]) -> float:
    """The least t with C(t) · share · sqrt(told/t) ≤ 1, from below; infinite beyond MOST."""
    time = float(told)
    while time - told <= MOST:
        later = told * (threshold(time) * share) ** 2
        if later <= 1.001 * time:
            return max(time, later)
        time = later
    return math.inf
