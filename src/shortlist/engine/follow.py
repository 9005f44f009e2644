"""The loop over results that come from outside, as a study has them: a decision after each result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM
from shortlist.engine.round import Round, Routines
from shortlist.engine.settings import (
    BAD_CANDIDATES,
    DESIGN_WANTED,
    PILOT_ENDS,
    PULL,
    SINGULAR,
    STOP,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Integers, Reals, Record
from shortlist.posterior.least_squares import take_in
from shortlist.posterior.pilot import missing
from shortlist.posterior.state import ASIDE, OBSERVED, READY, State

# What a step does: take a result in; suppose a result at the arm's own mean; only decide; go on after
# a stop; go on by verifying, which is the model's to do and never reaches an engine.
TAKE, SUPPOSE, LOOK, REOPEN, VERIFY = 0, 1, 2, 3, 4
# Places in ``marks``: the next step, whether its result is in already, at how many results the last
# decision was made (-1: never), whether that was to stop, whether the initial pulls are in.
NEXT, IS_IN, DECIDED_AT, IS_STOPPED, IS_INITIALIZED = 0, 1, 2, 3, 4


@dataclass(frozen=True, eq=False)
class Steps(Record):
    """Results from outside, in order: what each step does, its arm, its value, and whether it is held.

    At a step that is held no new round begins: an arm of the last round is still to be asked for.
    """

    kinds: Integers
    arms: Integers
    values: Reals
    held: Integers

    @classmethod
    def empty(cls, count: int) -> Steps:
        """Uninitialized steps, ``count`` of them."""
        kinds, arms, held = np.empty((3, count), np.int64)
        return cls(kinds=kinds, arms=arms, values=np.empty(count), held=held)

    def then(self, later: Steps) -> Steps:
        """These steps followed by others."""
        pairs = zip(self.arrays(), later.arrays(), strict=True)
        return Steps(*(np.concatenate(pair) for pair in pairs))

    def part(self, first: int, end: int) -> Steps:
        """The steps from ``first`` up to ``end``."""
        return self.mapped(lambda array: array[first:end])

    @classmethod
    def supposing(cls, arms: list[int]) -> Steps:
        """Steps that suppose a result of each arm at its own mean, and then decide."""
        count = len(arms)
        return cls(
            kinds=np.array([SUPPOSE] * count + [LOOK], np.int64),
            arms=np.array([*arms, 0], np.int64),
            values=np.zeros(count + 1),
            held=np.zeros(count + 1, np.int64),
        )


@dataclass(frozen=True, eq=False)
class Position(Record):
    """How far the steps have been taken (``marks``), and the pulls that come before the first decision.

    ``wanted`` are the initial pulls of every arm, ``after_pilot`` those after a pilot.
    """

    wanted: Integers
    after_pilot: Integers
    marks: Integers


def fresh_marks() -> NDArray[np.int64]:
    """The marks before the first step."""
    return np.array([0, 0, -1, 0, 0], np.int64)


@compiled(typed=True)
def follow(
    state: State,
    now: Round,
    settings: Settings,
    routines: Routines,
    seed: np.uint64,
    position: Position,
    steps: Steps,
) -> int:
    """Take the steps from ``marks[NEXT]`` on; returns STOP at a stop, PULL at the end of the steps."""
    marks, kinds, arms = position.marks, steps.kinds, steps.arms
    while marks[NEXT] < kinds.shape[0]:
        step = marks[NEXT]
        kind = kinds[step]
        if marks[IS_IN] == 0:
            marks[IS_IN] = 1
            if kind == REOPEN:
                marks[IS_STOPPED] = 0
            elif kind == TAKE:
                take_in(state, routines.updates, arms[step], steps.values[step])
            elif kind == SUPPOSE:
                take_in(state, routines.updates, arms[step], state.means[arms[step]])
        decides = kind in (TAKE, LOOK)
        if decides and marks[IS_INITIALIZED] == 0:
            if state.clock[ASIDE] > 0:
                decides = missing(state, position.after_pilot) == NO_ARM
            else:
                for a in range(position.wanted.shape[0]):
                    if state.pulls[a] < position.wanted[a]:
                        decides = False
            if decides:
                if state.clock[READY] == 0 and not routines.updates.refresh(state):
                    return SINGULAR
                marks[IS_INITIALIZED] = 1
        stop = False
        if (
            decides
            and steps.held[step] == 0
            and marks[IS_STOPPED] == 0
            and marks[DECIDED_AT] != state.clock[OBSERVED]
        ):
            status = routines.decide(state, now, settings, seed)
            if status == DESIGN_WANTED or status >= BAD_CANDIDATES:
                return status
            marks[DECIDED_AT] = state.clock[OBSERVED]
            stop = status == STOP
            if status == PILOT_ENDS:
                routines.set_aside(state)
                marks[IS_INITIALIZED] = 0
        marks[NEXT] += 1
        marks[IS_IN] = 0
        if stop:
            marks[IS_STOPPED] = 1
            return STOP
    return PULL
