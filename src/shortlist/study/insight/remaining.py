"""How many evaluations a study still needs, as far as its estimates can tell.

Where plans are made, what the pairs of the list still lack says it, for means drawn as results make them
likely. Else the widths of the pairs next to the boundary shrink as 1/√t as long as the arms keep their
shares of the pulls, and the study stops when all of them are below the gaps. What is uncertain is how
large the gaps are: the range takes each at either end of its own 80 % interval. No round is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shortlist import notebook
from shortlist.advice import advise
from shortlist.arrays import Label, Reals
from shortlist.engine.contract import AnyEngine
from shortlist.engine.fits import Posterior
from shortlist.printable import cut, on_one_line
from shortlist.study.answer import estimated
from shortlist.study.insight.audit import audit_size, is_audited
from shortlist.study.insight.certain import certain
from shortlist.study.view import View

# Where |gap| is taken to be, in standard deviations: beside the estimate, and at least. These are its
# 90 %, 50 % and 10 % quantiles, exactly if the estimate is 0 or large: a large gap is a short study.
GAP_QUANTILES = ((1.282, 1.645), (0.0, 0.674), (-1.282, 0.126))
NEAR = 64  # arms on either side of the boundary whose pairs are compared
DRAWS = 29  # of the means, where plans are made
MOST = 10**8  # beyond, a projection is of no use to anybody
BEYOND = f"over {MOST:,}"
MOST_LETTERS = 14  # of a name on a line
HOPELESS = 50  # times the results so far: who needs that many more may be waiting for a tie
SALT = 0x72656D61  # a user's own generator of the same seed must give other numbers


@dataclass(frozen=True)
class Tie:
    """Two arms on either side of the boundary that may be too alike to be told apart.

    Attributes
    ----------
    names : tuple of int or str
        The one held to be among the best, and its challenger.
    means : tuple of float
        As they are estimated.
    epsilon : float or None
        With this slack the study stops now: ``study.widen(epsilon)``. None if it is as much as all
        means seen differ by.
    """

    names: tuple[Label, Label]
    means: tuple[float, float]
    epsilon: float | None

    def __str__(self) -> str:
        one, other = (
            f"{on_one_line(repr(name))} ({mean:.3g})"
            for name, mean in zip(self.names, self.means, strict=True)
        )
        alike = f"{one} and {other} may be too alike to be told apart"
        return f"{alike}{self._way}"

    @property
    def _way(self) -> str:
        if self.epsilon is None:
            return ""
        return f"; {advise('widen', epsilon=self.epsilon)} would end the study now"

    @property
    def short(self) -> str:
        """The same for a line that may be cut."""
        one, other = (cut(str(name), MOST_LETTERS) for name in self.names)
        enough = "" if self.epsilon is None else f", ε = {self.epsilon:g}?"
        return f"{one} ≈ {other}{enough}"

    @property
    def advice(self) -> str:
        """The same with what to do."""
        if self.epsilon is None:
            way = advise("widen", epsilon=None)
            return f"{self}. {way} sets the difference that you do not care about."
        return f"{self}, if you do not care about a smaller difference. Else it may take very long."


@dataclass(frozen=True)
class Projection:
    """How many more results a study needs until it stops, including those of pending trials.

    The evaluations of an audit are included.

    Attributes
    ----------
    evaluations : int or None
        The best guess; None if there is none, and ``words`` say why.
    low, high : int or None
        An 80 % range: the study stops within it 8 times in 10 or more often, provided that the arms
        keep their shares of the pulls, that what the answer assumes about the means holds, and that
        the noise is normal with standard deviation σ. ``high`` is None if it would be above
        100,000,000, or if nothing is known yet.
    words : str
        All that, to be read.
    tie : Tie or None
        Two arms that may be too alike to be told apart, where ``high`` is 50 times the results so
        far or more.
    cost : float or None
        What the best guess would cost, at the mean cost of an evaluation so far; None if there is no
        guess, or no costs were stated.
    """

    evaluations: int | None
    low: int
    high: int | None
    words: str
    tie: Tie | None = None
    cost: float | None = None

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return notebook.paragraph(f"To the stop: {self.words}.")

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
        also = "" if self.tie is None else f"{self.tie.short} · "
        if self.evaluations is None:
            return f"{also}at least {two_digits(self.low)} left"
        most = BEYOND if self.high is None else two_digits(self.high)
        return f"{also}about {two_digits(self.evaluations)} left ({two_digits(self.low)} to {most})"


def remaining(study: View) -> Projection:
    """The number of evaluations that a study still needs, projected from its estimates.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [0.0, 1.0], [0.9, 0.3]], m=1, sigma=2.0, seed=0, intercept=False)
    >>> print(remaining(study))
    at least 8 more (pulls of the first plan); how many will follow is not known yet
    >>> noise = np.random.default_rng(2)
    >>> while study.evaluations < 60:
    ...     trial = study.ask()
    ...     _ = study.tell(trial, [1.0, -0.5, 0.75][trial.arm] + 2.0 * noise.standard_normal())
    >>> print(remaining(study))
    about 730 more, if the means are as they seem (80 % range: 85 to 26,000). 0 (0.727) and 2 (0.589) may be too alike to be told apart
    """
    return _with_cost(study, _remaining(study))


def _with_cost(study: View, projection: Projection) -> Projection:
    """A projection with what it would cost, where costs were stated."""
    costs, told = study.problem.costs, study.evaluations
    if not costs.stated or not projection.evaluations or not told:
        return projection
    cost = projection.evaluations * study.cost / told
    words = f"{projection.words}; at the mean cost so far: {costs.words(float(f'{cost:.2g}'))}"
    return replace(projection, cost=cost, words=words)


def _remaining(study: View) -> Projection:
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
    if study.model.initialized:
        generator = np.random.default_rng([study.seed, SALT])
        drawn = study.procedure.engine.projected(study.round, DRAWS, generator)
        if drawn is not None:
            return _by_draws(study, drawn)
    if (early := _too_early(study)) is not None:
        return early
    totals = _by_widths(study, study.model.posterior.copy())
    told = study.evaluations
    more = [_with_audit(study, max(total - told, 1.0)) for total in totals]
    return _with_tie(study, _projection(more, "if the arms keep their shares of the pulls"))


def _too_early(study: View) -> Projection | None:
    """What can be said before the means of all arms are estimated; None afterwards."""
    engine, posterior = study.procedure.engine, study.model.posterior
    opening, pulled = engine.initial_pulls(posterior)
    initial = int(np.maximum(np.bincount(opening, minlength=len(pulled)) - pulled, 0).sum())
    if initial and not study.model.initialized:
        which = engine.setup.pace.opening_pulls
        words = f"at least {initial:,} more ({which}); how many will follow is not known yet"
        return Projection(None, initial, None, words)
    if study.stage == "rounds" and study.statistic is None:
        left = study.round.until_decision
        words = f"at least {left:,} more, before the arms can be compared again"
        return Projection(None, left, None, words)
    if (
        engine.setup.regularization == 0.0
    ):  # the initial pulls span the features, or a control fails
        return None if posterior.ready else Projection(None, 1, None, "not known")
    features = engine.setup.features
    seen = int(np.linalg.matrix_rank(features[pulled > 0])) if pulled.any() else 0
    if seen == features.shape[1]:
        return None
    words = (
        f"not known yet: the arms evaluated so far show {seen} of the {features.shape[1]} "
        "dimensions of the features"
    )
    return Projection(None, 1, None, words)


def _with_tie(study: View, projection: Projection) -> Projection:
    tie = _tie(study, projection.high)
    return (
        projection
        if tie is None
        else replace(projection, words=f"{projection.words}. {tie}", tie=tie)
    )


def _by_draws(study: View, left: Reals) -> Projection:
    """By what a list still takes for means that were drawn."""
    left = np.where(left > MOST, math.inf, left)
    quantiles = np.quantile(left, [0.1, 0.5, 0.9], method="nearest").tolist()
    provided = "if the means are as they seem"
    if study.problem.blocks.shifts:
        return _with_tie(study, _by_plates(study, quantiles, provided))
    more = [_with_audit(study, each) for each in quantiles]
    return _with_tie(study, _projection(more, provided))


def _by_plates(study: View, ends: Sequence[float], provided: str) -> Projection:
    """Results of arms that may be listed as whole blocks of the last one's size, beside open trials."""
    last = study.trials[-1].block_index
    wells = [trial.arm for trial in study.trials if trial.block_index == last]
    listed = max(int(study.problem.listable[wells].sum()), 1)
    asked = int(study.problem.listable[[trial.arm for trial in study.pending]].sum())
    each, under_way = listed + sum(study.problem.controls.wells), len(study.pending)
    plates = [end if math.isinf(end) else max(math.ceil((end - asked) / listed), 0) for end in ends]
    counted = [under_way + each * number for number in plates]
    projection = _projection([max(number, 1) for number in counted], provided)
    whole = [f"over {MOST // each:,}" if math.isinf(n) else f"{n:,}" for n in plates]
    if projection.evaluations is None or under_way:
        return projection
    between = f" ({whole[0]} to {whole[2]})" if whole[0] != whole[2] else ""
    blocks = f"{whole[1]} block{'s' * (whole[1] != '1')} of {each}{between}"
    return replace(projection, words=f"{projection.words}: {blocks}")


