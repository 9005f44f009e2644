"""Rounds on results that come from outside: taken in one by one, a decision after each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shortlist.algorithms.kernel import RULES, decide
from shortlist.algorithms.round import NOBODY, ROUND, Round
from shortlist.algorithms.signals import (
    BAD_CANDIDATES,
    DESIGN_WANTED,
    PILOT_ENDS,
    PULL,
    SINGULAR,
    STOP,
)
from shortlist.core.lagging import mean_of
from shortlist.core.least_squares import observe, refresh
from shortlist.core.pilot import missing, set_aside
from shortlist.core.rule import INTEGER, INTEGERS, KEY, REAL, REALS, compiled
from shortlist.core.state import ASIDE, OBSERVED, READY, STATE, Integers, Reals, State

# What a step does: take a result in; suppose one at the arm's own mean; only look; go on after a
# stop.
TAKE, SUPPOSE, LOOK, REOPEN = 0, 1, 2, 3
# Where a follower stands: the next step, whether its result is in already, at how many results the
# last decision was made (-1: never), whether it said stop, whether the initial pulls are in.
NEXT, IS_IN, DECIDED_AT, STOPPED, INITIALIZED = 0, 1, 2, 3, 4


class Steps(NamedTuple):
    """Results from outside, in order: what each step does, its arm and value, whether it is held."""

    kinds: NDArray[np.int64]
    arms: NDArray[np.int64]
    values: NDArray[np.float64]
    held: NDArray[np.int64]

    @classmethod
    def none(cls) -> Steps:
        """No step."""
        empty = np.zeros(0, np.int64)
        return cls(kinds=empty, arms=empty, values=np.zeros(0), held=empty)

    def then(self, later: Steps) -> Steps:
        """These, and others after them."""
        return Steps(*(np.concatenate(pair) for pair in zip(self, later, strict=True)))

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


def fresh_marks() -> NDArray[np.int64]:
    """Where a follower stands before its first step."""
    return np.array([0, 0, -1, 0, 0], np.int64)


@compiled(
    INTEGER(
        *(STATE, ROUND, INTEGER, REAL, REAL, KEY, INTEGER, REALS, INTEGERS, *RULES),
        *(INTEGERS, INTEGERS, INTEGERS, INTEGERS, REALS, INTEGERS, INTEGERS),
    )
)
def follow(
    state: State,
    now: Round,
    m: int,
    sigma: float,
    epsilon: float,
    seed: np.uint64,
    flags: int,
    constants: Reals,
    numbers: Integers,
    indices: Callable[..., None],
    threshold: Callable[..., float],
    candidates: Callable[..., None],
    ambiguous: Callable[..., int],
    selection: Callable[..., int],
    stopping: Callable[..., float],
    wanted: Integers,
    again: Integers,
    kinds: Integers,
    arms: Integers,
    values: Reals,
    held: Integers,
    marks: Integers,
) -> int:
    """Take the steps from ``marks[NEXT]`` on; returns STOP at a stop, PULL at the end of the steps.

    ``wanted`` are the initial pulls of every arm, ``again`` those after a pilot; while ``held`` is set an arm of the last round is
    still to be asked for, and no new round is begun.
    """
    while marks[NEXT] < kinds.shape[0]:
        step = marks[NEXT]
        kind = kinds[step]
        if marks[IS_IN] == 0:
            marks[IS_IN] = 1
            if kind == REOPEN:
                marks[STOPPED] = 0
            elif kind == TAKE:
                observe(state, arms[step], values[step])
            elif kind == SUPPOSE:
                observe(state, arms[step], mean_of(state, arms[step]))
        decides = kind in (TAKE, LOOK)
        if decides and marks[INITIALIZED] == 0:
            if state.clock[ASIDE] > 0:
                decides = missing(state, again) == NOBODY
            else:
                for a in range(wanted.shape[0]):
                    if state.pulls[a] < wanted[a]:
                        decides = False
            if decides:
                if state.clock[READY] == 0 and not refresh(state):
                    return SINGULAR
                marks[INITIALIZED] = 1
        stop = False
        if (
            decides
            and held[step] == 0
            and marks[STOPPED] == 0
            and marks[DECIDED_AT] != state.clock[OBSERVED]
        ):
            status = decide(
                state,
                now,
                m,
                sigma,
                epsilon,
                seed,
                flags,
                constants,
                numbers,
                indices,
                threshold,
                candidates,
                ambiguous,
                selection,
                stopping,
            )
            if status == DESIGN_WANTED or status >= BAD_CANDIDATES:
                return status
            marks[DECIDED_AT] = state.clock[OBSERVED]
            stop = status == STOP
            if status == PILOT_ENDS:
                set_aside(state)
                marks[INITIALIZED] = 0
        marks[NEXT] += 1
        marks[IS_IN] = 0
        if stop:
            marks[STOPPED] = 1
            return STOP
    return PULL
