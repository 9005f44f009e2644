"""Rounds of arms that are bounded one by one: LUCB pulls the two in question, a race all still in it.

Write M for the m best, and let the intervals hold: U_i − L_j ≥ μ_i − μ_j for i in M and j not in M.
J are the m arms that would be answered: the accepted, then those of largest average.

A race accepts a j of J if U_i − L_j ≤ ε for all i outside J that are still in it, and rejects an i
outside if U_i − L_j < 0 for all j of J that are still in it. Then of M no more arms are ever rejected
than others were accepted. For let an i of M be rejected. All j of J still in the race are of M, or
U_i − L_j < 0 would be wrong. So M holds them, its accepted arms, its rejected ones and i, m together;
and m is also how many J holds: those still in the race, the accepted of M and the accepted others. So
the rejected of M and i are no more than the accepted others.

Now let a j be accepted with μ_j < μ_i − ε for all i of M. No i outside J that is still in the race
is of M. So M lies among the accepted, the rejected and the rest of J, where by what was said there
are m − 1 arms for it at most. Hence no such j is accepted. At the stop, U_c − L_b ≤ ε for the largest
U outside and the smallest L inside, all of J might be accepted. The same holds for LUCB, which
accepts and rejects nobody before.

To reject with a slack ε too would not do: an arm that made another leave may itself be made to
leave, and the slacks add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.algorithms.intervals import end, exploration
from shortlist.core.jit import compiled
from shortlist.core.order import largest_among, mark_best
from shortlist.core.random import round_key
from shortlist.core.records import (
    BOOLEAN,
    INTEGER,
    INTEGERS,
    KEY,
    KEYS,
    REAL,
    REALS,
    TABLE,
    VOID,
    Integers,
    Mask,
    Reals,
    Record,
    record_type,
)
from shortlist.core.rule import POINTERS

OPEN, ACCEPTED, REJECTED = 0, 1, -1
B, C, TIME = 0, 1, 2  # places of ``pair``
THRESHOLD, STATISTIC = 0, 1  # of ``figures``
KIND, RACES, TIMED, M = 0, 1, 2, 3  # of ``rules``
CANDIDATES, AMBIGUOUS = 0, 1  # purposes of a round's keys


@dataclass(frozen=True, eq=False)
class Contest(Record):
    """What is known of the arms, and who is pulled next.

    ``worst`` is −L of an arm of J and U of another: what it may bring into the statistic.
    """

    pulls: Integers
    sums: Reals
    standing: Integers
    means: Reals
    inside: Mask
    before: Mask
    worst: Reals
    plan: Integers
    scratch: Integers
    pair: Integers
    figures: Reals


CONTEST = record_type(Contest)


def new_contest(arms: int) -> Contest:
    """Nothing is known, and everybody is to be pulled once."""
    return Contest(
        pulls=np.zeros(arms, np.int64),
        sums=np.zeros(arms),
        standing=np.zeros(arms, np.int64),
        means=np.zeros(arms),
        inside=np.zeros(arms, np.bool_),
        before=np.zeros(arms, np.bool_),
        worst=np.zeros(arms),
        plan=np.ones(arms, np.int64),
        scratch=np.zeros(arms, np.int64),
        pair=np.array([-1, -1, 0], np.int64),
        figures=np.full(2, np.inf),
    )


@compiled(VOID(CONTEST, REAL, INTEGERS, REALS, KEY))
def look(now: Contest, epsilon: float, rules: Integers, constants: Reals, seed: np.uint64) -> None:
    """J, b, c, the statistic and the next plan, once the results of the last are in ``sums``."""
    arms, pair, races = now.pulls.shape[0], now.pair, rules[RACES] == 1
    pair[TIME] += 1
    time = pair[TIME]
    for a in range(arms):
        now.before[a] = now.inside[a]
        if now.standing[a] == OPEN:
            now.means[a] = now.sums[a] / now.pulls[a]
        else:
            now.means[a] = np.inf if now.standing[a] == ACCEPTED else -np.inf
    key = round_key(seed, time, CANDIDATES)
    mark_best(now.means, 1.0, rules[M], key, now.scratch, now.inside)
    for a in range(arms):
        if now.standing[a] != OPEN:
            now.worst[a] = -np.inf
        elif rules[TIMED] == 1 or now.plan[a] > 0 or now.inside[a] != now.before[a]:
            upper = not now.inside[a]
            bound = end(rules[KIND], constants, time, now.pulls[a], now.sums[a], upper)
            now.worst[a] = bound if upper else -bound
    key = round_key(seed, time, AMBIGUOUS)
    b = largest_among(now.worst, now.inside, True, key)
    c = largest_among(now.worst, now.inside, False, key)
    beta = exploration(rules[KIND], constants, time, now.pulls[c], now.sums[c])
    pair[B], pair[C] = b, c
    now.figures[THRESHOLD] = math.sqrt(2.0 * beta)
    now.figures[STATISTIC] = now.worst[c] + now.worst[b]
    if races and now.figures[STATISTIC] > epsilon:
        # b and c stay in, so that the largest U and the smallest L are the same for all.
        for a in range(arms):
            if now.standing[a] == OPEN:
                if now.inside[a] and now.worst[c] + now.worst[a] <= epsilon:
                    now.standing[a] = ACCEPTED
                elif not now.inside[a] and now.worst[a] + now.worst[b] < 0.0:
                    now.standing[a] = REJECTED
    for a in range(arms):
        now.plan[a] = 1 if races and now.standing[a] == OPEN else 0
    now.plan[b] = now.plan[c] = 1


@compiled(
    BOOLEAN(
        *(CONTEST, REAL, INTEGERS, REALS, KEY),
        *(INTEGERS, REALS, POINTERS["reward"], TABLE, KEYS, INTEGER, INTEGERS),
    )
)
def play(
    now: Contest,
    epsilon: float,
    rules: Integers,
    constants: Reals,
    seed: np.uint64,
    pulls: Integers,
    sums: Reals,
    reward: Callable[..., float],
    parameters: Reals,
    stream: Any,
    most: int,
    made: Integers,
) -> bool:
    """Go on to the stop (True) or for ``most`` pulls, which are added to ``made``.

    ``pulls`` and ``sums`` are what is in of the plan.
    """
    arms = now.pulls.shape[0]
    left = most
    while True:
        for a in range(arms):
            while pulls[a] < now.plan[a]:
                if left == 0:
                    return False
                sums[a] += reward(a, parameters, stream)
                pulls[a] += 1
                made[a] += 1
                left -= 1
        for a in range(arms):
            now.pulls[a] += pulls[a]
            now.sums[a] += sums[a]
            pulls[a] = 0
            sums[a] = 0.0
        look(now, epsilon, rules, constants, seed)
        if now.figures[STATISTIC] <= epsilon:
            return True
