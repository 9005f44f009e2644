"""A user's own rule: what is refused, and choices at random that repeat."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from shortlist.rules.rule import ARGUMENTS, SIGNATURES

import shortlist
from shortlist.errors import InvalidSetting
from shortlist.numerics.random import priority
from shortlist.testing import check_algorithm


def too_few(b: int, c: int) -> int:
    return b


def returns_nothing(pair, arms, key):  # type: ignore[no-untyped-def]
    arms.pulls[pair.b]


def returns_text(pair, arms, key):  # type: ignore[no-untyped-def]
    return "b"


seen: dict[int, int] = {}


def remembers_and_returns_nothing(pair, arms, key):  # type: ignore[no-untyped-def]
    seen[pair.b] = pair.c


def by_numpy(pair, arms, key):  # type: ignore[no-untyped-def]
    return pair.b if np.random.random() < 0.5 else pair.c  # noqa: NPY002


def by_its_key(pair, arms, key):  # type: ignore[no-untyped-def]
    return pair.b if priority(key, pair.b) < priority(key, pair.c) else pair.c


def test_the_arguments_named_in_messages_are_as_many_as_a_rule_is_called_with() -> None:
    assert ARGUMENTS.keys() == SIGNATURES.keys()
    for kind, words in ARGUMENTS.items():
        assert len(words.split(", ")) == len(SIGNATURES[kind].args)


def test_a_rule_with_other_arguments_is_told_which_it_should_have() -> None:
    expected = r"'too_few' is called with 3 arguments.*def too_few\(pair, arms, key\)"
    with pytest.raises(InvalidSetting, match=expected):
        shortlist.GIFA(selection=too_few)
    with pytest.raises(InvalidSetting, match="a selection rule is a function, got"):
        shortlist.GIFA(selection=partial(too_few, 1))


@pytest.mark.parametrize(("function", "came"), [(returns_nothing, "None"), (returns_text, "text")])
def test_a_rule_that_returns_no_arm_is_refused(function: Callable[..., Any], came: str) -> None:
    with pytest.raises(InvalidSetting, match=f"must return the arm to pull.*returned {came}"):
        shortlist.GIFA(selection=function)


def test_an_interpreted_rule_that_returns_no_arm_is_named_when_it_is_called() -> None:
    with pytest.warns(UserWarning, match="does not compile"):
        mine = shortlist.GIFA(selection=remembers_and_returns_nothing)
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    expected = "'remembers_and_returns_nothing' must return the arm to pull.*returned None"
    with pytest.raises(InvalidSetting, match=expected):
        shortlist.compare(mine, instance, runs=1, progress=False)


def test_a_rule_that_chooses_by_its_key_repeats_itself() -> None:
    mine = shortlist.GIFA(selection=by_its_key, name="by its key")
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    one, two, other = (
        shortlist.compare(mine, instance, runs=5, seed=seed, progress=False).frame["pulls"].tolist()
        for seed in (0, 0, 1)
    )
    assert one == two
    assert one != other


def test_a_rule_that_does_not_follow_the_seed_fails_its_check() -> None:
    with pytest.raises(AssertionError, match="the same arms after the same results"):
        check_algorithm(shortlist.GIFA(selection=by_numpy, name="by NumPy"), runs=5)
