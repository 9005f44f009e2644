"""The round of ``engine.round.decide`` with many arms, most of which are skipped."""

from __future__ import annotations

import numpy as np

from shortlist.arrays import NO_ARM
from shortlist.engine.many_arms.candidates import update_smallest_gaps
from shortlist.engine.many_arms.lists import find_challengers, gap_in_row
from shortlist.engine.round import (
    ARM,
    GAP,
    LAST_B,
    LAST_C,
    QUEUED,
    STATISTIC,
    B,
    C,
    Round,
    begin_round,
    design_slot,
)
from shortlist.engine.settings import (
    AMBIGUOUS_RULE,
    BOTH,
    CHECK_STOP,
    DESIGN,
    DESIGN_WANTED,
    LAGGED,
    PULL,
    SELECTION_RULE,
    STOP,
    STOPPING_RULE,
    Settings,
)
from shortlist.numerics.jit import compiled
from shortlist.numerics.random import round_key
from shortlist.posterior.least_squares import row
from shortlist.posterior.state import OBSERVED, TICK, State
from shortlist.rules.ambiguous import most_ambiguous
from shortlist.rules.selection import select
from shortlist.rules.stopping import stopping_statistic


@compiled(typed=True)
def decide_skipping(state: State, now: Round, settings: Settings, seed: np.uint64) -> int:
    """One round of Algorithm 1 in which only the arms that may matter are examined."""
    m, flags, pair, t = settings.m, settings.flags, now.pair, state.clock[OBSERVED]
    figures, numbers = now.figures, settings.numbers
    scale = begin_round(state, now, settings)
    if flags & LAGGED and flags & CHECK_STOP and pair[LAST_B] >= 0:
        j = pair[LAST_B]
        figures[GAP] = gap_in_row(state, row(state, j), pair[LAST_C], j, scale)
        figures[STATISTIC] = figures[GAP]
        if figures[STATISTIC] <= settings.epsilon:
            return STOP
    challenger_key, since = round_key(seed, t, 2), state.clock[TICK]
    update_smallest_gaps(state, now, m, scale, round_key(seed, t, 0), challenger_key)
    find_challengers(state, now, m, scale, challenger_key, since)
    b = most_ambiguous(
        *(numbers[AMBIGUOUS_RULE], settings.ambiguous, now.inside, now.mth_gaps, now.outside_gaps),
        round_key(seed, t, 1),
    )
    c = now.challengers[b]
    pair[B], pair[C] = b, c
    if not flags & LAGGED:
        figures[GAP] = now.outside_gaps[b]
        figures[STATISTIC] = stopping_statistic(
            numbers[STOPPING_RULE], settings.stopping, figures[GAP], now.inside, now.mth_gaps
        )
        if flags & CHECK_STOP and figures[STATISTIC] <= settings.epsilon:
            return STOP
    design = state.noise
    if flags & DESIGN:
        place = design_slot(now.design_keys, state.means.shape[0], b, c)
        if place < 0:
            return DESIGN_WANTED
        design = now.designs[place]
    slot_c, slot_b = row(state, c), row(state, b)
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
    pair[QUEUED] = c if flags & BOTH else NO_ARM
    pair[LAST_B], pair[LAST_C] = b, c
    return PULL
