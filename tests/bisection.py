"""Ends of intervals by relative entropy, found by bisection."""

from __future__ import annotations

from scipy.optimize import brentq
from scipy.special import rel_entr

# Relative entropy


def entropy(p: float, q: float) -> float:
    return float(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


def highest_by_bisection(p: float, level: float) -> float:
    if p == 1.0 or entropy(p, 1.0 - 1e-16) <= level:
        return 1.0
    return float(brentq(lambda q: entropy(p, q) - level, p, 1.0 - 1e-16, xtol=1e-15))
