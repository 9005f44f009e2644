"""What the compiled loop asks Python for, and the answers: it stops, is answered, and goes on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.round import B, C, Round, design_slot
from shortlist.arrays import NO_ARM, Mask, Reals
from shortlist.core.state import OBSERVED, State
from shortlist.rules.allocation import SOLVED, make_room

Design = Callable[[int, int], Reals]
Shares = Callable[[Reals, Mask], Reals | None]


def with_design(now: Round, design: Design) -> Round:
    """The round with the design of its ambiguous pair added."""
    b, c = int(now.pair[B]), int(now.pair[C])
    keys, designs = now.design_keys, now.designs
    solved = keys[keys != NO_ARM]
    if 2 * (len(solved) + 1) > len(keys):
        rows = designs[keys != NO_ARM]
        keys = np.full(2 * len(keys), NO_ARM, np.int64)
        designs = np.zeros((len(keys), designs.shape[1]))
        for key, weights in zip(solved, rows, strict=True):
            first, second = divmod(int(key), designs.shape[1])
            _store(keys, designs, first, second, weights)
    _store(keys, designs, b, c, design(b, c))
    return now.replace(design_keys=keys, designs=designs)


def _store(keys: NDArray[np.int64], designs: Reals, b: int, c: int, weights: Reals) -> None:
    arms = designs.shape[1]
    place = -1 - design_slot(keys, arms, b, c)
    keys[place] = min(b, c) * arms + max(b, c)
    designs[place] = weights


def with_room(now: Round) -> Round:
    """The round with twice the room for what its allocation looks at."""
    return now.replace(allocation=make_room(now.allocation))


def optimal_shares(
    features: Reals, noise: Reals, epsilon: float, means: Reals, inside: Mask
) -> Reals | None:
    """The w* of these means (Jedra and Proutière 2020, for any m); None where there is none."""
    from shortlist.theory.lower_bound import optimal_allocation  # few algorithms need it

    return optimal_allocation(features, means, inside, noise=noise, epsilon=epsilon)


def with_shares(now: Round, state: State, shares: Shares) -> Round:
    """The round with w* solved for the means as they are.

    Where there is no w*, since the means do not tell J(t) from the others, the shares stay as they
    were; if there were none yet, they are even over the arms that span.
    """
    allocation = now.allocation
    solved = shares(state.means, now.inside)
    if solved is not None:
        allocation.weights[:] = solved
    elif allocation.clock[SOLVED] < 0:
        allocation.weights[:] = 0.0
        allocation.weights[allocation.spanner] = 1.0 / len(allocation.spanner)
    allocation.clock[SOLVED] = state.clock[OBSERVED]
    return now
