"""Thresholds C_{t,δ}: how many standard deviations wide the gap indices are.

A new threshold provides a compiled function (t, ln det, constants) → C and a ``Threshold`` that says
how its constants follow from ``ThresholdInputs``, what its proof assumes, and where it is proven. All
of them are in ``THRESHOLDS``. All are called by their addresses, so that a study compiles only its own.
The authors named in ``source`` are cited by a report if they are in ``works.toml``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shortlist import advice
from shortlist.arrays import Reals
from shortlist.errors import InvalidSetting
from shortlist.numerics.jit import compiled
from shortlist.rules.rule import Rule, rule

ALL_AT_ONCE = (
    "If what the guarantee assumes is true, every arm's mean lies within its bounds, at all times "
    "at once, with probability at least {level}."
)
EACH_SIDE = (
    "If what the guarantee assumes is true, no arm's mean is below its lower bound, at all times at "
    "once, with probability at least {level}, and with at least the same probability no arm's mean "
    "is above its upper bound."
)
EACH_ARM = (
    "If what the guarantee assumes is true, each arm's mean lies within its bounds, at all times at "
    "once, with probability at least {level}, for each arm by itself and not for all arms together."
)
NO_LEVEL = (
    "The bounds are {interval}, with no proven level: it is not known how often they contain an "
    "arm's mean."
)


class ArmInterval(NamedTuple):
    """What the interval of an arm alone is."""

    formula: str  # in signs
    meaning: str  # in words, with what the signs are
    short: str = "the mean ± C standard errors"


def usual_interval(
    *, classical: bool, regularization: float = 0.0, one_sigma: bool = True
) -> ArmInterval:
    """What an arm's interval is where it is the mean ± C standard errors.

    ``regularization`` is λ_V, and ``one_sigma`` says that all arms have the same σ; σ is the largest.

    Examples
    --------
    >>> usual_interval(classical=True).meaning
    'mean ± C σ/√N, with N its evaluations and C the threshold'
    >>> usual_interval(classical=False).meaning
    'mean ± C σ √(xᵀV⁻¹x), with x its features, V the sum of x xᵀ over the evaluations, and C the threshold'
    >>> usual_interval(classical=True, regularization=0.5, one_sigma=False).meaning
    'mean ± C σ/√N, with N λ_V = 0.5 plus its evaluations, each counted σ²/σ_a² times, and C the threshold'
    """
    counted = "" if one_sigma else ", each counted σ²/σ_a² times,"
    ridge = f"λ_V = {regularization:g} {{}}plus " if regularization else ""
    if classical:
        meaning = (
            f"mean ± C σ/√N, with N {ridge.format('')}its evaluations{counted} and C the threshold"
        )
        return ArmInterval("μ̂ ± Cσ/√N", meaning)
    return ArmInterval(
        "μ̂ ± Cσ√(xᵀV⁻¹x)",
        f"mean ± C σ √(xᵀV⁻¹x), with x its features, V {ridge.format('times the unit matrix ')}the "
        f"sum of x xᵀ over the evaluations{counted or ','} and C the threshold",
    )


@dataclass(frozen=True)
class ThresholdInputs:
    """What a threshold may depend on; nothing of it is learnt from rewards.

    ``longest`` is the largest ‖x_a‖, and ``weakest`` is λ_min of Σ x xᵀ over the initial pulls.

    Where ``classical``, every arm is a dimension of its own, and θ are the K means. Where
    ``features_unused`` as well, there are features that the algorithm does not look at, and S bounds
    the norm of another θ than this one.
    """

    arms: int
    dimension: int
    rank: int
    longest: float
    sigma: float
    delta: float
    S: float | None
    regularization: float
    weakest: float
    classical: bool
    indices: str
    m: int = 1
    features_unused: bool = False

    @classmethod
    def of(cls, problem: Any, *, classical: bool, rank: int, **others: Any) -> ThresholdInputs:
        """Those of a ``Problem``, for an algorithm that ignores its features if ``classical``.

        ``rank`` is that of the features in use; ``others`` replace what the problem gives.
        """
        given = {
            "arms": problem.arms,
            "dimension": problem.arms if classical else problem.dimension,
            "longest": 1.0 if classical else problem.longest,
            "sigma": problem.sigma,
            "delta": problem.delta,
            "S": problem.S,
            "regularization": 0.0,
            "weakest": 0.0,
            "classical": classical or problem.is_classical,
            "indices": "paired",
            "m": problem.m,
            "features_unused": classical and not problem.is_classical,
        }
        return cls(rank=rank, **{**given, **others})


@dataclass(frozen=True)
class Threshold:
    """A threshold: its compiled function, its constants, and what its proof asks for.

    Attributes
    ----------
    rule : Rule
        ``(t, log_det, constants) → C``.
    formula : callable
        From the setting and λ_V as the formula has it, the constants that the function is given.
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
    formula: Callable[[ThresholdInputs, float], list[float]]
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

    def constants(self, setting: ThresholdInputs) -> Reals:
        """The constants that the compiled function is given."""
        self.check(setting)
        return np.array(
            self.formula(setting, self.formula_regularization(setting)), dtype=np.float64
        )

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


