"""How hard an instance is, its means known: the lower bound T*, the constants H, the upper bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.designs import Designs, xy_design
from shortlist.errors import InvalidFeatures, InvalidSetting, unknown_name
from shortlist.linalg import in_units, solve_lower, span, squared_norms
from shortlist.problem import Problem

__all__ = ["Instance", "LowerBound", "constants", "lower_bound", "upper_bounds"]

LINEAR = 1e-8  # how far from linear the means may be, relative to the largest
ROUNDING = 8 * np.finfo(np.float64).eps
CLASSICAL = ("LUCB", "UGapE")
OPTIMIZED = "m-LinGapE(2)"

# The lower bound
ARMS = 400  # how many arms are looked at from the start; half as many may join in a round
PAIRS = 100  # as many pairs at the start, and as many may join in a round
ROUNDS = 100
DIFFER = 1e-24  # of the largest norm: less is rounding, between arms with equal features
FINER = 1e-2  # of the tolerance: that of the design for the arms and pairs looked at


class Instance(Protocol):
    """Anything with features (K × N), means (K), m and sigma, such as ``shortlist.instances``."""

    @property
    def features(self) -> Reals:
        """One row per arm."""

    @property
    def means(self) -> Reals:
        """The true means."""

    @property
    def m(self) -> int:
        """How many arms are wanted."""

    @property
    def sigma(self) -> float | Reals:
        """The noise is σ-sub-Gaussian; one number, or one for every arm."""


class Truth:
    """A problem whose true means are known, checked: theory may use them, algorithms may not."""

    def __init__(
        self,
        instance: Instance,
        *,
        sigma: float | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        S: float | None = None,
    ) -> None:
        self.problem = Problem.of(
            instance.features,
            instance.m,
            sigma=instance.sigma if sigma is None else sigma,
            delta=delta,
            # Arms with the same features are no obstacle here unless they stand at ranks m, m + 1.
            epsilon=epsilon or 1.0,
            S=S,
        )
        arms, m = self.problem.arms, self.problem.m
        self.epsilon = float(epsilon)
        self.means = np.asarray(instance.means, dtype=np.float64)
        if self.means.shape != (arms,) or not np.all(np.isfinite(self.means)):
            raise InvalidFeatures(
                f"means must be {arms} finite numbers, one per arm, got shape {self.means.shape} "
                f"with {int(np.sum(~np.isfinite(self.means)))} that are not finite."
            )
        order = np.argsort(-self.means, kind="stable")
        self.best, self.others = order[:m], order[m:]
        last, first = self.means[order[m - 1 : m + 1]]
        if epsilon == 0.0 and last - first <= ROUNDING * np.abs(self.means).max():
            raise InvalidSetting(
                f"the means of ranks {m} and {m + 1} are equal up to rounding ({last:g} and "
                f"{first:g}): with epsilon=0 no number of evaluations can identify the m best, and "
                "every bound is infinite. Use another m, or epsilon > 0 where there is one."
            )
        # Δ_a: μ_a − μ_{m+1} for the m best arms, μ_m − μ_a for the others.
        self.gaps = last - self.means
        self.gaps[self.best] = self.means[self.best] - first
        self.widths = np.maximum(self.epsilon, (self.epsilon + self.gaps) / 3.0)

    @property
    def sigma(self) -> float:
        """σ, where all arms have the same; raises where they differ."""
        if np.ndim(self.problem.noise.deviations):
            raise InvalidSetting(
                "the complexity constants and upper bounds of the paper are for one σ, and here "
                "every arm has its own: pass a single sigma, such as the largest. lower_bound "
                "takes a σ for every arm."
            )
        return self.problem.sigma

    def theta(self, features: Reals) -> Reals:
        """The shortest θ with μ = Xθ; raises if there is none."""
        theta = np.linalg.lstsq(features, self.means, rcond=None)[0]
        residual = float(np.abs(features @ theta - self.means).max())
        largest = float(np.abs(self.means).max())
        if residual > LINEAR * largest:
            raise InvalidSetting(
                f"the means are not linear in the features: the nearest linear means miss them by "
                f"{residual:.3g} (the largest mean is {largest:.3g}), and bounds for linear models "
                "do not hold. Fit θ and use the means Xθ, add features, or use features=np.eye(K) "
                "for arms about which nothing is known."
            )
        return np.asarray(theta)

    @cached_property
    def weights_by_width(self) -> tuple[float, float]:
        """Σ_a max_{i,j} |w*_a(i,j)| / max(width_i, width_j)², and with |w*_a|‖w*‖₁ for |w*_a|."""
        designs, arms = Designs(self.problem.reduced), self.problem.arms
        plain, proven = np.zeros(arms), np.zeros(arms)
        for i, j in combinations(range(arms), 2):
            weights = designs.of(i, j)
            each = weights / max(self.widths[i], self.widths[j]) ** 2
            np.maximum(plain, each, out=plain)
            np.maximum(proven, each * weights.sum(), out=proven)
        return float(plain.sum()), float(proven.sum())


# Table 2

CONSTANTS: dict[str, Callable[[Truth], float]] = {
    # 2 Σ_a max(ε/2, Δ_a)⁻²
    "LUCB": lambda t: 2.0 * float(np.sum(np.maximum(t.epsilon / 2.0, t.gaps) ** -2)),
    # 2 Σ_a max(ε, (ε + Δ_a)/2)⁻²
    "UGapE": lambda t: 2.0 * float(np.sum(np.maximum(t.epsilon, (t.epsilon + t.gaps) / 2.0) ** -2)),
    # Theorem 2 (i): 4σ² Σ_a max(ε, (ε + Δ_a)/3)⁻²
    "m-LinGapE(1)": lambda t: 4.0 * t.sigma**2 * float(np.sum(t.widths**-2)),
    # Theorem 2 (ii): σ² Σ_a max_{i,j} |w*_a(i,j)| / max(ε, (ε + Δ_i)/3, (ε + Δ_j)/3)²
    OPTIMIZED: lambda t: t.sigma**2 * t.weights_by_width[0],
}


def constants(
    instance: Instance,
    *,
    epsilon: float = 0.0,
    sigma: float | None = None,
    algorithms: str | Iterable[str] | None = None,
) -> dict[str, float]:
    """H of Table 2, as printed, by algorithm.

    The rows of LUCB and UGapE have no σ in print, nor here.

    Parameters
    ----------
    instance : Instance
        Features, means, m and σ.
    epsilon : float, optional
        Slack in the means.
    sigma : float, optional
        By default the instance's; the constants of the paper's Section 4.4 and appendix have σ = 1.
    algorithms : str or iterable of str, optional
        Which rows; by default all four. ``m-LinGapE(2)`` takes K(K − 1)/2 linear programs: a second
        for K = 50 and minutes for K = 300, unless the features are independent.

    Examples
    --------
    >>> import shortlist
    >>> values = constants(shortlist.instances.classic(K=4, m=2, omega=1.0), sigma=1.0)
    >>> {name: round(value, 2) for name, value in values.items()}
    {'LUCB': 30.39, 'UGapE': 121.57, 'm-LinGapE(1)': 547.07, 'm-LinGapE(2)': 163.6}
    """
    names = _rows(algorithms)
    truth = Truth(instance, sigma=sigma, epsilon=epsilon)
    return {name: CONSTANTS[name](truth) for name in names}


def _rows(algorithms: str | Iterable[str] | None) -> list[str]:
    """Rows of Table 2, all if none is named; raises for a name that is not a row."""
    names = [algorithms] if isinstance(algorithms, str) else algorithms
    names = list(CONSTANTS if names is None else names)
    for name in names:
        if name not in CONSTANTS:
            raise unknown_name("row of Table 2", name, CONSTANTS)
    return names


# Theorem 2

# C_{δ,t} by K, N, L, ‖θ‖, σ and ln(1/δ).
THRESHOLDS: dict[str, Callable[..., float]] = {
    # Equation (2) of the paper, with the published λ_V = (σ/20)²
    "frequentist": lambda t, K, N, L, S, sigma, log: (
        math.sqrt(2.0 * log + N * math.log(1.0 + (t + 1.0) * (20.0 * L / sigma) ** 2 / N))
        + S / 20.0
    ),
    # Kalyanakrishnan et al. 2012
    "lucb1": lambda t, K, N, L, S, sigma, log: math.sqrt(
        2.0 * (math.log(1.25 * K) + log + 4.0 * math.log(t))
    ),
    # Section 5 of the paper
    "heuristic": lambda t, K, N, L, S, sigma, log: math.sqrt(
        2.0 * (log + math.log(1.0 + math.log(t)))
    ),
}


def upper_bounds(
    instance: Instance,
    delta: float = 0.05,
    *,
    epsilon: float = 0.0,
    threshold: str | None = None,
    S: float | None = None,
    algorithms: str | Iterable[str] | None = None,
    as_printed: bool = False,
) -> dict[str, float]:
    """T(μ, δ) = inf{u > 1 + H C_{δ,u}²}, plus K for LUCB and UGapE (Table 2), by algorithm.

    On the event that all gap indices hold, which has probability at least 1 − δ with a proven
    threshold, the algorithm stops after at most this many pulls, up to the O(K) that Theorem 2
    does not specify. The rows of LUCB and UGapE, which the paper does not prove, have no σ in print:
    they are for σ = ½, and are multiplied by (2σ)² here.

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
    algorithms : str or iterable of str, optional
        Which rows; by default all four.
    as_printed : bool
        Leave H(m-LinGapE(2)) without a factor ‖w*‖₁, which the proof has and Theorem 2 does not
        print. Then the number is not an upper bound: runs do take longer.

    Examples
    --------
    >>> import shortlist
    >>> instance = shortlist.instances.classic(K=4, m=2, omega=1.0, sigma=0.5)
    >>> values = upper_bounds(instance, delta=0.05)
    >>> {name: round(value) for name, value in values.items()}
    {'LUCB': 2151, 'UGapE': 10091, 'm-LinGapE(1)': 7439, 'm-LinGapE(2)': 3966}
    """
    names = _rows(algorithms)
    if threshold is not None and threshold not in THRESHOLDS:
        raise unknown_name("threshold that depends on the round alone", threshold, THRESHOLDS)
    truth = Truth(instance, delta=delta, epsilon=epsilon, S=S)
    problem, bounds = truth.problem, {}
    for name in names:
        constant, extra = CONSTANTS[name](truth), 0.0
        if name in CLASSICAL:
            # Without features every arm is its own dimension, and θ is the vector of means.
            constant, extra = constant * (2.0 * truth.sigma) ** 2, float(problem.arms)
            dimension, longest, theta, bound = problem.arms, 1.0, truth.means, None
        else:
            dimension, longest, bound = problem.dimension, problem.longest, problem.S
            theta = truth.theta(problem.in_own_units)
        if name == OPTIMIZED and not as_printed:
            # Lemma 1 of Xu et al. (2018) bounds ‖x_i − x_j‖²_{V⁻¹} by ρ max_a p_a/N_a, ρ = ‖w*‖₁²
            # and p_a = |w*_a|/‖w*‖₁: |w*_a|‖w*‖₁ belongs where Theorem 2 prints |w*_a|.
            constant = truth.sigma**2 * truth.weights_by_width[1]
        norm = float(np.linalg.norm(theta))
        if bound is not None and bound < norm * (1.0 - 1e-9):
            raise InvalidSetting(
                f"S must bound ‖θ‖, which is {norm:.6g} here, got {bound:g}: leave S=None for the "
                "norm itself."
            )
        width = THRESHOLDS[threshold or ("lucb1" if name in CLASSICAL else "frequentist")]
        given = problem.arms, dimension, longest, norm if bound is None else bound
        bounds[name] = _first_above(
            constant, extra, width, *given, truth.sigma, math.log(1.0 / problem.delta)
        )
    return bounds


def _first_above(
    constant: float, extra: float, width: Callable[..., float], *given: float
) -> float:
    """Inf{u ≥ 1: u > 1 + H C_u² + extra}.

    C² is concave in u for these thresholds, so u − 1 − H C_u² − extra is convex; it is negative at
    u = 1 and so changes sign once.
    """
    from scipy.optimize import brentq

    def excess(u: float) -> float:
        return u - 1.0 - constant * width(u, *given) ** 2 - extra

    high = 2.0
    while excess(high) <= 0.0:
        high *= 2.0
        if not math.isfinite(high):
            return math.inf
    return float(brentq(excess, 1.0, high, xtol=1e-12, rtol=1e-12))


# The lower bound


@dataclass(frozen=True, eq=False)
class LowerBound:
    """The minimum that any δ-correct algorithm needs on an instance, at ε = 0 with normal noise.

    Attributes
    ----------
    t_star : float
        T*, as the lower end of the bracket.
    bracket : tuple of float
        (low, high) with T* in it: the value of a dual solution, and that of the allocation.
    allocation : array, K
        How the evaluations should be shared among the arms; it reaches the bracket's upper end.
    samples : float
        kl(δ, 1 − δ) T*: what every algorithm with risk δ needs on average, at least.
    """

    t_star: float
    bracket: tuple[float, float]
    allocation: Reals
    samples: float
    delta: float
    rounds: int  # in which arms and pairs were added


def lower_bound(instance: Instance, delta: float = 0.05, *, tolerance: float = 1e-3) -> LowerBound:
    """T* and w* for the m best arms of a linear model, in a certified bracket.

    T*⁻¹ = max_w min_{i,j} Δ_ij² / (2σ²‖x_i − x_j‖²_{V(w)⁻¹}) over the i among the m best, the j that
    are not, and w in the simplex; V(w) = Σ_a w_a x_a x_aᵀ, each arm in units of its noise.

    Parameters
    ----------
    instance : Instance
        Features, means, m and σ; the means must be linear in the features.
    delta : float, optional
        Risk of a wrong answer, below ½: at ½ and above the bound says nothing.
    tolerance : float, optional
        The bracket's relative width, at most.

    Examples
    --------
    >>> import shortlist
    >>> bound = lower_bound(shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5))
    >>> round(bound.t_star, 2), round(bound.samples, 1)
    (118.45, 313.9)
    >>> bound.allocation.round(3).tolist()
    [0.056, 0.47, 0.413, 0.06]
    """
    truth = Truth(instance, delta=delta)
    if not delta < 0.5:
        raise InvalidSetting(
            f"delta, the risk of a wrong answer, must be below 0.5 for a lower bound, got {delta}: "
            "with a larger risk the bound says nothing. For 95 % confidence pass delta=0.05."
        )
    if not 1e-7 <= tolerance < 1.0:
        raise InvalidSetting(
            "tolerance, the bracket's relative width, must lie between 1e-7 and 1, got "
            f"{tolerance}."
        )
    truth.theta(truth.problem.reduced)  # or it raises
    information = scale = low = high = math.nan
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused below
            low, high, allocation, rounds = _Search(truth).run(tolerance)
        scale = 2.0 * truth.problem.sigma**2
        information = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)  # kl(δ, 1 − δ)
    except (np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
        pass
    if not math.isfinite(scale * low * scale * high * information):
        raise InvalidSetting(
            "the numbers leave the range of floating point: bring features, means, sigma and delta "
            f"(got sigma={truth.problem.sigma:g}, delta={delta:g}) nearer to 1 and scale T* back; "
            "it is proportional to the square of sigma over the means."
        )
    return LowerBound(
        t_star=scale * low,
        bracket=(scale * low, scale * high),
        allocation=allocation,
        samples=information * scale * low,
        delta=float(delta),
        rounds=rounds,
    )


class _Search:
    """min_w max_p ‖y_p‖²_{V(w)⁻¹} with y_p = (x_i − x_j)/Δ_ij: T* is 2σ² times that.

    It is solved for few arms and pairs, and those that matter join.
    """

    def __init__(self, truth: Truth) -> None:
        # The value is the same in any basis of the features; an orthonormal one is most accurate.
        self.features = np.linalg.qr(truth.problem.reduced)[0]
        self.noise, self.means = truth.problem.relative_noise, truth.means
        self.shown = in_units(self.features, self.noise)
        self.best, self.others = truth.best, truth.others

    def run(self, tolerance: float) -> tuple[float, float, Reals, int]:
        """The bracket, the allocation, and how many rounds it took."""
        count, rank = self.features.shape
        arms, low, high, allocation = np.arange(count), 0.0, math.inf, np.full(count, 1.0 / count)
        white = self._white(arms, allocation)
        _, pairs = self._worst_pairs(white)
        if count > ARMS:  # those that tell most about the hardest pairs under equal weights
            _, gains = self._dual(white, pairs, np.full(len(pairs), 1.0 / len(pairs)))
            arms = np.union1d(span(self.shown), np.argsort(-gains)[: max(ARMS - rank, 0)])
        for rounds in range(1, ROUNDS + 1):
            directions = self._directions(self.features, pairs)
            design = xy_design(self.shown[arms], directions, FINER * tolerance)
            white = self._white(arms, design.arms)
            norms, worst = self._worst_pairs(white)
            bound, gains = self._dual(white, pairs, design.directions)
            low = max(low, bound)
            if norms[0] < high:
                high, allocation = float(norms[0]), np.zeros(count)
                allocation[arms] = design.arms
            if high <= low * (1.0 + tolerance):
                return min(low, high), high, allocation, rounds  # equal but for rounding, at times
            telling = np.argsort(-gains)[: ARMS // 2]
            telling = telling[gains[telling] > 1.0 + FINER * tolerance]
            known = len(arms) + len(pairs)
            arms, pairs = np.union1d(arms, telling), np.union1d(pairs, worst)
            if len(arms) + len(pairs) == known:
                break
        raise InvalidSetting(
            f"the bracket could not be narrowed to tolerance={tolerance:g}: after {rounds} rounds "
            f"T*/(2σ²) lies between {low:.10g} and {high:.10g}. Ask for a tolerance above "
            f"{high / low - 1.0:.2g}."
        )

    def _white(self, arms: Integers, w: Reals) -> Reals:
        """The features, in the basis in which V(w) is the identity."""
        triangle = np.linalg.qr(np.sqrt(w)[:, None] * self.shown[arms])[1]
        return solve_lower(triangle.T, self.features.T).T

    def _directions(self, features: Reals, pairs: Integers) -> Reals:
        """y_p of some pairs, in the basis of the features."""
        i, j = np.divmod(pairs, len(self.means))
        return (features[i] - features[j]) / (self.means[i] - self.means[j])[:, None]

    def _worst_pairs(self, white: Reals) -> tuple[Reals, Integers]:
        """The largest of all ‖y_p‖²_{V⁻¹}, at most PAIRS of them, the largest first."""
        outside, means = white[self.others], self.means[self.others]
        norms = np.concatenate(  # differences before squares, since arms may be close
            [squared_norms(outside - white[i]) / (self.means[i] - means) ** 2 for i in self.best]
        )
        longest = np.argsort(-norms)[:PAIRS]
        longest = longest[norms[longest] > DIFFER * norms[longest[0]]]
        if not len(longest):
            raise np.linalg.LinAlgError("no two arms on either side differ in their features")
        i, j = np.divmod(longest, len(self.others))
        return norms[longest], self.best[i] * len(white) + self.others[j]

    def _dual(self, white: Reals, pairs: Integers, q: Reals) -> tuple[float, Reals]:
        """A lower bound on the value, and every arm's gain; the bound is tight if none is above 1.

        For any vectors u_p, ‖y_p‖²_{V(w)⁻¹} ≥ 2 y_pᵀu_p − Σ_a w_a (x_aᵀu_p)². Averaged with weights
        q_p, and with the best multiple of the u_p, this gives, for every w of the simplex,
        max_p ‖y_p‖²_{V(w)⁻¹} ≥ (Σ_p q_p y_pᵀu_p)² / max_a Σ_p q_p (x_aᵀu_p)². The u_p = V⁻¹y_p of
        the optimal w make it an equality. Rounding errors in the basis cost tightness, not validity.
        """
        u = self._directions(white, pairs)  # V⁻¹y_p and y_p are the same in this basis
        value = float(q @ squared_norms(u))
        shown = in_units(white, self.noise)
        gains = np.einsum("ak,ak->a", shown @ ((u.T * q) @ u), shown)
        return value**2 / float(gains.max()), gains / value
