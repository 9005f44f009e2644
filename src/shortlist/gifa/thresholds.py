"""Thresholds C_{t,δ}: how many standard deviations wide the gap indices are.

A new threshold is a function (t, ln det, known) → C and a ``Threshold`` that says what its proof assumes, and
where it is proven. All of them are in ``THRESHOLDS``. The authors named in ``source`` are cited by a report if
they are in ``works.toml``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shortlist import advice
from shortlist.arrays import Reals
from shortlist.engine.threshold import NO_LEVEL, ArmInterval, ThresholdInputs
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.gifa.rules import Rule, rule, wrong_answer

ALL_AT_ONCE = (
    "If what the guarantee assumes is true, every arm's mean lies within its bounds, at all times "
    "at once, with probability at least {level}."
)
EACH_SIDE = (
    "If what the guarantee assumes is true, no arm's mean is below its lower bound, at all times at "
    "once, with probability at least {level}, and with at least the same probability no arm's mean "
    "is above its upper bound."
)


class Known(NamedTuple):
    """What the function of a threshold is given beside t and ln det: one number each.

    ``regularization`` is λ_V as the formula has it, and ``S`` is NaN where unknown.
    """

    delta: float
    sigma: float
    arms: int
    dimension: int
    rank: int
    longest: float
    regularization: float
    S: float


@dataclass(frozen=True)
class Computed:
    """A threshold in a setting: (t, ln det) → C."""

    rule: Rule
    known: Known

    def __call__(self, t: int, log_det: Reals) -> Reals:
        """C of every run."""
        C = self.rule(t, log_det, self.known)
        if self._is_built_in:
            return np.asarray(C)
        try:
            found = np.asarray(C, np.float64)
        except (TypeError, ValueError):
            raise wrong_answer(self.rule, repr(C)) from None
        if found.ndim and found.shape != np.shape(log_det):
            raise wrong_answer(self.rule, f"{found.size} numbers for {np.size(log_det)} runs")
        if np.isnan(found).any():
            raise wrong_answer(self.rule, "a number that is not defined (NaN)")
        if not (found > 0.0).all():
            raise wrong_answer(self.rule, f"{found.min():g}, where C must be above 0")
        return found

    def by_time(self, times: Iterable[int]) -> Reals:
        """C at many moments, where it is one of this package's and reads nothing but t."""
        function, none = self.rule.function, np.zeros(0)
        return np.array([function(t, none, self.known) for t in times])

    @cached_property
    def _is_built_in(self) -> bool:
        return any(self.rule is each for each in BUILT_IN)


