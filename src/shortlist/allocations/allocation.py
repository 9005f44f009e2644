"""How many pulls every arm should have by now: what the selection rule `tracking` follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.allocations.alternative import Pairs, make_pairs
from shortlist.allocations.game import EMPTY, Game, double_places, make_game, play_round
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import (
    ABSENT,
    Integers,
    Mask,
    Reals,
    Record,
)
from shortlist.posterior.state import State

NONE, GAME, GAME_AS_PUBLISHED = 0, 1, 2
ALLOCATIONS: dict[str | None, int] = {
    None: NONE,
    "game": GAME,
    "game_as_published": GAME_AS_PUBLISHED,
}


@dataclass(frozen=True, eq=False)
class Allocation(Record):
    """The memory of an allocation, what it was given, and scratch.

    shared : how many pulls are shared out (−1: no round yet)
    target : the pulls shared out to every arm, their sum is shared[0]
    weights : w of the last round
    wanted : what is tracked
    """

    shared: Integers
    target: Reals
    weights: Reals
    wanted: Reals
    game: Game
    pairs: Pairs


def make_allocation(arms: int, rank: int, m: int) -> Allocation:
    """An allocation before its first round."""
    return Allocation.zeros(
        shared=np.full(1, -1, np.int64),
        target=arms,
        weights=arms,
        wanted=arms,
        game=make_game(arms, 8),
        pairs=make_pairs(arms, rank, m),
    )


def copy_allocation(allocation: Allocation) -> Allocation:
    """A copy of the allocation that shares its scratch."""
    if allocation is ABSENT:
        return allocation
    game = allocation.game
    return allocation.replace(
        shared=allocation.shared.copy(),
        target=allocation.target.copy(),
        weights=allocation.weights.copy(),
        game=game.replace(answers=game.answers.copy(), learners=game.learners.copy()),
    )


def make_room(allocation: Allocation) -> Allocation:
    """The same allocation with twice the room for learners."""
    return allocation.replace(game=double_places(allocation.game))


@compiled(typed=True)
def reset_allocation(allocation: Allocation) -> None:
    """Reset the allocation to before the first round."""
    allocation.game.answers[:] = EMPTY
    allocation.shared[0] = -1


@compiled(typed=True)
def allocate(
    number: int,
    state: State,
    inside: Mask,
    sigma: float,
    epsilon: float,
    allocation: Allocation,
) -> bool:
    """Fill ``wanted`` with the pulls that every arm should have by now.

    Returns False where there is too little room for learners: nothing is lost then, and the call is
    repeated. All but the published runs track the sum of the weights (C-tracking; Garivier and
    Kaufmann 2016). Pulls for which there was no round, such as those still pending, are shared out by
    the weights of this one.
    """
    shared, target, wanted = allocation.shared, allocation.target, allocation.wanted
    game, pairs, weights = allocation.game, allocation.pairs, allocation.weights
    t, arms = state.observed[0], target.shape[0]
    if number == GAME_AS_PUBLISHED:
        if not play_round(True, state, inside, sigma, epsilon, game, pairs, weights):
            return False
        for a in range(arms):  # D-tracking
            wanted[a] = t * weights[a]
        return True
    if shared[0] < 0:  # what was pulled before the first round was wanted
        for a in range(arms):
            target[a] = state.pulls[a]
        shared[0] = t
    if not play_round(False, state, inside, sigma, epsilon, game, pairs, weights):
        return False
    pulls = t + 1 - shared[0]
    for a in range(arms):
        target[a] += pulls * weights[a]
        wanted[a] = target[a]
    shared[0] = t + 1
    return True
