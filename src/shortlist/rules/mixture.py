"""The deviations of several averages at once, by mixtures (Kaufmann and Koolen 2021)."""

from __future__ import annotations

import math


def deviation(x: float) -> float:
    """𝒞(x) = min over ½ < λ < 1 of (g(λ) + x)/λ, g(λ) = 2λ − 2λ ln 4λ + ln ζ(2λ) − ½ ln(1 − λ).

    With probability 1 − e^{−x}, at all times Σ_{a∈S} N_a (μ̂_a − μ_a)²/(2σ²) is at most
    |S| 𝒞(x/|S|) + 2 Σ_{a∈S} ln(4 + ln N_a), for a set S of arms and σ-sub-Gaussian noise.

    Examples
    --------
    >>> round(deviation(3.0), 3)
    4.648
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def ratio(power: float) -> float:
        g = 2.0 * power * (1.0 - math.log(4.0 * power)) + math.log(zeta(2.0 * power))
        return (g - 0.5 * math.log(1.0 - power) + x) / power

    found = minimize_scalar(ratio, bounds=(0.5 + 1e-9, 1.0 - 1e-9), method="bounded")
    return float(found.fun)
