"""Boolean networks: expressions, rules, files, percolation, components."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.errors import InvalidNetwork, UnknownName
from shortlist.repurposing.networks.abstract_network import abstract
from shortlist.repurposing.networks.formats import read, read_abstract, write
from shortlist.repurposing.networks.formats.rein import format_rein, parse_rein
from shortlist.repurposing.networks.logic import (
    MAX_DEPTH,
    AtLeast,
    Constant,
    Expression,
    Gene,
    Not,
    evaluate,
    genes_of,
    is_name,
    negation,
    parse,
    signs_of,
    substitute,
    to_text,
    truth_table,
    without_thresholds,
)
from shortlist.repurposing.networks.network import (
    BooleanNetwork,
    strong_components,
    terminal_components,
    weak_components,
)
from shortlist.repurposing.networks.regulation import Regulation, find_regulation

NAMES = ("A", "B1", "C-3", "D.x", "E_")
STEADY = settings(derandomize=True, deadline=None)
DATA = os.environ.get("SHORTLIST_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="SHORTLIST_DATA does not name the data's folder")


def expressions(names: tuple[str, ...] = NAMES, leaves: int = 8) -> st.SearchStrategy[Expression]:
    """Trees as they come, not tidied by the constructors."""
    leaf = st.sampled_from([*map(Gene, names), Constant(0), Constant(1)])

    def grow(part: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        several = st.lists(part, min_size=1, max_size=4)
        return part.map(Not) | several.flatmap(
            lambda parts: st.builds(AtLeast, st.integers(0, len(parts) + 1), st.just(tuple(parts)))
        )

    return st.recursive(leaf, grow, max_leaves=leaves)


def networks(genes: int, leaves: int = 6) -> st.SearchStrategy[BooleanNetwork]:
    names = tuple(f"g{i}" for i in range(genes))
    functions = st.lists(expressions(names, leaves), min_size=genes, max_size=genes)
    return functions.map(lambda listed: BooleanNetwork(dict(zip(names, listed, strict=True))))


@st.composite
def ruled_networks(draw: st.DrawFn) -> BooleanNetwork:
    names = [f"g{i}" for i in range(draw(st.integers(1, 5)))]
    some = st.lists(st.sampled_from(names), unique=True, max_size=3).map(tuple)
    regulation = st.builds(Regulation, some, some, st.integers(0, 19))
    marks = st.dictionaries(st.sampled_from(names), st.sampled_from(["-", "+", "-+"]))
    return BooleanNetwork.from_regulations({g: draw(regulation) for g in names}, draw(marks))


def table(expression: Expression, names: tuple[str, ...] = NAMES) -> tuple[int, ...]:
    return truth_table(expression, names)


def same_functions(one: BooleanNetwork, two: BooleanNetwork) -> bool:
    return one.genes == two.genes and all(
        table(one.functions[g], one.genes) == table(two.functions[g], one.genes) for g in one.genes
    )


# Expressions


@STEADY
@given(
    expressions(),
    st.sampled_from(
        [("!", " & ", " | "), ("not ", " and ", " OR "), ("~", "&&", "||"), ("¬", "∧", "∨")]
    ),
)
def test_what_is_printed_is_read_as_the_same_function(
    expression: Expression, symbols: tuple[str, str, str]
) -> None:
    simple = without_thresholds(expression)
    assert table(simple) == table(expression)
    assert table(parse(to_text(simple, symbols))) == table(expression)
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


# The rules


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


# Networks


def brute_percolation(network: BooleanNetwork) -> dict[str, int]:
    constants: dict[str, int] = {}
    while True:
        free = [gene for gene in network.genes if gene not in constants]
        states = [
            {**constants, **dict(zip(free, bits, strict=True))}
            for bits in itertools.product((0, 1), repeat=len(free))
        ]
        new = {}
        for gene in free:
            values = {evaluate(network.functions[gene], state) for state in states}
            if len(values) == 1:
                new[gene] = values.pop()
        if not new:
            return constants
        constants.update(new)


@pytest.mark.slow
@settings(STEADY, max_examples=60)
@given(networks(5, leaves=5))
def test_percolation_against_brute_force(network: BooleanNetwork) -> None:
    found = network.percolate()
    assert found == brute_percolation(network)
    assert list(found) == [gene for gene in network.genes if gene in found]
    constants, modules = network.split()
    assert constants == found
    listed = [gene for module in network.modules() for gene in module]
    assert sorted([*listed, *found]) == sorted(network.genes)
    for module in modules:
        for gene, function in module.functions.items():
            assert set(genes_of(function)) <= set(module.genes)
            for bits in itertools.product((0, 1), repeat=len(network)):
                state = {**dict(zip(network.genes, bits, strict=True)), **constants}
                assert evaluate(function, state) == evaluate(network.functions[gene], state)


def test_percolation_sees_through_contradictions() -> None:
    network = BooleanNetwork(
        {"A": "B | !B", "B": "B", "C": "A & B & !B", "D": "C | E", "E": "(B | E) & (!B | E)"}
    )
    assert network.percolate() == {"A": 1, "C": 0}
    assert network.fixed({"E": 1}).percolate() == {"A": 1, "C": 0, "D": 1}


GRAPHS = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=4), min_size=n, max_size=n)
)


@STEADY
@given(GRAPHS)
def test_components_against_a_naive_closure(ways: list[list[int]]) -> None:
    graph = dict(enumerate(ways))

    def closure(step: Mapping[int, list[int]]) -> dict[int, set[int]]:
        reached = {node: {node, *step[node]} for node in step}
        for _ in step:
            for node in step:
                reached[node] = set().union(*(reached[other] for other in reached[node]))
        return reached

    reach = closure(graph)
    strong = {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in graph}
    found = strong_components(graph)
    assert set(found) == strong
    assert len(found) == len(strong)
    for earlier, later in itertools.combinations(found, 2):
        assert later[0] not in reach[earlier[0]]
    assert set(terminal_components(graph)) == {c for c in strong if reach[c[0]] == set(c)}
    both = {n: [*ways[n], *(m for m in graph if n in ways[m])] for n in graph}
    assert set(weak_components(graph)) == {tuple(sorted(group)) for group in closure(both).values()}


def test_a_long_chain_is_no_recursion() -> None:
    chain = {i: [i + 1] if i < 20_000 else [] for i in range(20_001)}
    assert len(strong_components(chain)) == 20_001


def test_components_with_a_perturbed_gene() -> None:
    rules = {
        "A": Regulation(("B",), (), 4),
        "B": Regulation(("A",), (), 4),
        "C": Regulation(("B",), ("D",), 0),
        "D": Regulation(("C",), (), 4),
    }
    network = BooleanNetwork.from_regulations(rules, {"B": "-"})
    assert network.components() == [("C", "D"), ("A", "B")]
    assert network.components(containing=network.perturbations) == [("A", "B")]
    kept = network.restricted_to(["C", "D"])
    assert str(kept.functions["C"]) == "!D"  # the edge from B is cut, and the rule is what it was
    assert abstract(network).components(containing="B") == [("A", "B")]


def test_edges_that_a_rule_ignores_are_kept_with_the_rule() -> None:
    network = BooleanNetwork.from_regulations(
        {"A": Regulation((), (), 9), "B": Regulation(("A",), ("B",), 9)}
    )
    assert network.regulators("B") == {"A": 1, "B": -1}
    assert genes_of(network.functions["B"]) == ("B",)
    assert BooleanNetwork(network.functions).regulators("B") == {"B": -1}


def test_changes_of_a_network() -> None:
    network = BooleanNetwork({"A": "B & C", "B": "A | !C", "C": "C"})
    assert {g: str(f) for g, f in network.fixed({"C": 0}).functions.items()} == {"A": "0", "B": "1"}
    assert str(network.clamped({"B": 1}).functions["B"]) == "1"
    assert network.clamped({}) == network
    other = network.renamed({"A": "X", "B": "A"})
    assert {g: str(f) for g, f in other.functions.items()} == {
        "X": "A & C",
        "A": "X | !C",
        "C": "C",
    }
    assert network.image({"A": 1, "B": 1, "C": 0}) == {"A": 0, "B": 1, "C": 0}
    assert not network.is_fixed_point({"A": 1, "B": 1, "C": 0})
    with pytest.raises(InvalidNetwork, match=r"A depends on C.*fixed\(\)"):
        network.restricted_to(["A", "B"])
    with pytest.raises(InvalidNetwork, match="same name"):
        network.renamed({"A": "B"})


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({}, "at least one gene"),
        ({"A": "B"}, "unknown gene 'B' in the function of gene A"),
        ({"SNAP25": "1", "X": "SNAP52"}, "Did you mean 'SNAP25'"),
        ({"A": "A &"}, "gene A: cannot read 'A &'"),
        ({"or": "1"}, "'or' cannot name a gene"),
        ({"a b": "1"}, "'a b' cannot name a gene"),
    ],
)
def test_bad_networks(functions: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidNetwork, match=message):
        BooleanNetwork(functions)


def test_unknown_genes_are_named() -> None:
    network = BooleanNetwork({"A": "1"})
    for action in (
        lambda: network.fixed({"B": 1}),
        lambda: network.clamped({"B": 1}),
        lambda: network.components(containing=["B"]),
        lambda: network.restricted_to(["B"]),
        lambda: network.renamed({"B": "C"}),
        lambda: network.regulators("B"),
    ):
        with pytest.raises(InvalidNetwork, match="unknown gene 'B'"):
            action()
    with pytest.raises(InvalidNetwork, match="must be 0 or 1"):
        network.clamped({"A": 2})


# Files


@pytest.mark.slow
@settings(STEADY, max_examples=25)
@given(network=ruled_networks())
def test_round_trips_of_ruled_networks(
    network: BooleanNetwork, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    write(network, folder / "a.net")
    assert read(folder / "a.net") == network
    write(read(folder / "a.net"), folder / "b.bnet")
    assert same_functions(read(folder / "b.bnet"), network)
    write(network, folder / "e.sif")
    assert read(folder / "e.sif").regulations == network.regulations
    write(network, folder / "d.sbml")
    assert same_functions(read(folder / "d.sbml"), network)
    # A gene that both activates and represses may have a function that no rule gives otherwise.
    if not any(set(r.activators) & set(r.repressors) for r in network.regulations.values()):
        write(read(folder / "b.bnet"), folder / "c.net")
        assert same_functions(read(folder / "c.net"), network)


@settings(STEADY, max_examples=25)
@given(network=networks(4))
def test_round_trips_of_any_network(
    network: BooleanNetwork, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    for name in ("a.bnet", "b.sbml", "c.xml"):
        write(network, folder / name)
        assert same_functions(read(folder / name), network)


def test_sbml_is_valid_and_keeps_names(tmp_path: Path) -> None:
    libsbml = pytest.importorskip("libsbml")
    network = BooleanNetwork(
        {"HLA-A": "HLA.A & !x", "HLA.A": "1", "x": "x", "y": "x & !y | y & !x"}
    )
    write(network, tmp_path / "a.sbml")
    document = libsbml.readSBMLFromFile(str(tmp_path / "a.sbml"))
    document.checkConsistency()
    assert document.getNumErrors(libsbml.LIBSBML_SEV_ERROR) == 0
    inputs = document.getModel().getPlugin("qual").getTransition(0)
    signs = {i.getQualitativeSpecies(): i.getSign() for i in inputs.getListOfInputs()}
    assert signs == {"HLA_A_": libsbml.INPUT_SIGN_POSITIVE, "x": libsbml.INPUT_SIGN_NEGATIVE}
    assert same_functions(read(tmp_path / "a.sbml"), network)
    rule_18 = BooleanNetwork.from_regulations(
        {"A": Regulation((), (), 9), "B": Regulation(("A",), (), 18)}
    )
    write(rule_18, tmp_path / "b.sbml")
    document = libsbml.readSBMLFromFile(str(tmp_path / "b.sbml"))  # owns all that is got from it
    listed = document.getModel().getPlugin("qual").getTransition(1).getListOfInputs()
    assert {one.getQualitativeSpecies() for one in listed} == {"A", "B"}


SBML = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"
 xmlns:qual="http://www.sbml.org/sbml/level3/version1/qual/version1" qual:required="true">
<model id="m"><listOfCompartments><compartment id="c" constant="true"/></listOfCompartments>
<qual:listOfQualitativeSpecies>
<qual:qualitativeSpecies qual:id="s1" qual:compartment="c" qual:constant="false" {level}/>
<qual:qualitativeSpecies qual:id="s2" qual:compartment="c" qual:constant="false"/>
</qual:listOfQualitativeSpecies>
<qual:listOfTransitions><qual:transition qual:id="t1">
<qual:listOfOutputs><qual:output qual:qualitativeSpecies="s1"
 qual:transitionEffect="assignmentLevel"/></qual:listOfOutputs>
<qual:listOfFunctionTerms><qual:defaultTerm qual:resultLevel="1"/>
<qual:functionTerm qual:resultLevel="0">
<math xmlns="http://www.w3.org/1998/Math/MathML"><apply>{formula}</apply></math>
</qual:functionTerm></qual:listOfFunctionTerms></qual:transition></qual:listOfTransitions>
</model></sbml>
"""


