"""Rules and thresholds found by name, or made of a user's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.errors import InvalidSetting, unknown_name
from shortlist.rules.rule import REGISTRY, Rule, rule
from shortlist.rules.thresholds import THRESHOLDS, Threshold, user_threshold

KINDS = ("indices", "candidates", "ambiguous", "selection", "stopping")
RULES: dict[str, dict[str, Rule]] = {kind: REGISTRY[kind] for kind in KINDS}

AUTO = "auto"  # in place of a name: whatever suits the problem

Choice = str | Rule | Callable[..., Any]


def find_rule(kind: str, choice: Choice) -> Rule:
    """The rule meant by a name or by a function."""
    if isinstance(choice, Rule):
        if choice.kind != kind:
            raise InvalidSetting(
                f"{choice.name!r} is a rule of kind {choice.kind!r} where one of kind {kind!r} is "
                "needed."
            )
        return choice
    if isinstance(choice, str):
        if choice not in RULES[kind]:
            raise unknown_name(f"{kind} rule", choice, RULES[kind])
        return RULES[kind][choice]
    if not callable(choice):
        raise InvalidSetting(
            f"a rule is a name or a function, got {kind}={choice!r}: {', '.join(RULES[kind])} are known."
        )
    return rule(kind)(choice)


def find_threshold(choice: str | Threshold | Rule | Callable[..., float]) -> Threshold:
    """The threshold meant by a name or by a function."""
    if isinstance(choice, Threshold):
        return choice
    if isinstance(choice, str):
        if choice not in THRESHOLDS:
            raise unknown_name("threshold", choice, [AUTO, *THRESHOLDS])
        return THRESHOLDS[choice]
    if not callable(choice):
        raise InvalidSetting(
            "a threshold is a name or a function, one for all algorithms; got "
            f"{type(choice).__name__}. To compare thresholds, compose algorithms that differ in "
            "them, such as shortlist.GIFA(threshold='heuristic', name='m-LinGapE, heuristic')."
        )
    return user_threshold(choice if isinstance(choice, Rule) else rule("threshold")(choice))
