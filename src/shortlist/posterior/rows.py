"""Rows of G where not all are kept: made on demand, in the slot of the least recently used one."""

from __future__ import annotations

from shortlist.numerics.jit import compiled
from shortlist.numerics.records import INTEGER
from shortlist.posterior.least_squares import apply
from shortlist.posterior.passes import products
from shortlist.posterior.state import STATE, TICK, WHOLE, State


@compiled(INTEGER(STATE, INTEGER))
def make_row(state: State, arm: int) -> int:
    """Make the arm's row of G in the least recently used slot; returns the slot."""
    slot = 0
    for s in range(state.kept.used.shape[0]):
        if state.kept.used[s] < state.kept.used[slot]:
            slot = s
    if state.kept.owners[slot] >= 0:
        state.kept.slots[state.kept.owners[slot]] = -1
    state.kept.owners[slot] = arm
    state.kept.slots[arm] = slot
    apply(state, arm, state.kept.inverse, state.scratch)
    products(state.features, state.scratch, state.rows[slot])
    return slot


@compiled()
def row(state: State, arm: int) -> int:
    """The slot of the arm's row of G, which is made if it is missing."""
    if state.layout == WHOLE:
        return arm
    slot = state.kept.slots[arm]
    if slot < 0:
        slot = make_row(state, arm)
    state.clock[TICK] += 1
    state.kept.used[slot] = state.clock[TICK]
    return slot
