"""How many pulls every arm should have by now: what the selection rule `tracking` follows.

Lazy track-and-stop (Jedra and Proutière 2020) is here: between two solutions its shares w*(θ̂) stay
as they are. When to solve again and when to explore depends on the counts alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.allocations.alternative import Pairs, make_pairs
from shortlist.allocations.frank_wolfe import (
    FLAT,
    Pieces,
    frank_wolfe,
    is_forced,
    make_pieces,
    reach_at,
)
from shortlist.allocations.game import EMPTY, Game, double_places, make_game, play_round
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import (
    ABSENT,
    Integers,
    Mask,
    Reals,
    Record,
    Table,
)
from shortlist.posterior.least_squares import factorize
from shortlist.posterior.state import State
from shortlist.rules.initialization import auto, span, weakest_direction

NONE, GAME, GAME_AS_PUBLISHED, FRANK_WOLFE, LAZY = 0, 1, 2, 3, 4
ALLOCATIONS: dict[str | None, int] = {
    None: NONE,
    "game": GAME,
    "game_as_published": GAME_AS_PUBLISHED,
    "frank_wolfe": FRANK_WOLFE,
    "lazy": LAZY,
}
ALLOCATED, NO_ROOM, NO_SHARES = 0, 1, 2
SHARED, SOLVED = 0, 1  # indices of ``clock``
FLOOR, CERTIFIED = 0, 1  # of ``levels``
CATCH_UP = 16  # Frank–Wolfe steps made one by one for pulls without a round


@compiled(typed=True)
def next_solution(solved: int) -> int:
    """The time to solve w* again: the next power of 2, or 0 if it never was solved (−1)."""
    power = 1
    while power <= solved:
        power *= 2
    return 0 if solved < 0 else power


@compiled(typed=True)
def is_explored(state: State, levels: Reals) -> bool:
    """Whether λ_min(A) ≥ c √t, A = Σ_a N_a x_a x_aᵀ, c of the spanning arms in ``levels[FLOOR]``.

    A − level·I has a Cholesky factor exactly if λ_min(A) > level. As A only grows, what was once
    certified stays so; certifying twice as much as is needed now makes this rare.
    """
    level = levels[FLOOR] * math.sqrt(state.observed[0])
    if level < levels[CERTIFIED]:
        return True
    if factorize(state, -2.0 * level, True):
        levels[CERTIFIED] = 2.0 * level
        return True
    return factorize(state, -level, True)


@compiled(typed=True)
def least_pulled(state: State, spanner: Integers) -> int:
    """The spanning arm of fewest pulls, the first of equals."""
    best = spanner[0]
    for k in range(spanner.shape[0]):
        if state.pulls[spanner[k]] < state.pulls[best]:
            best = spanner[k]
    return best


@dataclass(frozen=True, eq=False)
class Allocation(Record):
    """The memory of an allocation, what it was given, and scratch.

    clock : how many pulls are shared out (−1: no round yet), and at how many w* was last solved
    target : the pulls shared out to every arm, their sum is clock[SHARED]
    weights : w of the last round
    levels : c of the forced exploration, and a certified lower bound on λ_min(A)
    wanted : what is tracked: the target, except for a forced pull
    spanner : the arms of the forced exploration, which span the features
    """

    clock: Integers
    target: Reals
    weights: Reals
    levels: Reals
    wanted: Reals
    spanner: Integers
    game: Game
    pairs: Pairs
    pieces: Pieces


def make_allocation(
    number: int, arms: int, rank: int, m: int, spanner: Integers, floor: float
) -> Allocation:
    """An allocation before its first round; arrays that it does not use are empty.

    ``floor`` is c of the forced exploration by the arms of the spanner.
    """
    wide = 0 if number == NONE else arms
    games = number in (GAME, GAME_AS_PUBLISHED)
    return Allocation.zeros(
        clock=np.full(2, -1, np.int64),
        target=wide,
        weights=wide,
        levels=np.array([floor, 0.0]),
        wanted=wide,
        spanner=spanner,
        game=make_game(wide, 8) if games else make_game(0, 0),
        pairs=make_pairs(0 if number == LAZY else wide, rank, m),
        pieces=make_pieces(wide, 4) if number == FRANK_WOLFE else make_pieces(0, 0),
    )


def exploration(number: int, scaled: Table) -> tuple[Integers, float]:
    """The arms of an allocation's forced exploration, which span the features, and its c.

    ``scaled`` are the features in units of the arms' noise. c is Jedra and Proutière's: λ_min of the
    spanning arms' Σ x xᵀ over the root of their number.
    """
    if number == NONE:
        return np.zeros(0, np.int64), 0.0
    spanner = auto(scaled) if number == FRANK_WOLFE else span(scaled)
    return spanner, weakest_direction(scaled, spanner) / len(spanner) ** 0.5


def copy_allocation(allocation: Allocation) -> Allocation:
    """A copy of the allocation that shares its scratch."""
    if allocation is ABSENT:
        return allocation
    game = allocation.game
    return allocation.replace(
        clock=allocation.clock.copy(),
        target=allocation.target.copy(),
        weights=allocation.weights.copy(),
        levels=allocation.levels.copy(),
        game=game.replace(answers=game.answers.copy(), learners=game.learners.copy()),
    )


def make_room(allocation: Allocation) -> Allocation:
    """The same allocation with twice the room for learners and pieces."""
    room, arms = allocation.pieces.payoffs.shape
    game = double_places(allocation.game)
    return allocation.replace(game=game, pieces=make_pieces(arms, 2 * room))


@compiled(typed=True)
def reset_allocation(allocation: Allocation) -> None:
    """Reset the allocation to before the first round."""
    allocation.game.answers[:] = EMPTY
    allocation.clock[SHARED] = allocation.clock[SOLVED] = -1
    allocation.levels[CERTIFIED] = 0.0


@compiled(typed=True)
def share_out(pulls: int, allocation: Allocation) -> None:
    """Add this number of pulls to the target, by the weights."""
    for a in range(allocation.target.shape[0]):
        allocation.target[a] += pulls * allocation.weights[a]
    allocation.clock[SHARED] += pulls


@compiled(typed=True)
def frank_wolfe_weights(
    t: int, state: State, inside: Mask, sigma: float, epsilon: float, allocation: Allocation
) -> int:
    """Fill in the weights of FWS for the t-th pull, by a step or by exploration."""
    arms, spanner = allocation.target.shape[0], allocation.spanner
    decided = FLAT
    if not is_forced(t, spanner.shape[0]):
        for a in range(arms):  # the average of all weights so far; wanted serves as scratch
            allocation.wanted[a] = allocation.target[a] / (t - 1)
        reach = 2.0 * sigma * sigma * reach_at(t, arms)
        average, pairs, pieces = allocation.wanted, allocation.pairs, allocation.pieces
        decided = frank_wolfe(
            state, inside, average, reach, epsilon, pairs, pieces, allocation.weights
        )
    if decided < 0:
        return NO_ROOM
    if decided == FLAT:
        allocation.weights[:] = 0.0
        for k in range(spanner.shape[0]):
            allocation.weights[spanner[k]] = 1.0 / spanner.shape[0]
    return ALLOCATED


@compiled(typed=True)
def allocate(
    number: int,
    state: State,
    inside: Mask,
    sigma: float,
    epsilon: float,
    allocation: Allocation,
) -> int:
    """Fill ``wanted`` with the pulls that every arm should have by now.

    Returns NO_ROOM where there is too little room for learners or pieces, NO_SHARES where w* is to
    be solved: nothing is lost then, and the call is repeated. All but the published runs track the
    sum of the weights (C-tracking; Garivier and Kaufmann 2016). Pulls for which there was no round,
    such as those still pending, are shared out by the weights of this one.
    """
    clock, target, wanted = allocation.clock, allocation.target, allocation.wanted
    game, pairs, weights = allocation.game, allocation.pairs, allocation.weights
    t, arms = state.observed[0], target.shape[0]
    if number == GAME_AS_PUBLISHED:
        if not play_round(True, state, inside, sigma, epsilon, game, pairs, weights):
            return NO_ROOM
        for a in range(arms):  # D-tracking
            wanted[a] = t * weights[a]
        return ALLOCATED
    if clock[SHARED] < 0:  # what was pulled before the first round was wanted
        for a in range(arms):
            target[a] = state.pulls[a]
        clock[SHARED] = t
    forced = -1
    if number == GAME:
        if not play_round(False, state, inside, sigma, epsilon, game, pairs, weights):
            return NO_ROOM
        share_out(t + 1 - clock[SHARED], allocation)
    elif number == FRANK_WOLFE:
        while clock[SHARED] <= t:
            pull = clock[SHARED] + 1
            status = frank_wolfe_weights(pull, state, inside, sigma, epsilon, allocation)
            if status != ALLOCATED:
                return status
            share_out(1 + (t - clock[SHARED]) // CATCH_UP, allocation)
    else:
        due = next_solution(clock[SOLVED])
        if due <= t:
            share_out(max(due - clock[SHARED], 0), allocation)  # these by the w* before
            return NO_SHARES
        share_out(t + 1 - clock[SHARED], allocation)
        if not is_explored(state, allocation.levels):
            forced = least_pulled(state, allocation.spanner)
    for a in range(arms):
        wanted[a] = target[a]
    if forced >= 0:
        wanted[forced] = np.inf
    return ALLOCATED