def mixture_threshold(level: float, growth: Any) -> Any:
    """C of a normal mixture (Robbins 1970) where the information is ``growth`` times the prior's.

    An error of C standard errors ever occurs with a probability of e^−level at most.

    Examples
    --------
    >>> [round(float(mixture_threshold(math.log(20), growth)), 2) for growth in (1.0, 10.0, 100.0)]
    [3.66, 3.04, 3.27]
    """
    return np.sqrt((1.0 + 1.0 / growth) * (2.0 * level + np.log1p(growth)))


INFLATION = 0.1  # u of the self-normalised bound
TINY = float(np.finfo(float).tiny)
TWO_ARM_PRIOR = 3.0  # pulls of an arm that the prior of its mixture is worth
RISK = "δ the risk (without the share for σ where that is estimated)"
TWO_ARMS_FORMULA = "μ̂ ± σ√(2L(1 + ρ/N)/N)"
OF_TWO_ARMS = ArmInterval(
    TWO_ARMS_FORMULA,
    "mean ± σ √(2L(1 + ρ/N)/N), with N its evaluations (each counted σ²/σ_a² times where arms have a "
    f"σ of their own; with features 1/(xᵀV⁻¹x)), ρ = {TWO_ARM_PRIOR:g}, L = ln(m(K − m)/δ) + ½ ln(1 + N/ρ) + ½ ln(1 + n/ρ), n "
    f"the evaluations of the arm that has most, and {RISK}",
    TWO_ARMS_FORMULA,
)


def published_regularization(sigma: float) -> float:
    """λ_V = (σ/20)² of the published runs (Hoffman et al. 2014)."""
    return (sigma / 20.0) ** 2


@rule("threshold")
def self_normalized(t: int, log_det: float, constants: Reals) -> float:
    """sqrt(2(1+u)(ln(1/δ) + ½ ln det(I + A/(uc)))), c = λ_min of the initial pulls, u = 0.1."""
    return math.sqrt(2.0 * constants[1] * (constants[0] + 0.5 * log_det))


@rule("threshold", traits=("by_time",))
def frequentist(t: int, log_det: float, constants: Reals) -> float:
    """Equation (2) of the paper: sqrt(2 ln(1/δ) + N ln(1 + (t+1)L²/(λ_V N))) + sqrt(λ_V) S/σ."""
    spread = constants[2] * math.log(1.0 + (t + 1) * constants[3])
    return math.sqrt(2.0 * constants[0] + spread) + constants[1]


@rule("threshold", traits=("by_time",))
def lucb1(t: int, log_det: float, constants: Reals) -> float:
    """sqrt(2 ln(5Kt⁴/(4δ))): a union over arms, counts and rounds."""
    return math.sqrt(2.0 * (constants[0] + 4.0 * math.log(t)))


@rule("threshold", traits=("heuristic", "by_time"))
def heuristic(t: int, log_det: float, constants: Reals) -> float:
    """sqrt(2 ln((1 + ln t)/δ)): heuristic, not proven."""
    return constants[1] * math.sqrt(2.0 * (constants[0] + math.log(1.0 + math.log(t))))


@compiled()
def two_arm_threshold(constants: Reals, variance_i: float, variance_j: float) -> float:
    """C for two arms whose averages have these variances, in units of σ²: 1/N without features.

    C²(1/N_i + 1/N_j) = 2L(v_i + v_j), L = ln(m(K−m)/δ) + ½ ln(1 + N_i/ρ) + ½ ln(1 + N_j/ρ),
    v_a = (1 + ρ/N_a)/N_a (docs/proofs.md).
    """
    one, other, prior = max(variance_i, TINY), max(variance_j, TINY), constants[1]
    level = constants[0]
    level += 0.5 * (math.log1p(1.0 / (prior * one)) + math.log1p(1.0 / (prior * other)))
    excess = prior * (one * one + other * other) / (one + other)
    return math.sqrt(2.0 * level * (1.0 + excess))


