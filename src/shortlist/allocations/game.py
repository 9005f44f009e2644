"""w_t: how LinGame shares out the pulls, as a game against the closest alternative.

Degenne, Ménard, Shang and Valko 2020. A learner for each answer J(t) proposes w_t; nature answers
with the alternative λ_t that is hardest to tell from θ̂ under w_t; the learner gains by the arms
that would tell the two apart. For m > 1 the alternatives are the half-spaces where one candidate i
and one other arm j change places, of which the closest has a closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.allocations.alternative import Pairs, displace, nearest_pair, whiten
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import priority
from shortlist.numerics.records import (
    Integers,
    Mask,
    Reals,
    Record,
    Table,
)
from shortlist.posterior.state import State

FIRST_MIXABILITY = 0.01
EMPTY = -1
_SALT = np.uint64(0x5851F42D4C957F2D)


@dataclass(frozen=True, eq=False)
class Game(Record):
    """A hash table of answers with a learner each, and the arms' gains in a round (scratch)."""

    answers: Integers
    learners: Table
    gains: Reals


def make_game(arms: int, places: int) -> Game:
    """A game before its first round, with room for ``places`` answers."""
    answers = np.full(places, EMPTY, np.int64)
    return Game.zeros(answers=answers, learners=(places, arms + 1), gains=arms)


def double_places(game: Game) -> Game:
    """The same game with room for twice as many answers."""
    roomy = make_game(len(game.gains), 2 * len(game.answers))
    for key, learner in zip(game.answers, game.learners, strict=True):
        if key != EMPTY:
            place = -1 - place_of_key(roomy.answers, int(key))
            roomy.answers[place] = key
            roomy.learners[place] = learner
    return roomy


@compiled(typed=True)
def answer_key(inside: Mask) -> int:
    """A number that stands for the set of marked arms."""
    key = np.uint64(0)
    for a in range(inside.shape[0]):
        if inside[a]:
            key ^= priority(_SALT, a)
    return int(key >> np.uint64(1))


@compiled(typed=True)
def place_of_key(keys: Integers, key: int) -> int:
    """The place of a key in an open hash table, or −1 − the free place for it."""
    place = key % keys.shape[0]
    while keys[place] != key:
        if keys[place] == EMPTY:
            return -1 - place
        place = (place + 1) % keys.shape[0]
    return place


@compiled(typed=True)
def hedge(learner: Reals, weights: Reals) -> None:
    """Fill in AdaHedge's weights (de Rooij et al. 2014).

    The learner is K losses and the mixability gap.
    """
    arms = weights.shape[0]
    rate = math.log(arms) / learner[arms]
    least, total = np.inf, 0.0
    for a in range(arms):
        least = min(least, learner[a])
    for a in range(arms):
        weights[a] = math.exp(-rate * (learner[a] - least))
        total += weights[a]
    for a in range(arms):
        weights[a] /= total


@compiled(typed=True)
def learn(learner: Reals, weights: Reals, gains: Reals) -> None:
    """Update AdaHedge's learner by the gains of the arms."""
    arms = weights.shape[0]
    rate = math.log(arms) / learner[arms]
    most, expected, mixed = -np.inf, 0.0, 0.0
    for a in range(arms):
        most = max(most, gains[a])
        expected += weights[a] * gains[a]
    for a in range(arms):
        mixed += weights[a] * math.exp(rate * (gains[a] - most))
        learner[a] -= gains[a]
    gap = float(most + math.log(mixed) / rate - expected)
    learner[arms] += max(gap, 0.0)  # negative by rounding only


@compiled(typed=True)
def respond(
    state: State, inside: Mask, weights: Reals, ridge: float, epsilon: float, pairs: Pairs
) -> None:
    """Fill ``pairs.shift`` with x_aᵀ(θ̂ − λ), λ the closest alternative: nature's answer to w."""
    whiten(state, weights, ridge, pairs.whitened)
    displace(state.means, nearest_pair(state.means, inside, epsilon, pairs), epsilon, pairs)


@compiled(typed=True)
def learner_of(inside: Mask, game: Game) -> int:
    """The index of the learner of J(t), a fresh one if it is new; −1 where no room is left."""
    answers, learners = game.answers, game.learners
    key = answer_key(inside)
    slot = place_of_key(answers, key)
    if slot < 0:
        entries = 0
        for k in range(answers.shape[0]):
            entries += answers[k] != EMPTY
        if 2 * (entries + 1) > answers.shape[0]:
            return -1
        slot = -1 - slot
        answers[slot] = key
        learners[slot, :-1] = 0.0
        learners[slot, -1] = FIRST_MIXABILITY
    return slot


@compiled(typed=True)
def play_round(
    published: bool,
    state: State,
    inside: Mask,
    sigma: float,
    epsilon: float,
    game: Game,
    pairs: Pairs,
    weights: Reals,
) -> bool:
    """Fill in the learner's ``weights``, and let it learn from nature's answer.

    An arm's gain is ½(|x_aᵀ(θ̂ − λ)|/σ + sqrt(2 ln t)‖x_a‖_{V⁻¹})² σ²/σ_a², at most ln t. In the
    published runs it had no σ, and the root of the norm where the norm is meant; nature answered
    the counts, and ε was ignored. False where J(t) is new and no room is left for its learner.
    """
    slot, gains, shift = learner_of(inside, game), game.gains, pairs.shift
    if slot < 0:
        return False
    most = math.log(max(state.observed[0], 2))
    hedge(game.learners[slot], weights)
    if published:
        for a in range(weights.shape[0]):  # gains serve as scratch
            gains[a] = state.pulls[a]
        respond(state, inside, gains, state.regularization, 0.0, pairs)
    else:
        respond(state, inside, weights, 0.0, epsilon, pairs)
    for a in range(weights.shape[0]):
        square = max(state.variances[a], 0.0)
        if published:
            reach = abs(shift[a]) + math.sqrt(2.0 * most * math.sqrt(square))
            gains[a] = min(0.5 * (reach * reach), most)
        else:
            reach = abs(shift[a]) / sigma + math.sqrt(2.0 * most * square)
            gains[a] = min(0.5 * (reach * reach) / state.noise[a], most)
    learn(game.learners[slot], weights, gains)
    return True
