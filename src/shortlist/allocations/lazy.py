"""When lazy track-and-stop looks anew, and when it explores (Jedra and Proutière 2020).

Between two looks the shares w*(θ̂) stay as they are. Both decisions depend on the counts alone.
"""

from __future__ import annotations

import math

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import BOOLEAN, INTEGER, INTEGERS, REALS, Integers, Reals
from shortlist.posterior.least_squares import factorize
from shortlist.posterior.state import OBSERVED, STATE, State

FLOOR, CERTIFIED = 0, 1


@compiled(INTEGER(INTEGER))
def next_look(solved: int) -> int:
    """When w* is to be solved again: the next power of 2; at once where it never was (−1)."""
    power = 1
    while power <= solved:
        power *= 2
    return 0 if solved < 0 else power


@compiled(BOOLEAN(STATE, REALS))
def is_explored(state: State, levels: Reals) -> bool:
    """Whether λ_min(A) ≥ c √t, A = Σ_a N_a x_a x_aᵀ, c of the spanning arms in ``levels[FLOOR]``.

    A − level·I has a Cholesky factor exactly if λ_min(A) > level. As A only grows, what was once
    certified stays so; certifying twice as much as is asked for now makes this rare.
    """
    level = levels[FLOOR] * math.sqrt(state.clock[OBSERVED])
    if level < levels[CERTIFIED]:
        return True
    if factorize(state, -2.0 * level, True):
        levels[CERTIFIED] = 2.0 * level
        return True
    return factorize(state, -level, True)


@compiled(INTEGER(STATE, INTEGERS))
def least_pulled(state: State, spanner: Integers) -> int:
    """The spanning arm of fewest pulls, the first of equals."""
    best = spanner[0]
    for k in range(spanner.shape[0]):
        if state.pulls[spanner[k]] < state.pulls[best]:
            best = spanner[k]
    return best