def _tie(study: View, high: int | None) -> Tie | None:
    """The pair at the boundary, where telling it apart may take very long."""
    far = high is None or high >= HOPELESS * study.evaluations
    now = certain(study) if far else None
    decision = study.model.decision
    if now is None or decision is None or not now.stops_at:
        return None
    names, means = study.problem.names, estimated(study.model.table())
    one, other = decision.b, decision.c
    return Tie(
        (names[one], names[other]),
        (float(means[one]), float(means[other])),
        now.stops_at if now.stops_at < float(means.max() - means.min()) else None,
    )


def _with_audit(study: View, more: float) -> float:
    """The evaluations to the stop, plus those of the audit that are still to come."""
    if not study.audit.wanted or not is_audited(study.procedure) or math.isinf(more):
        return more
    made = len(study.audit.own(study.trials))
    return more + max(audit_size(study.problem, study.evaluations + int(more)) - made, 0)


def _projection(ends: Sequence[float], provided: str) -> Projection:
    """A range and a guess (low, middle, high) in words; what is beyond MOST is infinite here.

    Examples
    --------
    >>> print(_projection([617.2, 1234.0, math.inf], "if it does not rain"))
    about 1,200 more, if it does not rain (80 % range: 620 to over 100,000,000)
    >>> print(_projection([617.2, math.inf, math.inf], "if it does not rain"))
    at least 620 more, and maybe over 100,000,000: the arms at the boundary look alike, and only a larger epsilon would let the study stop sooner
    """
    whole = [None if math.isinf(each) else math.ceil(each) for each in ends]
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
    between = f"{two_digits(least)} to {most}"
    words = f"about {two_digits(whole[1])} more, {provided} (80 % range: {between})"
    return Projection(whole[1], least, whole[2], words)


