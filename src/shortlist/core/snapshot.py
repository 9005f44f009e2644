"""A posterior put back to where another stands."""

from __future__ import annotations

from shortlist.core.rule import VOID, compiled
from shortlist.core.state import STATE, State


@compiled(VOID(STATE, STATE))
def restore(state: State, origin: State) -> None:
    """Make ``state`` equal to ``origin``, which has the same features and as many rows."""
    for a in range(origin.pulls.shape[0]):
        state.pulls[a] = origin.pulls[a]
        state.sums[a] = origin.sums[a]
        state.means[a] = origin.means[a]
        state.variances[a] = origin.variances[a]
        state.slots[a] = origin.slots[a]
        state.pilot[a] = origin.pilot[a]
        state.pilot_sums[a] = origin.pilot_sums[a]
        state.prior[a] = origin.prior[a]
    for s in range(origin.rows.shape[0]):
        state.owners[s] = origin.owners[s]
        state.used[s] = origin.used[s]
        for a in range(origin.rows.shape[1]):
            state.rows[s, a] = origin.rows[s, a]
    for i in range(origin.inverse.shape[0]):
        for k in range(origin.inverse.shape[0]):
            state.inverse[i, k] = origin.inverse[i, k]
    for i in range(origin.shifted.shape[0]):
        for k in range(origin.shifted.shape[0]):
            state.shifted[i, k] = origin.shifted[i, k]
    for i in range(origin.lean.shape[0]):
        state.lean[i] = origin.lean[i]
    for i in range(origin.theta.shape[0]):
        state.theta[i] = origin.theta[i]
        state.anchor[i] = origin.anchor[i]
        for k in range(origin.theta.shape[0]):
            state.metric[i, k] = origin.metric[i, k]
    for n in range(origin.recent.shape[0]):
        state.growths[n] = origin.growths[n]
        for k in range(origin.recent.shape[1]):
            state.recent[n, k] = origin.recent[n, k]
    for a in range(origin.deviations.shape[0]):
        state.deviations[a] = origin.deviations[a]
    for i in range(origin.scalars.shape[0]):
        state.scalars[i] = origin.scalars[i]
    for i in range(origin.clock.shape[0]):
        state.clock[i] = origin.clock[i]
