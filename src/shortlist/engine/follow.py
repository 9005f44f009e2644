"""Results from outside as steps, and where a follower of them stands.

Rounds on results that come from outside: taken in one by one, a decision after each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM
from shortlist.engine.round import ROUND, ROUTINES, Round, Routines
from shortlist.engine.settings import (
    BAD_CANDIDATES,
    DESIGN_WANTED,
    PILOT_ENDS,
    PULL,
    SETTINGS,
    SINGULAR,
    STOP,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import INTEGER, KEY, Integers, Reals, Record, record_type
from shortlist.posterior.lagging import mean_of
from shortlist.posterior.pilot import missing
from shortlist.posterior.state import ASIDE, OBSERVED, READY, STATE, State

# What a step does: take a result in; suppose one at the arm's own mean; only look; go on after a
# stop.
TAKE, SUPPOSE, LOOK, REOPEN = 0, 1, 2, 3
# Where a follower stands: the next step, whether its result is in already, at how many results the
# last decision was made (-1: never), whether it said stop, whether the initial pulls are in.
NEXT, IS_IN, DECIDED_AT, STOPPED, INITIALIZED = 0, 1, 2, 3, 4


@dataclass(frozen=True, eq=False)
class Steps(Record):
    """Results from outside, in order: what each step does, its arm and value, whether it is held.

    While a step is held an arm of the last round is still to be asked for, and no new round is begun.
    """

    kinds: Integers
    arms: Integers
    values: Reals
    held: Integers

    @classmethod
    def empty(cls, count: int) -> Steps:
        """Room for so many steps."""
        kinds, arms, held = np.empty((3, count), np.int64)
        return cls(kinds=kinds, arms=arms, values=np.empty(count), held=held)

    def then(self, later: Steps) -> Steps:
        """These, and others after them."""
        pairs = zip(self.arrays(), later.arrays(), strict=True)
        return Steps(*(np.concatenate(pair) for pair in pairs))

    def part(self, first: int, end: int) -> Steps:
        """Those from ``first`` to before ``end``."""
        return self.mapped(lambda array: array[first:end])

    @classmethod
    def supposing(cls, arms: list[int]) -> Steps:
        """Suppose a result at its own mean of each arm, then look."""
        count = len(arms)
        return cls(
            kinds=np.array([SUPPOSE] * count + [LOOK], np.int64),
            arms=np.array([*arms, 0], np.int64),
            values=np.zeros(count + 1),
            held=np.zeros(count + 1, np.int64),
        )


STEPS = record_type(Steps)


@dataclass(frozen=True, eq=False)
class Standing(Record):
    """Where a follower stands in ``marks``, and the pulls that every arm is to have at first.

    ``wanted`` are the initial ones, ``again`` those after a pilot.
    """

    wanted: Integers
    again: Integers
    marks: Integers


STANDING = record_type(Standing)


def fresh_marks() -> NDArray[np.int64]:
    """Where a follower stands before its first step."""
    return np.array([0, 0, -1, 0, 0], np.int64)


@compiled(INTEGER(STATE, ROUND, SETTINGS, ROUTINES, KEY, STANDING, STEPS))
def follow(
    state: State,
    now: Round,
    settings: Settings,
    routines: Routines,
    seed: np.uint64,
    standing: Standing,
    steps: Steps,
) -> int:
    """Take the steps from ``marks[NEXT]`` on; returns STOP at a stop, PULL at the end of the steps."""
    marks, kinds, arms = standing.marks, steps.kinds, steps.arms
    while marks[NEXT] < kinds.shape[0]:
        step = marks[NEXT]
        kind = kinds[step]
        if marks[IS_IN] == 0:
            marks[IS_IN] = 1
            if kind == REOPEN:
                marks[STOPPED] = 0
            elif kind == TAKE:
                routines.observe(state, arms[step], steps.values[step])
            elif kind == SUPPOSE:
                routines.observe(state, arms[step], mean_of(state, arms[step]))
        decides = kind in (TAKE, LOOK)
        if decides and marks[INITIALIZED] == 0:
            if state.clock[ASIDE] > 0:
                decides = missing(state, standing.again) == NO_ARM
            else:
                for a in range(standing.wanted.shape[0]):
                    if state.pulls[a] < standing.wanted[a]:
                        decides = False
            if decides:
                if state.clock[READY] == 0 and not routines.refresh(state):
                    return SINGULAR
                marks[INITIALIZED] = 1
        stop = False
        if (
            decides
            and steps.held[step] == 0
            and marks[STOPPED] == 0
            and marks[DECIDED_AT] != state.clock[OBSERVED]
        ):
            status = routines.decide(state, now, settings, seed)
            if status == DESIGN_WANTED or status >= BAD_CANDIDATES:
                return status
            marks[DECIDED_AT] = state.clock[OBSERVED]
            stop = status == STOP
            if status == PILOT_ENDS:
                marks[INITIALIZED] = 0
        marks[NEXT] += 1
        marks[IS_IN] = 0
        if stop:
            marks[STOPPED] = 1
            return STOP
    return PULL
