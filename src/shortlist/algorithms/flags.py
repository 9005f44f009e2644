"""What the compiled loop must prepare for the rules it runs."""

from __future__ import annotations

from collections.abc import Mapping

from shortlist.algorithms import signals
from shortlist.core.rule import OWN, Rule
from shortlist.rules.candidates import smallest_gap
from shortlist.rules.indices import paired


def flags_of(rules: Mapping[str, Rule], *, elimination: bool) -> int:
    """What these rules need, as bits."""
    needs = frozenset().union(*(rule.needs for rule in rules.values()))
    traits = frozenset().union(*(rule.traits for rule in rules.values()))
    bits = {
        signals.CANDIDATES_MAY_STAY: _candidates_may_stay(rules) and not elimination,
        signals.MTH_GAPS: "mth_gaps" in needs,
        signals.OUTSIDE_GAPS: "outside_gaps" in needs,
        signals.DESIGN: "design" in needs,
        signals.BOTH: "both" in traits,
        signals.LAGGED: "lagged" in traits,
        signals.PILOT: "pilot" in traits,
    }
    return sum(bit for bit, wanted in bits.items() if wanted)


def _candidates_may_stay(rules: Mapping[str, Rule]) -> bool:
    """Whether J(t) may be kept on the word of its own m-th gaps, the others' left unknown."""
    readers = [rules["ambiguous"], rules["stopping"]]
    own = any(rule.number == OWN and "mth_gaps" in rule.needs for rule in readers)
    by_gap = rules["candidates"].number == smallest_gap.number
    return by_gap and not own and "symmetric" in rules["indices"].traits


def may_screen(rules: Mapping[str, Rule]) -> bool:
    """Whether gap indices that decide nothing may be left unknown: all rules are known, none is own."""
    deciding = ("indices", "candidates", "ambiguous", "selection", "stopping")
    return (
        rules["indices"].number == paired.number
        and all(rules[kind].number != OWN for kind in deciding)
        and rules["threshold"].is_compiled
        and "pilot" not in rules["threshold"].traits
    )