def two_digits(number: int) -> str:
    """A number rounded to two significant digits."""
    return f"{round(number, min(0, 2 - len(str(number)))):,}"


def _by_widths(study: View, posterior: Posterior) -> list[float]:
    """Evaluations at the stop if the gaps are large, as estimated, and small."""
    engine = study.procedure.engine
    setup, told = engine.setup, posterior.observed
    estimated = engine.estimates(posterior, study.round)
    order = np.argsort(-estimated.means, kind="stable")
    order = order[study.problem.listable[order]]
    inside, outside = order[max(0, setup.m - NEAR) : setup.m], order[setup.m : setup.m + NEAR]
    gaps = np.abs(estimated.means[inside][:, None] - estimated.means[outside])
    own, apart = _deviations(posterior, setup.sigma, inside, outside)
    widths = own if setup.alone else apart
    threshold = _later_threshold(engine, posterior)
    times = []
    for beside, least in GAP_QUANTILES:
        taken = np.maximum(gaps + beside * apart, least * apart) + setup.epsilon
        ratios = np.full(taken.shape, np.inf)
        np.divide(widths, taken, out=ratios, where=taken > 0.0)
        times.append(_time(float(ratios.max()), told, threshold))
    return times


def _deviations(
    posterior: Posterior, sigma: float, inside: Any, outside: Any
) -> tuple[Reals, Reals]:
    """For every pair across the boundary: σ‖x_b‖ + σ‖x_c‖, and σ‖x_b − x_c‖, in the norm of V⁻¹."""
    variances = posterior.variances
    b, c = variances[inside][:, None], variances[outside]
    products = np.array([posterior.row(int(arm))[outside] for arm in inside])
    apart = np.sqrt(np.maximum(b + c - 2.0 * products, 0.0))
    return sigma * (np.sqrt(b) + np.sqrt(c)), sigma * apart


def _later_threshold(engine: AnyEngine, posterior: Posterior) -> Callable[[float], float]:
    """C after so many evaluations, if the arms keep their shares of the pulls."""
    told, learnt = posterior.observed, posterior.log_det
    rank = engine.setup.features.shape[1]

    def threshold(time: float) -> float:
        return engine.threshold_at(time, learnt + rank * math.log(time / told))

    return threshold


def _time(ratio: float, told: int, threshold: Callable[[float], float]) -> float:
    """The least t ≥ told with C(t) · ratio · sqrt(told/t) ≤ 1, from below; infinite beyond MOST."""
    time = float(told)
    while time - told <= MOST:
        later = told * (threshold(time) * ratio) ** 2
        if later <= 1.001 * time:
            return max(time, later)
        time = later
    return math.inf
