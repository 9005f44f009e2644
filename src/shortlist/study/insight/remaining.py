"""How many evaluations a study still needs, as far as its estimates can tell.

What a study does not know is the true means. So they are drawn from its posterior, and for each
draw the algorithm is played on, in simulation, from where it stands to its stop. A draw that is not
through within the work allowed is carried to its end by the widths, which shrink as 1/√t as long
as the arms keep their shares of the pulls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Integers, Reals
from shortlist.engine.contract import AnyEngine
from shortlist.numerics.blockwise import is_identity
from shortlist.numerics.linear import solve_lower, solve_upper
from shortlist.posterior.posterior import Posterior
from shortlist.printable import on_one_line
from shortlist.study.insight.audit import audit_size, is_audited
from shortlist.study.view import View, makes_plans

DRAWS = 29  # the truth is as likely in any of 30 places among them: 24 lie between 3rd and 27th
TENTH = (DRAWS + 1) // 10
MOST = 10**8  # beyond, a projection is of no use to anybody
BEYOND = f"over {MOST:,}"
LITTLE = 0.95  # of the evaluations: what would take more than that saves nothing worth saying
WORK = 3e8  # for all draws together, in nanoseconds as they were measured (see ``affordable``)
HOPELESS = 50  # times the results so far: who needs that many more may be waiting for a tie
WORTH_PLAYING = 1.1  # times the results that are in: less adds nothing to what the widths say
SALT = 0x72656D61  # a user's own generator of the same seed must give other numbers


@dataclass(frozen=True)
class Tie:
    """Two arms on either side of the boundary that may be too alike to be told apart.

    Attributes
    ----------
    names : tuple of str
        The one held to be among the best, and its challenger.
    means : tuple of float
        As they are estimated.
    epsilon : float
        With this slack the study would have stopped when it last looked.
    planned : bool
        Whether it looks only at the end of a plan: then another ε would have made other plans.
    """

    names: tuple[str, str]
    means: tuple[float, float]
    epsilon: float
    planned: bool

    def __str__(self) -> str:
        one, other = (
            f"{on_one_line(name)!r} ({mean:.3g})"
            for name, mean in zip(self.names, self.means, strict=True)
        )
        end = "would have stopped at the last look" if self.planned else "would stop now"
        return f"{one} and {other} may be too alike to be told apart; ε = {self.epsilon:g} {end}"


@dataclass(frozen=True)
class Projection:
    """How many more results a study needs until it stops, including those of pending trials.

    The evaluations of an audit are included.

    Attributes
    ----------
    evaluations : int or None
        The best guess; None if there is none, and ``words`` say why.
    low, high : int or None
        An 80 % range: the study stops within it 8 times in 10, provided that the means are linear
        in the features and the noise is normal with standard deviation σ. ``high`` is None if
        it would be above 100,000,000, or if nothing is known yet.
    words : str
        All that, to be read.
    tie : Tie or None
        Two arms that may be too alike to be told apart, where ``high`` is 50 times the results so
        far or more.
    """

    evaluations: int | None
    low: int
    high: int | None
    words: str
    tie: Tie | None = None

    def __str__(self) -> str:
        return self.words

    @property
    def short(self) -> str:
        """The same in a few words, for a line; empty where nothing is left or known.

        Examples
        --------
        >>> Projection(1234, 617, None, "").short
        'about 1,200 left (620 to over 100,000,000)'
        """
        if self.evaluations == 0 or (self.evaluations is None and self.low <= 1):
            return ""
        also = "" if self.tie is None else f" · {self.tie}"
        if self.evaluations is None:
            return f"at least {two_digits(self.low)} left{also}"
        most = BEYOND if self.high is None else two_digits(self.high)
        return f"about {two_digits(self.evaluations)} left ({two_digits(self.low)} to {most}){also}"


def remaining(study: View, *, quick: bool = False) -> Projection:
    """The number of evaluations that a study still needs, projected from its estimates.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.
    quick : bool
        Only extrapolate the widths: takes a few milliseconds, for a progress line. It does not
        anticipate that pulls go where they are needed, so it is usually too high: by 15 to 50 %
        in the median of what was tried, and more at the beginning.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [0.0, 1.0], [0.9, 0.3]], m=1, sigma=2.0, seed=0)
    >>> print(remaining(study))
    at least 8 more (the first plan); how many will follow is not known yet
    >>> noise = np.random.default_rng(2)
    >>> while study.evaluations < 60:
    ...     trial = study.ask()
    ...     _ = study.tell(trial, [1.0, -0.5, 0.75][trial.arm] + 2.0 * noise.standard_normal())
    >>> print(remaining(study))
    about 110 more (80 % range: 44 to 2,700)
    """
    if study.done:
        return Projection(0, 0, 0, "none: the study has stopped")
    if study.audit.rejection is not None:
        words = (
            "not known: the results contradict linear means with this σ, and the study cannot stop"
        )
        return Projection(None, 0, None, words)
    if study.audit.is_running:
        left = len(study.audit.missing(study.trials)) + len(study.pending)
        return Projection(left, left, left, f"{left:,} more: the audit of linearity")
    if not study.aim.certifies:
        # Failed and cancelled trials have used nothing up.
        left = int(study.aim.room(study.evaluations + len(study.waiting)))
        return Projection(left, left, left, f"{left:,} more: the rest of the budget")
    engine, posterior = study.bound.engine, study.model.posterior
    opening, pulled = engine.initial_pulls(posterior)
    wanted = np.bincount(opening, minlength=len(pulled))
    initial = int(np.maximum(wanted - pulled, 0).sum())
    if initial and not study.model.initialized:
        which = "those after the pilot" if posterior.aside else "the initial pulls"
        words = f"at least {initial:,} more ({which}); how many will follow is not known yet"
        if makes_plans(study):
            words = (
                f"at least {initial:,} more (the first plan); how many will follow is not known yet"
            )
        return Projection(None, initial, None, words)
    if study.bound.relation.guide and study.round.strategy.has_guess:
        return _guided(study, quick=quick)
    seen, rank = _dimensions_seen(engine, posterior.pulls), engine.setup.features.shape[1]
    if seen < rank:
        words = (
            f"not known yet: the arms evaluated so far show {seen} of the {rank} dimensions of the "
            "features"
        )
        return Projection(None, 1, None, words)
    generator = np.random.default_rng([study.seed, SALT])
    draws = _drawn_means(engine, posterior, study.round, generator)
    seeds = generator.integers(0, 2**64, size=DRAWS, dtype=np.uint64)
    totals = np.sort(_totals(study, draws, seeds, quick=quick))
    told = posterior.observed
    low, middle, high = (
        _with_audit(study, max(float(totals[place - 1]) - told, 1.0))
        for place in (TENTH, (DRAWS + 1) // 2, DRAWS + 1 - TENTH)
    )
    return _with_tie(study, _projection(low, middle, high))


def _with_tie(study: View, found: Projection) -> Projection:
    tie = _tie(study, found.high)
    return found if tie is None else replace(found, words=f"{found.words}. {tie}", tie=tie)


def _guided(study: View, *, quick: bool) -> Projection:
    """What a list verified by own results still takes, by the model that guesses."""
    generator = np.random.default_rng([study.seed, SALT])
    left = np.sort(study.round.strategy.expected_results(DRAWS, generator))
    left = np.where(left > MOST, math.inf, left)
    places = TENTH - 1, (DRAWS + 1) // 2 - 1, DRAWS - TENTH
    found = _projection(*(float(left[place]) for place in places))
    if not quick:
        found = replace(found, words=f"{found.words}{_if_linear(study)}")
    return _with_tie(study, found)


def _if_linear(study: View) -> str:
    """What relying on the features would save, in words; empty where it would save little."""
    share = study.round.strategy.cost_if_linear()
    if share is None or share > LITTLE:
        return ""
    return (
        f". If the means were linear in the features, relying on that would take about "
        f"{100.0 * share:.0f} % of the evaluations; nothing here relies on it"
    )


def _tie(study: View, high: int | None) -> Tie | None:
    """The pair at the boundary, where telling it apart may take very long."""
    decision, statistic = study.model.decision, study.statistic
    far = high is None or high >= HOPELESS * study.evaluations
    if not far or decision is None or statistic is None or not 0.0 < statistic < math.inf:
        return None
    names, means = study.problem.names, study.table()["mean"]
    one, other = decision.b, decision.c
    return Tie(
        (names[one], names[other]),
        (float(means[one]), float(means[other])),
        _rounded_up(statistic),
        makes_plans(study),
    )


def _rounded_up(number: float) -> float:
    """The next number of two significant digits.

    Examples
    --------
    >>> _rounded_up(0.07729), _rounded_up(12.0), _rounded_up(0.5)
    (0.078, 12.0, 0.5)
    """
    step = Decimal(1).scaleb(math.floor(math.log10(number)) - 1)
    return float(Decimal(number).quantize(step, ROUND_CEILING))


def _with_audit(study: View, more: float) -> float:
    """The evaluations to the stop, plus those of the audit."""
    if not study.audit.wanted or not is_audited(study.bound) or math.isinf(more):
        return more
    return more + audit_size(study.problem.arms, study.evaluations + int(more))


def _projection(low: float, middle: float, high: float) -> Projection:
    """A range and a guess in words; what is beyond MOST is infinite here.

    Examples
    --------
    >>> print(_projection(617.2, 1234.0, math.inf))
    about 1,200 more (80 % range: 620 to over 100,000,000)
    >>> print(_projection(617.2, math.inf, math.inf))
    at least 620 more, and maybe over 100,000,000: the arms at the boundary look alike, and only a larger epsilon would let the study stop sooner
    """
    whole = [None if math.isinf(each) else math.ceil(each) for each in (low, middle, high)]
    least = MOST if whole[0] is None else whole[0]
    if whole[1] is None:
        start = BEYOND if whole[0] is None else f"at least {two_digits(least)}"
        also = "" if whole[0] is None else f", and maybe {BEYOND}"
        words = (
            f"{start} more{also}: the arms at the boundary look alike, and only a larger epsilon "
            "would let the study stop sooner"
        )
        return Projection(None, least, None, words)
    most = BEYOND if whole[2] is None else two_digits(whole[2])
    words = f"about {two_digits(whole[1])} more (80 % range: {two_digits(least)} to {most})"
    return Projection(whole[1], least, whole[2], words)


def two_digits(number: int) -> str:
    """A number rounded to two significant digits."""
    return f"{round(number, min(0, 2 - len(str(number)))):,}"


def _dimensions_seen(engine: AnyEngine, pulls: NDArray[np.int64]) -> int:
    if engine.setup.regularization == 0.0:  # the initial pulls span the features
        return engine.setup.features.shape[1]
    return int(np.linalg.matrix_rank(engine.setup.features[pulls > 0])) if pulls.any() else 0


def _drawn_means(
    engine: AnyEngine, posterior: Posterior, now: Any, generator: np.random.Generator
) -> Reals:
    """The estimates plus Xθ with θ from N(0, σ²V⁻¹), one row per draw."""
    x = engine.setup.features
    noise = generator.standard_normal((x.shape[1], DRAWS))
    if is_identity(x):
        precisions = posterior.pulls * engine.setup.weights + engine.setup.regularization
        away = noise / np.sqrt(precisions)[:, None]
    else:
        away = x @ solve_upper(
            factor(engine, posterior.pulls, engine.setup.regularization).T, noise
        )
    return np.asarray(_centre(engine, posterior, now) + engine.setup.sigma * away.T)


def _centre(engine: AnyEngine, posterior: Posterior, now: Any) -> Reals:
    """The means as they are estimated, by the results of a pilot too."""
    if not engine.setup.has_pilot:
        return engine.estimates(posterior, now).means
    # It may be set aside, but it is known.
    x, sums = engine.setup.features, posterior.state.sums * engine.setup.weights
    if is_identity(x):
        return np.asarray(
            sums / (posterior.pulls * engine.setup.weights + engine.setup.regularization)
        )
    lower = factor(engine, posterior.pulls, engine.setup.regularization)
    theta = solve_upper(lower.T, solve_lower(lower, (x.T @ sums)[:, None]))
    return np.asarray((x @ theta)[:, 0])


def _totals(study: View, draws: Reals, seeds: NDArray[np.uint64], *, quick: bool) -> Reals:
    """Evaluations at the stop, those told included, if the means were as drawn."""
    engine, posterior = study.bound.engine, study.model.posterior
    told, pilot = posterior.observed, posterior.pilot
    most = told + engine.affordable(WORK / DRAWS)
    if quick or most < WORTH_PLAYING * told:
        return by_widths(engine, posterior.pulls, pilot, draws)
    totals = np.zeros(len(draws))
    for k, means in enumerate(draws):
        model, origin = study.bound.rewards(means), (posterior, study.round)
        played = engine.replicate(*model, seeds[k : k + 1], most, origin=origin)
        totals[k] = played.samples[0]
        if not played.stopped[0]:
            totals[k] = by_widths(engine, played.pulls[0], pilot, draws[k : k + 1])[0]
    return totals


NEAR = 64  # arms on either side of the boundary whose pairs are looked at


def whitened(engine: AnyEngine, pulls: Integers, arms: Integers) -> Reals:
    """Vectors whose inner products are those of the arms under V⁻¹, one row per arm."""
    x = engine.setup.features
    if is_identity(x):
        return x[arms] / np.sqrt(pulls * engine.setup.weights + engine.setup.regularization)
    return solve_lower(factor(engine, pulls, engine.setup.regularization), x[arms].T).T


def factor(engine: AnyEngine, pulls: Integers, ridge: float) -> Reals:
    """The Cholesky factor of ridge·I + Σ_a N_a x_a x_aᵀ, each arm in units of its noise."""
    x, counts = engine.setup.features[pulls > 0], (pulls * engine.setup.weights)[pulls > 0]
    return np.asarray(np.linalg.cholesky((x.T * counts) @ x + ridge * np.eye(x.shape[1])))


def by_widths(engine: AnyEngine, pulls: Integers, pilot: Integers, draws: Reals) -> Reals:
    """Evaluations at the stop if the means were as drawn, and the pulls went on as they went.

    ``pilot`` are the pulls that were set aside, all 0 where none were.
    """
    x = engine.setup.features
    order = np.argsort(-draws, axis=1)
    inside = order[:, max(0, engine.setup.m - NEAR) : engine.setup.m]
    outside = order[:, engine.setup.m : engine.setup.m + NEAR]
    near = np.unique(np.hstack([inside, outside]))
    whitened_arms = np.zeros(x.shape)
    whitened_arms[near] = whitened(engine, pulls - pilot, near)
    shares = [
        _worst_pair(engine, whitened_arms, means, b, c)
        for means, b, c in zip(draws, inside, outside, strict=True)
    ]
    told, aside = int(pulls.sum()), int(pilot.sum())
    if not engine.setup.has_pilot:
        threshold = _later_threshold(engine, pulls)
        return np.array([_time(share, told, threshold) for share in shares])
    if not aside:
        return np.array([_with_pilot(engine, share, told) for share in shares])
    learnt = _log_det(engine, pulls) - _log_det(engine, pilot)
    later = _pilot_threshold(engine, told, learnt)
    since = told - aside
    return np.array([aside + _time(share, since, lambda n: later(aside + n)) for share in shares])


def _with_pilot(engine: AnyEngine, share: float, told: int) -> float:
    """Evaluations at the stop, seen from within a pilot, which ends at Z = r/2."""
    ends = max(float(told), told * engine.setup.features.shape[1] * share**2)
    if ends - told > MOST:
        return math.inf
    later = _pilot_threshold(engine, ends, 0.0)
    return ends + _time(share, told, lambda n: later(ends + n), least=1.0)


def _pilot_threshold(engine: AnyEngine, at: float, learnt: float) -> Callable[[float], float]:
    """C(t) after a pilot: ln det is ``learnt`` at some time, and the rest is r on average."""
    rank = engine.setup.features.shape[1]

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
    if engine.setup.alone:
        widths = np.sqrt(squares_b) + np.sqrt(squares_c)
    else:
        widths = np.sqrt(np.maximum(squares_b + squares_c - 2.0 * b @ c.T, 0.0))
    gaps = means[inside][:, None] - means[outside] + engine.setup.epsilon
    shares = np.full(gaps.shape, np.inf)
    np.divide(widths, gaps, out=shares, where=gaps > 0.0)
    return engine.setup.sigma * float(shares.max())


def _later_threshold(engine: AnyEngine, pulls: Integers) -> Callable[[float], float]:
    """C(t), if the pulls of all arms grow alike from now on."""
    told, rank = int(pulls.sum()), engine.setup.features.shape[1]
    log_det = 0.0
    if engine.setup.shift > 0.0:
        log_det = _log_det(engine, pulls) - rank * math.log(engine.setup.shift)

    def threshold(time: float) -> float:
        grown = log_det + rank * math.log(time / told) if engine.setup.shift > 0.0 else 0.0
        return engine.threshold_at(time, grown)

    return threshold


def _log_det(engine: AnyEngine, pulls: Integers) -> float:
    """Ln det of shift·I + Σ_a N_a x_a x_aᵀ."""
    if is_identity(engine.setup.features):
        return float(np.log(pulls * engine.setup.weights + engine.setup.shift).sum())
    return 2.0 * float(np.log(np.diag(factor(engine, pulls, engine.setup.shift))).sum())


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
