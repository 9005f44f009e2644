"""Boolean networks: percolation, components, changes, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boolean import STEADY, networks
from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.abstract_network import abstract
from shortlist.repurposing.networks.logic import evaluate, genes_of
from shortlist.repurposing.networks.network import (
    BooleanNetwork,
    components,
    terminal_components,
)
from shortlist.repurposing.networks.regulation import Regulation


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
    found = components(graph, "strong")
    assert set(found) == strong
    assert len(found) == len(strong)
    for earlier, later in itertools.combinations(found, 2):
        assert later[0] not in reach[earlier[0]]
    assert set(terminal_components(graph)) == {c for c in strong if reach[c[0]] == set(c)}
    both = {n: [*ways[n], *(m for m in graph if n in ways[m])] for n in graph}
    assert set(components(graph, "weak")) == {
        tuple(sorted(group)) for group in closure(both).values()
    }


def test_a_long_chain_is_no_recursion() -> None:
    chain = {i: [i + 1] if i < 20_000 else [] for i in range(20_001)}
    assert len(components(chain, "strong")) == 20_001


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


X, ONE, ZERO = "<ci>s2</ci>", '<cn type="integer">1</cn>', '<cn type="integer">0</cn>'
