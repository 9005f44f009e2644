"""A pilot: the first evaluations, set aside to serve as the prior of those that follow."""

from __future__ import annotations

import math

from shortlist.arrays import NO_ARM
from shortlist.numerics.jit import compiled
from shortlist.numerics.linear import dot
from shortlist.numerics.records import Integers, Reals
from shortlist.posterior.least_squares import excess_of_arm, factorize, log_determinant
from shortlist.posterior.state import State


@compiled()
def pilot_threshold(t: int, constants: Reals) -> float:
    """C of the pilot, which certifies nothing: wide enough for any arm to be pulled again."""
    return math.sqrt(2.0 * (constants[0] + math.log(t)))


@compiled()
def pilot_is_over(gap: float, width: float, constants: Reals) -> bool:
    """Whether the ambiguous pair has Z = gap²/(2 width²) ≥ r/2, r the features' rank.

    A pilot of t₀ evaluations costs t₀ and saves (r/2) T* ln t₀ later on, so t₀ = (r/2) T* is best;
    there Z is about r/2. Any other moment chosen from the results so far would be as valid.
    """
    return gap >= constants[1] * width


@compiled()
def missing(state: State, wanted: Integers) -> int:
    """The first arm that has not been pulled as often as wanted since the pilot; −1 if none."""
    for a in range(wanted.shape[0]):
        if state.pulls[a] < state.pilot[a] + wanted[a]:
            return a
    return NO_ARM


@compiled(typed=True)
def set_aside(state: State) -> None:
    """Make the evaluations so far a pilot: its estimate is kept, everything else starts again."""
    factorize(state, 0.0, True)
    state.pilot_log_det[0] = log_determinant(state, 1.0)
    for a in range(state.pulls.shape[0]):
        state.pilot[a] = state.pulls[a]
        state.pilot_sums[a] = state.sums[a]
        state.pilot_means[a] = state.means[a]
    state.pilot_size[0] = state.observed[0]
    state.ready[0] = 0


@compiled(typed=True)
def information_since_pilot(state: State, sigma: float, inflation: float) -> float:
    """Ln det(Λ⁻¹(Λ + A)) + ‖θ̂ − ν‖²/σ² in the norm of (A⁻¹ + Λ⁻¹)⁻¹, Λ the pilot's A and ν its θ̂.

    The square is ‖b‖²_{A⁻¹} − ‖b‖²_{(Λ + A)⁻¹} with b = A(θ̂ − ν) in ``excess``, of which the first is
    bᵀ(θ̂ − ν), a sum over arms. ``inflation`` is for ``raise_shift``, which is called in the same place.
    """
    total = 0.0
    for a in range(state.pulls.shape[0]):
        total += excess_of_arm(state, a) * (state.means[a] - state.pilot_means[a])
    rank = state.excess.shape[0]
    for i in range(rank):
        total -= dot(state.shifted, i, state.excess) * state.excess[i]
    return state.log_det[0] + max(total, 0.0) / (sigma * sigma)
