"""C_{t,δ}: how many standard deviations wide the indices are, and who has proven that it is enough."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shortlist.core.jit import compiled
from shortlist.core.rule import Rule, rule
from shortlist.rules.mixture import deviation
from shortlist.rules.threshold import Setting, Threshold

INFLATION = 0.1  # u of the self-normalised bound
LEVELS_INFLATION = 0.3  # u of the same over a grid
PILOT_AT_LEAST = 20


def published_regularization(sigma: float) -> float:
    """λ_V = (σ/20)² of the published runs (Hoffman et al. 2014)."""
    return (sigma / 20.0) ** 2


@rule("threshold", number=0)
def self_normalized(t: int, log_det: float, constants: np.ndarray) -> float:
    """sqrt(2(1+u)(ln(1/δ) + ½ ln det(I + A/(uc)))), c = λ_min of the initial pulls, u = 0.1."""
    return math.sqrt(2.0 * constants[1] * (constants[0] + 0.5 * log_det))


@rule("threshold", number=1)
def determinant(t: int, log_det: float, constants: np.ndarray) -> float:
    """sqrt(2 ln(1/δ) + ln det(V/λ_V)) + sqrt(λ_V) S/σ."""
    return math.sqrt(2.0 * constants[0] + log_det) + constants[1]


@rule("threshold", traits=("by_time",), number=2)
def frequentist(t: int, log_det: float, constants: np.ndarray) -> float:
    """Equation (2) of the paper: sqrt(2 ln(1/δ) + N ln(1 + (t+1)L²/(λ_V N))) + sqrt(λ_V) S/σ."""
    spread = constants[2] * math.log(1.0 + (t + 1) * constants[3])
    return math.sqrt(2.0 * constants[0] + spread) + constants[1]


@rule("threshold", traits=("by_time",), number=3)
def lucb1(t: int, log_det: float, constants: np.ndarray) -> float:
    """sqrt(2 ln(5Kt⁴/(4δ))): a union over arms, counts and rounds."""
    return math.sqrt(2.0 * (constants[0] + 4.0 * math.log(t)))


@rule("threshold", traits=("heuristic", "by_time"), number=4)
def heuristic(t: int, log_det: float, constants: np.ndarray) -> float:
    """sqrt(2 ln((1 + ln t)/δ)): heuristic, not proven."""
    return constants[1] * math.sqrt(2.0 * (constants[0] + math.log(1.0 + math.log(t))))


@rule("threshold", traits=("pilot",), number=5)
def pilot(t: int, log_det: float, constants: np.ndarray) -> float:
    """sqrt(2 ln(1/δ) + ln det(Λ⁻¹(Λ + A)) + ‖θ̂ − ν‖²/σ²): ν and Λ from a pilot that is set aside."""
    return math.sqrt(2.0 * constants[0] + log_det)


@rule("threshold", traits=("by_time",), number=6)
def two_arms(t: int, log_det: float, constants: np.ndarray) -> float:
    """sqrt(2c + 8 ln(4 + ln(t/2))), c = 2𝒞(½ ln(m(K−m)/δ)): a mixture for each pair of two arms."""
    return math.sqrt(2.0 * (constants[0] + 4.0 * math.log(4.0 + math.log(0.5 * t))))


@rule("threshold", traits=("levels",), number=7)
def levels(t: int, log_det: float, constants: np.ndarray) -> float:
    """The same with the highest c = 4^k c_0 that is at most λ_min(A), for 1/((k+1)(k+2)) of δ, u = 0.3."""
    return math.sqrt(2.0 * constants[1] * (constants[0] + 0.5 * log_det))


@rule("threshold", traits=("by_time",), number=8)
def all_arms(t: int, log_det: float, constants: np.ndarray) -> float:
    """sqrt(2c + 4K ln(4 + ln(1 + t/K))), c = K𝒞(ln(1/δ)/K): a mixture for the averages of all arms."""
    arms = constants[1]
    return math.sqrt(2.0 * (constants[0] + 2.0 * arms * math.log(4.0 + math.log(1.0 + t / arms))))


def _bias(setting: Setting, ridge: float) -> float:
    return math.sqrt(ridge) * (setting.S or 0.0) / setting.sigma


def _unregularized(setting: Setting) -> list[str]:
    return [] if setting.regularization == 0.0 else ["it needs unregularised least squares"]


def _classical(setting: Setting) -> list[str]:
    reasons = []
    if not setting.classical:
        reasons.append("it bounds each arm by its own pulls and does not cover a linear model")
    if setting.regularization != 0.0:
        reasons.append("it needs unregularised means")
    return reasons


def _other_theta(setting: Setting) -> list[str]:
    if not setting.features_unused:
        return []
    return [
        "S bounds ‖θ‖ for the features, and without their use a bound on the norm of the K means is "
        "needed (leave the features out, with arms=…, and give that as S)"
    ]


def _one_by_one(setting: Setting) -> list[str]:
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
            assumptions="the noise is σ-sub-Gaussian and the means are linear in the features",
            source="Jedra and Proutière 2020",
            needs_span=True,
            # A larger c narrows every later width. Ten was chosen by looking at the paper's three
            # classic instances; benchmarks/samples.py prints it beside a single round.
            rounds=lambda once: 10,
            shift=lambda s: INFLATION * s.weakest,
            broken=_unregularized,
        ),
        Threshold(
            levels,
            lambda s, ridge: [math.log(1.0 / s.delta), 1.0 + LEVELS_INFLATION],
            proven=True,
            assumptions="the noise is σ-sub-Gaussian and the means are linear in the features",
            source="Jedra and Proutière 2020, over a grid of shifts",
            needs_span=True,
            rounds=lambda once: 5,
            shift=lambda s: LEVELS_INFLATION * s.weakest,
            broken=_unregularized,
        ),
        Threshold(
            pilot,
            lambda s, ridge: [math.log(1.0 / s.delta), math.sqrt(s.rank)],
            proven=True,
            assumptions="the noise is σ-sub-Gaussian and the means are linear in the features",
            source="Robbins 1970, with a prior from a pilot",
            needs_span=True,
            # So few results say when to end the pilot that chance would end it: not before twenty.
            rounds=lambda once: -(-PILOT_AT_LEAST // once),
            broken=_unregularized,
        ),
        Threshold(
            determinant,
            lambda s, ridge: [math.log(1.0 / s.delta), _bias(s, ridge)],
            proven=True,
            assumptions="the noise is σ-sub-Gaussian, the means are linear in the features and "
            "‖θ‖ ≤ S",
            source="Abbasi-Yadkori et al. 2011",
            needs_S=True,
            regularization=lambda sigma, S: 0.2 * (sigma / (S or 1.0)) ** 2,
            shift=lambda s: s.regularization,
            broken=_other_theta,
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
            assumptions="the noise is σ-sub-Gaussian, the means are linear in the features and "
            "‖θ‖ ≤ S",
            source="equation (2) of the paper",
            needs_S=True,
            regularization=lambda sigma, S: published_regularization(sigma),
            broken=_other_theta,
        ),
        Threshold(
            lucb1,
            lambda s, ridge: [math.log(5.0 * s.arms / (4.0 * s.delta))],
            proven=True,
            assumptions="the noise is σ-sub-Gaussian",
            source="Kalyanakrishnan et al. 2012",
            broken=_one_by_one,
        ),
        Threshold(
            two_arms,
            lambda s, ridge: [2.0 * deviation(0.5 * math.log(s.m * (s.arms - s.m) / s.delta))],
            proven=True,
            assumptions="the noise is σ-sub-Gaussian",
            source="Kaufmann and Koolen 2021",
            needs_span=True,
            broken=_classical,
        ),
        Threshold(
            all_arms,
            lambda s, ridge: [s.arms * deviation(math.log(1.0 / s.delta) / s.arms), s.arms],
            proven=True,
            assumptions="the noise is σ-sub-Gaussian and the means are linear in the features",
            source="Kaufmann and Koolen 2021",
            needs_span=True,
            broken=_unregularized,
        ),
        Threshold(
            heuristic,
            lambda s, ridge: [math.log(1.0 / s.delta), 1.0],
            proven=False,
            assumptions="none would make it valid",
            source="Section 5 of the paper",
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
        assumptions="whatever its author assumes",
        source="the user",
        shift=lambda s: s.regularization,
    )


@compiled()
def evaluate(
    number: int,
    own: Callable[..., float],
    t: int,
    log_det: float,
    constants: np.ndarray,
) -> float:
    """C by the threshold of this number, or by the user's own."""
    if number == 0:
        return self_normalized(t, log_det, constants)
    if number == 1:
        return determinant(t, log_det, constants)
    if number == 2:
        return frequentist(t, log_det, constants)
    if number == 3:
        return lucb1(t, log_det, constants)
    if number == 4:
        return heuristic(t, log_det, constants)
    if number == 5:
        return pilot(t, log_det, constants)
    if number == 6:
        return two_arms(t, log_det, constants)
    if number == 7:
        return levels(t, log_det, constants)
    if number == 8:
        return all_arms(t, log_det, constants)
    return own(t, log_det, constants)


@compiled()
def remembered(
    table: np.ndarray,
    number: int,
    own: Callable[..., float],
    t: int,
    log_det: float,
    constants: np.ndarray,
) -> float:
    """C as in ``evaluate``; where it depends on t alone, runs share a table of it."""
    if t >= table.shape[0]:
        return evaluate(number, own, t, log_det, constants)
    if table[t] == 0.0:
        table[t] = evaluate(number, own, t, log_det, constants)
    return table[t]