def comparison(name: str, left: str, right: str) -> str:
    return f"<{name}/>{left}{right}"


X, ONE, ZERO = "<ci>s2</ci>", '<cn type="integer">1</cn>', '<cn type="integer">0</cn>'


@pytest.mark.parametrize(
    ("formula", "function"),
    [
        (comparison("eq", X, ONE), "!s2"),
        (comparison("eq", ZERO, X), "s2"),
        (comparison("geq", X, ONE), "!s2"),
        (comparison("geq", ONE, X), "0"),
        (comparison("lt", X, ONE), "s2"),
        (comparison("neq", X, ZERO), "!s2"),
        (comparison("gt", X, ONE), "1"),
        (comparison("leq", X, ZERO), "s2"),
        (f"<not/><apply>{comparison('eq', X, ONE)}</apply>", "s2"),
    ],
)
def test_sbml_of_other_tools(formula: str, function: str, tmp_path: Path) -> None:
    (tmp_path / "a.sbml").write_text(SBML.format(level="", formula=formula))
    network = read(tmp_path / "a.sbml")
    assert str(network.functions["s1"]) == function
    assert str(network.functions["s2"]) == "s2"  # without a transition: an input


@pytest.mark.parametrize(
    ("level", "formula", "message"),
    [
        ('qual:maxLevel="2"', comparison("eq", X, ONE), "levels up to 2"),
        ("", f"<xor/><apply>{comparison('eq', X, ONE)}</apply>", "species s1: cannot read"),
        ("", comparison("eq", X, X), "two species"),
        ("", comparison("eq", "<ci>s9</ci>", ONE), "expected a species"),
    ],
)
def test_sbml_that_cannot_be_read(level: str, formula: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.sbml").write_text(SBML.format(level=level, formula=formula))
    with pytest.raises(InvalidNetwork, match=rf"a\.sbml.*{message}"):
        read(tmp_path / "a.sbml")


def test_net_files_keep_their_choices() -> None:
    text = (
        "directive updates async;\ndirective length 20;\n"
        "A[](0..17); B[-]{}(1,3,5); C[-+]{}(19); \n"
        "A\tB\tpositive\toptional;\nB\tA\tnegative;\nC\tB\tnegative\toptional;\n"
    )
    found = parse_rein(text)
    assert format_rein(found) == text
    assert parse_rein("// hello\n" + text.replace("\n", " \r\n").replace("; ", ";\n")) == found
    network = found.network(rules={"A": 4, "B": 5}, edges=[("C", "B", -1)])
    assert network.regulations["B"] == Regulation((), ("C",), 5)
    assert dict(network.perturbations) == {"B": "-", "C": "-+"}
    with pytest.raises(InvalidNetwork, match="gene A needs one of the rules 0, 1"):
        found.network()
    with pytest.raises(InvalidNetwork, match="none of the optional edges"):
        found.network(rules={"A": 4, "B": 5}, edges=[("A", "C", 1)])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.net", "A[](0);\nA\tC\tpositive;", "a.net, line 2: edge A → C names 'C'"),
        ("a.net", "A[](0);\nC\tA\tpositive;", "a.net, line 2: edge C → A names 'C'"),
        ("a.net", "A[](20);", "a.net, line 1: gene A: regulation rule must be .* 0 to 19, got 20"),
        ("a.net", "A[](-1);", "line 1: gene A: regulation rule .* got -1"),
        ("a.net", "A[](0..25);", "line 1: gene A: .* got 25"),
        ("a.net", "A[](four);", "line 1: gene A: expected rules as .* got 'four'"),
        ("a.net", "A[]();", "line 1: gene A: expected rules"),
        ("a.net", "A[](5..3);", "backwards"),
        ("a.net", "A[?](0);", "cannot read the gene"),
        ("a.net", "A[](0); A[](1);", "line 1: gene A is declared twice"),
        ("a.net", "A[](0);\n\nA\tA\tmaybe;", "line 3: cannot read"),
        ("a.net", "A[](0);\nA\tA\tpositive\tsure;", "line 2: cannot read"),
        (
            "a.net",
            "A[](0);\nA\tA\tpositive;\nA\tA\tpositive;",
            "line 3: edge A → A is listed twice",
        ),
        ("a.net", "A[](0);\nA\tA\tpositive", "line 2: .* does not end with ';'"),
        ("a.net", "directive length 20;", "declares no genes"),
        ("a.net", "A[](0..17);", "0 edges optional and the rules of 1 genes open.*read_abstract"),
        ("a.bnet", "A, B", "a.bnet, line 1: gene A depends on 'B'"),
        ("a.bnet", "targets, factors\nA, A &", "a.bnet, line 2: gene A: cannot read"),
        ("a.bnet", "A, 1\nA, 0", "line 2: gene A has two functions"),
        ("a.bnet", "A; 1", "line 1: expected 'gene, expression'"),
        ("a.bnet", "A, 1\nand, 1", "line 2: expected 'gene, expression'"),
        ("a.bnet", "# nothing", "no genes"),
        ("a.sif", "A 1 B", "no rules: pass rules="),
        ("a.sbml", "hello", "a.sbml, line"),
        ("a.sbml", SBML[:200], "a.sbml, line"),
    ],
)
def test_bad_files_are_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidNetwork, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "rules", "message"),
    [
        ("A 1 B\nA likes B", 8, "a.sif, line 2: expected 'source sign target'"),
        ("A 1", 8, "line 1: expected"),
        ("A 1 B\nA 1 B", 8, "line 2: edge A → B is listed twice"),
        ("A 1 B", {"A": 3}, "line 1: gene B has no rule"),
        ("A 1 B", 20, "0 to 19, got 20"),
        ("", 8, "no genes"),
    ],
)
def test_bad_sif(text: str, rules: int | dict[str, int], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.sif").write_text(text)
    with pytest.raises(InvalidNetwork, match=message):
        read(tmp_path / "a.sif", rules=rules)


def test_sif_takes_the_usual_signs_and_rules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.sif").write_text("A\tactivates\tB\tC\nB -| C\nlonely\n")
    (tmp_path / "a.noa").write_text("rule\nlonely = 9\nA = 0\nB = 4\nC = 2\n")
    network = read(tmp_path / "a.sif")
    assert network.genes == ("lonely", "A", "B", "C")
    assert str(network.functions["C"]) == "A & !B"
    assert str(read(tmp_path / "a.sif", rules=8).functions["lonely"]) == "0"
    (tmp_path / "a.noa").write_text("rule\nA = 99\n")
    with pytest.raises(InvalidNetwork, match=r"a\.noa, line 2: gene A: .* got 99"):
        read(tmp_path / "a.sif")


def test_files_that_are_not_networks(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"a\.txt.*\.bnet"):
        read(tmp_path / "a.txt")
    (tmp_path / "a.bnet").write_bytes(b"\xff\xfeA")
    with pytest.raises(InvalidNetwork, match="UTF-8"):
        read(tmp_path / "a.bnet")
    with pytest.raises(InvalidNetwork, match=r"\.sif files"):
        read(tmp_path / "a.bnet", rules=4)
    with pytest.raises(InvalidNetwork, match=r"gene A, B & C \| A & B"):
        write(BooleanNetwork({"A": "B & C | A & B", "B": "B", "C": "C"}), tmp_path / "a.net")


def test_a_missing_extra_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "libsbml", None)
    with pytest.raises(ImportError, match=r"SBML needs libSBML: pip install 'shortlist\[sbml\]'"):
        write(BooleanNetwork({"A": "1"}), tmp_path / "a.sbml")


