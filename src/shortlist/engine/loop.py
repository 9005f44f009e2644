"""Algorithm 1 of the paper: a round (``decide``), and the loop over rounds in simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from shortlist.allocations.allocation import ALLOCATED, NO_ROOM, reset_allocation
from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.state import forget as forget_memory
from shortlist.engine.round import (
    ARM,
    DECIDE,
    GAP,
    LAST_B,
    LAST_C,
    QUEUED,
    REMEMBERS,
    ROUND,
    ROUTINES,
    STATISTIC,
    THRESHOLD,
    B,
    C,
    Round,
    Routines,
    candidates_stay,
    column,
    design_slot,
)
from shortlist.engine.settings import (
    ALLOCATION_USED,
    AMBIGUOUS_RULE,
    BAD_AMBIGUOUS,
    BAD_CANDIDATES,
    BAD_SELECTION,
    BOTH,
    BY_PAIR,
    CANDIDATES_MAY_STAY,
    CANDIDATES_RULE,
    CHECK_STOP,
    DESIGN,
    DESIGN_WANTED,
    EXHAUSTED,
    INITIALIZED,
    LAGGED,
    MTH_GAPS,
    OUTSIDE_GAPS,
    PILOT,
    PILOT_ENDS,
    PULL,
    ROOM_WANTED,
    SELECTION_RULE,
    SETTINGS,
    SHARES_WANTED,
    SINGULAR,
    SKIPS_ARMS,
    STOP,
    STOPPED,
    STOPPING_RULE,
    TARGET,
    THRESHOLD_RULE,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.order import count, largest_among, mth_largest
from shortlist.numerics.random import round_key, seed_stream
from shortlist.numerics.records import (
    INTEGER,
    VOID,
    Grid,
    Integer,
    Integers,
    Keys,
    Masks,
    Record,
    Table,
    record_type,
)
from shortlist.posterior.least_squares import climb, start
from shortlist.posterior.pilot import missing, pilot_is_over, pilot_threshold, set_aside, surprise
from shortlist.posterior.rows import row
from shortlist.posterior.state import (
    ASIDE,
    LEVEL,
    LOG_DET,
    OBSERVED,
    READY,
    REGULARIZATION,
    STATE,
    TICK,
    State,
)
from shortlist.rules.ambiguous import most_ambiguous
from shortlist.rules.candidates import mark_candidates
from shortlist.rules.rule import OWN, POINTERS
from shortlist.rules.selection import select
from shortlist.rules.stopping import stopping_statistic
from shortlist.rules.thresholds import evaluate, remembered, two_arm_threshold


@compiled()
def begin_round(state: State, now: Round, settings: Settings) -> float:
    """Write the threshold C of this round to ``figures``; returns Cσ."""
    flags, constants, t = settings.flags, settings.constants, state.clock[OBSERVED]
    # C is evaluated at t after initial pulls, at t + 1 without them (as in the published runs).
    time = t if flags & INITIALIZED else t + 1
    number, own, figures = settings.numbers[THRESHOLD_RULE], settings.threshold, now.figures
    if flags & PILOT and state.clock[ASIDE] == 0:
        figures[THRESHOLD] = pilot_threshold(time, constants)
    elif flags & PILOT:
        learnt = surprise(state, settings.sigma)
        figures[THRESHOLD] = evaluate(number, own, time, learnt, constants)
    else:
        if state.clock[LEVEL] >= 0:
            climb(state, constants[1] - 1.0)
        log_det = state.scalars[LOG_DET]
        figures[THRESHOLD] = remembered(now.thresholds, number, own, time, log_det, constants)
    state.clock[TICK] += 1
    return settings.sigma * figures[THRESHOLD]


@compiled(DECIDE)
def decide(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """One round of Algorithm 1, up to the pull: J(t), b_t, c_t, the stop, the arm."""
    arms, m, epsilon, flags = state.means.shape[0], settings.m, settings.epsilon, settings.flags
    t, figures, pair, numbers = state.clock[OBSERVED], now.figures, now.pair, settings.numbers
    in_pilot = flags & PILOT != 0 and state.clock[ASIDE] == 0
    scale = begin_round(state, now, settings)
    pair[REMEMBERS] = now.least.shape[0] > 0 and not in_pilot  # a pilot's indices are no bounds
    # Columns made in this round are numbered from here on: a later round starts above them all.
    since = state.clock[TICK] * arms

    if flags & LAGGED and flags & CHECK_STOP and pair[LAST_B] >= 0 and not in_pilot:
        slot = column(state, now, settings, pair[LAST_B], since, scale)
        figures[GAP] = now.gaps[slot, pair[LAST_C]]
        figures[STATISTIC] = stopping_statistic(
            numbers[STOPPING_RULE], settings.stopping, figures[GAP], now.inside, now.mth_gaps
        )
        if figures[STATISTIC] <= epsilon:
            return STOP

    if not flags & CANDIDATES_MAY_STAY or not candidates_stay(state, now, settings, since, scale):
        if flags & MTH_GAPS:
            for j in range(arms):
                slot = column(state, now, settings, j, since, scale)
                now.mth_gaps[j] = mth_largest(now.gaps[slot], j, m, now.heap)
        mark_candidates(
            *(numbers[CANDIDATES_RULE], settings.candidates, m, state.means, now.mth_gaps),
            *(round_key(seed, t, 0), now.arm_heap, now.inside),
        )
        if numbers[CANDIDATES_RULE] == OWN and count(now.inside) != m:
            return BAD_CANDIDATES
    key = round_key(seed, t, 2)
    if flags & OUTSIDE_GAPS:
        for j in range(arms):
            if now.inside[j]:
                slot = column(state, now, settings, j, since, scale)
                challenger = largest_among(now.gaps[slot], now.inside, False, key)
                now.challengers[j] = challenger
                now.outside_gaps[j] = now.gaps[slot, challenger]
    b = most_ambiguous(
        *(numbers[AMBIGUOUS_RULE], settings.ambiguous, now.inside, now.mth_gaps, now.outside_gaps),
        round_key(seed, t, 1),
    )
    if numbers[AMBIGUOUS_RULE] == OWN and not (0 <= b < arms and now.inside[b]):
        return BAD_AMBIGUOUS
    slot = column(state, now, settings, b, since, scale)
    if flags & OUTSIDE_GAPS:
        c = now.challengers[b]
    else:
        c = largest_among(now.gaps[slot], now.inside, False, key)
    pair[B], pair[C] = b, c
    if flags & BY_PAIR:
        figures[THRESHOLD] = two_arm_threshold(
            settings.constants, state.variances[b], state.variances[c]
        )
    if in_pilot:
        gap = state.means[b] - state.means[c]
        figures[GAP] = now.gaps[slot, c]
        if flags & CHECK_STOP and pilot_is_over(
            gap + epsilon, (figures[GAP] + gap) / figures[THRESHOLD], settings.constants
        ):
            set_aside(state)
            return PILOT_ENDS
    elif not flags & LAGGED:
        figures[GAP] = now.gaps[slot, c]
        figures[STATISTIC] = stopping_statistic(
            numbers[STOPPING_RULE], settings.stopping, figures[GAP], now.inside, now.mth_gaps
        )
        if flags & CHECK_STOP and figures[STATISTIC] <= epsilon:
            return STOP

    design = state.noise
    if flags & DESIGN:
        place = design_slot(now.design_keys, arms, b, c)
        if place < 0:
            return DESIGN_WANTED
        design = now.designs[place]
    if flags & TARGET:
        asked = settings.allocate(
            numbers[ALLOCATION_USED], state, now.inside, settings.sigma, epsilon, now.allocation
        )
        if asked != ALLOCATED:
            return ROOM_WANTED if asked == NO_ROOM else SHARES_WANTED
        design = now.allocation.wanted
    slot_c = row(state, c)
    slot_b = row(state, b)
    pair[ARM] = select(
        *(
            numbers[SELECTION_RULE],
            settings.selection,
            b,
            c,
            state.rows[slot_b],
            state.rows[slot_c],
        ),
        *(state.variances, state.pulls, design, round_key(seed, t, 3)),
    )
    if numbers[SELECTION_RULE] == OWN and not 0 <= pair[ARM] < arms:
        return BAD_SELECTION
    pair[QUEUED] = c if flags & BOTH else NO_ARM
    pair[LAST_B], pair[LAST_C] = b, c
    return PULL


@dataclass(frozen=True, eq=False)
class Simulation(Record):
    """Runs to simulate, one for each seed, and their results.

    ``initial`` are the first pulls, ``again`` those of every arm after a pilot. ``progress`` is (runs
    finished, whether a run is under way).
    """

    seeds: Keys
    initial: Integers
    again: Integers
    reward: Annotated[Callable[..., float], POINTERS["reward"]]
    parameters: Table
    most: Integer
    stream: Keys
    stopped: Integers
    recommended: Masks
    pulls: Grid
    progress: Integers


SIMULATION = record_type(Simulation)


@compiled(VOID(STATE, ROUND, SETTINGS, ROUTINES))
def begin_run(state: State, now: Round, settings: Settings, routines: Routines) -> None:
    """Reset everything that another run has changed."""
    start(state)
    if state.scalars[REGULARIZATION] > 0.0:
        routines.refresh(state)
    if settings.flags & TARGET:
        reset_allocation(now.allocation)
    if settings.flags & SKIPS_ARMS:
        forget_memory(now.memory)
    now.least[:] = np.inf
    now.inside[:] = False
    now.pair[:] = NO_ARM


@compiled(INTEGER(STATE, ROUND, SETTINGS, ROUTINES, SIMULATION))
def replicate(
    state: State, now: Round, settings: Settings, routines: Routines, runs: Simulation
) -> int:
    """Simulate runs from the first pull to the stop; the first run may be under way already.

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
                arm = missing(state, runs.again)
            if arm != NO_ARM:
                pass
            elif clock[OBSERVED] < runs.initial.shape[0]:
                arm = runs.initial[clock[OBSERVED]]
            elif pair[QUEUED] != NO_ARM:
                arm = pair[QUEUED]
                pair[QUEUED] = NO_ARM
            else:
                if clock[READY] == 0 and not routines.refresh(state):
                    return SINGULAR
                status = routines.decide(state, now, settings, runs.seeds[run])
                if status == DESIGN_WANTED or status >= BAD_CANDIDATES:
                    return status
                if status == STOP:
                    runs.stopped[run] = STOPPED
                    break
                if status == PILOT_ENDS:
                    continue
                arm = pair[ARM]
            if clock[OBSERVED] >= runs.most:
                break
            routines.observe(state, arm, runs.reward(arm, runs.parameters, runs.stream))
        for a in range(runs.pulls.shape[1]):
            runs.recommended[run, a] = now.inside[a]
            runs.pulls[run, a] = state.pulls[a]
        progress[1] = 0
        progress[0] += 1
    return STOP
