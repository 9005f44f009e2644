"""Rounds on results that come from outside: taken in one by one, a decision after each."""

from __future__ import annotations

import numpy as np

from shortlist.algorithms.round import ROUND, Round
from shortlist.algorithms.settings import ROUTINES, SETTINGS, Routines, Settings
from shortlist.algorithms.signals import (
    BAD_CANDIDATES,
    DESIGN_WANTED,
    PILOT_ENDS,
    PULL,
    SINGULAR,
    STOP,
)
from shortlist.algorithms.steps import (
    DECIDED_AT,
    INITIALIZED,
    IS_IN,
    LOOK,
    NEXT,
    REOPEN,
    STANDING,
    STEPS,
    STOPPED,
    SUPPOSE,
    TAKE,
    Standing,
    Steps,
)
from shortlist.arrays import NO_ARM
from shortlist.core.jit import compiled
from shortlist.core.lagging import mean_of
from shortlist.core.pilot import missing
from shortlist.core.records import INTEGER, KEY
from shortlist.core.state import ASIDE, OBSERVED, READY, STATE, State


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
