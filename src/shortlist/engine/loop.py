"""The loop over rounds in simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.allocations.allocation import reset_allocation
from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.memory import forget as forget_memory
from shortlist.engine.round import ARM, QUEUED, Round, Routines
from shortlist.engine.settings import (
    BAD_CANDIDATES,
    DESIGN_WANTED,
    EXHAUSTED,
    PILOT_ENDS,
    RUN_STOPPED,
    SINGULAR,
    SKIPS_ARMS,
    STOP,
    TARGET,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import seed_stream
from shortlist.numerics.records import (
    Grid,
    Integer,
    Integers,
    Keys,
    Masks,
    Record,
    Table,
)
from shortlist.posterior.least_squares import start, take_in
from shortlist.posterior.pilot import missing
from shortlist.posterior.state import ASIDE, OBSERVED, READY, REGULARIZATION, State
from shortlist.rules.rule import Reward


@dataclass(frozen=True, eq=False)
class Simulation(Record):
    """Runs to simulate, one for each seed, and their results.

    ``initial`` are the first pulls, ``after_pilot`` those of every arm after a pilot. ``progress`` is
    (runs finished, whether a run has begun).
    """

    seeds: Keys
    initial: Integers
    after_pilot: Integers
    reward: Reward
    parameters: Table
    most: Integer
    stream: Keys
    stopped: Integers
    recommended: Masks
    pulls: Grid
    progress: Integers


@compiled(typed=True)
def begin_run(state: State, now: Round, settings: Settings, routines: Routines) -> None:
    """Reset everything that another run has changed."""
    start(state)
    if state.scalars[REGULARIZATION] > 0.0:
        routines.updates.refresh(state)
    if settings.flags & TARGET:
        reset_allocation(now.allocation)
    if settings.flags & SKIPS_ARMS:
        forget_memory(now.memory)
    now.least[:] = np.inf
    now.inside[:] = False
    now.pair[:] = NO_ARM


@compiled(typed=True)
def replicate(
    state: State, now: Round, settings: Settings, routines: Routines, runs: Simulation
) -> int:
    """Simulate runs from the first pull to the stop; the first run may have begun already.

    Where a run needs a design, or something for its allocation, this returns, and the next call goes on
    from there.
    """
    pair, clock, progress = now.pair, state.clock, runs.progress
    while progress[0] < runs.seeds.shape[0]:
        run = progress[0]
        if progress[1] == 0:
            progress[1] = 1
            begin_run(state, now, settings, routines)
            seed_stream(runs.seeds[run], runs.stream)
        runs.stopped[run] = EXHAUSTED
        while True:
            arm = NO_ARM
            if clock[ASIDE] > 0 and clock[READY] == 0:
                arm = missing(state, runs.after_pilot)
            if arm != NO_ARM:
                pass
            elif clock[OBSERVED] < runs.initial.shape[0]:
                arm = runs.initial[clock[OBSERVED]]
            elif pair[QUEUED] != NO_ARM:
                arm = pair[QUEUED]
                pair[QUEUED] = NO_ARM
            else:
                if clock[READY] == 0 and not routines.updates.refresh(state):
                    return SINGULAR
                status = routines.decide(state, now, settings, runs.seeds[run])
                if status == DESIGN_WANTED or status >= BAD_CANDIDATES:
                    return status
                if status == STOP:
                    runs.stopped[run] = RUN_STOPPED
                    break
                if status == PILOT_ENDS:
                    routines.set_aside(state)
                    continue
                arm = pair[ARM]
            if clock[OBSERVED] >= runs.most:
                break
            result = runs.reward(arm, runs.parameters, runs.stream)
            take_in(state, routines.updates, arm, result)
        for a in range(runs.pulls.shape[1]):
            runs.recommended[run, a] = now.inside[a]
            runs.pulls[run, a] = state.pulls[a]
        progress[1] = 0
        progress[0] += 1
    return STOP
