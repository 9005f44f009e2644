"""Algorithm 1 of the paper, once: a round (``decide``) and the loop over rounds (``replicate``)."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import types

from shortlist.core.order import largest_among, mth_largest
from shortlist.core.posterior import (
    OBSERVED,
    READY,
    STATE,
    TICK,
    Integers,
    Reals,
    State,
    observe,
    refresh,
    row,
    start,
)
from shortlist.core.random import round_key, seed_stream
from shortlist.core.rule import (
    INTEGER,
    INTEGERS,
    KEY,
    KEYS,
    MASK,
    POINTERS,
    REAL,
    REALS,
    TABLE,
    compiled,
)

PULL, STOP, DESIGN_WANTED, SINGULAR = 0, 1, 2, 3
STOPPED, EXHAUSTED = 1, 0
MTH_GAPS, OUTSIDE_GAPS, DESIGN, BOTH, LAGGED = 1, 2, 4, 8, 16
CHECK_STOP, INITIALIZED = 32, 64
B, C, ARM, QUEUED, LAST_B, LAST_C = 0, 1, 2, 3, 4, 5
THRESHOLD, GAP, STATISTIC = 0, 1, 2
NOBODY = -1


class Round(NamedTuple):
    """What one round computes. ``gaps[s]`` is the column B_·j of the arm j whose row is in slot s."""

    inside: Any
    gaps: Reals
    made: Integers
    mth_gaps: Reals
    outside_gaps: Reals
    heap: Reals
    arm_heap: Integers
    design_keys: Integers
    designs: Reals
    pair: Integers
    figures: Reals


ROUND = types.NamedTuple(
    [MASK, TABLE, INTEGERS, REALS, REALS, REALS, INTEGERS, INTEGERS, TABLE, INTEGERS, REALS],
    Round,
)
RULES = (
    POINTERS["indices"],
    POINTERS["threshold"],
    POINTERS["candidates"],
    POINTERS["ambiguous"],
    POINTERS["selection"],
    POINTERS["stopping"],
)


def make_round(arms: int, resident: int, m: int) -> Round:
    """An empty round for ``arms`` arms."""
    return Round(
        inside=np.zeros(arms, np.bool_),
        gaps=np.zeros((resident, arms)),
        made=np.full(resident, NOBODY, np.int64),
        mth_gaps=np.full(arms, np.nan),
        outside_gaps=np.full(arms, np.nan),
        heap=np.zeros(m),
        arm_heap=np.zeros(m, np.int64),
        design_keys=np.full(8, NOBODY, np.int64),
        designs=np.zeros((8, arms)),
        pair=np.full(6, NOBODY, np.int64),
        figures=np.full(3, np.nan),
    )


@compiled(INTEGER(STATE, ROUND, INTEGER, INTEGER, REAL, POINTERS["indices"]), inline=True)
def column(
    state: State, now: Round, j: int, since: int, scale: float, indices: Callable[..., None]
) -> int:
    """The slot of B_·j, made at most once a round."""
    slot = row(state, j)
    if now.made[slot] != since + j:
        indices(j, state.means, state.variances, state.rows[slot], scale, now.gaps[slot])
        now.made[slot] = since + j
    return slot


@compiled(INTEGER(INTEGERS, INTEGER, INTEGER, INTEGER))
def design_slot(keys: Integers, arms: int, b: int, c: int) -> int:
    """Where w*(b, c) is, or −1 − the free place for it."""
    key = min(b, c) * arms + max(b, c)
    place = key % keys.shape[0]
    while keys[place] != key:
        if keys[place] == NOBODY:
            return -1 - place
        place = (place + 1) % keys.shape[0]
    return place


@compiled(
    INTEGER(STATE, ROUND, INTEGER, REAL, REAL, KEY, INTEGER, REALS, *RULES), inline=True
)
def decide(
    state: State,
    now: Round,
    m: int,
    sigma: float,
    epsilon: float,
    seed: np.uint64,
    flags: int,
    constants: Reals,
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
    # READING, erratum 6: C is evaluated at t after initial pulls, at t + 1 without them.
    time = t if flags & INITIALIZED else t + 1
    figures, pair = now.figures, now.pair
    figures[THRESHOLD] = threshold(time, state.scalars[2], constants)
    scale = sigma * figures[THRESHOLD]
    # Columns made in this round are numbered from here on: a later round starts above them all.
    since = (state.clock[TICK] + 1) * arms
    state.clock[TICK] += 1

    if flags & LAGGED and flags & CHECK_STOP and pair[LAST_B] >= 0:
        slot = column(state, now, pair[LAST_B], since, scale, indices)
        figures[GAP] = now.gaps[slot, pair[LAST_C]]
        figures[STATISTIC] = stopping(figures[GAP], now.inside, now.mth_gaps)
        if figures[STATISTIC] <= epsilon:
            return STOP

    if flags & MTH_GAPS:
        for j in range(arms):
            slot = column(state, now, j, since, scale, indices)
            now.mth_gaps[j] = mth_largest(now.gaps[slot], j, m, now.heap)
    candidates(m, state.means, now.mth_gaps, round_key(seed, t, 0), now.arm_heap, now.inside)
    if flags & OUTSIDE_GAPS:
        for j in range(arms):
            if now.inside[j]:
                slot = column(state, now, j, since, scale, indices)
                largest = -np.inf
                for i in range(arms):
                    if not now.inside[i] and now.gaps[slot, i] > largest:
                        largest = now.gaps[slot, i]
                now.outside_gaps[j] = largest
    b = ambiguous(now.inside, now.mth_gaps, now.outside_gaps, round_key(seed, t, 1))
    slot = column(state, now, b, since, scale, indices)
    c = largest_among(now.gaps[slot], now.inside, False, round_key(seed, t, 2))
    pair[B], pair[C] = b, c
    if not flags & LAGGED:
        figures[GAP] = now.gaps[slot, c]
        figures[STATISTIC] = stopping(figures[GAP], now.inside, now.mth_gaps)
        if flags & CHECK_STOP and figures[STATISTIC] <= epsilon:
            return STOP

    place = 0
    if flags & DESIGN:
        place = design_slot(now.design_keys, arms, b, c)
        if place < 0:
            return DESIGN_WANTED
    slot_c = row(state, c)
    slot_b = row(state, b)
    pair[ARM] = selection(
        b,
        c,
        state.rows[slot_b],
        state.rows[slot_c],
        state.variances,
        state.pulls,
        now.designs[place],
        round_key(seed, t, 3),
    )
    pair[QUEUED] = c if flags & BOTH else NOBODY
    pair[LAST_B], pair[LAST_C] = b, c
    return PULL


@compiled(
    INTEGER(
        *(STATE, ROUND, INTEGER, REAL, REAL, KEYS, INTEGER, REALS, *RULES),
        *(INTEGERS, POINTERS["reward"], TABLE, INTEGER, KEYS, INTEGERS),
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
    indices: Callable[..., None],
    threshold: Callable[..., float],
    candidates: Callable[..., None],
    ambiguous: Callable[..., int],
    selection: Callable[..., int],
    stopping: Callable[..., float],
    initial: Integers,
    reward: Callable[..., float],
    parameters: Reals,
    most: int,
    stream: Any,
    stopped: Integers,
    recommended: Any,
    pulls: Any,
    progress: Integers,
) -> int:
    """Many runs, one a seed, each from its first pull to its stop.

    ``progress`` is (runs finished, whether a run is under way): a run that wants a design returns
    to its caller and is taken up again where it stood.
    """
    while progress[0] < seeds.shape[0]:
        run = progress[0]
        if progress[1] == 0:
            start(state)
            seed_stream(seeds[run], stream)
            now.pair[:] = NOBODY
            for k in range(initial.shape[0]):
                observe(state, initial[k], reward(initial[k], parameters, stream))
            if state.clock[READY] == 0 and not refresh(state):
                return SINGULAR
            progress[1] = 1
        stopped[run] = EXHAUSTED
        while True:
            status = decide(
                state,
                now,
                m,
                sigma,
                epsilon,
                seeds[run],
                flags,
                constants,
                indices,
                threshold,
                candidates,
                ambiguous,
                selection,
                stopping,
            )
            if status == DESIGN_WANTED:
                return status
            if status == STOP:
                stopped[run] = STOPPED
                break
            if state.clock[OBSERVED] >= most:
                break
            arm = now.pair[ARM]
            observe(state, arm, reward(arm, parameters, stream))
            arm = now.pair[QUEUED]
            if arm != NOBODY and state.clock[OBSERVED] < most:
                observe(state, arm, reward(arm, parameters, stream))
        for a in range(recommended.shape[1]):
            recommended[run, a] = now.inside[a]
            pulls[run, a] = state.pulls[a]
        progress[1] = 0
        progress[0] += 1
    return STOP


def interpreted(function: Any) -> Any:
    """The function run by the Python interpreter, and so are the ones here that it calls."""
    namespace = dict(globals())
    for name in ("column", "decide", "replicate"):
        plain = getattr(namespace[name], "py_func", namespace[name])
        namespace[name] = FunctionType(plain.__code__, namespace, name)
    return namespace[function.__name__]