@dataclass(frozen=True)
class Threshold:
    """A threshold: its function, and what its proof asks for.

    Attributes
    ----------
    rule : Rule
        ``(t, log_det, known) → C``, one number or one for each run.
    proven : bool
        Whether a theorem covers it at all.
    source : str
        Where it was published, or where its proof is.
    coverage : str
        How often the arms' own intervals contain their means, in a sentence; {level} stands for 1 −
        δ, {interval} for what the intervals are.
    needs_S : bool
        Whether it needs a bound S on ‖θ‖ (and with it a regularisation above 0).
    needs_span : bool
        Whether it needs initial pulls that span the features.
    rounds : callable
        From the number of initial pulls, how often ``initialization="auto"`` repeats them.
    regularization : callable
        (σ, S) → the regularisation it is meant to be used with.
    shift : callable
        From the setting, s of the ln det(I + A/s) it reads; 0 where it reads none.
    broken : callable
        From the setting, which assumptions do not hold.
    own_regularization : callable, optional
        σ → λ_V as the formula has it, where it differs from the posterior's (as published).
    interval : ArmInterval, optional
        What an arm's own interval is, where it is not the mean ± C standard errors.
    """

    rule: Rule
    proven: bool
    source: str
    coverage: str
    needs_S: bool = False
    needs_span: bool = False
    rounds: Callable[[int], int] = lambda once: 1
    regularization: Callable[[float, float | None], float] = lambda sigma, S: 0.0
    shift: Callable[[ThresholdInputs], float] = lambda setting: 0.0
    broken: Callable[[ThresholdInputs], list[str]] = field(default=lambda setting: [])
    own_regularization: Callable[[float], float] | None = None
    interval: ArmInterval | None = None

    @property
    def name(self) -> str:
        """The name of its rule."""
        return self.rule.name

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        return self.rule.summary

    def of(self, setting: ThresholdInputs) -> Callable[[int, Reals], Reals]:
        """(t, ln det) → C in this setting."""
        self.check(setting)
        known = Known(
            setting.delta,
            setting.sigma,
            setting.arms,
            setting.dimension,
            setting.rank,
            setting.longest,
            self.formula_regularization(setting),
            math.nan if setting.S is None else setting.S,
        )
        return Computed(self.rule, known)

    def check(self, setting: ThresholdInputs) -> None:
        """Raise where the threshold cannot be computed at all."""
        if self.needs_S and setting.S is None:
            raise InvalidSetting(
                f"threshold {self.name!r} needs S, a bound on ‖θ‖, but none was given: give {advice.setting('S')}, or "
                f"use {advice.setting('threshold', 'self_normalized')}, which needs none."
            )
        if self.needs_S and self.formula_regularization(setting) <= 0.0:
            raise InvalidSetting(
                f"threshold {self.name!r} needs a regularization above 0, got "
                f"{self.formula_regularization(setting)}: leave regularization=None for its own choice, or use "
                f"{advice.setting('threshold', 'self_normalized')}."
            )
        if self.needs_span and setting.weakest <= 0.0:
            raise InvalidSetting(
                f"threshold {self.name!r} needs initial pulls that span the features: use "
                "GIFA(…, initialization='span') or 'each', or "
                f"{advice.setting('threshold', 'frequentist')} with {advice.setting('S')}."
            )

    def formula_regularization(self, setting: ThresholdInputs) -> float:
        """λ_V as it enters the formula."""
        if self.own_regularization is not None:
            return self.own_regularization(setting.sigma)
        return setting.regularization

    def why_not_proven(self, setting: ThresholdInputs) -> list[str]:
        """The reasons why no theorem covers this threshold in this setting; empty if one does."""
        if not self.proven:
            return [f"the threshold {self.name!r} has no proof"]
        reasons = list(self.broken(setting))
        own = self.own_regularization is not None
        if own and self.formula_regularization(setting) != setting.regularization:
            reasons.append(
                f"the threshold is computed with λ_V = {self.formula_regularization(setting):.3g} but the "
                f"posterior uses {setting.regularization:.3g}"
            )
        return reasons


INFLATION = 0.1  # u of the self-normalised bound
AUTO = "auto"  # in place of a name: whatever suits the problem


def published_regularization(sigma: float) -> float:
    """λ_V = (σ/20)² of the published runs (Hoffman et al. 2014)."""
    return (sigma / 20.0) ** 2


@rule("threshold")
def self_normalized(t: int, log_det: Reals, known: Known) -> Reals:
    """sqrt(2(1+u)(ln(1/δ) + ½ ln det(I + A/(uc)))), c = λ_min of the initial pulls, u = 0.1."""
    return np.sqrt(2.0 * (1.0 + INFLATION) * (math.log(1.0 / known.delta) + 0.5 * log_det))


@rule("threshold")
def frequentist(t: int, log_det: Reals, known: Known) -> float:
    """Equation (2) of the paper: sqrt(2 ln(1/δ) + N ln(1 + (t+1)L²/(λ_V N))) + sqrt(λ_V) S/σ."""
    growth = (t + 1) * known.longest**2 / (known.regularization * known.dimension)
    spread = known.dimension * math.log1p(growth)
    bias = math.sqrt(known.regularization) * known.S / known.sigma
    return math.sqrt(2.0 * math.log(1.0 / known.delta) + spread) + bias


@rule("threshold")
def lucb1(t: int, log_det: Reals, known: Known) -> float:
    """sqrt(2 ln(5Kt⁴/(4δ))): a union over arms, counts and rounds."""
    return math.sqrt(2.0 * math.log(5.0 * known.arms * t**4 / (4.0 * known.delta)))


@rule("threshold", traits=("heuristic",))
def heuristic(t: int, log_det: Reals, known: Known) -> float:
    """sqrt(2 ln((1 + ln t)/δ)): heuristic, not proven."""
    return math.sqrt(2.0 * math.log((1.0 + math.log(t)) / known.delta))


def _unregularized(setting: ThresholdInputs) -> list[str]:
    return [] if setting.regularization == 0.0 else ["it needs unregularised least squares"]


def _classical(setting: ThresholdInputs) -> list[str]:
    reasons = []
    if not setting.classical:
        reasons.append("it bounds each arm by its own pulls and does not cover a linear model")
    if setting.regularization != 0.0:
        reasons.append("it needs unregularised means")
    return reasons


def _other_theta(setting: ThresholdInputs) -> list[str]:
    if not setting.features_unused:
        return []
    return [
        "S bounds ‖θ‖ for the features, and without their use a bound on the norm of the K means is "
        "needed (name the arms in place of the features, and give that as S)"
    ]


