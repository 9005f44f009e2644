"""Boolean expressions are read, simplified and printed as the same function."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boolean import NAMES, STEADY, expressions, table
from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.logic import (
    MAX_DEPTH,
    AtLeast,
    Expression,
    Gene,
    evaluate,
    genes_of,
    is_name,
    negation,
    parse,
    signs_of,
    substitute,
    without_thresholds,
)


@STEADY
@given(
    expressions(),
    st.sampled_from(
        [(" & ", " | ", "!"), (" and ", " OR ", "not "), ("&&", "||", "~"), ("∧", "∨", "¬")]
    ),
)
def test_what_is_printed_is_read_as_the_same_function(
    expression: Expression, symbols: tuple[str, str, str]
) -> None:
    simple = without_thresholds(expression)
    assert table(simple) == table(expression)
    written = str(simple)
    for ours, other in zip((" & ", " | ", "!"), symbols, strict=True):
        written = written.replace(ours, other)
    assert table(parse(written)) == table(expression)
    assert table(parse(str(expression))) == table(expression)


@STEADY
@given(expressions(), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 1)))
def test_substituting_values_restricts_the_function(
    expression: Expression, values: dict[str, int]
) -> None:
    simpler = substitute(expression, values)
    assert not set(genes_of(simpler)) & set(values)
    for bits in itertools.product((0, 1), repeat=len(NAMES)):
        state = {**dict(zip(NAMES, bits, strict=True)), **values}
        assert evaluate(simpler, state) == evaluate(expression, state)
        assert evaluate(negation(expression), state) == 1 - evaluate(expression, state)


@STEADY
@given(expressions())
def test_signs_tell_the_direction(expression: Expression) -> None:
    for name, sign in signs_of(expression).items():
        if sign == 0:
            continue
        for bits in itertools.product((0, 1), repeat=len(NAMES)):
            state = dict(zip(NAMES, bits, strict=True))
            change = evaluate(expression, {**state, name: 1}) - evaluate(
                expression, {**state, name: 0}
            )
            assert change in (0, sign)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("A | B & !C", "A | B & !C"),
        ("(A | B) & !C", "(A | B) & !C"),
        ("not (A and B)", "!(A & B)"),
        ("~~A", "A"),
        ("TRUE & A", "A"),
        ("false or 0", "0"),
        ("A | A & B", "A"),
        ("HLA-A & IL2.1", "HLA-A & IL2.1"),
        ("android | notch & oregon", "android | notch & oregon"),
        ("01 & 10", "01 & 10"),
    ],
)
def test_parsing_by_example(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "place", "came"),
    [
        ("", 1, "the end"),
        ("A &", 4, "the end"),
        ("A & & B", 5, "'&'"),
        ("(A | B", 7, "the end"),
        ("A | B)", 6, "')'"),
        ("A B", 3, "'B'"),
        ("A = B", 3, "'='"),
        ("A ! B", 3, "'!'"),
        ("A + B", 3, "'+'"),
        ("f(A)", 2, "'('"),
        ("__import__('os')", 11, "'('"),
        ("()", 2, "')'"),
    ],
)
def test_a_malformed_expression_says_where(text: str, place: int, came: str) -> None:
    with pytest.raises(InvalidNetwork, match="expected") as error:
        parse(text)
    assert f"at character {place}, got {came}." in str(error.value)


def test_deep_parentheses_are_refused_not_a_crash() -> None:
    assert parse("(" * MAX_DEPTH + "A" + ")" * MAX_DEPTH) == Gene("A")
    with pytest.raises(InvalidNetwork, match="parentheses"):
        parse("(" * 100_000 + "A" + ")" * 100_000)


def test_names() -> None:
    assert all(map(is_name, ["A", "14-3-3", "HLA-A", "x.1", "µ"]))
    assert not any(map(is_name, ["", "0", "1", "AND", "not", "True", "a b", "a&b", "-a", " a"]))


def test_a_threshold_too_large_to_print_says_so() -> None:
    large = AtLeast(15, tuple(Gene(f"g{i}") for i in range(30)))
    with pytest.raises(InvalidNetwork, match=r"155,117,520 terms.*\.net"):
        str(large)
