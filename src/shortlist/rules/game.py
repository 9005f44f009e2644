"""w_t: how LinGame shares out the pulls, as a game against the closest alternative.

Degenne, Ménard, Shang and Valko 2020. A learner for each answer J(t) proposes w_t; nature answers
with the alternative λ_t that is hardest to tell from θ̂ under w_t; the learner is paid for the arms
that would tell the two apart. For m > 1 the alternatives are the half-spaces where one candidate
i and one other arm j change places, of which the closest has a closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from shortlist.core.least_squares import (
    OBSERVED,
    STATE,
    Integers,
    Reals,
    State,
    Table,
    cholesky,
    row,
)
from shortlist.core.random import priority
from shortlist.core.rule import INTEGER, INTEGERS, MASK, REAL, REALS, TABLE, VOID, compiled

NONE, GAME, GAME_AS_PUBLISHED = 0, 1, 2
ALLOCATIONS: dict[str | None, int] = {
    None: NONE,
    "game": GAME,
    "game_as_published": GAME_AS_PUBLISHED,
}
FIRST_MIXABILITY = 0.01
RIDGE = 1e-12  # of V(w)'s trace: the learner may leave a direction without any weight
EMPTY = -1
_SALT = np.uint64(0x5851F42D4C957F2D)


class Game(NamedTuple):
    """What the game remembers (a learner an answer, the pulls due to every arm), and scratch."""

    answers: Integers
    learners: Table
    target: Reals
    weights: Reals
    gains: Reals
    shift: Reals
    whitened: Table


_TYPES = {"answers": INTEGERS, "learners": TABLE, "whitened": TABLE}
GAME_STATE = types.NamedTuple([_TYPES.get(name, REALS) for name in Game._fields], Game)


def make_game(arms: int, rank: int, places: int) -> Game:
    """A game before its first round; all empty where ``places`` is 0."""
    wide = arms if places else 0
    return Game(
        answers=np.full(places, EMPTY, np.int64),
        learners=np.zeros((places, wide + 1)),
        target=np.full(wide, np.nan),
        weights=np.zeros(wide),
        gains=np.zeros(wide),
        shift=np.zeros(wide),
        whitened=np.zeros((wide, rank)),
    )


def apart(game: Game) -> Game:
    """The same game with a memory of its own; scratch is shared."""
    return game._replace(
        answers=game.answers.copy(), learners=game.learners.copy(), target=game.target.copy()
    )


def make_room(game: Game) -> Game:
    """The same game with places for twice as many answers."""
    places = 2 * len(game.answers)
    roomy = game._replace(
        answers=np.full(places, EMPTY, np.int64),
        learners=np.zeros((places, game.learners.shape[1])),
    )
    for key, learner in zip(game.answers, game.learners, strict=True):
        if key != EMPTY:
            place = -1 - learner_slot(roomy.answers, int(key))
            roomy.answers[place] = key
            roomy.learners[place] = learner
    return roomy


@compiled(VOID(GAME_STATE))
def forget(game: Game) -> None:
    """Back to before the first round."""
    for k in range(game.answers.shape[0]):
        game.answers[k] = EMPTY
    for a in range(game.target.shape[0]):
        game.target[a] = np.nan  # before the first round: nothing is wanted yet


@compiled(INTEGER(MASK))
def answer_key(inside: np.ndarray) -> int:
    """A number that stands for the set of marked arms."""
    key = np.uint64(0)
    for a in range(inside.shape[0]):
        if inside[a]:
            key ^= priority(_SALT, a)
    return int(key >> np.uint64(1))


@compiled(INTEGER(INTEGERS, INTEGER))
def learner_slot(answers: Integers, key: int) -> int:
    """Where the answer's learner is, or −1 − the free place for it."""
    place = key % answers.shape[0]
    while answers[place] != key:
        if answers[place] == EMPTY:
            return -1 - place
        place = (place + 1) % answers.shape[0]
    return place


@compiled(VOID(REALS, REALS))
def hedge(learner: Reals, weights: Reals) -> None:
    """AdaHedge's weights (de Rooij et al. 2014): the learner is K losses and the mixability gap."""
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


@compiled(VOID(REALS, REALS, REALS))
def learn(learner: Reals, weights: Reals, gains: Reals) -> None:
    """AdaHedge's step after the gains of the arms are known."""
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
    learner[arms] += max(gap, 0.0)  # it is never negative but for rounding


