"""What a selection rule is given: the ambiguous pair, and what is known of every arm."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from shortlist.arrays import Integers, Reals
from shortlist.numerics.records import INTEGER, INTEGERS, REALS


class Pair(NamedTuple):
    """The ambiguous pair b_t, c_t.

    ``row_b`` and ``row_c`` are their rows of G = X V⁻¹ Xᵀ. ``design`` is w*(b, c) up to its sign for a rule that
    needs it, else all zeros.
    """

    b: int
    c: int
    row_b: Reals
    row_c: Reals
    design: Reals


class Arms(NamedTuple):
    """What is known of every arm.

    ``variances`` is the diagonal of G, ``noise`` is (σ_a/σ)². ``wanted`` is how many pulls of each arm an
    allocation asks for, all zeros without one.
    """

    means: Reals
    variances: Reals
    pulls: Integers
    noise: Reals
    wanted: Reals


# How Numba sees them in the signature of a rule.
PAIR: Any = types.NamedTuple([INTEGER, INTEGER, REALS, REALS, REALS], Pair)
ARMS: Any = types.NamedTuple([REALS, REALS, INTEGERS, REALS, REALS], Arms)
