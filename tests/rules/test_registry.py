"""Rules and thresholds found by name: what is no name is refused."""

from __future__ import annotations

import pytest
from shortlist.rules.registry import find_rule, find_threshold

import shortlist
from shortlist.errors import InvalidSetting, UnknownName


def test_a_list_of_thresholds_is_refused_with_the_way_to_compare_them() -> None:
    with pytest.raises(InvalidSetting, match=r"one for all algorithms; got list.*shortlist\.GIFA"):
        find_threshold(["self_normalized", "heuristic"])  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="selection=3"):
        find_rule("selection", 3)  # type: ignore[arg-type]


def test_auto_is_among_the_known_names() -> None:
    with pytest.raises(UnknownName, match="Known: auto, "):
        find_threshold("pilo")
    instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
    with pytest.raises(UnknownName, match="Known: auto, LUCB"):
        shortlist.compare("LUCBB", instance, runs=1, progress=False)