@rule("threshold", traits=("by_time", "by_pair"))
def two_arms_mixture(t: int, log_det: float, constants: Reals) -> float:
    """sqrt(2(1 + ρ/n)(ln(m(K−m)/δ) + ln(1 + n/ρ))) for two arms of n pulls each, ρ = 3."""
    each = constants[2] / t  # as if all arms had been pulled alike; indices have a C for each pair
    return two_arm_threshold(constants, each, each)


def _bias(setting: ThresholdInputs, ridge: float) -> float:
    return math.sqrt(ridge) * (setting.S or 0.0) / setting.sigma


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
            lambda s, ridge: [math.log(1.0 / s.delta), 1.0 + INFLATION],
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
            lambda s, ridge: [
                math.log(1.0 / s.delta),
                _bias(s, ridge),
                s.dimension,
                s.longest**2 / (ridge * s.dimension),
            ],
            proven=True,
            source="equation (2) of Réda et al. 2021",
            coverage=ALL_AT_ONCE,
            needs_S=True,
            regularization=lambda sigma, S: published_regularization(sigma),
            broken=_other_theta,
        ),
        Threshold(
            lucb1,
            lambda s, ridge: [math.log(5.0 * s.arms / (4.0 * s.delta))],
            proven=True,
            source="Kalyanakrishnan et al. 2012",
            coverage=EACH_SIDE,
            broken=_one_by_one,
        ),
        Threshold(
            two_arms_mixture,
            lambda s, ridge: [
                math.log(s.m * (s.arms - s.m) / s.delta),
                TWO_ARM_PRIOR,
                float(s.arms),
            ],
            proven=True,
            source="after Robbins 1970; proof: docs/proofs.md of shortlist",
            coverage=EACH_ARM,
            interval=OF_TWO_ARMS,
            needs_span=True,
            broken=_classical,
        ),
        Threshold(
            heuristic,
            lambda s, ridge: [math.log(1.0 / s.delta), 1.0],
            proven=False,
            source="Section 5 of Réda et al. 2021",
            coverage=NO_LEVEL,
        ),
    )
}


def user_threshold(function: Rule) -> Threshold:
    """A threshold of the user's own: never called proven.

    Its function is given (t, log_det, constants) with constants = (δ, σ, K, N, rank, L, λ_V, S),
    S being NaN where unknown; log_det is ln det(V/λ_V), or 0 without regularisation.
    """
    return Threshold(
        function,
        lambda s, ridge: [
            s.delta,
            s.sigma,
            s.arms,
            s.dimension,
            s.rank,
            s.longest,
            ridge,
            math.nan if s.S is None else s.S,
        ],
        proven=False,
        source="the user",
        coverage=NO_LEVEL,
        shift=lambda s: s.regularization,
    )


@dataclass(frozen=True)
class StrategyThreshold:
    """A threshold that a strategy computes by itself: what there is to say of it, as in ``Threshold``."""

    name: str
    summary: str
    source: str
    coverage: str
    proven: bool = True
    interval: ArmInterval | None = None
    needs_S: ClassVar[bool] = False

    def why_not_proven(self, setting: ThresholdInputs) -> list[str]:
        """Why no theorem covers it; empty if one does, in every setting."""
        return [] if self.proven else [f"the threshold {self.name!r} has no proof"]


@compiled()
def from_table(
    table: Reals, threshold: Callable[..., float], t: int, log_det: float, constants: Reals
) -> float:
    """C by a threshold that depends on t alone: runs share a table of it."""
    if table[t] == 0.0:
        table[t] = threshold(t, log_det, constants)
    return table[t]


HORIZON = 100  # evaluations per dimension: neither an easy problem nor a hard one


def expected_evidence(threshold: Threshold, setting: ThresholdInputs) -> float:
    """About what Z must reach at a stop after ``HORIZON`` evaluations per dimension.

    Every dimension is taken to be explored alike.

    Examples
    --------
    >>> from shortlist.rules.thresholds import THRESHOLDS
    >>> setting = ThresholdInputs(
    ...     arms=4, dimension=3, rank=3, longest=1.0, sigma=0.5, delta=0.05, S=1.0,
    ...     regularization=0.0, weakest=1.0, classical=False, indices="paired", m=2,
    ... )
    >>> [round(expected_evidence(THRESHOLDS[name], setting), 1) for name in ("two_arms_mixture", "self_normalized")]
    [7.9, 14.7]
    """
    time, rank = HORIZON * setting.rank, setting.rank
    shift = threshold.shift(setting)
    log_det = rank * math.log1p(HORIZON * setting.longest**2 / shift) if shift > 0.0 else 0.0
    C = float(threshold.rule(time, log_det, threshold.constants(setting)))
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