@compiled(VOID(STATE, MASK, GAME_STATE))
def respond(state: State, inside: np.ndarray, game: Game) -> None:
    """x_aᵀ(θ̂ − λ) for every arm, λ the closest alternative under V(w) = Σ w_a x_a x_aᵀ/noise_a."""
    x, factor = state.features, state.factor
    weights, whitened, shift = game.weights, game.whitened, game.shift
    arms, rank = x.shape
    trace = 0.0
    for i in range(rank):
        for j in range(i + 1):
            factor[i, j] = 0.0
    for a in range(arms):
        for i in range(rank):
            scaled = weights[a] / state.noise[a] * x[a, i]
            trace += scaled * x[a, i]
            for j in range(i + 1):
                factor[i, j] += scaled * x[a, j]
    for i in range(rank):
        factor[i, i] += RIDGE * trace
    cholesky(factor)
    for a in range(arms):  # L⁻¹x_a: its inner products are those of V(w)⁻¹
        for i in range(rank):
            total = x[a, i]
            for k in range(i):
                total -= factor[i, k] * whitened[a, k]
            whitened[a, i] = total / factor[i, i]
    closest, step, best_i, best_j = np.inf, 0.0, 0, 0
    for i in range(arms):
        if inside[i]:
            for j in range(arms):
                if not inside[j]:
                    gap, square = state.means[i] - state.means[j], 0.0
                    for k in range(rank):
                        square += (whitened[i, k] - whitened[j, k]) ** 2
                    if square > 0.0 and gap * gap / square < closest:
                        closest, step, best_i, best_j = gap * gap / square, gap / square, i, j
    for a in range(arms):
        shift[a] = 0.0
        for k in range(rank):
            shift[a] += step * whitened[a, k] * (whitened[best_i, k] - whitened[best_j, k])


@compiled(VOID(STATE, MASK, REALS))
def respond_to_counts(state: State, inside: np.ndarray, shift: Reals) -> None:
    """x_aᵀ(θ̂ − λ) for every arm, λ the closest alternative under V: what the pulls so far say."""
    arms = state.means.shape[0]
    closest, step, best_i, best_j = np.inf, 0.0, 0, 0
    for i in range(arms):
        if inside[i]:
            slot = row(state, i)
            for j in range(arms):
                if not inside[j]:
                    gap = state.means[i] - state.means[j]
                    square = state.variances[i] + state.variances[j] - 2.0 * state.rows[slot, j]
                    if square > 0.0 and gap * gap / square < closest:
                        closest, step, best_i, best_j = gap * gap / square, gap / square, i, j
    slot_j = row(state, best_j)
    slot_i = row(state, best_i)
    for a in range(arms):
        shift[a] = step * (state.rows[slot_i, a] - state.rows[slot_j, a])


@compiled(VOID(REALS, REALS, REALS, REAL, REAL, REALS))
def optimistic_gains(
    shift: Reals, variances: Reals, noise: Reals, sigma: float, most: float, gains: Reals
) -> None:
    """½(|x_aᵀ(θ̂ − λ)|/σ + sqrt(2 ln t)‖x_a‖_{V⁻¹})² σ²/σ_a², at most ln t."""
    for a in range(shift.shape[0]):
        width = math.sqrt(2.0 * most * max(variances[a], 0.0))
        gains[a] = min(0.5 * (abs(shift[a]) / sigma + width) ** 2 / noise[a], most)


@compiled(VOID(REALS, REALS, REAL, REALS))
def published_gains(shift: Reals, variances: Reals, most: float, gains: Reals) -> None:
    """The gains of the published runs: no σ, and the root of the norm where the norm is meant."""
    for a in range(shift.shape[0]):
        width = math.sqrt(2.0 * most * math.sqrt(max(variances[a], 0.0)))
        gains[a] = min(0.5 * (abs(shift[a]) + width) ** 2, most)


@compiled(INTEGER(INTEGER, STATE, MASK, REAL, GAME_STATE))
def play(number: int, state: State, inside: np.ndarray, sigma: float, game: Game) -> int:
    """One round of the game: ``game.target`` becomes the pulls that every arm should have by now.

    Returns 0, or −1 where the answer is new and no place is left for its learner.
    """
    answers, learners, weights = game.answers, game.learners, game.weights
    arms = weights.shape[0]
    key = answer_key(inside)
    slot = learner_slot(answers, key)
    if slot < 0:
        taken = 0
        for k in range(answers.shape[0]):
            taken += answers[k] != EMPTY
        if 2 * (taken + 1) > answers.shape[0]:
            return -1
        slot = -1 - slot
        answers[slot] = key
        for a in range(arms):
            learners[slot, a] = 0.0
        learners[slot, arms] = FIRST_MIXABILITY
    t = state.clock[OBSERVED]
    most = math.log(max(t, 2))
    hedge(learners[slot], weights)
    if number == GAME_AS_PUBLISHED:
        respond_to_counts(state, inside, game.shift)
        published_gains(game.shift, state.variances, most, game.gains)
        for a in range(arms):  # D-tracking
            game.target[a] = t * weights[a]
    else:
        respond(state, inside, game)
        optimistic_gains(game.shift, state.variances, state.noise, sigma, most, game.gains)
        for a in range(arms):  # C-tracking; what was pulled before the first round was wanted
            before = float(state.pulls[a]) if math.isnan(game.target[a]) else game.target[a]
            game.target[a] = before + weights[a]
    learn(learners[slot], weights, game.gains)
    return 0
