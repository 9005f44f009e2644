"""How hard an instance is: the constants H, the upper bounds of Theorem 2, the lower bound T*."""

from __future__ import annotations

from shortlist.theory.complexity import constants
from shortlist.theory.lower_bound import LowerBound, lower_bound
from shortlist.theory.truth import Instance
from shortlist.theory.upper_bound import upper_bounds

__all__ = ["Instance", "LowerBound", "constants", "lower_bound", "upper_bounds"]