# The paper's network


@needs_data
def test_the_paper_s_network(tmp_path: Path) -> None:
    network = read(Path(str(DATA)) / "report_model1_solution.net")
    assert len(network) == 101
    edges = network.edges()
    assert [sum(e.sign == s for e in edges) for s in (1, -1)] == [79, 5]
    assert sum(not network.regulators(gene) for gene in network.genes) == 47
    assert len(network.percolate()) == 64
    modules = network.modules()
    assert (len(modules), sum(map(len, modules))) == (13, 37)
    assert set(network.perturbations) == {"SOD1", "SYT1", "CACNA1C", "KCNA2", "CDC42"}
    for name in ("a.net", "a.bnet", "a.sbml", "a.sif"):
        write(network, tmp_path / name)
        assert read(tmp_path / name).functions == network.functions
    assert read(tmp_path / "a.net") == network


@needs_data
def test_the_paper_s_network_before_inference(tmp_path: Path) -> None:
    found = read_abstract(Path(str(DATA)) / "model1.net")
    assert len(found.genes) == 101
    assert found.genes[0] == "AAGAB"  # the byte-order mark is none of its letters
    assert sum(edge.optional for edge in found.edges) == len(found.edges) == 268
    assert set(found.rules.values()) == {tuple(range(18))}
    write(found, tmp_path / "a.net")
    assert read_abstract(tmp_path / "a.net") == found
    # The inferred network chose among these edges and rules.
    solution = read(Path(str(DATA)) / "report_model1_solution.net")
    rules = {gene: regulation.rule for gene, regulation in solution.regulations.items()}
    chosen = found.network(rules, [tuple(edge) for edge in solution.edges()])
    assert same_rules(chosen, solution)
    # The paper kept the strongly connected components with a perturbed gene: here that is all.
    assert [len(c) for c in found.components(containing=found.perturbations)] == [101]


def same_rules(one: BooleanNetwork, two: BooleanNetwork) -> bool:
    def sets(network: BooleanNetwork) -> dict[str, tuple[set[str], set[str], int]]:
        rules = network.regulations.items()
        return {g: (set(r.activators), set(r.repressors), r.rule) for g, r in rules}

    return sets(one) == sets(two)
