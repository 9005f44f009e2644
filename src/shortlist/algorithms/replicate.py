"""Algorithm 1 of the paper from the first pull to the stop, many times: simulated runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from shortlist.algorithms.kernel import RULES, decide
from shortlist.algorithms.round import (
    ARM,
    NOBODY,
    QUEUED,
    ROUND,
    Round,
)
from shortlist.algorithms.screen import forget as forget_screen
from shortlist.algorithms.signals import (
    BAD_CANDIDATES,
    DESIGN_WANTED,
    EXHAUSTED,
    PILOT_ENDS,
    RESUME,
    SINGULAR,
    STOP,
    STOPPED,
)
from shortlist.core.least_squares import observe, refresh, start
from shortlist.core.pilot import missing, set_aside
from shortlist.core.random import seed_stream
from shortlist.core.rule import (
    INTEGER,
    INTEGERS,
    KEYS,
    POINTERS,
    REAL,
    REALS,
    TABLE,
    compiled,
)
from shortlist.core.snapshot import restore
from shortlist.core.state import (
    ASIDE,
    OBSERVED,
    READY,
    STATE,
    Integers,
    Reals,
    State,
)
from shortlist.rules.allocation import forget


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
