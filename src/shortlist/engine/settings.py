"""The settings of an algorithm as the compiled loops are given them, and what the loops return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from shortlist.allocations.allocation import allocate
from shortlist.numerics.records import Address, Integer, Integers, Real, Reals, Record
from shortlist.posterior.least_squares import climb, row
from shortlist.rules.candidates import smallest_gap
from shortlist.rules.indices import paired
from shortlist.rules.rule import OWN, POINTERS, Rule

# What a round or a loop returns.
PULL, STOP, DESIGN_WANTED, SINGULAR = 0, 1, 2, 3
BAD_CANDIDATES, BAD_AMBIGUOUS, BAD_SELECTION = 4, 5, 6  # a user's rule out of bounds
ROOM_WANTED, SHARES_WANTED = 7, 8  # by an allocation
PILOT_ENDS = -1
RUN_STOPPED, EXHAUSTED = 1, 0
# Bits of ``Settings.flags``.
MTH_GAPS, OUTSIDE_GAPS, DESIGN, BOTH, LAGGED = 1, 2, 4, 8, 16
CHECK_STOP, HAS_INITIAL_PULLS, CANDIDATES_MAY_STAY, TARGET, PILOT = 32, 64, 128, 256, 512
BY_PAIR, SKIPS_ARMS, LEVELS = 1024, 2048, 4096
# Places of the rules in ``Settings.numbers``, and of the allocation.
INDICES_RULE, CANDIDATES_RULE, AMBIGUOUS_RULE = 0, 1, 2
SELECTION_RULE, STOPPING_RULE, ALLOCATION_USED = 3, 4, 5


@dataclass(frozen=True, eq=False)
class Settings(Record):
    """An algorithm on its problem, for the compiled rounds.

    ``flags`` are bits; ``constants`` are the threshold's; ``numbers`` are those of the rules
    of this package, by kind, or ``OWN``. The threshold and rules of the user's own are called by their
    address; the other rules are ABSENT here. ``log_det`` computes what the threshold is given, if
    there is a pilot or a grid of shifts; else it is ABSENT. ``row`` finds an arm's row of G; it is ABSENT
    where ``decide`` needs no row that is not kept.
    """

    m: Integer
    sigma: Real
    epsilon: Real
    flags: Integer
    constants: Reals
    numbers: Integers
    indices: Annotated[Callable[..., None], POINTERS["indices"]]
    threshold: Annotated[Callable[..., float], POINTERS["threshold"]]
    candidates: Annotated[Callable[..., None], POINTERS["candidates"]]
    ambiguous: Annotated[Callable[..., int], POINTERS["ambiguous"]]
    selection: Annotated[Callable[..., int], POINTERS["selection"]]
    stopping: Annotated[Callable[..., float], POINTERS["stopping"]]
    allocate: Annotated[Callable[..., int], Address(allocate.signature)]
    log_det: Annotated[Callable[..., float], Address(climb.signature)]
    row: Annotated[Callable[..., int], Address(row.signature)]


def flags_of(rules: Mapping[str, Rule], *, elimination: bool) -> int:
    """What these rules need, as bits."""
    needs = frozenset().union(*(rule.needs for rule in rules.values()))
    traits = frozenset().union(*(rule.traits for rule in rules.values()))
    bits = {
        CANDIDATES_MAY_STAY: _candidates_may_stay(rules) and not elimination,
        MTH_GAPS: "mth_gaps" in needs,
        OUTSIDE_GAPS: "outside_gaps" in needs,
        DESIGN: "design" in needs,
        BOTH: "both" in traits,
        LAGGED: "lagged" in traits,
        PILOT: "pilot" in rules["threshold"].traits,
        LEVELS: "levels" in rules["threshold"].traits,
        BY_PAIR: has_threshold_by_pair(rules),
    }
    return sum(bit for bit, wanted in bits.items() if wanted)


def has_threshold_by_pair(rules: Mapping[str, Rule]) -> bool:
    """Whether every pair of arms has its own C; a user's indices are given one for all."""
    return "by_pair" in rules["threshold"].traits and rules["indices"].number != OWN


def _candidates_may_stay(rules: Mapping[str, Rule]) -> bool:
    """Whether J(t) may be kept on the word of its own m-th gaps, the others' left unknown."""
    readers = [rules["ambiguous"], rules["stopping"]]
    own = any(rule.number == OWN and "mth_gaps" in rule.needs for rule in readers)
    by_gap = rules["candidates"].number == smallest_gap.number
    return by_gap and not own and "symmetric" in rules["indices"].traits


def may_skip_arms(rules: Mapping[str, Rule]) -> bool:
    """Whether gap indices that decide nothing may be left unknown: J(t) is by them, no rule is own."""
    deciding = ("indices", "candidates", "ambiguous", "selection", "stopping")
    return (
        rules["indices"].number == paired.number
        and rules["candidates"].number == smallest_gap.number
        and all(rules[kind].number != OWN for kind in deciding)
        and rules["threshold"].is_compiled
        and not {"pilot", "by_pair"} & rules["threshold"].traits
    )
