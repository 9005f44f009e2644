"""The complexity constants H of Table 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from shortlist.designs.direction import all_weights
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.theory.truth import Instance, Truth


def constants(
    instance: Instance,
    *,
    epsilon: float = 0.0,
    sigma: float | None = None,
    algorithms: Iterable[str] | None = None,
) -> dict[str, float]:
    """H of Table 2, as printed, by algorithm.

    The rows of LUCB and UGapE have no σ in print, nor here. The constants are formulas of
    the means; nothing is checked but that they are finite.

    Parameters
    ----------
    instance : Instance
        Features, means, m and σ.
    epsilon : float, optional
        Slack in the means.
    sigma : float, optional
        By default the instance's; the constants of the paper's Section 4.4 and appendix have σ = 1.
    algorithms : iterable of str, optional
        Which rows; by default all four. ``m-LinGapE(2)`` takes time where there are many more arms
        than features: K(K − 1)/2 linear programs, seconds for K = 50 and minutes for K = 300.

    Examples
    --------
    >>> import shortlist
    >>> values = constants(shortlist.instances.classic(K=4, m=2, omega=1.0), sigma=1.0)
    >>> {name: round(value, 2) for name, value in values.items()}
    {'LUCB': 30.39, 'UGapE': 121.57, 'm-LinGapE(1)': 547.07, 'm-LinGapE(2)': 163.6}
    """
    names = rows_of(algorithms)
    truth = Truth.of(instance, sigma=sigma, epsilon=epsilon)
    return {name: CONSTANTS[name](truth) for name in names}


def rows_of(algorithms: Iterable[str] | None) -> list[str]:
    """Rows of Table 2, all if none is named; raises for a name that is not a row."""
    if isinstance(algorithms, str):
        raise InvalidSetting(
            f"algorithms must be several rows of Table 2, got {algorithms!r}: pass "
            f"[{algorithms!r}]."
        )
    names = list(CONSTANTS if algorithms is None else algorithms)
    for name in names:
        if name not in CONSTANTS:
            raise unknown_name("row of Table 2", name, CONSTANTS)
    return names


def lucb(truth: Truth) -> float:
    """2 Σ_a max(ε/2, Δ_a)⁻²."""
    return 2.0 * float(np.sum(np.maximum(truth.epsilon / 2.0, truth.gaps) ** -2))


def ugape(truth: Truth) -> float:
    """2 Σ_a max(ε, (ε + Δ_a)/2)⁻²."""
    slack = truth.epsilon
    return 2.0 * float(np.sum(np.maximum(slack, (slack + truth.gaps) / 2.0) ** -2))


def m_lingape_largest_variance(truth: Truth) -> float:
    """4σ² Σ_a max(ε, (ε + Δ_a)/3)⁻²: Theorem 2 (i)."""
    slack = truth.epsilon
    widths = np.maximum(slack, (slack + truth.gaps) / 3.0)
    return 4.0 * truth.one_sigma() ** 2 * float(np.sum(widths**-2))


def m_lingape_optimized(truth: Truth) -> float:
    """σ² Σ_a max_{i,j} |w*_a(i,j)| / max(ε, (ε + Δ_i)/3, (ε + Δ_j)/3)².

    Theorem 2 (ii), as printed.
    """
    return _over_pairs(truth, lambda weights: weights)


def m_lingape_optimized_proven(truth: Truth) -> float:
    """The same with |w*_a|‖w*‖₁ for |w*_a|, which is what the proof gives.

    Lemma 1 of Xu et al. (2018) bounds ‖x_i − x_j‖²_{V⁻¹} by ρ max_a p_a/N_a with ρ = ‖w*‖₁² and
    p_a = |w*_a|/‖w*‖₁. Theorem 2 prints |w*_a| where their product, |w*_a|‖w*‖₁, belongs.
    """
    return _over_pairs(truth, lambda weights: weights * weights.sum(axis=1, keepdims=True))


def _over_pairs(truth: Truth, price: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
    slack = truth.epsilon
    widths = np.maximum(slack, (slack + truth.gaps) / 3.0)
    largest = np.zeros(truth.problem.arms)
    for i, j, weights in all_weights(truth.problem.reduced):
        pairs = price(np.abs(weights)) / np.maximum(widths[i], widths[j])[:, None] ** 2
        np.maximum(largest, pairs.max(axis=0), out=largest)
    return truth.one_sigma() ** 2 * float(largest.sum())


CONSTANTS: dict[str, Callable[[Truth], float]] = {
    "LUCB": lucb,
    "UGapE": ugape,
    "m-LinGapE(1)": m_lingape_largest_variance,
    "m-LinGapE(2)": m_lingape_optimized,
}
