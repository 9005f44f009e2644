"""The loop over rounds in simulation."""

from __future__ import annotations

from dataclasses import dataclass

from shortlist.allocations.allocation import NONE, reset_allocation
from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.memory import forget as forget_memory
from shortlist.engine.round import Round, Routines
from shortlist.engine.settings import SINGULAR, STOP, Settings
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import seed_stream
from shortlist.numerics.records import (
    Grid,
    Integer,
    Integers,
    Keys,
    Mask,
    Masks,
    Record,
    Table,
)
from shortlist.posterior.least_squares import start, take_in
from shortlist.posterior.state import OneInteger, State
from shortlist.rules.rule import Reward


@dataclass(frozen=True, eq=False)
class Simulation(Record):
    """Runs to simulate, one for each seed, and their results.

    ``initial`` are the first pulls, in order. Of the runs ``finished`` are over, and ``begun`` is 1 while one
    is under way.
    """

    seeds: Keys
    initial: Integers
    reward: Reward
    parameters: Table
    most: Integer
    stream: Keys
    stopped: Mask
    recommended: Masks
    pulls: Grid
    finished: OneInteger
    begun: OneInteger


@compiled(typed=True)
def begin_run(state: State, current: Round, settings: Settings, routines: Routines) -> None:
    """Reset everything that another run has changed."""
    start(state)
    if state.regularization > 0.0:
        routines.updates.refresh(state)
    if settings.allocation != NONE:
        reset_allocation(current.allocation)
    if settings.skips_arms:
        forget_memory(current.memory)
    current.inside[:] = False
    current.queued[0] = current.last_b[0] = current.last_c[0] = NO_ARM


@compiled()
def arm_without_decision(state: State, current: Round, settings: Settings, runs: Simulation) -> int:
    """The arm to pull without a new decision: at first, or c_t after b_t; else NO_ARM."""
    arm = NO_ARM
    if state.observed[0] < runs.initial.shape[0]:
        arm = runs.initial[state.observed[0]]
    if arm == NO_ARM and settings.pulls_both:
        arm = current.queued[0]
        current.queued[0] = NO_ARM
    return arm


@compiled(typed=True)
def replicate(
    state: State, current: Round, settings: Settings, routines: Routines, runs: Simulation
) -> int:
    """Simulate runs from the first pull to the stop; the first run may have begun already.

    Where a run needs a design, or something for its allocation, this returns, and the next call goes on
    from there.
    """
    finished, begun = runs.finished, runs.begun
    while finished[0] < runs.seeds.shape[0]:
        run = finished[0]
        if begun[0] == 0:
            begun[0] = 1
            begin_run(state, current, settings, routines)
            seed_stream(runs.seeds[run], runs.stream)
        runs.stopped[run] = False
        while True:
            arm = arm_without_decision(state, current, settings, runs)
            if arm == NO_ARM:
                if state.ready[0] == 0 and not routines.updates.refresh(state):
                    return SINGULAR
                status = routines.decide(state, current, settings, runs.seeds[run])
                if status > STOP:
                    return status
                if status == STOP:
                    runs.stopped[run] = True
                    break
                arm = current.arm[0]
            if state.observed[0] >= runs.most:
                break
            result = runs.reward(arm, runs.parameters, runs.stream)
            take_in(state, routines.updates, arm, result)
        for a in range(runs.pulls.shape[1]):
            runs.recommended[run, a] = current.inside[a]
            runs.pulls[run, a] = state.pulls[a]
        begun[0] = 0
        finished[0] += 1
    return STOP
