"""Algorithm 1 of the paper, once: a round (``decide``) and the loop over rounds (``replicate``)."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba import types

from shortlist.algorithms.round import (
    ARM,
    GAP,
    LAST_B,
    LAST_C,
    NOBODY,
    QUEUED,
    REMEMBERS,
    ROUND,
    STATISTIC,
    THRESHOLD,
    B,
    C,
    Round,
    candidates_stay,
    column,
    design_slot,
)
from shortlist.algorithms.screen import forget as forget_screen
from shortlist.algorithms.screening import decide_screened
from shortlist.algorithms.signals import (
    BAD_AMBIGUOUS,
    BAD_CANDIDATES,
    BAD_SELECTION,
    BOTH,
    CANDIDATES_MAY_STAY,
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
    RESUME,
    ROOM_WANTED,
    SCREENED,
    SHARES_WANTED,
    SINGULAR,
    STOP,
    STOPPED,
    TARGET,
)
from shortlist.core.least_squares import observe, refresh, start
from shortlist.core.levels import climb
from shortlist.core.order import count, largest_among, mth_largest
from shortlist.core.pilot import missing, pilot_is_over, pilot_threshold, set_aside, surprise
from shortlist.core.random import round_key, seed_stream
from shortlist.core.rows import row
from shortlist.core.rule import (
    INTEGER,
    INTEGERS,
    KEYS,
    OWN,
    POINTERS,
    REAL,
    REALS,
    TABLE,
    compiled,
)
from shortlist.core.snapshot import restore
from shortlist.core.state import (
    ASIDE,
    LEVEL,
    LOG_DET,
    OBSERVED,
    READY,
    STATE,
    TICK,
    Integers,
    Reals,
    State,
)
from shortlist.rules.allocation import ALLOCATED, NO_ROOM, allocate, forget
from shortlist.rules.ambiguous import most_ambiguous
from shortlist.rules.candidates import mark_candidates
from shortlist.rules.indices import fill_column
from shortlist.rules.selection import select
from shortlist.rules.stopping import stopping_statistic
from shortlist.rules.thresholds import evaluate, remembered

RULES = (
    POINTERS["indices"],
    POINTERS["threshold"],
    POINTERS["candidates"],
    POINTERS["ambiguous"],
    POINTERS["selection"],
    POINTERS["stopping"],
)


@compiled()
def decide(
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
) -> int:
    """One round of Algorithm 1, up to the pull: J(t), b_t, c_t, the stop, the arm."""
    arms = state.means.shape[0]
    t = state.clock[OBSERVED]
    # C is evaluated at t after initial pulls, at t + 1 without them (as in the published runs).
    time = t if flags & INITIALIZED else t + 1
    figures, pair = now.figures, now.pair
    in_pilot = flags & PILOT != 0 and state.clock[ASIDE] == 0
    if in_pilot:
        figures[THRESHOLD] = pilot_threshold(time, constants)
    elif flags & PILOT:
        learnt = surprise(state, sigma)
        figures[THRESHOLD] = evaluate(numbers[1], threshold, time, learnt, constants)
    else:
        if state.clock[LEVEL] >= 0:
            climb(state, constants[1] - 1.0)
        log_det, table = state.scalars[LOG_DET], now.thresholds
        figures[THRESHOLD] = remembered(table, numbers[1], threshold, time, log_det, constants)
    pair[REMEMBERS] = now.least.shape[0] > 0 and not in_pilot  # a pilot's indices are no bounds
    scale = sigma * figures[THRESHOLD]
    # Columns made in this round are numbered from here on: a later round starts above them all.
    since = (state.clock[TICK] + 1) * arms
    state.clock[TICK] += 1

    if flags & SCREENED:
        return decide_screened(
            state, now, m, epsilon, seed, flags, scale, numbers, selection
        )  # fmt: skip

    if flags & LAGGED and flags & CHECK_STOP and pair[LAST_B] >= 0 and not in_pilot:
        slot = column(state, now, pair[LAST_B], since, scale, numbers[0], indices)
        figures[GAP] = now.gaps[slot, pair[LAST_C]]
        figures[STATISTIC] = stopping_statistic(
            numbers[5], stopping, figures[GAP], now.inside, now.mth_gaps
        )
        if figures[STATISTIC] <= epsilon:
            return STOP

    if not flags & CANDIDATES_MAY_STAY or not candidates_stay(
        state, now, m, since, scale, numbers[0], indices
    ):
        if flags & MTH_GAPS:
            for j in range(arms):
                slot = column(state, now, j, since, scale, numbers[0], indices)
                now.mth_gaps[j] = mth_largest(now.gaps[slot], j, m, now.heap)
        key = round_key(seed, t, 0)
        mark_candidates(
            numbers[2], candidates, m, state.means, now.mth_gaps, key, now.arm_heap, now.inside
        )
        if numbers[2] == OWN and count(now.inside) != m:
            return BAD_CANDIDATES
    key = round_key(seed, t, 2)
    if flags & OUTSIDE_GAPS:
        for j in range(arms):
            if now.inside[j]:
                slot = column(state, now, j, since, scale, numbers[0], indices)
                challenger = largest_among(now.gaps[slot], now.inside, False, key)
                now.challengers[j] = challenger
                now.outside_gaps[j] = now.gaps[slot, challenger]
    b = most_ambiguous(
        *(numbers[3], ambiguous, now.inside, now.mth_gaps, now.outside_gaps),
        round_key(seed, t, 1),
    )
    if numbers[3] == OWN and not (0 <= b < arms and now.inside[b]):
        return BAD_AMBIGUOUS
    slot = column(state, now, b, since, scale, numbers[0], indices)
    if flags & OUTSIDE_GAPS:
        c = now.challengers[b]
    else:
        c = largest_among(now.gaps[slot], now.inside, False, key)
    pair[B], pair[C] = b, c
    if in_pilot:
        gap = state.means[b] - state.means[c]
        figures[GAP] = now.gaps[slot, c]
        if flags & CHECK_STOP and pilot_is_over(
            gap + epsilon, (figures[GAP] + gap) / figures[THRESHOLD], constants
        ):
            return PILOT_ENDS
    elif not flags & LAGGED:
        figures[GAP] = now.gaps[slot, c]
        figures[STATISTIC] = stopping_statistic(
            numbers[5], stopping, figures[GAP], now.inside, now.mth_gaps
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
        asked = allocate(numbers[6], state, now.inside, sigma, epsilon, now.allocation)
        if asked != ALLOCATED:
            return ROOM_WANTED if asked == NO_ROOM else SHARES_WANTED
        design = now.allocation.wanted
    slot_c = row(state, c)
    slot_b = row(state, b)
    pair[ARM] = select(
        numbers[4],
        selection,
        b,
        c,
        state.rows[slot_b],
        state.rows[slot_c],
        state.variances,
        state.pulls,
        design,
        round_key(seed, t, 3),
    )
    if numbers[4] == OWN and not 0 <= pair[ARM] < arms:
        return BAD_SELECTION
    pair[QUEUED] = c if flags & BOTH else NOBODY
    pair[LAST_B], pair[LAST_C] = b, c
    return PULL


@compiled(
    INTEGER(
        *(STATE, ROUND, INTEGER, REAL, REAL, KEYS, INTEGER, REALS, INTEGERS, *RULES),
        *(STATE, INTEGERS, INTEGERS, POINTERS["reward"], TABLE, INTEGER, KEYS, INTEGERS),
        *(types.Array(types.boolean, 2, "C"), types.Array(types.int64, 2, "C"), INTEGERS),
    )
)
def replicate(
    state: State,
    now: Round,
    m: int,
    sigma: float,
    epsilon: float,
    seeds: Any,
    flags: int,
    constants: Reals,
    numbers: Integers,
    indices: Callable[..., None],
    threshold: Callable[..., float],
    candidates: Callable[..., None],
    ambiguous: Callable[..., int],
    selection: Callable[..., int],
    stopping: Callable[..., float],
    origin: State,
    initial: Integers,
    again: Integers,
    reward: Callable[..., float],
    parameters: Reals,
    most: int,
    stream: Any,
    stopped: Integers,
    recommended: Any,
    pulls: Any,
    progress: Integers,
) -> int:
    """Many runs, one a seed, each from its first pull to its stop, or with RESUME from ``origin``.

    ``progress`` is (runs finished, whether a run is under way): a run that wants a design, or something
    for its allocation, returns to its caller and is taken up again where it stood.
    """
    pair, clock = now.pair, state.clock
    while progress[0] < seeds.shape[0]:
        run = progress[0]
        if progress[1] == 0:
            progress[1] = 1
            if flags & RESUME:
                restore(state, origin)
            else:
                start(state)
            seed_stream(seeds[run], stream)
            forget(now.allocation)
            now.least[:] = np.inf
            forget_screen(now.screen)
            now.inside[:] = False
            pair[:] = NOBODY
        stopped[run] = EXHAUSTED
        while True:
            arm = NOBODY
            if clock[ASIDE] > 0 and clock[READY] == 0:
                arm = missing(state, again)
            if arm != NOBODY:
                pass
            elif clock[OBSERVED] < initial.shape[0]:
                arm = initial[clock[OBSERVED]]
            elif pair[QUEUED] != NOBODY:
                arm = pair[QUEUED]
                pair[QUEUED] = NOBODY
            else:
                if clock[READY] == 0 and not refresh(state):
                    return SINGULAR
                status = decide(
                    state, now, m, sigma, epsilon, seeds[run], flags, constants, numbers,
                    indices, threshold, candidates, ambiguous, selection, stopping,
                )  # fmt: skip
                if status == DESIGN_WANTED or status >= BAD_CANDIDATES:
                    return status
                if status == STOP:
                    stopped[run] = STOPPED
                    break
                if status == PILOT_ENDS:
                    set_aside(state)
                    continue
                arm = pair[ARM]
            if clock[OBSERVED] >= most:
                break
            observe(state, arm, reward(arm, parameters, stream))
        for a in range(recommended.shape[1]):
            recommended[run, a] = now.inside[a]
            pulls[run, a] = state.pulls[a]
        progress[1] = 0
        progress[0] += 1
    return STOP


def interpreted(function: Any) -> Any:
    """The function run by the Python interpreter, and so is every other that is given rules."""
    given_rules = (
        *(function, decide, column, candidates_stay, fill_column, evaluate, remembered),
        mark_candidates,
        # Compiled, a key would come back as a Python integer, too large to go in again.
        *(most_ambiguous, select, stopping_statistic, round_key),
    )
    plain: dict[str, Any] = {}
    for each in given_rules:
        written = getattr(each, "py_func", each)
        namespace = dict(written.__globals__)
        plain[each.__name__] = FunctionType(written.__code__, namespace, each.__name__)
    for each in plain.values():
        each.__globals__.update(plain)
    return plain[function.__name__]
