"""The rules of RE:IN, against their specification."""

from __future__ import annotations

import itertools

import pytest

from boolean import table
from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.logic import Constant, Expression, Gene, evaluate, parse
from shortlist.repurposing.networks.regulation import Regulation, find_regulation


def rule_oracle(rule: int, on: list[int], off: list[int], itself: int) -> int:
    """Written from the specification, not from the code."""
    aA, nnA = bool(on) and all(on), any(on)
    aR, nR = bool(off) and all(off), not any(off)
    value = {
        0: aA and nR,
        1: nnA and nR,
        2: aA and not aR,
        3: (nR and nnA) or (not aR and aA),
        4: aA,
        5: aA or (nR and nnA),
        6: nnA and not aR,
        7: (nnA and not aR) or aA,
        8: nnA,
        9: nR,
        10: nR or (not aR and aA),
        11: nR or (nnA and not aR),
        12: not aR,
        13: nR or aA,
        14: nR or aA or (not aR and nnA),
        15: not aR or aA,
        16: nR or nnA,
        17: not aR or nnA,
        18: sum(on) > sum(off) or (sum(on) == sum(off) and itself == 1),
        19: sum(on) > sum(off),
    }[rule]
    if rule < 18 and on and not off:
        value = value and nnA
    if rule < 18 and off and not on:
        value = value or nR
    return int(value)


@pytest.mark.parametrize("rule", range(20))
def test_rules_against_the_specification(rule: int) -> None:
    for a, r in itertools.product(range(5), repeat=2):
        active, quiet = [f"a{i}" for i in range(a)], [f"r{i}" for i in range(r)]
        function = Regulation(tuple(active), tuple(quiet), rule).function("X")
        names = (*active, *quiet, "X")
        for bits in itertools.product((0, 1), repeat=len(names)):
            state = dict(zip(names, bits, strict=True))
            wanted = rule_oracle(rule, list(bits[:a]), list(bits[a : a + r]), state["X"])
            assert evaluate(function, state) == wanted, (rule, state)


@pytest.mark.parametrize("rule", range(20))
def test_a_gene_without_regulators(rule: int) -> None:
    function = Regulation((), (), rule).function("X")
    wanted: dict[int, Expression] = {18: Gene("X"), 19: Constant(0)}
    assert function == wanted.get(rule, Constant(int(rule >= 9)))


@pytest.mark.slow
@pytest.mark.parametrize("rule", range(20))
def test_a_rule_is_found_again(rule: int) -> None:
    for a, r in itertools.product(range(4), repeat=2):
        active, quiet = tuple(f"a{i}" for i in range(a)), tuple(f"r{i}" for i in range(r))
        for regulation in (
            Regulation(active, quiet, rule),
            Regulation((*active, "X"), quiet, rule),
            Regulation(active, (*quiet, "X"), rule),
        ):
            function = regulation.function("X")
            found = find_regulation("X", function)
            names = (*active, *quiet, "X")
            assert table(found.function("X"), names) == table(function, names)


def test_a_function_that_is_no_rule_says_so() -> None:
    for text in ("A & B | C", "A & !B | !A & B"):
        with pytest.raises(InvalidNetwork, match=r"gene X.*\.bnet"):
            find_regulation("X", parse(text))
    with pytest.raises(InvalidNetwork, match="13 regulators"):
        find_regulation("X", parse(" & ".join(f"g{i}" for i in range(13))))


X, ONE, ZERO = "<ci>s2</ci>", '<cn type="integer">1</cn>', '<cn type="integer">0</cn>'