def _one_by_one(setting: ThresholdInputs) -> list[str]:
    reasons = _classical(setting)
    if setting.indices != "individual":
        reasons.append("it bounds arms one by one and does not cover paired indices")
    return reasons


THRESHOLDS: dict[str, Threshold] = {
    threshold.name: threshold
    for threshold in (
        Threshold(
            self_normalized,
            proven=True,
            source="Jedra and Proutière 2020",
            coverage=ALL_AT_ONCE,
            needs_span=True,
            # A larger c narrows every later width. Ten was chosen by looking at the paper's three
            # classic instances; benchmarks/samples.py prints it beside a single round.
            rounds=lambda once: 10,
            shift=lambda s: INFLATION * s.weakest,
            broken=_unregularized,
        ),
        Threshold(
            frequentist,
            proven=True,
            source="equation (2) of Réda et al. 2021",
            coverage=ALL_AT_ONCE,
            needs_S=True,
            regularization=lambda sigma, S: published_regularization(sigma),
            broken=_other_theta,
        ),
        Threshold(
            lucb1,
            proven=True,
            source="Kalyanakrishnan et al. 2012",
            coverage=EACH_SIDE,
            broken=_one_by_one,
        ),
        Threshold(
            heuristic,
            proven=False,
            source="Section 5 of Réda et al. 2021",
            coverage=NO_LEVEL,
        ),
    )
}


BUILT_IN = tuple(each.rule for each in THRESHOLDS.values())


def user_threshold(function: Rule) -> Threshold:
    """A threshold of the user's own: never called proven.

    Its function is given (t, log_det, known); log_det is ln det(V/λ_V), or 0 without regularisation.
    """
    return Threshold(
        function,
        proven=False,
        source="the user",
        coverage=NO_LEVEL,
        shift=lambda s: s.regularization,
    )


def find_threshold(choice: str | Threshold | Rule | Callable[..., float]) -> Threshold:
    """The threshold meant by a name or by a function."""
    if isinstance(choice, Threshold):
        return choice
    if isinstance(choice, str):
        if choice not in THRESHOLDS:
            raise unknown_name("threshold", choice, [AUTO, *THRESHOLDS])
        return THRESHOLDS[choice]
    if not callable(choice):
        raise InvalidSetting(
            "a threshold is a name or a function, one for all algorithms; got "
            f"{type(choice).__name__}. To compare thresholds, compose algorithms that differ in "
            "them, such as shortlist.GIFA(threshold='heuristic', name='m-LinGapE, heuristic')."
        )
    return user_threshold(choice if isinstance(choice, Rule) else rule("threshold")(choice))


HORIZON = 100  # evaluations per dimension: neither an easy problem nor a hard one


def expected_evidence(threshold: Threshold, setting: ThresholdInputs) -> float:
    """About what Z must reach at a stop after ``HORIZON`` evaluations per dimension.

    Every dimension is taken to be explored alike.

    Examples
    --------
    >>> from shortlist.gifa.thresholds import THRESHOLDS
    >>> setting = ThresholdInputs(
    ...     arms=4, dimension=3, rank=3, longest=1.0, sigma=0.5, delta=0.05, S=1.0,
    ...     regularization=0.0, weakest=1.0, classical=False, indices="paired", m=2,
    ... )
    >>> [round(expected_evidence(THRESHOLDS[name], setting), 1) for name in ("self_normalized",)]
    [14.7]
    """
    time, rank = HORIZON * setting.rank, setting.rank
    shift = threshold.shift(setting)
    log_det = rank * math.log1p(HORIZON * setting.longest**2 / shift) if shift > 0.0 else 0.0
    C = float(threshold.of(setting)(time, np.array(log_det)))
    return 0.5 * C**2


def least_demanding(settings: Mapping[str, ThresholdInputs]) -> Threshold:
    """The threshold expected to ask for least, among those that are proven in their settings."""
    asked = {}
    for name, setting in settings.items():
        threshold = THRESHOLDS[name]
        try:
            threshold.check(setting)
        except InvalidSetting:
            continue
        if not threshold.why_not_proven(setting):
            evidence = expected_evidence(threshold, setting)
            if not math.isnan(evidence):  # it depends on σ, which is to be estimated
                asked[name] = evidence
    if not asked:
        raise InvalidSetting(
            f"{advice.setting('threshold', 'auto')} found no threshold that is proven for these settings (initial pulls, "
            "regularization, S). Name a threshold, or keep the defaults of these settings."
        )
    return THRESHOLDS[min(asked, key=lambda name: asked[name])]
