"""The upper bounds T(μ, δ) of Theorem 2 and Table 2, as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from shortlist.errors import InvalidSetting, unknown_name
from shortlist.engine.threshold import ThresholdInputs
from shortlist.gifa.thresholds import THRESHOLDS
from shortlist.theory.complexity import CONSTANTS, m_lingape_optimized_proven, rows_of
from shortlist.theory.truth import Instance, Truth

CLASSICAL = {"LUCB", "UGapE"}
OF_TIME_ALONE = ("frequentist", "lucb1", "heuristic")


def upper_bounds(
    instance: Instance,
    delta: float = 0.05,
    *,
    epsilon: float = 0.0,
    threshold: str | None = None,
    S: float | None = None,
    algorithms: Iterable[str] | None = None,
    as_printed: bool = False,
) -> dict[str, float]:
    """T(μ, δ) = inf{u > 1 + H C_{δ,u}²}, plus K for LUCB and UGapE (Table 2), by algorithm.

    On the event that all gap indices hold, which has probability at least 1 − δ with a proven
    threshold, the algorithm stops after at most this many pulls, up to the O(K) that Theorem 2
    does not specify. Table 2 has no σ in the rows of LUCB and UGapE: they are from papers on rewards
    between 0 and 1, where σ = ½. Here they are multiplied by (2σ)², which is the table at σ = ½, as
    in all of the paper's experiments, and has the right unit elsewhere. The paper does not prove
    these two rows. For ``m-LinGapE(2)`` the printed H lacks a factor ‖w*‖₁ that the proof has, and
    without it runs do take longer than the bound; it is put back unless ``as_printed``.

    Parameters
    ----------
    instance : Instance
        Features, means, m and σ.
    delta : float, optional
        Risk of a wrong answer.
    epsilon : float, optional
        Slack in the means.
    threshold : {"frequentist", "lucb1", "heuristic"}, optional
        C_{δ,t}, for all rows; by default each row's own proven one, ``lucb1`` for LUCB and UGapE
        and ``frequentist`` for m-LinGapE. Thresholds that depend on what was pulled give no number.
    S : float, optional
        The bound on ‖θ‖ that m-LinGapE's ``frequentist`` threshold is given; by default ‖θ‖ itself.
    algorithms : iterable of str, optional
        Which rows; by default all four.
    as_printed : bool
        Use H(m-LinGapE(2)) as Theorem 2 prints it. Then the number is not an upper bound.

    Examples
    --------
    >>> import shortlist
    >>> instance = shortlist.instances.classic(K=4, m=2, omega=1.0, sigma=0.5)
    >>> values = upper_bounds(instance, delta=0.05)
    >>> {name: round(value) for name, value in values.items()}
    {'LUCB': 2151, 'UGapE': 10091, 'm-LinGapE(1)': 7439, 'm-LinGapE(2)': 3966}
    """
    names = rows_of(algorithms)
    if threshold is not None and threshold not in THRESHOLDS:
        raise unknown_name("threshold", threshold, OF_TIME_ALONE)
    if threshold is not None and threshold not in OF_TIME_ALONE:
        raise InvalidSetting(
            f"threshold {threshold!r} depends on which arms were pulled and not on the round "
            f"alone, so Theorem 2 gives no number for it: use one of {', '.join(OF_TIME_ALONE)}."
        )
    truth = Truth.of(instance, delta=delta, epsilon=epsilon, S=S)
    bounds = {}
    for name in names:
        classical = name in CLASSICAL
        own = "lucb1" if classical else "frequentist"
        width = _threshold(truth, own if threshold is None else threshold, classical)
        proven = name == "m-LinGapE(2)" and not as_printed
        constant = (m_lingape_optimized_proven if proven else CONSTANTS[name])(truth)
        if classical:
            constant *= (2.0 * truth.one_sigma()) ** 2
        bounds[name] = _first_above(constant, width, truth.problem.arms if classical else 0)
    return bounds


def _threshold(truth: Truth, name: str, classical: bool) -> Callable[[float], float]:
    """C_{δ,u} as a function of u."""
    problem = truth.problem
    # Without features every arm is its own dimension, and θ is the vector of means.
    norm = float(np.linalg.norm(truth.means if classical else truth.theta))
    bound = norm if classical or problem.S is None else problem.S
    if bound < norm * (1.0 - 1e-9):
        raise InvalidSetting(
            f"S must bound ‖θ‖, which is {norm:.6g} here, got {bound:g}: leave S=None for the norm "
            "itself."
        )
    chosen = THRESHOLDS[name]
    inputs = ThresholdInputs.of(
        problem,
        classical=classical,
        rank=problem.arms if classical else problem.rank,
        sigma=truth.one_sigma(),
        S=bound,
        regularization=chosen.regularization(problem.sigma, bound),
        indices="individual" if classical else "paired",
    )
    constants = chosen.constants(inputs)
    # The rule as written, which takes rounds that are not whole; the compiled one does not.
    return lambda u: float(chosen.rule.py_func(u, 0.0, constants))


def _first_above(constant: float, width: Callable[[float], float], extra: float) -> float:
    """Inf{u ≥ 1: u > 1 + H C_u² + extra}.

    C² is concave in u for these thresholds, so u − 1 − H C_u² − extra is convex; it is negative at
    u = 1 and so changes sign once.
    """

    def above(u: float) -> bool:
        return u > 1.0 + constant * width(u) ** 2 + extra

    low, high = 1.0, 2.0
    while not above(high):
        low, high = high, 2.0 * high
        if not math.isfinite(high):
            return math.inf
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if above(middle) else (middle, high)
    return high
