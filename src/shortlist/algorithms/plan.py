"""The results of a plan: taken in from outside one by one, or all of them made in simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.algorithms.steps import IS_IN, NEXT, REOPEN, STOPPED, TAKE
from shortlist.core.jit import compiled
from shortlist.core.least_squares import OBSERVES
from shortlist.core.records import (
    BOOLEAN,
    INTEGER,
    INTEGERS,
    KEYS,
    REALS,
    TABLE,
    Address,
    Integers,
    Reals,
)
from shortlist.core.rule import POINTERS
from shortlist.core.state import STATE, State


@compiled(
    BOOLEAN(
        *(STATE, Address(OBSERVES), INTEGERS, INTEGERS, REALS, BOOLEAN),
        *(INTEGERS, INTEGERS, REALS, INTEGERS),
    )
)
def gather(
    state: State,
    observe: Callable[..., None],
    plan: Integers,
    pulls: Integers,
    sums: Reals,
    certain: bool,
    kinds: Integers,
    arms: Integers,
    values: Reals,
    marks: Integers,
) -> bool:
    """Take steps until the plan's results are in (True) or the steps end; see ``follow``.

    Of each arm only the first ``plan[a]`` results count; all of them enter the posterior. One that
    comes after a stop that was taken back is enough where the answer is ``certain``.
    """
    missing = 0
    for a in range(plan.shape[0]):
        missing += plan[a] - pulls[a]
    while marks[NEXT] < kinds.shape[0]:
        step = marks[NEXT]
        kind = kinds[step]
        if marks[IS_IN] == 0:
            if kind == REOPEN:
                marks[STOPPED] = 0
            elif kind == TAKE:
                arm = arms[step]
                observe(state, arm, values[step])
                if pulls[arm] < plan[arm]:
                    pulls[arm] += 1
                    sums[arm] += values[step]
                    missing -= 1
                if marks[STOPPED] == 0 and (missing == 0 or certain):
                    marks[IS_IN] = 1
                    return True
        marks[NEXT] += 1
        marks[IS_IN] = 0
    return False


@compiled(INTEGER(INTEGERS, POINTERS["reward"], TABLE, KEYS, INTEGER, INTEGERS, REALS))
def pull_all(
    plan: Integers,
    reward: Callable[..., float],
    parameters: Reals,
    stream: Any,
    most: int,
    pulls: Integers,
    sums: Reals,
) -> int:
    """Make the pulls that the plan still lacks, ``most`` at most; returns how many were made."""
    made = 0
    for arm in range(plan.shape[0]):
        while pulls[arm] < plan[arm]:
            if made == most:
                return made
            sums[arm] += reward(arm, parameters, stream)
            pulls[arm] += 1
            made += 1
    return made
