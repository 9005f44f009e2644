"""The loop over results that come from outside, as a study has them: a decision after each result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.arrays import NO_BLOCK
from shortlist.engine.round import Round, Routines
from shortlist.engine.settings import PULL, SINGULAR, STOP, Settings
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals, Record
from shortlist.posterior.least_squares import take_in
from shortlist.posterior.state import OneInteger, State

# What a step does: take a result in; suppose a result at the arm's own mean; only decide; go on after
# a stop. The others are the model's to do and never reach an engine: go on by verifying; with a larger
# ε; without the arm, with the evidence so far or with later results as evidence only; with more arms.
TAKE, SUPPOSE, DECIDE, REOPEN = 0, 1, 2, 3
VERIFY, WIDEN, RETIRE, RETIRE_ANEW, ADD = 4, 5, 6, 7, 8
# Of the model's too: let an arm come back; put the result right that was taken in as the n-th.
READMIT, CORRECT = 9, 10


@dataclass(frozen=True, eq=False)
class Steps(Record):
    """Results from outside, in order: what each step does, its arm and block, its value, whether it is
    held, and whether nobody asked for the result.

    At a step that is held no new round or plan begins: an arm of the last round is still to be asked
    for, or results of a block are still to come that is not to be divided.
    """

    kinds: Integers
    arms: Integers
    blocks: Integers
    values: Reals
    held: Integers
    unasked: Integers

    @classmethod
    def empty(cls, count: int) -> Steps:
        """Uninitialized steps, ``count`` of them, without blocks."""
        kinds, arms, held, unasked = np.empty((4, count), np.int64)
        blocks, values = np.full(count, NO_BLOCK), np.empty(count)
        return cls(kinds, arms, blocks, values, held, unasked)

    def then(self, later: Steps) -> Steps:
        """These steps followed by others."""
        pairs = zip(self.arrays(), later.arrays(), strict=True)
        return Steps(*(np.concatenate(pair) for pair in pairs))

    def part(self, first: int, end: int) -> Steps:
        """The steps from ``first`` up to ``end``."""
        return self.mapped(lambda array: array[first:end])

    @classmethod
    def supposing(cls, arms: list[int]) -> Steps:
        """Steps that suppose a result of each arm at its own mean, if any, and then decide."""
        count = len(arms)
        return cls(
            kinds=np.array([SUPPOSE] * count + [DECIDE], np.int64),
            arms=np.array([*arms, 0], np.int64),
            blocks=np.full(count + 1, NO_BLOCK),
            values=np.zeros(count + 1),
            held=np.zeros(count + 1, np.int64),
            unasked=np.zeros(count + 1, np.int64),
        )


@dataclass(frozen=True, eq=False)
class Position(Record):
    """How far the steps have been taken.

    ``next`` is the next step, and ``is_in`` is 1 if its result is in already. The last decision was made
    at ``decided_at`` results (−1: never); ``is_stopped`` is 1 if that was to stop, and
    ``is_initialized`` if the initial pulls are in.
    """

    next: OneInteger
    is_in: OneInteger
    decided_at: OneInteger
    is_stopped: OneInteger
    is_initialized: OneInteger

    @classmethod
    def start(cls) -> Position:
        """Before the first step."""
        zeros = dict.fromkeys(("next", "is_in", "is_stopped", "is_initialized"), 1)
        return cls.zeros(decided_at=np.array([-1], np.int64), **zeros)


@compiled()
def has_initial_pulls(state: State, settings: Settings) -> bool:
    """Whether every arm has its initial pulls."""
    lacking = 0
    for a in range(settings.initial.shape[0]):
        lacking += state.pulls[a] < settings.initial[a]
    return lacking == 0


@compiled(typed=True)
def follow(
    state: State,
    current: Round,
    settings: Settings,
    routines: Routines,
    seed: np.uint64,
    position: Position,
    steps: Steps,
) -> int:
    """Take the steps from ``position`` on; returns STOP at a stop, PULL at the end of the steps."""
    kinds, arms = steps.kinds, steps.arms
    while position.next[0] < kinds.shape[0]:
        step = position.next[0]
        kind = kinds[step]
        if position.is_in[0] == 0:
            position.is_in[0] = 1
            if kind == REOPEN:
                position.is_stopped[0] = 0
            elif kind == TAKE:
                take_in(state, routines.updates, arms[step], steps.values[step])
            elif kind == SUPPOSE:
                take_in(state, routines.updates, arms[step], state.means[arms[step]])
        decides = kind in (TAKE, DECIDE)
        if decides and position.is_initialized[0] == 0:
            decides = has_initial_pulls(state, settings)
            if decides:
                if state.ready[0] == 0 and not routines.updates.refresh(state):
                    return SINGULAR
                position.is_initialized[0] = 1
        stop = False
        if (
            decides
            and steps.held[step] == 0
            and position.is_stopped[0] == 0
            and position.decided_at[0] != state.observed[0]
        ):
            status = routines.decide(state, current, settings, seed)
            if status > STOP:
                return status
            position.decided_at[0] = state.observed[0]
            stop = status == STOP
        position.next[0] += 1
        position.is_in[0] = 0
        if stop:
            position.is_stopped[0] = 1
            return STOP
    return PULL
