"""Rows of G where not all are kept: made on demand, in the place of the one used longest ago."""

from __future__ import annotations

from shortlist.core.least_squares import apply
from shortlist.core.passes import products
from shortlist.core.rule import INTEGER, compiled
from shortlist.core.state import STATE, TICK, State


@compiled(INTEGER(STATE, INTEGER))
def make_room(state: State, arm: int) -> int:
    """The slot used longest ago, given to the arm."""
    slot = 0
    for s in range(state.used.shape[0]):
        if state.used[s] < state.used[slot]:
            slot = s
    if state.owners[slot] >= 0:
        state.slots[state.owners[slot]] = -1
    state.owners[slot] = arm
    state.slots[arm] = slot
    state.clock[TICK] += 1
    state.used[slot] = state.clock[TICK]
    return slot


@compiled(INTEGER(STATE, INTEGER))
def make_row(state: State, arm: int) -> int:
    """The arm's row of G, made in the slot used longest ago."""
    slot = make_room(state, arm)
    apply(state, arm, state.inverse, state.scratch)
    products(state.features, state.scratch, state.rows[slot])
    return slot


@compiled()
def row(state: State, arm: int) -> int:
    """The slot where the arm's row of G is; a missing one is made."""
    if state.rows.shape[0] == state.slots.shape[0]:
        return arm
    slot = state.slots[arm]
    if slot < 0:
        slot = make_row(state, arm)
    state.clock[TICK] += 1
    state.used[slot] = state.clock[TICK]
    return slot
