"""The settings of an algorithm as the compiled rounds are given them, and what a round returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from shortlist.allocations.allocation import allocate
from shortlist.numerics.records import ABSENT, Address, Integer, Integers, Real, Reals, Record
from shortlist.posterior.least_squares import row
from shortlist.rules.candidates import smallest_gap
from shortlist.rules.indices import paired
from shortlist.rules.rule import OWN, POINTERS, Rule

# What a round returns: pull an arm, stop ...
PULL, STOP = 0, 1
# ... or why it cannot go on: something is wanted of Python, or something is wrong.
DESIGN_WANTED, ROOM_WANTED, SINGULAR, BAD_RULE = 2, 3, 4, 5


@dataclass(frozen=True, eq=False)
class Settings(Record):
    """An algorithm on its problem, for the compiled rounds.

    The search stops where the statistic is at most ``stop_at``: ε, or NaN, which nothing is at most, to
    ask for the next pull only.
    ``constants`` are the threshold's, and C is evaluated at t + ``offset``. Each rule is its number, or
    ``OWN``: then the user's rule is called by its address (``own_indices`` and so on, else ABSENT).
    ``initial`` is how often each arm is pulled before the first round. ``row`` finds an
    arm's row of G where not all are kept. What is not used is ABSENT.
    """

    m: Integer
    sigma: Real
    epsilon: Real
    stop_at: Real
    offset: Integer
    constants: Reals
    threshold: Annotated[Callable[..., float], POINTERS["threshold"]]
    initial: Integers
    # The rules of Table 1.
    indices: Integer
    candidates: Integer
    ambiguous: Integer
    selection: Integer
    stopping: Integer
    own_indices: Annotated[Callable[..., None], POINTERS["indices"]]
    own_candidates: Annotated[Callable[..., None], POINTERS["candidates"]]
    own_ambiguous: Annotated[Callable[..., int], POINTERS["ambiguous"]]
    own_selection: Annotated[Callable[..., int], POINTERS["selection"]]
    own_stopping: Annotated[Callable[..., float], POINTERS["stopping"]]
    # What the rules need, 1 or 0: the m-th gaps of all arms, the gaps of the candidates to arms outside,
    # and a design for the pair.
    needs_mth_gaps: Integer
    needs_outside_gaps: Integer
    needs_design: Integer
    # How a round differs, 1 or 0.
    pulls_both: Integer  # c_t is pulled after a_t
    stops_late: Integer  # the pair of the round before is read
    candidates_may_stay: Integer  # their own columns show whether J(t) is as it was
    by_pair: Integer  # every pair has its own C
    by_time: Integer  # C depends on t alone
    skips_arms: Integer
    allocation: Integer
    allocate: Annotated[Callable[..., bool], Address(allocate.signature)]
    row: Annotated[Callable[..., int], Address(row.signature)]


def settings_of_rules(rules: Mapping[str, Rule]) -> dict[str, Any]:
    """The fields of ``Settings`` that follow from the rules."""
    fields: dict[str, Any] = {"threshold": rules["threshold"]}
    threshold = rules["threshold"].traits
    for kind, rule in rules.items():
        if kind != "threshold":
            fields[kind] = rule.number
            fields[f"own_{kind}"] = rule if rule.number == OWN else ABSENT
    needs = frozenset().union(*(rule.needs for rule in rules.values()))
    fields |= {
        "needs_mth_gaps": "mth_gaps" in needs,
        "needs_outside_gaps": "outside_gaps" in needs,
        "needs_design": "design" in needs,
        "pulls_both": "pulls_both" in rules["selection"].traits,
        "stops_late": "lagged" in rules["stopping"].traits,
        "candidates_may_stay": _candidates_may_stay(rules),
        "by_pair": has_threshold_by_pair(rules),
        "by_time": "by_time" in threshold,
    }
    return {
        name: int(field) if isinstance(field, bool) else field for name, field in fields.items()
    }


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
        and "by_pair" not in rules["threshold"].traits
    )
