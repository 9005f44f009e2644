"""The round of ``engine.round.decide`` with many arms, most of which are skipped."""

from __future__ import annotations

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.candidates import update_smallest_gaps
from shortlist.engine.many_arms.lists import find_challengers, gap_in_row
from shortlist.engine.round import (
    FOR_AMBIGUOUS,
    FOR_CANDIDATES,
    FOR_CHALLENGER,
    FOR_SELECTION,
    Round,
    begin_round,
    choose_arm,
    stops,
)
from shortlist.engine.settings import STOP, Settings
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import round_key
from shortlist.posterior.least_squares import row
from shortlist.posterior.state import State
from shortlist.rules.ambiguous import most_ambiguous


@compiled(typed=True)
def decide_skipping(state: State, current: Round, settings: Settings, seed: np.uint64) -> int:
    """One round of Algorithm 1 in which only the arms that may matter are examined."""
    t, last_b = state.observed[0], current.last_b[0]
    scale = begin_round(state, current, settings)
    if settings.stops_late and last_b != NO_ARM:
        gap = gap_in_row(state, row(state, last_b), current.last_c[0], last_b, scale)
        if stops(current, settings, gap):
            return STOP

    # J(t), and from the same lists the challengers of its arms.
    key = round_key(seed, t, FOR_CHALLENGER)
    update_smallest_gaps(state, current, scale, round_key(seed, t, FOR_CANDIDATES), key)
    find_challengers(state, current, scale, key)
    b = most_ambiguous(
        settings.ambiguous, settings.own_ambiguous, current.inside, current.mth_gaps,
        current.outside_gaps, round_key(seed, t, FOR_AMBIGUOUS),
    )  # fmt: skip
    c = current.challengers[b]
    current.b[0], current.c[0] = b, c
    if not settings.stops_late and stops(current, settings, current.outside_gaps[b]):
        return STOP

    slot_c, slot_b = row(state, c), row(state, b)
    key = round_key(seed, t, FOR_SELECTION)
    return choose_arm(state, current, settings, state.rows[slot_b], state.rows[slot_c], key)
